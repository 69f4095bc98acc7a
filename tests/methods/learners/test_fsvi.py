"""S-FSVI against divergences of normals, those of the weights of linear models, and plain fits."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import fsvi
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks import context_rows, function_divergence, mean_field
from shiftbench.methods.networks.context_rows import Context, Situation
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.networks.model import Model, chain, point
from shiftbench.methods.networks.training import Minibatch

KEY = seeds.block([0], "fsvi")
# The toy problem: x_i = (1, sin i, cos 2i); its 1 is the bias, which is the last parameter here.
NUMBERS = np.arange(1, 4)
ROWS = np.stack([np.sin(NUMBERS), np.cos(2 * NUMBERS)], axis=-1)[None, None].astype(np.float32)
LAYERS = chain([("dense", 2, 1)])
ONE_OUTPUT = Model(LAYERS, lambda of_layer, inputs: of_layer(LAYERS[0], inputs), "gaussian")
EVERY = tf.ones((1, 3))


def posterior(mean, sd):
    """A posterior [1, 1, P] of these numbers."""
    return MeanField(*(tf.constant(np.array(a)[None, None], tf.float32) for a in (mean, sd)))


def between(model, q, p, inputs, covariance, mask=EVERY):
    """The divergence of two posteriors' outputs for some rows."""
    ours, theirs = (
        function_divergence.outputs(model, one, tf.constant(inputs), covariance) for one in (q, p)
    )
    return function_divergence.divergence(ours, theirs, mask).numpy()


@pytest.mark.parametrize(
    ("covariance", "expected"), [("full", 2.856275038914), ("diagonal", 2.448402315622)]
)
def test_the_divergence_of_three_rows_of_a_linear_model(monkeypatch, covariance, expected):
    monkeypatch.setattr(function_divergence, "JITTER", 0.0)
    q = posterior([-0.2, 0.3, 0.1], [0.3, 0.1, 0.2])
    p = posterior([0.0, 0.0, 0.0], [0.5**0.5] * 3)
    actual = between(ONE_OUTPUT, q, p, ROWS, covariance)
    np.testing.assert_allclose(actual, [[expected]], rtol=5e-6)
    padded = np.concatenate([ROWS, np.full((1, 1, 2, 2), 9.0, np.float32)], axis=2)
    mask = tf.constant([[1.0, 1, 1, 0, 0]])
    actual = between(ONE_OUTPUT, q, p, padded, covariance, mask)
    np.testing.assert_allclose(actual, [[expected]], rtol=5e-6)


def test_with_enough_rows_of_a_linear_model_it_is_the_divergence_of_the_weights(monkeypatch):
    """Value and gradient, of three outputs with three parameters each."""
    monkeypatch.setattr(function_divergence, "JITTER", 0.0)
    problem = Problem("classification", (2,), 3, 3, 1)
    model = linear.build(linear.Settings(), problem)
    rng = np.random.default_rng(0)
    q, p = (posterior(rng.normal(size=9), rng.uniform(0.2, 0.9, 9)) for _ in range(2))
    with tf.GradientTape() as tape:
        tape.watch([*q])
        kl = mean_field.gaussian_divergence(q, p, np.ones(9, np.float32))
    expected = tape.gradient(kl, [*q])
    np.testing.assert_allclose(between(model, q, p, ROWS, "full"), kl, rtol=2e-5)
    prior = function_divergence.outputs(model, p, tf.constant(ROWS), "full")
    context = Context(tf.constant(ROWS), EVERY)
    # A mean over three rows.
    for ours, theirs in zip(
        function_divergence.gradient(model, q, prior, context, "full"), expected, strict=True
    ):
        np.testing.assert_allclose(3 * ours, theirs, rtol=2e-3, atol=2e-3)


