"""Utility-based perturbed gradient descent against the authors' code."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.networks import upgd

HOW = upgd.Upgd(0.1, 0.9, 0.0, 0.01)


def stepped(w, gradients, how=HOW, noise=0.0):
    """Return the state of one repetition after steps along these gradients."""
    x = tf.constant(w, tf.float64)[None, None]
    at = upgd.Utilities(x, tf.zeros_like(x), tf.zeros([1, 1, 1], tf.int32))
    for g in gradients:
        g = tf.constant(g, tf.float64)[None, None]
        at = upgd.step(how, at, g, noise * tf.ones_like(x))
    return at


def test_three_steps_are_those_of_the_authors_code():
    gradients = [[math.sin(t), 0.5, -0.2 * t, -1.0] for t in (1, 2, 3)]
    at = stepped([0.5, -1.0, 2.0, 0.1], gradients)
    golden = [0.3157033197, -1.0025242057, 1.9956803382, 0.1771889399]
    np.testing.assert_allclose(at.x[0, 0], golden, atol=1e-9)


def test_a_harmful_weight_is_not_protected_where_none_is_useful():
    # g w > 0 for both: the loss would fall without them, most of all without the second.
    at = stepped([1.0, 1.0], [[0.1, 1.0]])
    # The trace is a tenth of the utility and is corrected by 1 / .1; its maximum is not.
    free = 1 / (1 + np.exp([-1.0, -10.0]))
    np.testing.assert_allclose(at.x[0, 0], 0.999 - 0.1 * np.array([0.1, 1.0]) * free)


def test_noise_is_inside_the_rate_and_useful_weights_have_less_of_it():
    how = upgd.Upgd(0.1, 0.0, 2.0)
    at = stepped([1.0, 0.0], [[-1.0, 0.0]], how, noise=1.0)
    # The first parameter has the largest utility, the second one none.
    useful, useless = 1 - 1 / (1 + math.exp(-1.0)), 0.5
    np.testing.assert_allclose(at.x[0, 0], [1.0 - 0.1 * (-1.0 + 2.0) * useful, -0.2 * useless])


def test_weights_without_any_utility_move_alike():
    at = stepped([0.0, 0.0], [[1.0, -1.0]])
    assert at.x[0, 0].numpy() == pytest.approx([-0.05, 0.05])
