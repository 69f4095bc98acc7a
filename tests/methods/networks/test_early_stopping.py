"""Early stopping against a plain loop over epochs, and the held-back rows."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.networks import optimisers
from shiftbench.methods.networks.early_stopping import StoppingRule, hold_back, minimise_until
from shiftbench.methods.networks.training import Schedule, minimise

KEY = seeds.block([0, 1], "early")
DATA = tf.zeros([2, 4, 1]), tf.zeros([2, 4], tf.int32), tf.ones([2, 4], tf.bool)
START = np.array([[[0.0], [0.0]], [[0.0], [0.0]]], np.float32)
SGD = optimisers.named("sgd", 0.02)
PASSES = 15
TURN = np.array([[0.5, 9.0], [1.5, 0.2]], np.float32)


def away(x, rows, step_seeds):
    """Return a constant gradient, so that x grows without end."""
    return -tf.ones_like(x)


def judge(x):
    """Return a score that is best at TURN, which differs between seeds and hypotheses."""
    return -tf.square(x[..., 0] - TURN)


def stopped(passes=PASSES, patience=2, part=slice(None), hypotheses=slice(None), tolerance=0.0):
    data = tuple(a[part] for a in DATA)
    start = tf.constant(START[part][:, hypotheses])

    def score(x):
        return -tf.square(x[..., 0] - TURN[part][:, hypotheses])

    rule = StoppingRule(score, patience, tolerance)
    return minimise_until(rule, away, start, data, KEY[part], Schedule(passes, 2, SGD))


@pytest.mark.long
def test_keeps_the_best_epoch_of_each_seed_and_hypothesis():
    passes, patience = PASSES, 2
    ends = [
        minimise(away, tf.constant(START), DATA, KEY, Schedule(number, 2, SGD))[0].numpy()
        for number in range(1, passes + 1)
    ]
    scores = np.stack([judge(x).numpy() for x in ends])
    end = stopped(passes, patience)
    for s, h in np.ndindex(2, 2):
        best = int(scores[:, s, h].argmax()) + 1
        assert int(end.epoch[s, h]) == best
        assert float(end.x[s, h, 0]) == ends[best - 1][s, h, 0]
        assert int(end.steps[s, h]) == 2 * min(best + patience, passes)
    # Three stop at different epochs, and one runs to the end.
    assert len(np.unique(end.epoch)) == 4
    assert (end.epoch.numpy() == passes).sum() == 1


@pytest.mark.parametrize("alone", [0, 1])
def test_seeds_and_hypotheses_alone_stop_as_side_by_side(alone):
    together = stopped()
    one = stopped(part=slice(alone, alone + 1))
    other = stopped(hypotheses=slice(alone, alone + 1))
    for whole, of_seed, of_hypothesis in zip(together, one, other, strict=True):
        np.testing.assert_array_equal(whole[alone : alone + 1], of_seed)
        np.testing.assert_array_equal(whole[:, alone : alone + 1], of_hypothesis)


def test_without_enough_patience_a_later_optimum_is_missed():
    def two_peaks(x):
        return tf.where(x[..., 0] < 0.3, -tf.abs(x[..., 0] - 0.1), x[..., 0] - 1)

    def epoch(patience):
        rule, start = StoppingRule(two_peaks, patience, 0.0), tf.constant(START)
        end = minimise_until(rule, away, start, DATA, KEY, Schedule(12, 2, SGD))
        return int(end.epoch.numpy().max())

    assert epoch(2) < 5 < epoch(12) == 12


def test_what_is_better_by_less_than_the_tolerance_is_no_better():
    """A parabola's gain vanishes towards its top; training ends once it is below the tolerance."""
    rough = stopped(patience=1, tolerance=0.07)
    step = float(rough.x[1, 0, 0]) / int(rough.epoch[1, 0])
    gains = -np.diff(np.square(step * np.arange(1, PASSES + 1) - TURN[1, 0]))
    expected = int(np.argmax(gains <= 0.07)) + 1
    assert int(rough.epoch[1, 0]) == expected < int(stopped(patience=1).epoch[1, 0])


def batch(rows=20):
    inputs = np.arange(2 * rows, dtype=np.float32).reshape(2, rows, 1)
    mask = np.arange(rows) < np.array([[rows], [rows // 2]])
    return Batch(inputs, np.arange(2 * rows).reshape(2, rows), mask)


def test_rows_held_back_are_the_seeds_own_and_not_learnt_from():
    whole = batch()
    kept, held = hold_back(whole, 0.2, KEY)
    assert kept.mask.sum(axis=1).tolist() == [16, 8] and held.mask.sum(axis=1).tolist() == [4, 2]
    for s in range(2):
        learnt = set(kept.targets[s][kept.mask[s]])
        back = set(held.targets[s][held.mask[s]])
        assert learnt | back == set(whole.targets[s][whole.mask[s]]) and not learnt & back
        np.testing.assert_array_equal(held.inputs[s, ..., 0], held.targets[s])
    again = hold_back(Batch(*(a[1:] for a in whole)), 0.2, KEY[1:])[0]
    np.testing.assert_array_equal(again.mask, kept.mask[1:])
    other = hold_back(whole, 0.2, seeds.block([5, 6], "early"))[0]
    assert (other.mask != kept.mask).any()


def test_a_share_that_is_no_row_is_refused():
    with pytest.raises(LearnerError, match="is less than one, or all; set held_back"):
        hold_back(batch(), 0.05, KEY)
