"""Check that seeds that a learner runs side by side do not touch each other."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Learner


def have_the_bytes_of_each_alone(learner: Learner, batch: Batch, key: np.ndarray) -> None:
    """Assert that the second of two seeds learns and predicts as it does alone."""
    both, _ = learner.observe(learner.init(key), batch, key)
    alone, _ = learner.observe(learner.init(key[1:]), Batch(*(a[1:] for a in batch)), key[1:])
    for name, array in alone.items():
        np.testing.assert_array_equal(both[name][1:], array, err_msg=name)
    together = learner.predict(both, batch.inputs, key).probabilities[1:]
    single = learner.predict(alone, batch.inputs[1:], key[1:]).probabilities
    np.testing.assert_array_equal(together, single)