HEADED = Problem("classification", (4,), 4, 20, 2, heads=2)
IMAGES = Problem("classification", (4, 4, 1), 3, 20, 2)
MODELS = {
    "heads": (mlp.build(mlp.Settings(hidden=(5, 3)), HEADED), HEADED),
    "convolutions": (convnet.build(convnet.Settings(filters=(2, 3)), IMAGES), IMAGES),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_covariances_of_outputs_are_those_of_the_tapes_jacobian(name):
    model, problem = MODELS[name]
    rng = np.random.default_rng(0)
    q = MeanField(
        tf.constant(0.3 * rng.normal(size=(1, 2, model.size)), tf.float32),
        tf.constant(rng.uniform(0.1, 0.5, (1, 2, model.size)), tf.float32),
    )
    inputs = rng.normal(size=(1, 1, 3, *problem.row_shape)).astype(np.float32)
    if problem.heads > 1:
        inputs[..., -1] = [0, 1, 0]
    with tf.GradientTape() as tape:
        tape.watch(q.mean)
        out = model.forward(point(q.mean), tf.constant(inputs))
    whole = tape.jacobian(out, q.mean).numpy()
    j = np.stack([whole[0, h, :, :, 0, h] for h in range(2)]).astype(float)
    full = np.einsum("hncp,hp,hmcp->hcnm", j, q.sd[0].numpy() ** 2, j)
    actual = function_divergence.outputs(model, q, tf.constant(inputs), "full")
    np.testing.assert_allclose(actual.mean, out, rtol=1e-6)
    np.testing.assert_allclose(actual.spread[0], full, rtol=1e-4, atol=1e-6)
    diagonal = function_divergence.outputs(model, q, tf.constant(inputs), "diagonal").spread[0]
    expected = np.diagonal(full, axis1=-2, axis2=-1).swapaxes(-1, -2)
    np.testing.assert_allclose(diagonal, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_gradient_passes_through_the_linearisation(covariance):
    model, _ = MODELS["heads"]
    rng = np.random.default_rng(1)
    mean, sd = rng.normal(size=model.size), rng.uniform(0.1, 0.5, model.size)
    q = posterior(mean, sd)
    inputs = rng.normal(size=(1, 1, 4, 5)).astype(np.float32)
    inputs[..., -1] = [0, 1, 0, 1]
    context = Context(tf.constant(inputs), tf.constant([[1.0, 1, 1, 0]]))
    old = posterior(mean + 0.1 * rng.normal(size=model.size), 0.8 * sd)
    prior = function_divergence.outputs(model, old, context.inputs, covariance)
    actual = function_divergence.gradient(model, q, prior, context, covariance)

    def loss(*moved):
        now = function_divergence.outputs(model, posterior(*moved), context.inputs, covariance)
        return function_divergence.divergence(now, prior, context.mask).numpy()[0, 0] / 3

    step = 1e-3
    for k in rng.choice(model.size, 12, replace=False):
        unit = step * np.eye(model.size)[k]
        in_mean = (loss(mean + unit, sd) - loss(mean - unit, sd)) / (2 * step)
        in_sd = (loss(mean, sd + unit) - loss(mean, sd - unit)) / (2 * step)
        np.testing.assert_allclose(actual.mean[0, 0, k], in_mean, rtol=0.02, atol=0.02)
        np.testing.assert_allclose(actual.sd[0, 0, k], in_sd, rtol=0.02, atol=0.02)


def test_outputs_of_other_heads_do_not_count_in_the_first_task():
    model, _ = MODELS["heads"]
    rng = np.random.default_rng(2)
    q = posterior(rng.normal(size=model.size), rng.uniform(0.1, 0.5, model.size))
    inputs = rng.normal(size=(1, 1, 3, 5)).astype(np.float32)
    inputs[..., -1] = 1
    for covariance in ("diagonal", "full"):
        now = function_divergence.outputs(model, q, tf.constant(inputs), covariance)
        prior = function_divergence.independent(2.0, now)
        kl = function_divergence.divergence(now, prior, EVERY).numpy()[0, 0]
        mean, spread = now.mean.numpy()[0, 0, :, 2:], now.spread.numpy()[0, 0]
        if covariance == "full":
            expected = 0.0
            for c in range(2):
                k = spread[2 + c] + 1e-6 * np.eye(3)
                expected += np.trace(k) / 4 + mean[:, c] @ mean[:, c] / 4 - 3
                expected += 3 * np.log(4) - np.linalg.slogdet(k)[1]
            np.testing.assert_allclose(kl, expected / 2, rtol=1e-4)
        else:
            ratio = (spread[:, 2:] + 1e-6) / 4
            expected = 0.5 * (ratio - 1 - np.log(ratio) + mean**2 / 4).sum()
            np.testing.assert_allclose(kl, expected, rtol=1e-4)


def test_noise_lies_between_the_bounds_and_has_the_heads_that_are_known():
    rows = Minibatch(tf.zeros((2, 1, 3, 5)), tf.zeros((2, 3), tf.int32), tf.ones((2, 3)))
    heads = tf.constant([[True, False, True], [False, True, False]])
    situation = Situation(
        tf.constant([True, True]), heads, tf.constant([0.0, -2.0]), tf.constant([1.0, 5.0])
    )
    keys = seeds.block([0, 1], "noise")
    context = context_rows.of_task("uniform", 200, situation, rows, tf.constant(keys))
    numbers, head = context.inputs.numpy()[..., :-1], context.inputs.numpy()[:, 0, :, -1]
    assert (context.mask.numpy() == 1).all()
    assert numbers[0].min() >= 0 and numbers[0].max() <= 1 and numbers[0].max() > 0.9
    assert numbers[1].min() >= -2 and numbers[1].max() <= 5 and numbers[1].max() > 4.5
    assert {*head[0]} == {0.0, 2.0} and {*head[1]} == {1.0}


def test_more_rows_than_a_minibatch_or_a_memory_has_are_masked():
    rows = Minibatch(tf.zeros((1, 1, 3, 4)), tf.zeros((1, 3), tf.int32), tf.constant([[1.0, 1, 0]]))
    situation = Situation(tf.constant([False]), tf.ones((1, 1), tf.bool), *2 * [tf.zeros(1)])
    own = context_rows.of_task("minibatch", 5, situation, rows, tf.constant(KEY))
    assert own.mask.numpy().tolist() == [[1, 1, 0, 0, 0]]
    inputs = np.arange(4, dtype=np.float32)[None, :, None]
    mask = tf.constant([[False, True, False, True]])
    memory = tf.constant(inputs), tf.zeros((1, 4), tf.int32), mask
    old = context_rows.of_memory(memory, 6, tf.constant(KEY))
    kept = old.inputs.numpy()[0, 0, :, 0][old.mask.numpy()[0] > 0]
    assert sorted(kept.tolist()) == [1.0, 3.0]


TOY = Problem("classification", (4,), 3, 24, 2)
NETWORK = mlp.build(mlp.Settings(hidden=(5,)), TOY)
FIELDS = {"size": 4, "context_rows": 6, "epochs": 3, "batch_size": 8, "draws": 2}


@functools.cache
def classifier(**fields):
    return fsvi.build(fsvi.Settings(**FIELDS | fields), TOY, NETWORK)


def labelled(seed=0, repetitions=1):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(repetitions, 24, 4)).astype(np.float32)
    return Batch(inputs, rng.integers(0, 3, (repetitions, 24)), np.ones((repetitions, 24), bool))


def two_tasks(learner, key=KEY, data=labelled):
    state = learner.init(key)
    for task in range(2):
        state, info = learner.observe(state, data(task), key)
    return state, info


@pytest.mark.long
def test_without_weight_the_memory_changes_nothing():
    ours = two_tasks(classifier(kl_scale=0.0))[0]
    plain = two_tasks(classifier(kl_scale=0.0, size=0, context="minibatch"))[0]
    for name in ("mean", "sd"):
        np.testing.assert_array_equal(ours[name], plain[name])
    held = two_tasks(classifier())[0]
    assert (held["mean"] != ours["mean"]).any()


@pytest.mark.long
def test_the_divergence_holds_the_outputs_of_the_memory():
    firm, free = classifier(kl_scale=100.0), classifier(kl_scale=0.0)
    before, _ = firm.observe(firm.init(KEY), labelled(), KEY)
    rows = before["inputs"][:, 0, :4]
    moved = []
    for one in (firm, free):
        after, _ = one.observe(before, labelled(1), KEY)
        p, old = (one.predict(s, rows, KEY).probabilities for s in (after, before))
        moved.append(np.abs(p - old).max())
    assert moved[0] < 0.5 * moved[1]


@pytest.mark.long
def test_padded_rows_never_count():
    def padded(task):
        batch = labelled(task)
        rest = [np.concatenate([a, np.full_like(a[:, :9], 7)], axis=1) for a in batch]
        rest[2][:, 24:] = False
        return Batch(*rest)

    for fields in ({}, {"size": 0, "context": "minibatch"}, {"size": 0}):
        short, _ = two_tasks(classifier(**fields))
        long, _ = two_tasks(classifier(**fields), data=padded)
        for name in short:
            np.testing.assert_array_equal(short[name], long[name], err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("fields", [{}, {"size": 0}, {"covariance": "full"}])
def test_several_seeds_at_once_equal_each_alone(fields):
    keys = seeds.block([3, 8, 5], "several")
    together, info = two_tasks(classifier(**fields), keys, lambda t: labelled(t, 3))
    for s in range(3):
        alone, own = two_tasks(
            classifier(**fields),
            keys[s : s + 1],
            lambda t, s=s: Batch(*(a[s : s + 1] for a in labelled(t, 3))),
        )
        for name in ("mean", "sd"):
            np.testing.assert_allclose(together[name][s], alone[name][0], rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(together["inputs"][s], alone["inputs"][0])
        ours, theirs = info["log_likelihood"][s], own["log_likelihood"][0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.long
def test_two_hypotheses_at_once_equal_each_alone():
    learner = classifier(estimator="flipout")
    first, _ = learner.observe(learner.init(KEY), labelled(), KEY)
    apart = [first, first | {"mean": 0.9 * first["mean"], "sd": 2 * first["sd"]}]
    both = first | {k: np.concatenate([a[k] for a in apart], 1) for k in ("mean", "sd")}
    together, _ = learner.observe(both, labelled(1), KEY)
    for h, state in enumerate(apart):
        alone, _ = learner.observe(state, labelled(1), KEY)
        for name in ("mean", "sd"):
            actual = together[name][:, h : h + 1]
            np.testing.assert_allclose(actual, alone[name], rtol=1e-3, atol=1e-5)


@pytest.mark.long
def test_the_memory_has_rows_of_each_task():
    state, _ = two_tasks(classifier())
    assert state["mask"].sum() == 8 and state["tasks"].item() == 2
    for task in range(2):
        rows = state["inputs"][0, 0, 4 * task : 4 * task + 4]
        assert all((labelled(task).inputs[0] == row).all(axis=-1).any() for row in rows)


@pytest.mark.long
def test_without_a_memory_earlier_heads_are_held():
    problem = Problem("classification", (4,), 6, 24, 2, heads=2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = fsvi.Settings(**FIELDS | {"size": 0})
    learner = fsvi.build(settings, problem, model)

    def of_head(task):
        batch = labelled(task)
        head = np.full((1, 24, 1), task, np.float32)
        inputs = np.concatenate([batch.inputs, head], axis=-1)
        return batch._replace(inputs=inputs, targets=batch.targets + 3 * task)

    first, _ = learner.observe(learner.init(KEY), of_head(0), KEY)
    second, _ = learner.observe(first, of_head(1), KEY)
    assert first["heads"].tolist() == [[[True, False]]]
    assert second["heads"].tolist() == [[[True, True]]]
    moved = (second["mean"] != first["mean"])[0, 0, model.layers[1].weights].reshape(5, 2, 3)
    # Also the old head, which the divergence pulls while the layer below it moves.
    assert moved.any(axis=(0, 2)).all()
    untouched = first["mean"][0, 0, model.layers[1].biases][3:]
    assert (untouched == 0).all()
