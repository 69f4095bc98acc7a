"""With learnt noise, the fitted standard deviation is that of the data."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Gaussian, Learner, Problem
from shiftbench.methods.combinators import ensemble
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.learners import mfvi
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks.model import Model, glorot, log_likelihood, point

KEY = seeds.block(range(2), "noise")
ROWS, OUTPUTS = 200, 2
PROBLEM = Problem("regression", (3,), OUTPUTS, ROWS, 1)
HOW = {"epochs": 400, "batch_size": ROWS, "learning_rate": 0.03}
FAMILIES = {
    "flipout": {},
    "local": {"estimator": "local"},
    "sample": {"estimator": "sample", "draws": 2},
    "radial": {"family": "radial", "estimator": "sample"},
    "radial-flipout": {"family": "radial", "estimator": "flipout", "prior_density": "published"},
}


def network(noise_sd: float = 0.7) -> Model:
    return mlp.build(mlp.Settings(hidden=(4,), noise="learnt", noise_sd=noise_sd), PROBLEM)


def noise_alone() -> Batch:
    """Return a batch with zero inputs, which are uninformative about the targets."""
    scales = np.array([0.3, 2.0])
    targets = 1.0 + scales * np.random.default_rng(0).normal(size=(2, ROWS, OUTPUTS))
    return Batch(np.zeros((2, ROWS, 3)), targets, np.ones((2, ROWS), bool))


def learnt(learner: Learner) -> Gaussian:
    """Return the prediction after a task of pure noise."""
    batch = noise_alone()
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    assert all(np.isfinite(a).all() for a in (*state.values(), *info.values()))
    prediction = learner.predict(state, batch.inputs, KEY)
    assert isinstance(prediction, Gaussian) and prediction.mean.shape[2:] == (ROWS, OUTPUTS)
    return prediction


def sample_sd() -> np.ndarray:
    return noise_alone().targets.std(axis=1)


@pytest.mark.long
def test_map_learns_the_standard_deviation_of_the_sample():
    settings = map_learner.Settings(**HOW, importance="none", prior="flat")
    prediction = learnt(map_learner.build(settings, PROBLEM, network()))
    np.testing.assert_allclose(np.sqrt(prediction.variance[:, 0, 0]), sample_sd(), rtol=1e-3)
    np.testing.assert_allclose(
        prediction.mean[:, 0, 0], noise_alone().targets.mean(axis=1), atol=1e-2
    )


@pytest.mark.parametrize(
    "family",
    [pytest.param(one, marks=pytest.mark.long if one != "flipout" else ()) for one in FAMILIES],
)
def test_so_does_every_family_of_mfvi(family):
    """Biases are points, so without inputs the posterior adds no variance."""
    model = linear.build(linear.Settings(noise="learnt"), PROBLEM)
    settings = mfvi.Settings(**HOW, **FAMILIES[family], prediction_draws=4, elbo_draws=2)
    prediction = learnt(mfvi.build(settings, PROBLEM, model))
    np.testing.assert_allclose(np.sqrt(prediction.variance[:, 0, 0]), sample_sd(), rtol=2e-3)


@pytest.mark.long
def test_the_noise_may_have_a_posterior_too():
    settings = mfvi.Settings(**HOW, biases="gaussian", start_sd=0.01, prediction_draws=20)
    prediction = learnt(mfvi.build(settings, PROBLEM, network()))
    np.testing.assert_allclose(np.sqrt(prediction.variance[:, 0, 0]), sample_sd(), rtol=0.1)


@pytest.mark.long
def test_members_of_an_ensemble_learn_it_side_by_side():
    member = map_learner.build(
        map_learner.Settings(**HOW, importance="none", prior="flat"), PROBLEM, network()
    )
    prediction = learnt(ensemble.build(ensemble.Settings(2), PROBLEM, member))
    assert prediction.variance.shape[:2] == (2, 2)
    for k in range(2):
        np.testing.assert_allclose(np.sqrt(prediction.variance[:, k, 0]), sample_sd(), rtol=1e-3)


def test_the_noise_starts_at_noise_sd_and_fixed_noise_is_that_density():
    fixed = linear.build(linear.Settings(noise_sd=0.7), PROBLEM)
    free = linear.build(linear.Settings(noise_sd=0.7, noise="learnt"), PROBLEM)
    assert free.size == fixed.size + OUTPUTS
    parameters, own = glorot(fixed, KEY), glorot(free, KEY)
    np.testing.assert_array_equal(own[..., : fixed.size], parameters)
    inputs = tf.random.stateless_normal([2, 1, 5, 3], [0, 0])
    targets = tf.random.stateless_normal([2, 5, OUTPUTS], [0, 1])
    densities = [
        log_likelihood(model, model.forward(point(tf.constant(p)), inputs), targets)
        for model, p in ((fixed, parameters), (free, own))
    ]
    np.testing.assert_array_equal(*densities)


def test_classes_have_no_noise():
    problem = Problem("classification", (3,), 2, 10, 1)
    model = mlp.build(mlp.Settings(hidden=(4,), noise="learnt"), problem)
    assert model == mlp.build(mlp.Settings(hidden=(4,)), problem)._replace(forward=model.forward)
