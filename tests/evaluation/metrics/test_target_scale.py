"""Errors and densities of test rows in the data's units: by hand, scikit-learn and SciPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mean_squared_error, root_mean_squared_error

from shiftbench.config import components
from shiftbench.core.interface import Batch, Gaussian, StudentT
from shiftbench.data.tables import table_splits
from tests.evaluation.scoring import stores

log_predictive = components.load_metric("log_predictive")
log_density = components.load_metric("test_log_density")
log_likelihood = components.load_metric("test_log_likelihood")
squared_error = components.load_metric("test_squared_error")
rmse = components.load_metric("rmse")

METRICS = ["test_squared_error", "test_log_density"]


@pytest.fixture(scope="module")
def stream():
    settings = table_splits.Settings(dataset="diabetes", realisations=3)
    store = table_splits.build(settings, Path("unused"))
    spec = {"stream": "diabetes", "family": "table-splits", "settings": {"dataset": "diabetes"}}
    return store.assign_attrs(spec=json.dumps(spec))


def run(stream, squared, density):
    """Return a run with these scores [seed, task]."""
    return stores.run_store(np.array([squared, density]), METRICS, stream, "x", [["x", {}]])


def in_units(stream, batch, mean):
    """Return targets and predictions [S, n] in the data's units."""
    sd, centre = (stream[f"target_{name}"].values[:, None] for name in ("sd", "mean"))
    return batch.targets[..., 0] * sd + centre, mean * sd + centre


def test_a_mixture_of_gaussians_in_the_units_of_the_data(stream):
    batch = table_splits.task(stream, [0, 1, 2], 0).test
    random, rows = np.random.default_rng(0), batch.mask.shape[1]
    mean = random.normal(size=(3, 2, rows, 1))
    variance = random.gamma(2.0, size=mean.shape)
    weights = random.dirichlet(np.ones(2), 3)
    predictive = Gaussian(np.log(weights), mean, variance)
    squared, density = (module.score(predictive, batch) for module in (squared_error, log_density))
    made = run(stream, squared[:, None], density[:, None])
    mixed = np.einsum("sh,shn->sn", weights, mean[..., 0])
    targets, predicted = in_units(stream, batch, mixed)
    expected = [root_mean_squared_error(*pair) for pair in zip(targets, predicted, strict=True)]
    np.testing.assert_allclose(rmse.score(made, stream), expected, rtol=1e-5)
    sd = stream["target_sd"].values
    for s in range(3):
        scaled = stats.norm(
            mean[s, ..., 0] * sd[s] + stream["target_mean"].values[s],
            np.sqrt(variance[s, ..., 0]) * sd[s],
        )
        by_hand = np.log(weights[s] @ scaled.pdf(targets[s])).mean()
        assert log_likelihood.score(made, stream)[s] == pytest.approx(by_hand, rel=1e-5)


def test_student_t_of_the_last_task_by_hand():
    """One row: y = 3 under a predicted t with 4 degrees of freedom, centre 1 and scale 2."""
    batch = Batch(np.zeros((1, 1, 0)), np.full((1, 1, 1), 3.0), np.ones((1, 1), bool))
    shape = (1, 1, 1, 1)
    one = StudentT(np.zeros((1, 1)), np.ones(shape), np.full((*shape, 1), 4.0), np.full((1, 1), 4))
    assert squared_error.score(one, batch) == pytest.approx(4.0)
    assert log_density.score(one, batch) == pytest.approx(stats.t.logpdf(3, 4, 1, 2))
    both = Batch(np.zeros((1, 2, 0)), np.array([[[3.0], [9.0]]]), np.array([[True, False]]))
    two = one._replace(mean=np.ones((1, 1, 2, 1)), scale=np.full((1, 1, 2, 1, 1), 4.0))
    assert squared_error.score(two, both) == pytest.approx(mean_squared_error([3], [1]))
    assert log_density.score(two, both) == log_predictive.score(one, batch)


def test_scores_are_those_after_the_last_task(stream):
    squared, density = [[9.0, 4.0], [1.0, 0.25], [4.0, 4.0]], [[-3.0, -1.0]] * 3
    made, sd = run(stream, squared, density), stream["target_sd"].values
    np.testing.assert_allclose(rmse.score(made, stream), [2 * sd[0], 0.5 * sd[1], 2 * sd[2]])
    np.testing.assert_allclose(log_likelihood.score(made, stream), -1 - np.log(sd))


def test_every_seed_has_the_scale_of_its_realisation(stream):
    made = run(stream, np.ones((5, 1)), np.zeros((5, 1)))
    expected = stream["target_sd"].values[[0, 1, 2, 0, 1]]
    np.testing.assert_allclose(rmse.score(made, stream), expected)
    np.testing.assert_allclose(log_likelihood.score(made, stream), -np.log(expected))


def test_targets_that_no_stream_has_scaled_keep_their_units(stream):
    made = run(stream, np.full((3, 1), 4.0), np.full((3, 1), -2.0))
    plain = stream.drop_vars("target_sd")
    assert rmse.score(made, plain).tolist() == [2.0] * 3
    assert log_likelihood.score(made, plain).tolist() == [-2.0] * 3


def test_without_a_run_that_ended_there_is_no_score(stream):
    made = run(stream, np.ones((3, 1)), np.zeros((3, 1))).isel(seed=[])
    assert rmse.score(made, stream).size == log_likelihood.score(made, stream).size == 0
