"""An ensemble of one equals the learner; members are learners with their own seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.contract.problems import Parts, settings
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Categorical, Context, Gaussian, Learner, Problem, State
from shiftbench.methods.combinators import beam, ensemble, reset

PARTS = Parts()
SIZE = 3
KEY = seeds.block(range(2), "ensemble")
ROUNDING = {"rtol": 1e-4, "atol": 1e-6}
BUILDERS: dict[str, Callable[[], tuple[Learner, Problem]]] = {
    "map": lambda: PARTS.learner("map", dropout=0.5),
    "mfvi": lambda: PARTS.learner("mfvi"),
    "beam": lambda: PARTS.combined("beam"),
    "joint": lambda: PARTS.combined("joint"),
    "run-length": lambda: PARTS.combined("run-length"),
    "sva": lambda: PARTS.learner("sva"),
}


# Build each learner once, since tracing takes most of the time.
@functools.cache
def learner_of(name: str) -> tuple[Learner, Problem]:
    return BUILDERS[name]()


def over(learner: Learner, problem: Problem, size: int = SIZE, fits: str = "parallel") -> Learner:
    return ensemble.build(ensemble.Settings(size, fits), problem, learner)  # type: ignore[arg-type]


def run(learner: Learner, problem: Problem, key: np.ndarray = KEY) -> list[dict]:
    """Return all predictions, Infos and states of two tasks, in the harness's order."""
    state, results = learner.init(key), []
    for t in range(2):
        batch = PARTS.batch(problem, seed=t)
        state = learner.drift(state, key)
        predicted = learner.predict(state, batch.inputs, key)
        state, info = learner.observe(state, batch, key)
        results += [predicted._asdict(), info, state]
    return results


def assert_same(one: list[dict], two: list[dict], rtol: float = 0, atol: float = 0) -> None:
    for left, right in zip(one, two, strict=True):
        assert left.keys() == right.keys()
        for name, array in left.items():
            if array is None and right[name] is None:  # the entropy of a learner without draws
                continue
            assert np.asarray(array).dtype == np.asarray(right[name]).dtype, name
            np.testing.assert_allclose(array, right[name], rtol, atol, err_msg=name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=pytest.mark.long if one in ("mfvi", "beam") else ())
        for one in BUILDERS
    ],
)
def test_an_ensemble_of_one_is_its_member_to_the_byte(name):
    learner, problem = learner_of(name)
    assert_same(run(over(learner, problem, 1), problem), run(learner, problem))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("map", "sva") else pytest.mark.long)
        for name in BUILDERS
    ],
)
def test_one_after_the_other_members_give_the_same(name):
    """Equal up to rounding, since vector instructions are aligned to the start of each array."""
    learner, problem = learner_of(name)
    sequential = run(over(learner, problem, SIZE, "sequential"), problem)
    assert_same(run(over(learner, problem), problem), sequential, **ROUNDING)


@pytest.mark.parametrize(
    "name", ["sva", *(pytest.param(one, marks=pytest.mark.long) for one in ("mfvi", "beam"))]
)
def test_a_member_is_the_learner_with_seeds_of_its_own(name):
    learner, problem = learner_of(name)
    together = run(over(learner, problem), problem)
    for member in range(SIZE):
        own = seeds.fold_each(KEY, "member", member) if member else KEY
        for joint, alone in zip(together, run(learner, problem, own), strict=True):
            for key in joint.keys() - {"log_weights"}:
                h = alone[key].shape[1]
                own_slots = joint[key][:, member * h : (member + 1) * h]
                np.testing.assert_allclose(own_slots, alone[key], **ROUNDING, err_msg=key)


def test_members_differ_and_predict_with_equal_weights():
    learner, problem = learner_of("map")
    *_, predicted, _, state = run(over(learner, problem), problem)
    assert len(np.unique(state["mean"][0], axis=0)) == SIZE
    np.testing.assert_allclose(predicted["log_weights"], -np.log(SIZE))
    assert predicted["probabilities"].shape == (2, SIZE, 20, 3)


@pytest.mark.long
def test_hypotheses_of_members_keep_their_weights_inside():
    """An ensemble of beams is a mixture in which each beam's weights add up to its share."""
    learner, problem = learner_of("beam")
    *_, predicted, info, _ = run(over(learner, problem), problem)
    shares = np.exp(predicted["log_weights"]).reshape(2, SIZE, -1).sum(axis=-1)
    np.testing.assert_allclose(shares, 1 / 3)
    assert "steps" in info and not {"parent", "shift", "log_weight"} & info.keys()


