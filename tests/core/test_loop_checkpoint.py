from fractions import Fraction

import numpy as np
import pytest

from shiftbench.contract.problems import key
from shiftbench.core import loop_checkpoint
from shiftbench.core.errors import UserError
from shiftbench.core.interface import State
from shiftbench.core.loop_checkpoint import LoopMonitor, LoopState, LoopStates, PollInterval
from shiftbench.evaluation.running import run_state
from shiftbench.evaluation.running.cost import Meter
from tests import golden

CASES = [
    "settings/mfvi-tweaked",  # two loops, of which the second ends early
    "learners/vogn",
    "settings/vogn-as-adam",  # counts its own steps
    "learners/hat",
    "learners/sgld",
    "combinators/ensemble",
    "settings/beam-learnt-in-turn",
]


class Stop(Exception):
    """A learner was stopped within its task."""


def learn(name, states: LoopStates, polls: int) -> tuple[State, State]:
    """Return state and info after a task, or save the states and raise Stop at the last poll."""
    learner, problem = golden.RUNS[name]()
    batch = golden.rounded(golden.PARTS.batch(problem, seed=0))
    left = iter(range(polls))
    monitor = LoopMonitor(
        states, lambda: None, lambda: "" if next(left, None) is not None else "test", PollInterval()
    )
    state = learner.init(key("init"))
    try:
        with loop_checkpoint.monitored(monitor):
            return learner.observe(state, batch, key("observe"))
    except Exception as error:
        if next(left, None) is None:
            raise Stop from error
        raise


@pytest.fixture
def poll_at_every_step(monkeypatch):
    monkeypatch.setattr(loop_checkpoint, "SECONDS_BETWEEN_POLLS", 0.0)
    monkeypatch.setattr(loop_checkpoint, "SECONDS_WORTH_KEEPING", 0.0)


@pytest.mark.long
@pytest.mark.usefixtures("poll_at_every_step")
@pytest.mark.parametrize("name", CASES)
def test_stopped_within_a_task_and_resumed_is_the_same_to_the_byte(name, tmp_path):
    whole = learn(name, {}, 10**9)
    states: LoopStates = {}
    stops = 0
    while True:
        try:
            pieces = learn(name, states, 3)
            break
        except Stop:
            stops += 1
            before = {number: (at.epoch, at.step) for number, at in states.items()}
            at_task = run_state.Position(0, {}, None, [])
            run_state.save(tmp_path, at_task, Meter(), run_state.Inside(states, []))
            states = run_state.load(tmp_path)[2].loops
            assert {number: (at.epoch, at.step) for number, at in states.items()} == before
    assert stops > 1
    for one, other in zip(whole, pieces, strict=True):
        assert one.keys() == other.keys()
        for field in one:
            np.testing.assert_array_equal(one[field], other[field])


def test_a_state_is_saved_now_and_then_and_not_at_every_poll(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(loop_checkpoint.time, "monotonic", lambda: clock[0])
    kept: list[float] = []
    states: LoopStates = {}
    monitor = LoopMonitor(states, lambda: kept.append(clock[0]), lambda: "", PollInterval())
    number, _ = monitor.begin((np.zeros(1),))
    for seconds in range(1, 50):
        clock[0] = float(seconds)
        monitor.poll(number, LoopState(0, seconds, (np.full(1, seconds),)))
    assert kept == [20.0, 40.0]
    assert states[number].step == 40


def test_steps_between_polls_follow_the_clock(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(loop_checkpoint.time, "monotonic", lambda: clock[0])
    interval = PollInterval()
    left = interval.begin()
    for _ in range(12):  # .01 seconds per step
        clock[0] += 0.01 * left
        left = interval.next()
    assert 190 < left <= 200
    clock[0] += 1.0 * left  # steps are slow now
    assert interval.next() == 2


def test_a_loop_that_ended_is_not_run_again():
    states: LoopStates = {0: LoopState(5, 0, (np.ones(1),))}
    monitor = LoopMonitor(states, lambda: None, lambda: "", PollInterval())
    number, state = monitor.begin((np.zeros(1),))
    assert (number, state.epoch) == (0, 5)
    assert monitor.begin((np.zeros(1),))[1].epoch == 0


def test_a_look_without_loops_is_refused():
    monitor = LoopMonitor({}, lambda: None, lambda: "", PollInterval())
    refused = pytest.raises(UserError, match="no loop over steps that a look could end")
    with loop_checkpoint.monitored(monitor), refused, loop_checkpoint.look(Fraction(1, 2)):
        pass


def test_the_first_loop_goes_on_after_a_look_and_others_begin_again():
    states: LoopStates = {}
    monitor = LoopMonitor(states, lambda: None, lambda: "", PollInterval())
    with loop_checkpoint.monitored(monitor):
        with loop_checkpoint.look(Fraction(1, 3)):
            for _ in range(2):
                number, epoch, step, _, *until, array = loop_checkpoint.begin(2, 4, np.zeros(1))
                assert [int(k) for k in (epoch, step, *until)] == [0, 0, 0, 3]  # of 8 steps
                loop_checkpoint.end(number, 0, 3, array + 1)
        assert list(states) == [0]
        found = [loop_checkpoint.begin(2, 4, np.zeros(1)) for _ in range(2)]
        assert [[int(k) for k in one[:3]] + [one[-1].item()] for one in found] == [
            [0, 0, 3, 1.0],
            [1, 0, 0, 0.0],
        ]
        assert found[0][4] == loop_checkpoint.NEVER


def test_a_loop_of_a_prediction_is_whole_at_a_look():
    monitor = LoopMonitor({}, lambda: None, lambda: "", PollInterval())
    with loop_checkpoint.monitored(monitor), loop_checkpoint.look(Fraction(1, 2)):
        assert loop_checkpoint.begin(2, 4, np.zeros(1))[4] == 1
        with loop_checkpoint.whole():
            assert loop_checkpoint.begin(2, 4, np.zeros(1))[4] == loop_checkpoint.NEVER
