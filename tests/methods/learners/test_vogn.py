"""VOGN, and per-example gradients under several weight draws, against exact answers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import vogn
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.models._model import log_likelihood, point
from shiftbench.methods.networks import example_gradients, natural_gradient
from shiftbench.methods.networks.training import Minibatch

NOISE = 0.5


def informative_regression(covariance, prior_precision, prior_mean, n=40, seed=0):
    """Data whose empirical Fisher under q is its information, and the exact posterior.

    The curvature that VOGN and SLANG estimate is E_q sum_i x_i x_i' r_i^2 / noise^4, with
    residuals r; the information is sum_i x_i x_i' / noise^2. Here each x_i has two targets,
    x_i w + c_i and x_i w - c_i, with c_i such that the mean of E_q r^2 over both is noise^2.
    covariance: (information, prior precision) -> covariance [p, p] of the q at the fixed point.
    Returns batch, information, exact posterior mean.
    """
    rng = np.random.default_rng(seed)
    design = np.concatenate([rng.normal(size=(n, 3)), np.ones((n, 1))], axis=1)
    design[:, 1] += 0.7 * design[:, 0]
    w = np.array([0.8, -0.5, 1.1, 0.3])  # of all tasks: a carried prior agrees with the data
    information = 2 * design.T @ design / NOISE**2
    precision = information + prior_precision
    mean = np.linalg.solve(precision, information @ w + prior_precision @ prior_mean)
    spread = np.einsum("np,pq,nq->n", design, covariance(information, prior_precision), design)
    c = np.sqrt(NOISE**2 - (design @ (w - mean)) ** 2 - spread)
    targets = np.concatenate([design @ w + c, design @ w - c])
    inputs = np.concatenate([design, design])[:, :3]
    batch = Batch(
        inputs[None].astype("f4"), targets[None, :, None].astype("f4"), np.ones((1, 2 * n), bool)
    )
    return batch, information, mean


def diagonal_covariance(information, prior_precision):
    return np.diag(1 / np.diag(information + prior_precision))


# Each is built once, since tracing is what takes time here.
@functools.cache
def regressor(module, **settings):
    problem = Problem("regression", (3,), 1, 80, 2)
    model = linear.build(linear.Settings(noise_sd=NOISE), problem)
    quick = {"epochs": 800, "batch_size": 80, "draws": 40, "alpha": 0.1, "beta": 0.02}
    settings = quick | {"initial_precision": (2.0,)} | settings
    return module.build(module.Settings(**settings), problem, model)


def test_reaches_its_exact_fixed_point_on_a_linear_model_and_from_a_carried_prior():
    learner = regressor(vogn)
    key = seeds.block([0], "vogn")
    state = learner.init(key)
    precision, mean = np.eye(4), np.zeros(4)
    for task in range(2):
        batch, information, exact = informative_regression(
            diagonal_covariance, precision, mean, seed=task
        )
        state, _ = learner.observe(state, batch, key)
        expected = np.diag(information + precision)
        np.testing.assert_allclose(state["precision"][0, 0], expected, rtol=0.01)
        assert np.abs((state["mean"][0, 0] - exact) * np.sqrt(expected)).max() < 0.2
        # What was carried is the prior of the next task, as it is.
        precision = np.diag(state["precision"][0, 0].astype(float))
        mean = state["mean"][0, 0].astype(float)


def test_elbo_equals_its_closed_form():
    batch, _, _ = informative_regression(diagonal_covariance, np.eye(4), np.zeros(4))
    learner = regressor(vogn, epochs=300, elbo_draws=1000)
    key = seeds.block([0], "elbo")
    state, info = learner.observe(learner.init(key), batch, key)
    m, v = state["mean"][0, 0], 1 / state["precision"][0, 0]
    design = np.concatenate([batch.inputs[0], np.ones((80, 1))], axis=1)
    square = (batch.targets[0, :, 0] - design @ m) ** 2 + design**2 @ v
    log_lik = -0.5 * np.log(2 * np.pi * NOISE**2) - square / (2 * NOISE**2)
    kl = 0.5 * (v + m**2 - 1 - np.log(v)).sum()
    np.testing.assert_allclose(info["elbo"][0, 0], log_lik.sum() - kl, atol=0.3)
    np.testing.assert_allclose(info["kl"][0, 0], kl, rtol=1e-4)


def test_one_step_is_equation_52_with_heavy_ball_and_with_exponential_momentum():
    rng = np.random.default_rng(0)
    mean, old, g, velocity = (rng.normal(size=(1, 1, 5)).astype("f4") for _ in range(4))
    p, square, prior = (rng.uniform(1, 2, (1, 1, 5)).astype("f4") for _ in range(3))
    now = vogn._Iterate(*map(tf.constant, (mean, p, p**-0.5, velocity)), tf.zeros((1, 1, 5), bool))
    for gain in (1.0, 1 - 0.9):
        rates = vogn._Rates(0.1, 0.3, 0.9, gain)
        new = vogn._update(
            rates,
            now,
            vogn._Gaussian(old, prior),
            -g,
            square,
            tf.constant([7.0]),
            tf.constant([70.0]),
        )
        precision = 0.7 * p + 0.3 * (10 * square + prior)
        moved = 0.9 * velocity + gain * (10 * g + prior * (mean - old)) / precision
        np.testing.assert_allclose(new.precision, precision, rtol=1e-5)
        np.testing.assert_allclose(new.mean, mean - 0.1 * moved, rtol=1e-4, atol=1e-5)


def test_one_whole_step_is_bayes_with_the_new_precision_and_not_with_the_old_of_equation_53():
    """Rates of 1 and the exact curvature h of a quadratic: eq. 52 is Newton's step."""
    h, optimum, prior_mean = (np.array([v], "f4").reshape(1, 1, 1) for v in (3.0, 0.8, -0.5))
    mean, old, prior = (np.full((1, 1, 1), v, "f4") for v in (2.0, 7.0, 1.5))
    gradient = h * (mean - optimum)
    now = vogn._Iterate(
        *map(tf.constant, (mean, old, old**-0.5, 0 * mean)), tf.zeros((1, 1, 1), bool)
    )
    one = tf.constant([1.0])
    new = vogn._update(
        vogn._Rates(1.0, 1.0, 0.0, 1.0),
        now,
        vogn._Gaussian(prior_mean, prior),
        -gradient,
        h,
        one,
        one,
    )
    exact = (h * optimum + prior * prior_mean) / (h + prior)
    np.testing.assert_allclose(new.precision, h + prior)
    np.testing.assert_allclose(new.mean, exact, rtol=1e-6)
    printed = mean - (gradient + prior * (mean - prior_mean)) / old
    assert abs(printed - exact).item() > 0.3


