"""FROMP against numbers of the authors' code, quadratic penalties and fine-tuning.

The numbers come from a network with one sigmoid output. With two classes, the penalty occurs twice
with the same kernel, so half of tau gives twice the gradient, and hence the same step of Adam.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import fromp
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks import functional_prior, linearised
from shiftbench.methods.networks.model import Model, chain
from shiftbench.methods.networks.optimisers import Adam, advance, begin
from shiftbench.methods.networks.training import Minibatch

KEY = seeds.block([0], "fromp")
# The toy problem: x_i = (1, sin i, cos 2i). Its 1 is the bias, the last parameter here.
NUMBERS = np.arange(1, 9)
FEATURES = np.stack([np.sin(NUMBERS), np.cos(2 * NUMBERS)], axis=-1)[None].astype(np.float32)
LABELS = np.array([[0, 1, 1, 0, 1, 0, 1, 1]])
PROBLEM = Problem("classification", (2,), 2, 8, 2)
LAYERS = chain([("dense", 2, 1)])
SETTINGS = fromp.Settings(
    size=2, tau=0.25, prior_precision=0.5, epochs=2, batch_size=8, learning_rate=0.01
)


def as_published(values):
    """Return the parameters with the bias first, as in the toy problem."""
    return np.roll(np.asarray(values)[0, 0], 1)


def sigmoid():
    """Return a model with logits (0, x'w) of two classes, equivalent to one sigmoid."""

    def forward(linear_map, inputs):
        out = linear_map(LAYERS[0], tf.cast(inputs, tf.float32))
        return tf.concat([tf.zeros_like(out), out], -1)

    return Model(LAYERS, forward, "categorical")


def first_task():
    learner = fromp.build(SETTINGS, PROBLEM, sigmoid())
    start = np.array([-0.2, 0.3, 0.1], np.float32)[None, None]
    batch = Batch(FEATURES, LABELS, np.ones((1, 8), bool))
    return learner.observe(learner.init(KEY) | {"mean": start}, batch, KEY)[0]


@pytest.mark.long
def test_two_tasks_equal_the_authors_code(monkeypatch):
    # The reference's gradient is twice ours, so its Adam epsilon of 1e-8 becomes 5e-9.
    monkeypatch.setattr(fromp, "Adam", functools.partial(Adam, epsilon=5e-9))
    state = first_task()
    expected = (0.1199918217, -0.1800039688, 0.2800036124)
    np.testing.assert_allclose(as_published(state["mean"]), expected, atol=2e-7)
    expected = (1.9675974295, 1.1210814995, 0.9514606565)
    np.testing.assert_allclose(as_published(state["fisher"]), expected, rtol=1e-6)
    inputs, mask = np.zeros((1, 1, 4, 2), np.float32), np.array([[[True, True, False, False]]])
    inputs[:, :, :2] = FEATURES[:, 4:6]
    memory = {"inputs": inputs, "mask": mask}
    rows = tuple(tf.constant((state | memory)[k][:, 0]) for k in ("inputs", "targets", "mask"))
    precision = tf.constant(state["fisher"] + 0.5)
    prior = functional_prior.functional_prior(
        sigmoid(), tf.constant(state["mean"]), precision, rows, 2
    )
    old = prior.probabilities[0, 0, 0, :, 1]
    np.testing.assert_allclose(old, (0.5144107422, 0.6002651152), rtol=1e-6)
    inverse = ((11.0493359822, -1.0076811802), (-1.0076811802, 18.4873582429))
    for c in range(2):
        np.testing.assert_allclose(prior.inverse[0, 0, 0, c], inverse, rtol=1e-5)
    steps = (
        (0.1099919478, -0.1900039518, 0.2700036236),
        (0.1012868464, -0.1999967518, 0.2600305268),
        (0.0960863247, -0.2099750820, 0.2501049654),
    )
    x, labels = (tf.constant(a) for a in (FEATURES[:, None, :4], 1 - LABELS[:, :4]))
    flipped = Minibatch(x, labels, tf.ones((1, 4)))
    start, fisher = (tf.constant(state[name]) for name in ("mean", "fisher"))
    gradient = fromp._gradient(SETTINGS, sigmoid(), 2, start, fisher, rows)
    adam = fromp.Adam(0.01)
    at = begin(adam, start)
    for expected in steps:
        at = advance(adam, at, gradient(at.x, flipped, KEY), 0)
        np.testing.assert_allclose(as_published(at.x), expected, atol=5e-7)


@pytest.mark.long
def test_with_linear_outputs_and_enough_rows_the_penalty_is_quadratic_in_the_weights(monkeypatch):
    """With P independent rows, J' (J S J')^-1 J = S^-1, which is the penalty of online EWC."""
    monkeypatch.setattr(functional_prior.tf.nn, "softmax", lambda outputs: outputs)
    monkeypatch.setattr(functional_prior, "JITTER", 0.0)
    problem = Problem("classification", (2,), 2, 3, 1)
    model = linear.build(linear.Settings(), problem)
    rng = np.random.default_rng(0)
    mean, x = (tf.constant(rng.normal(size=(1, 1, 6)), tf.float32) for _ in range(2))
    precision = rng.uniform(0.5, 2, 6)
    memory = tuple(map(tf.constant, (FEATURES[:, :3], LABELS[:, :3], np.ones((1, 3), bool))))
    prior = functional_prior.functional_prior(
        model, mean, tf.constant(precision[None, None], tf.float32), memory, 1
    )
    actual = functional_prior.gradient(model, x, prior)
    np.testing.assert_allclose(actual[0, 0], precision * (x - mean)[0, 0], rtol=2e-4, atol=3e-4)


TOY = Problem("classification", (4,), 3, 24, 2)
NETWORK = mlp.build(mlp.Settings(hidden=(5,)), TOY)
FIELDS = {"epochs": 3, "batch_size": 8}


@functools.cache
def classifier(**fields):
    return fromp.build(fromp.Settings(**{"size": 4} | FIELDS | fields), TOY, NETWORK)


def labelled(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(1, 24, 4)).astype(np.float32)
    return Batch(inputs, rng.integers(0, 3, (1, 24)), np.ones((1, 24), bool))


def two_tasks(learner):
    state = learner.init(KEY)
    for task in range(2):
        state, _ = learner.observe(state, labelled(task), KEY)
    return state


@pytest.mark.long
def test_without_a_memory_it_is_fine_tuning_to_the_byte():
    settings = map_learner.Settings(
        importance="none", prior="flat", units="row", start="prior", biases="penalised", **FIELDS
    )
    expected = two_tasks(map_learner.build(settings, TOY, NETWORK))["mean"]
    np.testing.assert_array_equal(two_tasks(classifier(size=0))["mean"], expected)


@pytest.mark.long
def test_the_penalty_holds_the_probabilities_of_the_memory():
    learner, free = classifier(tau=100.0, memory="random"), classifier(size=0)
    before, _ = learner.observe(learner.init(KEY), labelled(), KEY)
    rows = before["inputs"][:, 0, :4]
    moved = []
    for one in (learner, free):
        start = free.init(KEY) if one is free else before
        start = start | {"mean": before["mean"]}
        after, _ = one.observe(start, labelled(1), KEY)
        p, old = (learner.predict(s, rows, KEY).probabilities for s in (before | after, before))
        moved.append(np.abs(p - old).max())
    assert moved[0] < 0.5 * moved[1]


def test_a_gradient_of_a_network_is_that_of_the_penalty_by_differences():
    rng = np.random.default_rng(0)
    mean = tf.constant(rng.normal(size=(1, 1, NETWORK.size)), tf.float32)
    x = mean + tf.constant(0.1 * rng.normal(size=mean.shape), tf.float32)
    precision = tf.constant(rng.uniform(1, 3, mean.shape), tf.float32)
    batch = labelled()
    memory = tuple(tf.constant(a[:, :6]) for a in batch)
    memory = (*memory[:2], tf.constant([[True] * 5 + [False]]))
    prior = functional_prior.functional_prior(NETWORK, mean, precision, memory, 2)
    of_classes = functional_prior._with_probabilities(NETWORK)
    old, slopes = linearised.linearise(of_classes, mean, memory[0][:, None])
    new, new_slopes = linearised.linearise(of_classes, x, memory[0][:, None])
    j, jx = (linearised.jacobian(one).numpy()[0, 0].astype(float) for one in (slopes, new_slopes))
    d, expected = (new - old).numpy()[0, 0].astype(float), 0.0
    for rows in (slice(0, 3), slice(3, 5)):
        for c in range(3):
            kernel = j[rows, c] / precision[0, 0] @ j[rows, c].T + 1e-5 * np.eye(len(d[rows]))
            expected += jx[rows, c].T @ np.linalg.solve(kernel, d[rows, c])
    actual = functional_prior.gradient(NETWORK, x, prior)[0, 0]
    np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(("size", "rows"), [(4, {1, 4, 3, 5}), (2, {4, 3}), (5, {1, 4, 3, 5, 0})])
def test_memorable_rows_are_the_least_sure_ones_of_each_class(size, rows):
    of_first = np.array([0.1, 0.3, 0.9, 0.5, 0.55, 0.7, 0.5])
    p = np.stack([of_first, 1 - of_first], -1)[None]
    labels, mask = np.array([[1, 1, 1, 0, 1, 0, 0]]), np.array([[True] * 6 + [False]])
    assert {*fromp.memorable(p, labels, mask, [size])[0].tolist()} == rows


def test_only_the_heads_of_the_memory_are_held():
    problem = Problem("classification", (4,), 6, 20, 2, heads=2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    rng = np.random.default_rng(0)
    mean, x = (tf.constant(rng.normal(size=(1, 1, model.size)), tf.float32) for _ in range(2))
    inputs = np.concatenate([labelled().inputs[:, :4], np.zeros((1, 4, 1))], -1).astype(np.float32)
    memory = tf.constant(inputs), tf.zeros((1, 4), tf.int32), tf.ones((1, 4), tf.bool)
    prior = functional_prior.functional_prior(model, mean, tf.ones_like(mean), memory, 1)
    held = functional_prior.gradient(model, x, prior)[0, 0].numpy() != 0
    of_outputs = held[model.layers[1].weights].reshape(5, 2, 3)
    assert of_outputs[:, 0].any() and not of_outputs[:, 1].any()
