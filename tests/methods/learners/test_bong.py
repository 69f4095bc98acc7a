"""Filters of networks against numbers from published code, the Kalman filter and dense formulas.

The numbers come from rebayes (commit 3b88072) in float64; the network here computes in float32.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import bong, linear_gaussian
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks.model import Model, chain, point
from shiftbench.methods.posteriors import low_rank_gaussian
from tests.methods.networks import side_by_side

KEY = seeds.block([0], "bong")
# The toy problem: x_i = (1, sin i, cos 2i). Its 1 is the bias, the last parameter here.
NUMBERS = np.arange(1, 9)
FEATURES = np.stack([np.sin(NUMBERS), np.cos(2 * NUMBERS)], axis=-1)[None]
REAL = (np.sin(2 * NUMBERS) + 0.5)[None, :, None]
BINARY = np.array([[0, 1, 1, 0, 1, 0, 1, 1]])
MASK = np.ones((1, 8), bool)
REGRESSION = Problem("regression", (2,), 1, 8, 2)


def as_published(values):
    """Return the parameters with the bias first, as in the toy problem."""
    return np.roll(np.asarray(values)[0, 0], 1, axis=0)


@functools.cache
def regressor(rank, **settings):
    fields = {"prior_mean": "zero", "prior_sd": 0.5**0.5} | settings
    model = linear.build(linear.Settings(noise_sd=0.5), REGRESSION)
    return bong.build(bong.Settings(rank=rank, **fields), REGRESSION, model)


@functools.cache
def binary(rank):
    """Return a model with logits (0, x'w) of two classes, equivalent to one sigmoid."""
    layers = chain([("dense", 2, 1)])

    def forward(linear_map, inputs):
        out = linear_map(layers[0], tf.cast(inputs, tf.float32))
        return tf.concat([tf.zeros_like(out), out], -1)

    problem = Problem("classification", (2,), 2, 8, 2)
    settings = bong.Settings(rank=rank, prior_mean="zero", prior_sd=0.5**0.5)
    return bong.build(settings, problem, Model(layers, forward, "categorical"))


def learnt(learner, targets, **start):
    return learner.observe(learner.init(KEY) | start, Batch(FEATURES, targets, MASK), KEY)


PUBLISHED = {
    3: ((0.5213007569, 0.0675912610, 0.0474284566), (2, 2, 2), -13.7983270048),
    2: (
        (0.5076420892, 0.1472602842, 0.1504684647),
        (2.4494414683, 4.7063480389, 12.6139259936),
        -13.4292269845,
    ),
    1: (
        (0.5064126329, 0.0805824423, 0.1138762498),
        (5.0730978747, 16.0977200946, 15.1733990187),
        -13.4382689473,
    ),
    0: (
        (0.4355508906, 0.0851396866, 0.1501974878),
        (34, 20.1425200741, 17.5818587742),
        -12.7153787664,
    ),
}
"""Mean, diagonal D and sum of log predictive densities, by rank."""


@pytest.mark.parametrize("rank", PUBLISHED)
def test_regression_equals_the_published_code(rank):
    state, info = learnt(regressor(rank), REAL)
    mean, diagonal, evidence = PUBLISHED[rank]
    np.testing.assert_allclose(as_published(state["mean"]), mean, atol=2e-7)
    np.testing.assert_allclose(as_published(state["diagonal"]), diagonal, rtol=2e-6)
    np.testing.assert_allclose(info["log_evidence"], evidence, rtol=2e-7)
    # The diagonal of the precision is exact at any rank.
    whole = state["diagonal"] + (state["low_rank"] ** 2).sum(-1)
    np.testing.assert_allclose(as_published(whole), PUBLISHED[0][1], rtol=1e-6)


def test_classes_equal_the_published_code_without_a_jitter():
    start = np.array([-0.2, 0.3, 0.1])[None, None]
    state, _ = learnt(binary(0), BINARY, mean=start)
    expected = (0.3195014789, 0.1633444123, -0.0562185315)
    np.testing.assert_allclose(as_published(state["mean"]), expected, atol=2e-7)
    expected = (3.9383200724, 3.1005204176, 2.9410315528)
    np.testing.assert_allclose(as_published(state["diagonal"]), expected, rtol=1e-6)
    state, _ = learnt(binary(1), BINARY, mean=start)
    expected = (0.2684073484, 0.1344221827, -0.0369163823)
    np.testing.assert_allclose(as_published(state["mean"]), expected, atol=2e-7)
    expected = (2.1771606114, 2.8608562976, 2.7959903208)
    np.testing.assert_allclose(as_published(state["diagonal"]), expected, rtol=1e-6)
    low_rank = as_published(state["low_rank"])[:, 0]
    expected = np.array([1.3262517834, 0.4883644853, -0.3796124843])
    np.testing.assert_allclose(low_rank * np.sign(low_rank[0]), expected, rtol=1e-6)


def test_decay_and_process_noise_of_the_published_code_are_a_broadening():
    """A broadening to mean .9 m and covariance .9^2 S + .1 I replaces their prediction step."""
    low_rank = np.array([1.3262517834, 0.4883644853, -0.3796124843])[None, None, :, None]
    diagonal = np.array([2.1771606114, 2.8608562976, 2.7959903208])[None, None]
    posterior = np.ones((1, 1, 3)), low_rank, diagonal
    step = Broadening("ou", beta=0.9)
    posterior = low_rank_gaussian.broaden(*posterior, step, 0.0, 0.1 / (1 - 0.9**2))
    np.testing.assert_allclose(posterior[0], 0.9)
    expected = (2.1184456425, 2.6100664217, 2.5660726914)
    np.testing.assert_allclose(posterior[2][0, 0], expected, rtol=1e-9)
    expected = np.array([1.0575411767, 0.3651270756, -0.2855079639])
    actual = posterior[1][0, 0, :, 0]
    np.testing.assert_allclose(actual * np.sign(actual[0]), expected, rtol=1e-9)


@pytest.mark.parametrize(("batch_size", "gain"), [(1, "natural"), (3, "filter")])
def test_full_rank_is_the_kalman_filter_over_tasks_and_broadenings(batch_size, gain):
    learner = regressor(3, batch_size=batch_size, gain=gain)
    exact = linear_gaussian.build(
        linear_gaussian.Settings(noise_sd=0.5, prior_variance=0.5), REGRESSION
    )
    mine, other = learner.init(KEY), exact.init(KEY)
    for task, kind in enumerate(("geometric", "diffuse")):
        batch = Batch(FEATURES + task, REAL - task, MASK)
        (mine, info), (other, expected) = (
            one.observe(state, batch, KEY) for one, state in ((learner, mine), (exact, other))
        )
        np.testing.assert_allclose(info["log_evidence"], expected["log_evidence"], rtol=1e-6)
        widening = Broadening(kind, beta=0.6, variance=0.1)
        mine, other = learner.broaden(mine, widening), exact.broaden(other, widening)
        predictions = (
            one.predict(s, FEATURES, KEY) for one, s in ((learner, mine), (exact, other))
        )
        for a, b in zip(*predictions, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


PROBLEM = Problem("classification", (4,), 3, 20, 2)
NETWORK = mlp.build(mlp.Settings(hidden=(5,)), PROBLEM)


def labelled(seed=0, rows=20):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(1, rows, 4)).astype(np.float32)
    return Batch(inputs, rng.integers(0, 3, (1, rows)), np.ones((1, rows), bool))


@functools.cache
def classifier(**settings):
    return bong.build(bong.Settings(**settings), PROBLEM, NETWORK)


def dense_jacobian(mean, inputs):
    """Return the outputs [n, C] and their Jacobian [n, C, P] from TensorFlow."""
    with tf.GradientTape() as tape:
        parameters = tf.constant(mean, tf.float32)
        tape.watch(parameters)
        outputs = NETWORK.forward(point(parameters), inputs[:, None])[0, 0]
    return outputs.numpy(), tape.jacobian(outputs, parameters).numpy()[:, :, 0, 0]


@pytest.mark.long
@pytest.mark.parametrize("gain", ["filter", "natural"])
def test_a_step_of_a_network_equals_the_dense_formulas(gain):
    learner, batch = classifier(rank=2, gain=gain, prior_sd=0.7), labelled(rows=1)
    start = learner.init(KEY)
    low_rank = np.random.default_rng(1).normal(size=start["low_rank"].shape)
    state, info = learner.observe(start | {"low_rank": low_rank}, batch, KEY)
    outputs, jacobian = dense_jacobian(start["mean"], batch.inputs)
    p, j, label = softmax(outputs[0].astype(float)), jacobian[0].astype(float), batch.targets[0, 0]
    before = np.diag(start["diagonal"][0, 0]) + low_rank[0, 0] @ low_rank[0, 0].T
    whole = before - np.diag(start["diagonal"][0, 0]) + j.T @ (np.diag(p) - np.outer(p, p)) @ j
    values, vectors = np.linalg.eigh(whole)
    kept = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    np.testing.assert_allclose(state["low_rank"][0, 0] @ state["low_rank"][0, 0].T, kept, atol=1e-5)
    diagonal = start["diagonal"][0, 0] + np.diag(whole - kept)
    np.testing.assert_allclose(state["diagonal"][0, 0], diagonal, rtol=1e-5)
    precision = whole + np.diag(start["diagonal"][0, 0])
    if gain == "natural":
        precision = kept + np.diag(diagonal)
    step = np.linalg.solve(precision, j.T @ (np.eye(3)[label] - p))
    np.testing.assert_allclose((state["mean"] - start["mean"])[0, 0], step, atol=2e-6)
    variance = np.einsum("cp,pq,cq->c", j, np.linalg.inv(before), j)
    moderated = log_softmax(outputs[0] / np.sqrt(1 + np.pi / 8 * variance))
    np.testing.assert_allclose(info["log_evidence"][0, 0], moderated[label], rtol=1e-5)
    predicted = learner.predict(start | {"low_rank": low_rank}, batch.inputs, KEY)
    np.testing.assert_allclose(predicted.probabilities[0, 0, 0], np.exp(moderated), rtol=1e-5)


@pytest.mark.long
def test_the_evidence_is_that_of_predictions_before_each_row():
    learner, batch = classifier(), labelled()
    _, info = learner.observe(learner.init(KEY), batch, KEY)
    state, total = learner.init(KEY), 0.0
    for i in range(20):
        row = Batch(*(a[:, i : i + 1] for a in batch))
        predicted = learner.predict(state, row.inputs, KEY)
        total += np.log(predicted.probabilities[0, 0, 0, row.targets[0, 0]])
        state, _ = learner.observe(state, row, KEY)
    np.testing.assert_allclose(info["log_evidence"][0, 0], total, rtol=1e-6)


def test_predictions_do_not_depend_on_the_rows_beside(monkeypatch):
    learner, batch = classifier(), labelled()
    state = learner.init(KEY)
    state["low_rank"] = np.random.default_rng(1).normal(size=state["low_rank"].shape)
    whole = learner.predict(state, batch.inputs, KEY).probabilities
    monkeypatch.setattr(bong.extended_kalman, "NUMBERS_AT_ONCE", 300)
    pieces = bong.build(bong.Settings(), PROBLEM, NETWORK)
    np.testing.assert_allclose(
        pieces.predict(state, batch.inputs, KEY).probabilities, whole, rtol=1e-6
    )


@pytest.mark.long
def test_masked_rows_have_no_effect_wherever_they_are():
    learner, batch = classifier(rank=3, batch_size=4), labelled()
    mask = np.arange(20)[None] % 3 != 0
    inputs = np.where(mask[..., None], batch.inputs, 1e3).astype(np.float32)
    masked, info = learner.observe(learner.init(KEY), Batch(inputs, batch.targets, mask), KEY)
    few = Batch(*(a[:, mask[0]] for a in batch))
    state, expected = learner.observe(learner.init(KEY), few, KEY)
    np.testing.assert_allclose(masked["mean"], state["mean"], rtol=1e-6)
    np.testing.assert_allclose(info["log_evidence"], expected["log_evidence"], rtol=1e-6)


@pytest.mark.parametrize("where", ["inputs", "targets"])
def test_a_seed_that_diverges_harms_no_other(where):
    side_by_side.fails_alone(regressor(1), where, 2)