MODELS = {
    "mlp": lambda p: mlp.build(mlp.Settings(hidden=(5, 4)), p),
    "convnet": lambda p: convnet.build(convnet.Settings(filters=(2,)), p),
}
DRAWS = 3


@pytest.fixture(params=MODELS)
def network(request):
    """(model, parameters [1, 2 DRAWS, P], rows with the last one masked, gradients of each)."""
    model = MODELS[request.param](Problem("classification", (4, 4, 1), 3, 6, 1))
    rng = np.random.default_rng(0)
    parameters = tf.constant(0.4 * rng.normal(size=(1, 2 * DRAWS, model.size)), tf.float32)
    inputs = tf.constant(rng.normal(size=(1, 1, 6, 4, 4, 1)), tf.float32)
    targets = tf.constant(rng.integers(0, 3, (1, 6)))
    rows = Minibatch(inputs, targets, tf.constant([[1.0, 1, 1, 1, 1, 0]]))
    gradients_of_examples = np.zeros((2 * DRAWS, 6, model.size))
    for k in range(2 * DRAWS):
        for i in range(5):
            with tf.GradientTape() as tape:
                tape.watch(parameters)
                out = model.forward(point(parameters), inputs[:, :, i : i + 1])
                value = log_likelihood(model, out, targets[:, i : i + 1])[0, k, 0]
            gradients_of_examples[k, i] = tape.gradient(value, parameters)[0, k].numpy()
    return model, parameters, rows, gradients_of_examples.reshape(2, DRAWS * 6, -1)


