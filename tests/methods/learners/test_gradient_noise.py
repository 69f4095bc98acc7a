"""The gradient noise instrument against exact values for linear models and radial draws."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

from shiftbench.contract.learners import PARTS, batch_of
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import gradient_noise
from shiftbench.methods.models import linear, mlp

NOISE, KEY = 0.5, seeds.block([0, 1], "noise")
SDS = (0.1, 1.0)


def regression(n=40, d=3):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(2, n, d)).astype(np.float32)
    return Batch(inputs, rng.normal(size=(2, n, 1)).astype(np.float32), np.ones((2, n), bool))


@functools.cache
def measured(family, **fields):
    """Return the Info on the linear model, from many draws."""
    problem = Problem("regression", (3,), 1, 40, 1)
    model = linear.build(linear.Settings(noise_sd=NOISE), problem)
    settings = {"sds": SDS, "draws": 4000, "batch_size": 40} | fields
    noise_settings = gradient_noise.Settings(family=family, **settings)
    learner = gradient_noise.build(noise_settings, problem, model)
    return learner.observe(learner.init(KEY), regression(), KEY)[1]


def expected_sd(variance):
    """Return the root mean variance of the gradient's coordinates, given that of the noise."""
    batch = regression()
    design = np.concatenate([batch.inputs, np.ones((2, 40, 1))], axis=2)
    curvature = np.swapaxes(design, 1, 2) @ design / 40 / NOISE**2
    return np.sqrt((curvature**2 * variance).sum(axis=2).mean(axis=1))


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "variance"),
    [
        ("gaussian", np.ones(4)),
        # A coordinate of a tensor with D weights has variance 1 / D.
        ("radial", np.array([1 / 3, 1 / 3, 1 / 3, 1])),
        ("truncated", stats.truncnorm(-1, 1).var() * np.ones(4)),
    ],
)
def test_of_a_linear_model_it_is_the_curvature_times_the_noise(family, variance):
    results = measured(family)["gradient_sd"]
    for place, sd in enumerate(SDS):
        np.testing.assert_allclose(results[:, place], sd * expected_sd(variance), rtol=0.06)


@pytest.mark.long
def test_what_eq_44_draws_is_the_noise_itself_and_what_the_jacobian_adds_is_more():
    info = measured("radial", prior_sd=0.7)
    noise = np.sqrt((np.array([1 / 3, 1 / 3, 1 / 3, 1])).mean())
    for place, sd in enumerate(SDS):
        np.testing.assert_allclose(info["published_sd"][:, place], sd * noise / 0.49, rtol=0.06)
    assert (info["full_sd"] > info["published_sd"]).all()
    assert measured("gaussian").keys() == {"gradient_sd"}


@pytest.mark.long
def test_a_layer_is_that_layer_alone_and_another_name_is_refused():
    problem = PARTS.classes
    model = mlp.build(mlp.Settings(hidden=(6,)), problem)

    def build(layer):
        return gradient_noise.build(gradient_noise.Settings(layer=layer), problem, model)

    squares = {}
    for name in ("", "dense1", "dense2"):
        learner = build(name)
        _, info = learner.observe(learner.init(KEY), batch_of(problem), KEY)
        squares[name] = np.square(info["gradient_sd"])
    assert (squares["dense1"] != squares["dense2"]).all()
    assert (squares[""] < np.maximum(squares["dense1"], squares["dense2"])).all()
    with pytest.raises(LearnerError, match="no layer conv9; set layer to one of dense1, dense2"):
        build("conv9")


@pytest.mark.long
def test_wide_normal_weights_are_noisier_than_radial_ones():
    """The ordering of Fig. 6, on a network with one hidden layer."""
    problem = PARTS.classes
    model, results = mlp.build(mlp.Settings(hidden=(200,)), problem), {}
    for family in ("gaussian", "radial"):
        noise_settings = gradient_noise.Settings(family=family, sds=SDS, draws=50)
        learner = gradient_noise.build(noise_settings, problem, model)
        results[family] = learner.observe(learner.init(KEY), batch_of(problem), KEY)[1]
    assert (results["gaussian"]["gradient_sd"] > 3 * results["radial"]["gradient_sd"]).all()
