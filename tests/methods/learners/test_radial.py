"""Variational learning with radial posteriors (farquhar2020radial)."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.contract.learners import PARTS, after, batch_of, key, same
from shiftbench.core import seeds
from shiftbench.core.interface import Broadening, LearnerError, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import mfvi
from shiftbench.methods.models import convnet, mlp
from shiftbench.methods.networks import weight_draws
from shiftbench.methods.networks.model import point
from shiftbench.methods.networks.weight_draws import Draws
from shiftbench.methods.posteriors import radial
from tests.methods.learners.test_mfvi import learner, regression

RADIAL = {"family": "radial", "biases": "gaussian"}
CLASSES = PARTS.classes
DRAWS = 6000
SCATTERED = {"learning_rate": 1e-9, "start_sd": 0.0025, "start_rho_sd": 0.5}


# Build each learner once, since tracing takes most of the time.
@functools.cache
def classifier(**settings):
    model = mlp.build(mlp.Settings(hidden=(5,)), CLASSES)
    quick = {"epochs": 2, "elbo_draws": 2, "batch_size": 8, "prediction_draws": 3, "draws": 2}
    settings = quick | RADIAL | {"start": "prior", "estimator": "sample"} | settings
    return mfvi.build(mfvi.Settings(**settings), CLASSES, model), model


def test_noise_is_radial_in_each_tensor_of_each_head():
    problem = Problem("classification", (4,), 6, 40, 3, heads=3)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    blocks = weight_draws.blocks_of(model, 3)
    assert sum(b.size for b in blocks) == model.size and radial.n_tensors(blocks) == 2 + 6
    plan, k = Draws(model, "sample", blocks, 4000), 4000
    numbers = tf.random.stateless_normal([1, k, weight_draws.numbers_needed(plan, 7)], [0, 1])
    eps = weight_draws.noise(plan, numbers, 7).eps.numpy()[0, 0]
    out = model.layers[-1]
    kernel = eps[:, out.weights].reshape(k, out.fan_in, 3, 2)
    lengths = [np.linalg.norm(eps[:, model.layers[0].weights], axis=1)]
    lengths += [np.linalg.norm(kernel[:, :, head], axis=(1, 2)) for head in range(3)]
    lengths += [np.linalg.norm(eps[:, out.biases][:, 2:4], axis=1)]
    # Lengths are absolute values of independent N(0, 1) draws.
    np.testing.assert_allclose(np.mean(np.square(lengths), axis=1), 1, atol=0.1)
    np.testing.assert_allclose(np.median(lengths, axis=1), 0.6745, atol=0.05)
    assert np.abs(np.corrcoef(lengths) - np.eye(5)).max() < 0.06


@pytest.fixture(scope="module")
def explicit():
    """Return problem, network, state, images, and mean outputs under explicit draws."""
    problem = Problem("classification", (4, 4, 1), 3, 10, 1)
    model = convnet.build(convnet.Settings(filters=(2,)), problem)
    images = np.random.default_rng(1).normal(size=(1, 4, 4, 4, 1)).astype(np.float32)
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(1, 1, model.size)).astype(np.float32)
    sd = rng.uniform(0.5, 2, size=mean.shape).astype(np.float32)
    blocks = weight_draws.blocks_of(model, 1)
    normals = np.float32(rng.normal(size=(1, DRAWS, model.size)))
    radii = np.float32(rng.normal(size=(1, DRAWS, radial.n_tensors(blocks))))
    weights = mean + sd * radial.noise(tf.constant(normals), tf.constant(radii), blocks)
    outputs = tf.nn.softmax(model.forward(point(weights), images[:, None]))[0].numpy()
    return problem, model, {"mean": mean, "sd": sd}, images, outputs.mean(axis=0)


@pytest.mark.long
@pytest.mark.parametrize("estimator", ["flipout", "sample"])
def test_outputs_have_the_mean_of_explicit_draws(estimator, explicit):
    problem, model, state, images, expected = explicit
    settings = mfvi.Settings(**RADIAL, estimator=estimator, prediction_draws=DRAWS)
    vi = mfvi.build(settings, problem, model)
    results = vi.predict(state, images, seeds.block([0], "radial")).probabilities[0, 0]
    np.testing.assert_allclose(results, expected, atol=0.02)


@pytest.mark.parametrize("estimator", ["flipout", "sample"])
def test_predictions_of_a_linear_model_have_the_exact_variance(estimator):
    vi = learner(**RADIAL, estimator=estimator, prediction_draws=4000)
    mean, sd = np.array([0.5, -1.0, 0.2, 0.1]), np.array([0.3, 0.6, 0.5, 0.4])
    state = {"mean": np.float32(mean)[None, None], "sd": np.float32(sd)[None, None]}
    inputs = np.array([[[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]]], np.float32)
    results = vi.predict(state, inputs, seeds.block([0], "draws"))
    design = np.concatenate([inputs[0], np.ones((2, 1))], axis=1)
    # A coordinate of a tensor with D parameters has variance sd^2 / D: three weights, one bias.
    variance = design**2 @ (sd**2 / np.array([3, 3, 3, 1])) + 0.5**2
    np.testing.assert_allclose(results.mean[0, 0, :, 0], design @ mean, atol=0.1)
    np.testing.assert_allclose(results.variance[0, 0, :, 0], variance, rtol=0.1)


@pytest.mark.long
def test_fit_of_a_linear_gaussian_model_is_the_optimum_of_its_closed_form():
    """The first ELBO is exact, since likelihood and prior only need two moments of q."""
    batch, _, precision, mean = regression()
    key = seeds.block([0, 1], "radial")
    vi = learner(**RADIAL, estimator="sample", draws=8, epochs=1500, learning_rate=0.006)
    state, _ = vi.observe(vi.init(key), batch, key)
    # sum_i precision_ii sd_i^2 / (2 D) - log sd_i is minimal at sd_i^2 = D / precision_ii.
    sd = np.sqrt(np.array([3, 3, 3, 1]) / np.diagonal(precision, axis1=1, axis2=2))
    assert np.abs((state["mean"][:, 0] - mean) / sd).max() < 0.25
    np.testing.assert_allclose(state["sd"][:, 0], sd, rtol=0.1)


@pytest.mark.long
def test_the_published_prior_lets_sds_grow_from_task_to_task():
    batch, *_ = regression()
    key, results = seeds.block([0, 1], "radial"), {}
    for density in ("full", "published"):
        vi = learner(
            **RADIAL, prior_density=density, estimator="sample", draws=8, epochs=400, start="prior"
        )
        state, _ = vi.observe(vi.init(key), batch, key)
        # These rows carry no information on the weights and nothing new on the bias.
        bias = np.broadcast_to(state["mean"][..., 3:], batch.targets.shape)
        nothing = batch._replace(inputs=0 * batch.inputs, targets=bias)
        later, info = vi.observe(state, nothing, key)
        results[density] = (later["sd"] / state["sd"])[..., :3], info["kl"]
    assert np.abs(np.log(results["full"][0])).max() < 0.2 and (results["full"][1] > -0.1).all()
    np.testing.assert_allclose(results["published"][0], np.sqrt(3), rtol=0.2)
    assert (results["published"][1] < 0).all()


@pytest.mark.long
@pytest.mark.parametrize("estimator", ["flipout", "sample"])
def test_keeps_the_contract(estimator):
    vi, _ = classifier(estimator=estimator)
    whole, infos = after(vi, CLASSES, 3)
    saved, _ = after(vi, CLASSES, 1)
    assert same(after(vi, CLASSES, 3, saved, first=1)[0], whole)
    assert all(np.isfinite(a).all() for info in infos for a in info.values())
    batch = batch_of(CLASSES, seed=5)
    stacked = {k: np.concatenate([saved[k], whole[k]], axis=1) for k in saved}
    together, _ = vi.observe(stacked, batch, key("o"))
    for slot, alone in enumerate((saved, whole)):
        results, _ = vi.observe(alone, batch, key("o"))
        for k in results:
            np.testing.assert_allclose(together[k][:, slot], results[k][:, 0], rtol=2e-3, atol=2e-4)


@pytest.mark.long
def test_start_values_of_rho_scatter():
    vi, _ = classifier(**SCATTERED)
    state, _ = after(vi, CLASSES, 1)
    rho = np.log(np.expm1(state["sd"].astype(float)))
    assert rho.mean() == pytest.approx(np.log(np.expm1(0.0025)), abs=0.3)
    assert rho.std() == pytest.approx(0.5, rel=0.3)


def test_is_broadened_as_the_normal_posterior_of_its_means_and_scales():
    vi, _ = classifier(**SCATTERED)
    state, _ = after(vi, CLASSES, 1)
    wide = vi.broaden(state, Broadening("temper", beta=0.25))
    np.testing.assert_array_equal(wide["mean"], state["mean"])
    np.testing.assert_allclose(wide["sd"], 2 * state["sd"], rtol=1e-6)


def test_cannot_be_locally_reparameterised():
    with pytest.raises(LearnerError, match="independent weights"):
        classifier(estimator="local")
