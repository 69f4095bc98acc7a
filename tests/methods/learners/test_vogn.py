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
from shiftbench.methods.networks import example_gradients, natural_gradient
from shiftbench.methods.networks.model import log_likelihood, point
from shiftbench.methods.networks.training import Minibatch
from tests import golden
from tests.resuming import goes_on_from_any_step

NOISE = 0.5


def informative_regression(covariance, prior_precision, prior_mean, n=40, seed=0):
    """Return data whose empirical Fisher under q equals their information, and the posterior mean.

    The curvature that VOGN and SLANG estimate is E_q sum_i x_i x_i' r_i^2 / noise^4, with
    residuals r; the information is sum_i x_i x_i' / noise^2. Here each x_i has two targets,
    x_i w + c_i and x_i w - c_i, with c_i such that the mean of E_q r^2 over both is noise^2.
    covariance: (information, prior precision) -> covariance [p, p] of the q at the fixed point.
    Returns batch, information and exact posterior mean.
    """
    rng = np.random.default_rng(seed)
    design = np.concatenate([rng.normal(size=(n, 3)), np.ones((n, 1))], axis=1)
    design[:, 1] += 0.7 * design[:, 0]
    w = np.array([0.8, -0.5, 1.1, 0.3])  # the same in all tasks, as a carried prior is
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


# Build each learner once, since tracing takes most of the time.
@functools.cache
def regressor(module, **settings):
    problem = Problem("regression", (3,), 1, 80, 2)
    model = linear.build(linear.Settings(noise_sd=NOISE), problem)
    quick = {"epochs": 800, "batch_size": 80, "draws": 40, "alpha": 0.1, "beta": 0.02}
    settings = quick | {"initial_precision": (2.0,)} | settings
    return module.build(module.Settings(**settings), problem, model)


@pytest.mark.long
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
        # The carried posterior is the unchanged prior of the next task.
        precision = np.diag(state["precision"][0, 0].astype(float))
        mean = state["mean"][0, 0].astype(float)


def no_spread(information, prior_precision):
    return np.zeros_like(information)


EXACT = {"alpha": 0.5, "beta": 0.1, "epochs": 300, "initial_precision": (2.0,)}


@pytest.mark.parametrize(
    ("curvature", "draws"),
    [("hessian", 0), pytest.param("hessian", 2, marks=pytest.mark.long), ("squares", 0)],
)
def test_von_and_ogn_reach_the_exact_posterior_of_a_linear_model(curvature, draws):
    """A Hessian is exact for any residuals; squares at the mean need those of no_spread."""
    learner, key = regressor(vogn, **EXACT, curvature=curvature, draws=draws), seeds.block([0], "f")
    state, precision, mean = learner.init(key), np.eye(4), np.zeros(4)
    for task in range(2):
        of_squares = (precision, mean) if curvature == "squares" else (np.eye(4), np.zeros(4))
        batch, information, _ = informative_regression(no_spread, *of_squares, seed=task)
        if curvature == "hessian":
            batch.targets[...] = 3 * batch.targets - 1
        exact = posterior_mean(batch, precision, mean)
        state, _ = learner.observe(state, batch, key)
        expected = np.diag(information + precision)
        np.testing.assert_allclose(state["precision"][0, 0], expected, rtol=1e-4)
        off = (state["mean"][0, 0] - exact) * np.sqrt(expected)
        assert np.abs(off).max() < (1.0 if draws else 0.01)
        precision = np.diag(state["precision"][0, 0].astype(float))
        mean = state["mean"][0, 0].astype(float)


def posterior_mean(batch, prior_precision, prior_mean):
    design = np.concatenate([batch.inputs[0], np.ones((80, 1))], axis=1).astype(float)
    precision = design.T @ design / NOISE**2 + prior_precision
    weighted = design.T @ batch.targets[0, :, 0] / NOISE**2 + prior_precision @ prior_mean
    return np.linalg.solve(precision, weighted)


@pytest.mark.long
def test_vadam_reaches_the_exact_mean_and_a_precision_that_knows_only_the_whole_gradient():
    """At the optimum, the gradients of rows and prior cancel."""
    settings = {"alpha": 0.003, "beta": 0.05, "momentum": 0.9, "epochs": 3000, "draws": 0}
    learner = regressor(vogn, **golden.VADAM, **settings, prior_sd=0.2)
    key = seeds.block([0], "vadam")
    batch, information, _ = informative_regression(no_spread, np.eye(4), np.zeros(4))
    state, _ = learner.observe(learner.init(key), batch, key)
    exact = posterior_mean(batch, 25 * np.eye(4), np.zeros(4))
    np.testing.assert_allclose(state["mean"][0, 0], exact, atol=1e-4)
    np.testing.assert_allclose(state["precision"][0, 0], 25 + (25 * exact) ** 2 / 80, rtol=1e-3)
    assert (state["precision"][0, 0] < 0.2 * np.diag(information)).all()


@pytest.mark.parametrize(
    "fields",
    [
        golden.VADAM | {"draws": 0},
        pytest.param({"curvature": "hessian"}, marks=pytest.mark.long),
        pytest.param(golden.VADAM, marks=pytest.mark.long),
        pytest.param(golden.IVON | {"merge": 0.5}, marks=pytest.mark.long),
    ],
)
def test_a_beam_weighs_hypotheses_of_every_form(fields):
    settings = {"epochs": 2, "batch_size": 16, "draws": 2, "prediction_draws": 2} | fields
    learner, problem = golden.over("beam", "vogn", **settings)
    state = learner.init(golden.key("init"))
    for task in range(2):
        batch = golden.PARTS.batch(problem, seed=task)
        state, info = learner.observe(state, batch, golden.key("observe", task))
    assert state["base.precision"].shape[1] > 1
    assert np.isfinite(state["log_weight"]).any() and np.isfinite(info["elbo"]).all()
    assert (np.ptp(state["base.precision"], axis=1) > 0).any()


