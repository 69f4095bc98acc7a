"""Check that seeds that a learner runs side by side do not touch each other."""

from __future__ import annotations

import numpy as np

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Learner, State


def have_the_bytes_of_each_alone(learner: Learner, batch: Batch, key: np.ndarray) -> None:
    """Assert that the second of two seeds learns and predicts as it does alone."""
    both, _ = learner.observe(learner.init(key), batch, key)
    alone, _ = learner.observe(learner.init(key[1:]), Batch(*(a[1:] for a in batch)), key[1:])
    for name, array in alone.items():
        np.testing.assert_array_equal(both[name][1:], array, err_msg=name)
    together = learner.predict(both, batch.inputs, key).probabilities[1:]
    single = learner.predict(alone, batch.inputs[1:], key[1:]).probabilities
    np.testing.assert_array_equal(together, single)


def fails_alone(learner: Learner, where: str, inputs: int = 3) -> None:
    """Assert that a seed with NaN fails, and the next learns as beside one without.

    where: the part of the rows that is NaN, inputs or targets. inputs: the number of inputs.
    """
    key, draw = seeds.block([0, 1], "alone"), np.random.default_rng(1)
    rows = {"inputs": draw.normal(size=(2, 12, inputs)), "targets": draw.normal(size=(2, 12, 1))}
    good = Batch(**{k: a.astype(np.float32) for k, a in rows.items()}, mask=np.ones((2, 12), bool))
    bad = good._replace(**{where: getattr(good, where) * [[[np.nan]], [[1]]]})
    (beside, predicted), (state, predicted_beside_nan) = (
        _learnt(learner, batch, good.inputs, key) for batch in (good, bad)
    )
    assert not np.isfinite(state["mean"][0]).any() and np.isnan(predicted_beside_nan[0]).all()
    for name, array in beside.items():
        assert np.isfinite(array[1]).all()
        np.testing.assert_array_equal(state[name][1], array[1], err_msg=name)
    np.testing.assert_array_equal(predicted_beside_nan[1], predicted[1])


def _learnt(
    learner: Learner, batch: Batch, inputs: np.ndarray, key: np.ndarray
) -> tuple[State, np.ndarray]:
    """Return the state after a batch and a widening, and the predicted means."""
    state = learner.observe(learner.init(key), batch, key)[0]
    if learner.broaden:
        state = learner.broaden(state, Broadening("ou", 0.9, 0.1))
    return state, learner.predict(state, inputs, key).mean