def test_moments_over_rows_and_draws_equal_a_loop_over_examples(network):
    model, parameters, rows, gradients_of_examples = network
    _, passed = example_gradients.signals(model, point(parameters), rows)
    gradients, squares = example_gradients.moments(passed, DRAWS)
    np.testing.assert_allclose(
        gradients[0], gradients_of_examples.sum(axis=1), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(
        squares[0], (gradients_of_examples**2).sum(axis=1), rtol=1e-3, atol=1e-6
    )


def test_products_with_the_gradients_equal_those_with_the_matrix_of_a_loop(network):
    model, parameters, rows, gradients_of_examples = network
    _, passed = example_gradients.signals(model, point(parameters), rows)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(1, 2, model.size, 3)).astype("f4")
    weights = rng.normal(size=(1, 2, DRAWS * 6, 3)).astype("f4")
    near = {"rtol": 1e-3, "atol": 1e-4}
    actual = example_gradients.gram(passed, DRAWS)
    np.testing.assert_allclose(
        actual[0], gradients_of_examples @ gradients_of_examples.swapaxes(1, 2), **near
    )
    actual = example_gradients.inner_products(passed, tf.constant(vectors), DRAWS)
    np.testing.assert_allclose(actual[0], gradients_of_examples @ vectors[0], **near)
    actual = example_gradients.combinations(passed, tf.constant(weights), DRAWS)
    np.testing.assert_allclose(actual[0], gradients_of_examples.swapaxes(1, 2) @ weights[0], **near)


