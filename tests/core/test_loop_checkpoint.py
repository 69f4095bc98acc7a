import numpy as np
import pytest

from shiftbench.contract.problems import key
from shiftbench.core import loop_checkpoint
from shiftbench.core.interface import State
from shiftbench.core.loop_checkpoint import Pace, Standing, Standings, Watch
from shiftbench.evaluation.running import run_state
from shiftbench.evaluation.running.cost import Meter
from tests import golden

CASES = [
    "settings/mfvi-tweaked",  # two loops, the second ends early
    "learners/vogn",
    "learners/hat",
    "combinators/ensemble",
    "settings/beam-learnt-in-turn",
]


class Stop(Exception):
    """A learner was stopped within its task."""


def learn(name, standings: Standings, looks: int) -> tuple[State, State]:
    """State and info after a task; Stop at a look, so that the standings are where it stood."""
    learner, problem = golden.RUNS[name]()
    batch = golden.rounded(golden.PARTS.batch(problem, seed=0))
    left = iter(range(looks))
    watch = Watch(
        standings, lambda: None, lambda: "" if next(left, None) is not None else "test", Pace()
    )
    state = learner.init(key("init"))
    try:
        with loop_checkpoint.watched(watch):
            return learner.observe(state, batch, key("observe"))
    except Exception as error:
        if next(left, None) is None:
            raise Stop from error
        raise


@pytest.fixture
def look_at_every_step(monkeypatch):
    monkeypatch.setattr(loop_checkpoint, "SECONDS_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr(loop_checkpoint, "SECONDS_WORTH_KEEPING", 0.0)


@pytest.mark.long
@pytest.mark.usefixtures("look_at_every_step")
@pytest.mark.parametrize("name", CASES)
def test_stopped_within_a_task_and_resumed_is_the_same_to_the_byte(name, tmp_path):
    whole = learn(name, {}, 10**9)
    standings: Standings = {}
    stops = 0
    while True:
        try:
            pieces = learn(name, standings, 3)
            break
        except Stop:
            stops += 1
            before = {number: (one.epoch, one.step) for number, one in standings.items()}
            at_task = run_state.Position(0, {}, None, [])
            run_state.save(tmp_path, at_task, Meter(), standings)
            _, _, standings = run_state.load(tmp_path)
            assert {number: (one.epoch, one.step) for number, one in standings.items()} == before
    assert stops > 1
    for one, other in zip(whole, pieces, strict=True):
        assert one.keys() == other.keys()
        for field in one:
            np.testing.assert_array_equal(one[field], other[field])


def test_it_is_kept_now_and_then_and_not_at_every_look(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(loop_checkpoint.time, "monotonic", lambda: clock[0])
    kept: list[float] = []
    standings: Standings = {}
    watch = Watch(standings, lambda: kept.append(clock[0]), lambda: "", Pace())
    number, _ = watch.begin((np.zeros(1),))
    for seconds in range(1, 50):
        clock[0] = float(seconds)
        watch.look(number, Standing(0, seconds, (np.full(1, seconds),)))
    assert kept == [20.0, 40.0]
    assert standings[number].step == 40


def test_steps_between_looks_follow_the_clock(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(loop_checkpoint.time, "monotonic", lambda: clock[0])
    pace = Pace()
    left = pace.begin()
    for _ in range(12):  # of a hundredth of a second a step
        clock[0] += 0.01 * left
        left = pace.next()
    assert 190 < left <= 200
    clock[0] += 1.0 * left  # steps have become slow
    assert pace.next() == 2


def test_a_loop_that_ended_is_not_run_again():
    standings: Standings = {0: Standing(5, 0, (np.ones(1),))}
    watch = Watch(standings, lambda: None, lambda: "", Pace())
    number, standing = watch.begin((np.zeros(1),))
    assert (number, standing.epoch) == (0, 5)
    assert watch.begin((np.zeros(1),))[1].epoch == 0
