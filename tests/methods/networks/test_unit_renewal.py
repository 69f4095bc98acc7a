"""Renewal of units against the definitions in NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import mlp
from shiftbench.methods.networks import unit_renewal
from shiftbench.methods.networks.model import glorot, point
from shiftbench.methods.networks.optimisers import Descent
from shiftbench.methods.networks.unit_renewal import Renewal, Units

S, HIDDEN, N = 2, (4, 3), 5
MODEL = mlp.build(mlp.Settings(hidden=HIDDEN), Problem("classification", (2,), 3, N, 1))
KEY = seeds.block(range(S), "units")
X = np.random.default_rng(0).normal(size=(S, 1, N, 2)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.float32)


def begun() -> Descent:
    """Return an initial Descent with moments of one."""
    x = tf.constant(glorot(MODEL, KEY))
    x += 0.1 * tf.cast(MODEL.is_bias(), tf.float32)
    return Descent(x, tf.ones_like(x), tf.ones_like(x), tf.ones([S, 1, 1], tf.int32))


def hidden(x: tf.Tensor, inputs: np.ndarray = X) -> tf.Tensor:
    """Return the outputs of all hidden units [S, 1, n, U]."""
    found, exact = [], point(x)

    def linear(layer, values):
        found.append(values)
        return exact(layer, values)

    MODEL.forward(linear, tf.constant(inputs))
    return tf.concat(found[1:], -1)


def step(renewal: Renewal, at: Descent, units: Units, number: int = 0):
    key = tf.constant(seeds.fold_each(KEY, number))
    outputs = hidden(at.x)
    return unit_renewal.step(renewal, MODEL, at, units, outputs, tf.constant(MASK), key)


def matrices(x: np.ndarray, s: int) -> list[np.ndarray]:
    """Return the weights of each layer of a repetition."""
    flat = np.asarray(x)[s, 0]
    return [flat[one.weights].reshape(one.fan_in, one.fan_out) for one in MODEL.layers]


def test_utilities_are_traces_of_contributions():
    renewal, at, units = Renewal(0.0, 100, 0.9), begun(), unit_renewal.none_seen(MODEL, S)
    h = hidden(at.x).numpy()[:, 0]
    for number in range(3):
        at, units = step(renewal, at, units, number)
    for s in range(S):
        rows = h[s, : int(MASK[s].sum())]
        utility, output = np.zeros(7), np.zeros(7)
        w = matrices(at.x, s)
        ratio = [np.abs(b).mean(1) / np.abs(a).mean(0) for a, b in pairwise(w)]
        for t in range(1, 4):
            output = 0.9 * output + 0.1 * rows.mean(0)
            away = np.abs(rows - output / (1 - 0.9**t)).mean(0)
            utility = 0.9 * utility + 0.1 * away * np.concatenate(ratio)
        np.testing.assert_allclose(units.utility[s, 0], utility, rtol=1e-5)
        np.testing.assert_allclose(units.output[s, 0], output, rtol=1e-5)
        assert (units.age[s, 0].numpy() == 3).all()


def test_a_unit_without_incoming_weights_is_useless():
    at = begun()
    flat = at.x.numpy()
    incoming = flat[..., MODEL.layers[1].weights].reshape(S, 1, 4, 3)
    incoming[..., 1] = 0
    flat[..., MODEL.layers[1].weights] = incoming.reshape(S, 1, 12)
    at = at._replace(x=tf.constant(flat))
    _, units = step(Renewal(0.0, 100, 0.9), at, unit_renewal.none_seen(MODEL, S))
    assert np.isfinite(units.utility).all()
    assert (units.utility.numpy()[..., 4 + 1] == 0).all()


def after_replacement():
    """Return the states before and after one unit per layer is replaced, and the new units."""
    at, units = begun(), unit_renewal.none_seen(MODEL, S)
    for number in range(2):
        at, units = step(Renewal(0.0, 2, 0.9), at, units, number)
    # In the third step all units are mature; a share of 1/3 makes 4/3 and 1 units due.
    after, new = step(Renewal(1 / 3 + 1e-6, 2, 0.9), at, units, 2)
    return at, after, units, new


def test_the_unit_of_least_utility_is_made_new():
    at, after, before, new = after_replacement()
    _, seen = step(Renewal(0.0, 2, 0.9), at, before, 2)
    np.testing.assert_allclose(new.due, [[[1 / 3, 0.0]]] * S, atol=1e-5)
    for s in range(S):
        utility = seen.utility.numpy()[s, 0]
        worst = [int(utility[:4].argmin()), 4 + int(utility[4:].argmin())]
        assert np.flatnonzero(new.age[s, 0].numpy() == 0).tolist() == worst
        assert (new.utility[s, 0].numpy()[worst] == 0).all()
        old_w, new_w = matrices(at.x, s), matrices(after.x, s)
        first, second = worst[0], worst[1] - 4
        assert not np.isclose(old_w[0][:, first], new_w[0][:, first]).any()
        assert np.abs(new_w[0][:, first]).max() <= 1.0  # Glorot's bound, root of 6 / (2 + 4)
        # Outgoing weights of a new unit are 0, except to the new unit of the next layer.
        assert (np.delete(new_w[1][first], second) == 0).all()
        assert (new_w[2][second] == 0).all()
        kept = np.delete(np.delete(new_w[1], first, 0), second, 1)
        np.testing.assert_array_equal(kept, np.delete(np.delete(old_w[1], first, 0), second, 1))
        moments = matrices(after.second, s)
        assert (moments[0][:, first] == 0).all() and (moments[2][second] == 0).all()
        assert moments[0].sum() == 2 * 3


def test_the_next_biases_keep_the_mean_output_which_the_authors_code_loses():
    at, after, before, _ = after_replacement()
    _, seen = step(Renewal(0.0, 2, 0.9), at, before, 2)
    last = MODEL.layers[-1]
    for s in range(S):
        second = int(seen.utility.numpy()[s, 0, 4:].argmin())
        mean = seen.output.numpy()[s, 0, 4 + second] / (1 - 0.9**3)
        gained = (after.x.numpy() - at.x.numpy())[s, 0, last.biases]
        np.testing.assert_allclose(gained, mean * matrices(at.x, s)[2][second], atol=1e-6)
        assert np.abs(gained).max() > 1e-4


def test_no_unit_is_replaced_before_it_is_mature():
    at, units = begun(), unit_renewal.none_seen(MODEL, S)
    for number in range(3):
        after, units = step(Renewal(1.0, 3, 0.9), at, units, number)
        np.testing.assert_array_equal(after.x, at.x)
    after, units = step(Renewal(1.0, 3, 0.9), at, units, 3)
    assert (units.age.numpy() == 0).all()
    assert matrices(after.x, 0)[2] == pytest.approx(0)
