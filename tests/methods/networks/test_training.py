"""Adam, penalties, paths and sums over pieces against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import convnet
from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.model import glorot, point
from shiftbench.methods.networks.optimisers import Sgd
from shiftbench.methods.networks.training import (
    Adam,
    Descent,
    Penalty,
    Schedule,
    descend,
    minimise,
    total,
)

CURVATURE = np.array([3.0, 0.5, 1.0], np.float32)
START = np.array([[[1.0, -2.0, 0.3]]], np.float32)
DATA = tf.zeros([1, 1, 1]), tf.zeros([1, 1], tf.int32), tf.ones([1, 1], tf.bool)
KEY = seeds.block([0], "training")


def quadratic(x, rows, step_seeds):
    return CURVATURE * x


def begin(path=True):
    zeros = tf.zeros_like(START)
    return Descent(tf.constant(START), zeros, zeros, tf.constant(0), (zeros,) if path else ())


def by_hand(steps, rate, weight, anchor):
    """Run Adam in double precision; return the end and the sum of -(gradient) * change."""
    x, first, second, path = START[0, 0].astype(float), 0.0, 0.0, 0.0
    for t in range(1, steps + 1):
        g = CURVATURE * x
        both = g + weight * (x - anchor)
        first, second = 0.9 * first + 0.1 * both, 0.999 * second + 0.001 * both**2
        change = -rate * first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-9)
        path = path - g * change
        x = x + change
    return x, path


def test_descent_with_a_penalty_equals_adam_by_hand_and_so_does_its_path():
    weight, anchor = np.array([2.0, 4.0, 0.0]), np.array([0.5, 1.0, 9.0])
    stretched = (tf.constant(a[None, None], tf.float32) for a in (2 * weight, anchor))
    penalty = Penalty(*stretched, tf.fill([1, 1, 1], 2.0))
    end, steps = descend(quadratic, begin(), DATA, KEY, 40, 1, Adam(0.05), penalty)
    x, path = by_hand(40, 0.05, weight, anchor)
    assert steps == end.steps == 40
    np.testing.assert_allclose(end.x[0, 0], x, atol=1e-4)
    np.testing.assert_allclose(end.path[0][0, 0], path, rtol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(("rate", "steps"), [(0.02, 200), (0.002, 2000)])
def test_path_is_the_loss_drop_up_to_half_the_curvature_of_the_steps(rate, steps):
    run = tf.function(lambda: descend(quadratic, begin(), DATA, KEY, steps, 1, Adam(rate))[0])
    end = run()
    loss = [0.5 * (CURVATURE * np.square(x)).sum() for x in (START, end.x)]
    # Each of Adam's steps is at most about `rate`; -g d exceeds the drop by d H d / 2.
    excess = float(tf.reduce_sum(end.path[0])) - (loss[0] - loss[1])
    assert loss[1] < 0.05 * loss[0]
    assert 0 < excess < 0.5 * CURVATURE.sum() * rate**2 * steps


def test_a_descent_can_be_taken_up_and_its_path_is_optional():
    whole, steps = minimise(quadratic, tf.constant(START), DATA, KEY, Schedule(20, 1, Adam(0.05)))
    half, _ = descend(quadratic, begin(path=False), DATA, KEY, 10, 1, Adam(0.05))
    rest, _ = descend(quadratic, half, DATA, KEY, 10, 1, Adam(0.05))
    assert steps == rest.steps == 20
    assert rest.path == ()
    np.testing.assert_array_equal(rest.x, whole)


@pytest.mark.parametrize("size", [3, 4, 100])
def test_a_sum_over_pieces_counts_each_unmasked_row_once(size):
    values = np.arange(20, dtype=np.float32).reshape(2, 10, 1)
    mask = np.arange(10) < np.array([[10], [7]])
    data = tf.constant(values), tf.zeros([2, 10], tf.int32), tf.constant(mask)
    actual = total(
        lambda rows: tf.reduce_sum(rows.inputs[..., 0] * rows.mask[:, None], -1), data, size
    )
    np.testing.assert_array_equal(actual[:, 0], (values[..., 0] * mask).sum(axis=1))


def test_pieces_give_the_outputs_and_the_gradient_of_the_flat_vector():
    model = convnet.build(
        convnet.Settings(filters=(2,)), Problem("classification", (4, 4, 1), 3, 6, 1)
    )
    keys = seeds.block([0, 1], "pieces")
    flat = tf.constant(glorot(model, keys) + 0.1)
    images = tf.random.stateless_normal([2, 1, 5, 4, 4, 1], [0, 1])
    parts = parameter_layout.pieces(model, flat)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([flat, parts])
        one = model.forward(point(flat), images)
        two = model.forward(parameter_layout.point(model, parts), images)
    np.testing.assert_array_equal(one, two)
    joined = tf.concat(tape.gradient(two, parts), -1)
    np.testing.assert_allclose(tape.gradient(one, flat), joined, rtol=1e-6)


@pytest.mark.parametrize("optimiser", [Adam(0.05, decay=0.9), Sgd(0.05, decay=0.9)])
def test_a_repetition_with_fewer_minibatches_ends_as_it_does_alone(optimiser):
    """Of two repetitions with eight and nine rows, the first has an empty third minibatch."""
    mask = np.ones((2, 9), bool)
    mask[0, 8] = False
    inputs = np.random.default_rng(0).normal(size=(2, 9, 3)).astype(np.float32)
    start, keys = np.repeat(START, 2, axis=0), seeds.block(range(2), "rows")

    def mean_gradient(x, rows, step_seeds):
        weights = rows.mask / tf.reduce_sum(rows.mask, -1, keepdims=True)
        return x - tf.reduce_sum(rows.inputs[:, 0] * weights[..., None], 1)[:, None]

    def end(s):
        data = (tf.constant(a[s]) for a in (inputs, np.zeros((2, 9), int), mask))
        schedule = Schedule(3, 4, optimiser)
        return minimise(mean_gradient, tf.constant(start[s]), tuple(data), keys[s], schedule)[0]

    together = end(slice(2)).numpy()
    for s in (slice(0, 1), slice(1, 2)):
        np.testing.assert_array_equal(together[s], end(s))
