"""Learning without forgetting against numbers of the formula, and with heads."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks import distillation
from shiftbench.methods.networks.distillation import Distillation
from tests.methods.learners.test_rehearsal import OLD, STORED, WEIGHTS, nll, numeric

S = 2
KEY = seeds.block(range(S), "distillation")
ONE = tf.ones((1, 1, 1))


def test_the_cross_entropy_equals_that_of_the_authors_formula():
    old = tf.constant(STORED[None, None], tf.float32)
    x = OLD.inputs.numpy()[0, 0]

    def value(weights):
        now = tf.constant((x @ weights)[None, None], tf.float64)
        heads, precise = tf.cast(ONE, tf.float64), tf.cast(old, tf.float64)
        return float(tf.reduce_mean(distillation.cross_entropy(precise, now, heads, 2.0)))

    weights = WEIGHTS[0, 0, :9].reshape(3, 3).astype(float)
    assert value(weights) == pytest.approx(1.1060497549, abs=1e-7)
    golden = [-0.0064038069, -0.0093197484, 0.0157235552]
    np.testing.assert_allclose(numeric(value)[0], golden, atol=1e-7)


def test_the_gradient_is_that_of_both_terms():
    """The teacher has zero weights, so its classes have equal probabilities."""
    model = linear.build(linear.Settings(), Problem("classification", (3,), 3, 4, 2))
    x, teacher = tf.constant(WEIGHTS), tf.zeros_like(WEIGHTS)
    rows = OLD.inputs.numpy()[0, 0].astype(float)

    def value(weights):
        z = rows @ weights / 3.0
        log_q = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return nll(slice(4, 8), weights) - 0.7 * log_q.mean()

    for taught in (True, False):
        expected = numeric(value if taught else lambda w: nll(slice(4, 8), w))
        of_minibatch = distillation.gradient(
            Distillation(0.7, 3.0), model, teacher, tf.fill((1, 1, 1), taught)
        )
        found = of_minibatch(x, OLD, KEY[:1]).numpy()[0, 0, :9].reshape(3, 3)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.long
def test_only_heads_of_earlier_tasks_are_held():
    """Head 1 is distilled in the second task; head 2 never is, so its parameters stay initial."""
    problem = Problem("classification", (3,), 6, 20, 3, heads=3)
    model = mlp.build(mlp.Settings(hidden=(4,)), problem)
    made = map_learner.Settings(
        epochs=20, batch_size=20, learning_rate=0.05, importance="none", prior="flat",
        start="prior", distil=2.0,
    )  # fmt: skip
    learner = map_learner.build(made, problem, model)
    state, rng, found = learner.init(KEY), np.random.default_rng(0), []
    assert not state["taught"].any()
    probe = rng.normal(size=(S, 20, 4)).astype(np.float32)
    for head in range(2):
        inputs = rng.normal(size=(S, 20, 4)).astype(np.float32)
        inputs[..., -1], probe[..., -1] = head, 0
        batch = Batch(inputs, 2 * head + (inputs[..., 0] > 0), np.ones((S, 20), bool))
        state, _ = learner.observe(state, batch, KEY)
        assert state["taught"].tolist() == [[[True, head > 0, False]]] * S
        found.append((state["mean"], learner.predict(state, probe, KEY).probabilities))
    last = model.layers[-1]
    (first, before), (second, after) = (
        (mean[..., last.weights].reshape(S, last.fan_in, 3, 2), p) for mean, p in found
    )
    moved = np.abs(second - first).max(axis=(0, 1, 3))
    assert (moved[:2] > 0.01).all() and moved[2] == 0
    plain = map_learner.build(made.__class__(**{**vars(made), "distil": 0.0}), problem, model)
    start = {name: found[0][0] if name == "mean" else a for name, a in plain.init(KEY).items()}
    without = plain.predict(plain.observe(start, batch, KEY)[0], probe, KEY).probabilities
    assert np.abs(after - before).mean() < 0.5 * np.abs(without - before).mean()