@pytest.mark.long
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


MODELS = {
    "mlp": lambda p: mlp.build(mlp.Settings(hidden=(5, 4)), p),
    "convnet": lambda p: convnet.build(convnet.Settings(filters=(2,)), p),
}
DRAWS = 3


@pytest.fixture(params=MODELS)
def network(request):
    """Return a model, parameters [1, 2 DRAWS, P], rows with the last masked, and gradients."""
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


CLASSES = Problem("classification", (4,), 3, 20, 2)
KEY = seeds.block([0], "classes")


@functools.cache
def classifier(**settings):
    model = mlp.build(mlp.Settings(hidden=(5,)), CLASSES)
    settings = {"epochs": 3, "batch_size": 8, "draws": 3} | settings
    return vogn.build(vogn.Settings(**settings), CLASSES, model)


def labelled(n=20, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(1, n, 4)).astype(np.float32)
    return Batch(inputs, rng.integers(0, 3, (1, n)), np.ones((1, n), bool))


def masked_rows_have_no_effect(learner):
    """Assert that a learner ends with equal bytes whatever the masked rows of a batch hold."""
    key = seeds.block([0], "mask")
    batch = labelled()._replace(mask=np.arange(20)[None] < 13)
    other = batch._replace(inputs=np.where(batch.mask[..., None], batch.inputs, 1e3))
    one, _ = learner.observe(learner.init(key), batch, key)
    two, _ = learner.observe(learner.init(key), other, key)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.long
def test_masked_rows_have_no_effect():
    masked_rows_have_no_effect(classifier())


@pytest.mark.long
def test_a_seed_with_fewer_rows_than_another_learns_as_alone():
    learner, key = classifier(), seeds.block([0, 1], "fewer")
    batch = Batch(*(np.concatenate([a, a]) for a in labelled()))
    short = batch._replace(mask=np.arange(20)[None] < np.array([[6], [20]]))
    both, _ = learner.observe(learner.init(key), short, key)
    alone = Batch(*(a[:1] for a in short))
    one, _ = learner.observe(learner.init(key[:1]), alone, key[:1])
    np.testing.assert_allclose(both["mean"][0], one["mean"][0], rtol=1e-4, atol=1e-5)


@pytest.mark.long
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


@pytest.mark.long
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


def test_ivon_starts_from_the_posterior_and_adds_the_priors_precision():
    """Its rate is alpha times the first precision of an example, including the first prior's."""
    ivon = {**golden.IVON, "draws": 1, "initial_precision": (0.5,), "alpha": 0.2, "prior_sd": 0.5}
    settings, model = vogn.Settings(**ivon), mlp.build(mlp.Settings(hidden=(5,)), CLASSES)
    state = classifier(**ivon).init(KEY)
    batch = labelled()._replace(mask=np.arange(20)[None] < 8)
    for tasks, precision in ((0, 4.0), (1, 70.0)):
        state |= {
            "tasks": np.full((1, 1), tasks),
            "precision": np.full_like(state["mean"], precision),
        }
        state["mean"] += 0.25 * tasks
        prior = vogn._prior(settings, state)
        start, alpha = vogn._start(settings, model, state, prior, batch, KEY)
        np.testing.assert_allclose(start.precision, 8 * 0.5 + precision)
        np.testing.assert_allclose(alpha, 0.2 * (0.5 + 4 / 8), rtol=1e-6)
        assert (start.mean == 0.25).all() == bool(tasks)


@pytest.mark.long
def test_a_merged_prior_is_that_of_all_posteriors_so_far_and_is_broadened_with_the_last():
    learner = classifier(merge=0.4, prior_sd=0.8)
    state, posteriors = learner.init(KEY), []
    for number in range(3):
        posteriors.append((state["mean"], state["precision"]))
        weights = 0.4 ** np.arange(number + 1)[::-1]
        weights /= weights.sum()
        old, new = state, [np.stack(a).astype(float) for a in zip(*posteriors, strict=True)]
        precision = np.tensordot(weights, new[1], 1)
        mean = np.tensordot(weights, new[0] * new[1], 1) / precision
        state, info = learner.observe(old, labelled(seed=number), seeds.fold_each(KEY, number))
        ratio = precision / state["precision"]
        kl = 0.5 * (ratio + (state["mean"] - mean) ** 2 * precision - 1 - np.log(ratio))
        np.testing.assert_allclose(info["kl"], kl.sum(-1), rtol=1e-4)
    forgotten = learner.broaden(state, Broadening("geometric", beta=0.0))
    prior = vogn._prior(vogn.Settings(merge=0.4), forgotten)
    np.testing.assert_allclose(prior.mean, 0, atol=1e-6)
    for precision in (prior.precision, forgotten["precision"]):
        np.testing.assert_allclose(precision, 0.8**-2, rtol=1e-5)


def test_a_curvature_from_noise_needs_draws_and_has_no_root():
    for fields in ({"draws": 0}, {"preconditioner": "root"}):
        assert [*vogn.unsupported(vogn.Settings(**golden.IVON | fields))]
    assert not [*vogn.unsupported(vogn.Settings(**golden.IVON))]
    assert not [*vogn.unsupported(vogn.Settings(draws=0, preconditioner="root"))]


@pytest.mark.long
def test_ivon_goes_on_from_any_step_to_the_byte():
    learner = classifier(**golden.IVON, merge=0.4)
    before, _ = learner.observe(learner.init(KEY), labelled(), KEY)
    goes_on_from_any_step(learner, before, labelled(seed=1), KEY)


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