@pytest.mark.parametrize("name", MODELS)
def test_the_fused_draws_give_the_moments_of_explicit_weights(name):
    model = MODELS[name](Problem("classification", (4, 4, 1), 3, 6, 1))
    rng = np.random.default_rng(0)
    mean = tf.constant(rng.normal(size=(2, 1, model.size)), tf.float32)
    sd = tf.constant(rng.uniform(0.1, 0.3, (2, 1, model.size)), tf.float32)
    inputs = tf.constant(rng.normal(size=(2, 1, 6, 4, 4, 1)), tf.float32)
    rows = Minibatch(inputs, tf.constant(rng.integers(0, 3, (2, 6))), tf.ones((2, 6)))
    noise = rng.normal(size=(2, 4 * model.size)).astype("f4")
    actual = vogn._gradient_moments(4, model, mean, sd, rows, tf.constant(noise))
    together = 1 if name == "convnet" else 4
    sums = []
    for part in np.split(noise, 4 // together, axis=1):
        eps = np.empty((2, together, model.size), np.float32)
        for layer in model.layers:
            for where, wide in ((layer.weights, layer.fan_in), (layer.biases, 1)):
                chunk = part[:, together * where.start : together * where.stop]
                shape = [2, wide, together, layer.fan_out]
                if layer is model.layers[0]:
                    chunk = chunk.reshape(shape).swapaxes(1, 2)
                eps[:, :, where] = chunk.reshape(2, together, -1)
        _, passed = example_gradients.signals(model, point(mean + sd * eps), rows)
        sums.append(example_gradients.moments(passed, together))
    for got, expected in zip(actual, zip(*sums, strict=True), strict=True):
        np.testing.assert_allclose(got, sum(expected) / 4, rtol=1e-3, atol=1e-5)


@functools.cache
def classifier(**settings):
    problem = Problem("classification", (4,), 3, 20, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = {"epochs": 3, "batch_size": 8, "draws": 3} | settings
    return vogn.build(vogn.Settings(**settings), problem, model)


def labelled(n=20, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(1, n, 4)).astype(np.float32)
    return Batch(inputs, rng.integers(0, 3, (1, n)), np.ones((1, n), bool))


def test_masked_rows_have_no_effect():
    learner, key = classifier(), seeds.block([0], "mask")
    batch = labelled()._replace(mask=np.arange(20)[None] < 13)
    other = batch._replace(inputs=np.where(batch.mask[..., None], batch.inputs, 1e3))
    one, _ = learner.observe(learner.init(key), batch, key)
    two, _ = learner.observe(learner.init(key), other, key)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_a_seed_with_fewer_rows_than_another_learns_as_alone():
    learner, key = classifier(), seeds.block([0, 1], "fewer")
    batch = Batch(*(np.concatenate([a, a]) for a in labelled()))
    short = batch._replace(mask=np.arange(20)[None] < np.array([[6], [20]]))
    both, _ = learner.observe(learner.init(key), short, key)
    alone = Batch(*(a[:1] for a in short))
    one, _ = learner.observe(learner.init(key[:1]), alone, key[:1])
    np.testing.assert_allclose(both["mean"][0], one["mean"][0], rtol=1e-4, atol=1e-5)


def test_parameters_that_no_row_touches_keep_their_prior():
    learner, key = classifier(prior_sd=0.7), seeds.block([0], "untouched")
    batch = labelled()
    batch.inputs[..., 2] = 0.0
    state, _ = learner.observe(learner.init(key), batch, key)
    weights = state["mean"][0, 0, :20].reshape(4, 5)
    precision = state["precision"][0, 0, :20].reshape(4, 5)
    assert (weights[2] == 0).all() and (weights[[0, 1, 3]] != 0).all()
    np.testing.assert_allclose(precision[2], 0.7**-2, rtol=1e-6)
    assert (np.abs(precision[[0, 1, 3]] - 0.7**-2) > 1e-3).all()


def test_each_task_starts_with_its_own_precision_and_means():
    tasks, count = np.array([[0], [1], [5]]), np.array([10, 10, 20])
    per_task = natural_gradient.first_precision((4e3, 4e4), "task", tasks, count)
    np.testing.assert_array_equal(per_task, np.array([[4e3], [4e4], [4e4]]))
    per_example = natural_gradient.first_precision((20.0,), "example", tasks, count)
    np.testing.assert_array_equal(per_example, np.array([[200], [200], [400]]))
    key = seeds.block([0], "start")
    for start, moved in (("fresh", True), ("prior", False)):
        tiny = {"alpha": 1e-9, "epochs": 1, "start": start}
        learner = classifier(**tiny)
        first, _ = learner.observe(learner.init(key), labelled(), key)
        fan_in = np.repeat([4, 4, 5, 5], [20, 5, 15, 3])
        assert (np.abs(first["mean"][0, 0]) <= fan_in**-0.5 + 1e-6).all()
        second, _ = learner.observe(first, labelled(), seeds.block([1], "start"))
        assert np.allclose(first["mean"], second["mean"], atol=1e-6) != moved
        assert (first["tasks"] == 1).all() and (second["tasks"] == 2).all()


def test_predictions_have_the_exact_mean_and_variance_of_a_linear_model():
    learner = regressor(vogn, prediction_draws=4000)
    mean = np.array([[[0.5, -1.0, 0.2, 0.1]]], np.float32)
    sd = np.array([[[0.3, 0.2, 0.5, 0.4]]], np.float32)
    state = {"mean": mean, "precision": sd**-2, "tasks": np.ones((1, 1), np.int32)}
    inputs = np.array([[[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]]], np.float32)
    actual = learner.predict(state, inputs, seeds.block([0], "draws"))
    design = np.concatenate([inputs[0], np.ones((2, 1))], axis=1)
    np.testing.assert_allclose(actual.mean[0, 0, :, 0], design @ mean[0, 0], atol=0.1)
    variance = design**2 @ sd[0, 0] ** 2 + NOISE**2
    np.testing.assert_allclose(actual.variance[0, 0, :, 0], variance, rtol=0.1)


def test_tempering_divides_the_precision():
    learner = classifier()
    state = learner.init(seeds.block([0], "temper"))
    wide = learner.broaden(state, Broadening("temper", beta=0.25))
    np.testing.assert_allclose(wide["precision"], 0.25 * state["precision"], rtol=1e-6)


def test_targets_that_are_no_numbers_do_not_pass_as_nothing_learnt():
    learner = regressor(vogn, draws=2, epochs=1)
    key = seeds.block([0], "nan")
    inputs = np.ones((1, 8, 3), np.float32)
    batch = Batch(inputs, np.full((1, 8, 1), np.nan, np.float32), np.ones((1, 8), bool))
    state, _ = learner.observe(learner.init(key), batch, key)
    assert np.isnan(state["mean"]).any()