class Recorder:
    """A learner that stores its inputs in its state and leaves a field of predictions empty."""

    def __init__(self) -> None:
        self.learner = Learner(
            self.init, self.predict, self.observe, self.drift, self.boundary, warm_up=self.warm_up
        )

    @staticmethod
    def init(key: np.ndarray) -> State:
        return {"said": np.zeros((len(key), 1, 2), np.int64)}

    @staticmethod
    def predict(state: State, inputs: np.ndarray, key: np.ndarray) -> Gaussian:
        return Gaussian(np.zeros((len(key), 1)), inputs[:, None], None)  # type: ignore[arg-type]

    @staticmethod
    def observe(state: State, batch: Batch, key: np.ndarray):
        assert batch.inputs.shape[0] == len(key)
        return state, {}

    @staticmethod
    def warm_up(state: State, batch: Batch, key: np.ndarray):
        return {"said": state["said"] + 100 + batch.targets[:, :1, None]}, {"warm": key[:, :1]}

    @staticmethod
    def drift(state: State, key: np.ndarray) -> State:
        return {"said": np.concatenate([key[:, None, :1], state["said"][..., 1:]], axis=-1)}

    @staticmethod
    def boundary(state: State, context: Context, key: np.ndarray) -> State:
        assert context.task is None
        return {"said": state["said"] + context.boundary[:, None, None]}


@pytest.mark.parametrize("fits", ["parallel", "sequential"])
def test_drift_boundary_and_warm_up_reach_every_member(fits):
    combined = over(Recorder().learner, Problem("classification", (1,), 2, 1, 1), 3, fits)
    state = combined.init(KEY)
    assert state["said"].shape == (2, 3, 2)
    batch = Batch(np.zeros((2, 1, 1)), np.array([[1], [2]]), np.ones((2, 1), bool))
    warm, info = combined.begin(state, batch, KEY)
    np.testing.assert_array_equal(warm["said"][..., 0], [[101] * 3, [102] * 3])
    assert info["warm"].shape == (2, 3) and len(np.unique(info["warm"])) == 6
    after_boundary = combined.boundary(state, Context(np.array([False, True]), None), KEY)
    np.testing.assert_array_equal(after_boundary["said"][..., 1], [[0] * 3, [1] * 3])
    drifted = combined.drift(state, KEY)
    np.testing.assert_array_equal(drifted["said"][:, 0, 0], KEY[:, 0])
    assert len(np.unique(drifted["said"][..., 0])) == 6


def test_a_field_that_members_leave_empty_stays_empty():
    combined = over(Recorder().learner, Problem("classification", (1,), 2, 1, 1), 3)
    inputs = np.array([[[1.0]], [[2.0]]])
    predictive = combined.predict(combined.init(KEY), inputs, KEY)
    assert predictive.variance is None
    np.testing.assert_array_equal(predictive.mean[:, :, 0, 0], [[1.0] * 3, [2.0] * 3])


@pytest.mark.long
def test_a_reset_ensemble_is_an_ensemble_of_reset_learners():
    learner, problem = learner_of("map")
    combined = reset.build(reset.Settings(), problem, over(learner, problem, 2))
    other = over(reset.build(reset.Settings(), problem, learner), problem, 2)
    assert_same(run(combined, problem), run(other, problem))


def test_an_average_of_members_predicts_better_than_a_member():
    """The log score is concave, so Jensen's inequality holds for any members."""
    learner, problem = learner_of("map")
    combined = over(learner, problem)
    state, _ = combined.observe(combined.init(KEY), PARTS.batch(problem), KEY)
    test = PARTS.batch(problem, seed=9)
    predictive = combined.predict(state, test.inputs, KEY)
    assert isinstance(predictive, Categorical)
    right = np.take_along_axis(
        predictive.probabilities, test.targets[:, None, :, None].repeat(SIZE, 1), -1
    )[..., 0]
    assert (np.log(right.mean(axis=1)) >= np.log(right).mean(axis=1)).all()


def test_a_beam_over_an_ensemble_is_not_built():
    learner, problem = learner_of("map")
    assert "ensemble" in components.names("combinators")
    with pytest.raises(Exception, match="broaden"):
        beam.build(settings("combinators", "beam"), problem, over(learner, problem, 2))
