"""SLANG against exact posteriors and its stated fixed point."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import slang
from shiftbench.methods.models import mlp
from tests.methods.learners.test_vogn import informative_regression, labelled, regressor
from tests.methods.networks import side_by_side


def precision_of(state):
    low_rank = state["low_rank"][0, 0].astype(float)
    return low_rank @ low_rank.T + np.diag(state["diagonal"][0, 0])


def close_in_units_of_sd(actual, exact, precision):
    root = np.linalg.cholesky(precision)
    return np.abs(root.T @ (actual - exact)).max() < 0.4


@pytest.mark.long
def test_full_rank_is_the_exact_posterior_of_a_linear_model_over_two_tasks():
    learner = regressor(slang, rank=4, draws=4, epochs=600, alpha=0.1)
    key = seeds.block([0], "slang")
    state = learner.init(key)
    precision, mean = np.eye(4), np.zeros(4)
    for task in range(2):
        batch, information, mean = informative_regression(
            lambda info, prior: np.linalg.inv(info + prior), precision, mean, seed=task
        )
        precision = information + precision
        state, _ = learner.observe(state, batch, key)
        scale = np.sqrt(np.diag(precision))
        off = (precision_of(state) - precision) / np.outer(scale, scale)
        assert np.abs(off).max() < 0.02
        assert close_in_units_of_sd(state["mean"][0, 0], mean, precision)


def truncated(information, prior, rank):
    """Return the fixed point of eq. 58-62 after one task, for a diagonal prior precision."""
    values, vectors = np.linalg.eigh(information)
    low_rank = vectors[:, -rank:] * np.sqrt(values[-rank:])
    rest = information - low_rank @ low_rank.T
    return low_rank @ low_rank.T + np.diag(np.diag(prior + rest))


@pytest.mark.long
def test_low_rank_is_the_largest_terms_of_the_curvature_and_the_diagonal_is_exact():
    rank = 2
    batch, information, mean = informative_regression(
        lambda info, prior: np.linalg.inv(truncated(info, prior, rank)), np.eye(4), np.zeros(4)
    )
    learner = regressor(slang, rank=rank, draws=4)
    key = seeds.block([0], "low rank")
    state, _ = learner.observe(learner.init(key), batch, key)
    expected = truncated(information, np.eye(4), rank)
    scale = np.sqrt(np.diag(expected))
    off = (precision_of(state) - expected) / np.outer(scale, scale)
    assert np.abs(off).max() < 0.02
    assert close_in_units_of_sd(state["mean"][0, 0], mean, expected)


def test_eigenvectors_equal_those_of_the_dense_matrix():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(2, 1, 30, 30)) * 0.5 ** np.arange(30)
    matrix = columns @ np.swapaxes(columns, -1, -2)
    actual = slang.leading_eigenvectors(
        tf.constant(matrix, tf.float32), 3, seeds.block([0, 1], "eig")
    ).numpy()
    _, vectors = np.linalg.eigh(matrix)
    overlap = np.swapaxes(vectors[..., -3:], -1, -2) @ actual
    np.testing.assert_allclose(np.abs(overlap), np.broadcast_to(np.eye(3), (2, 1, 3, 3)), atol=5e-3)


# Build each learner once, since tracing takes most of the time.
@functools.cache
def classifier(**settings):
    problem = Problem("classification", (4,), 3, 20, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = {"rank": 3, "epochs": 4, "batch_size": 8, "draws": 3, "beta": 0.2} | settings
    return slang.build(slang.Settings(**settings), problem, model)


@pytest.mark.long
def test_the_step_keeps_the_leading_terms_of_the_dense_update_of_a_network():
    """After a step from U = 0, U U' best approximates beta F, and the diagonal is exact."""
    batch, key = labelled(), seeds.block([0], "step")
    actual = {}
    for rank in (3, 48):  # 48 is at least 8 rows times 3 draws, twice, so nothing is truncated
        one = {"batch_size": 20, "epochs": 1, "alpha": 1e-6}
        learner = classifier(rank=rank, **one)
        state, _ = learner.observe(learner.init(key), batch, key)
        actual[rank] = state
    full = actual[48]["low_rank"][0, 0].astype(float)
    few = actual[3]["low_rank"][0, 0].astype(float)
    values = np.linalg.eigvalsh(full @ full.T)[::-1]
    np.testing.assert_allclose(np.linalg.eigvalsh(few.T @ few)[::-1], values[:3], rtol=0.02)
    diagonals = [np.diag(precision_of(actual[rank])) for rank in (3, 48)]
    np.testing.assert_allclose(*diagonals, rtol=2e-3)


@pytest.mark.long
def test_masked_rows_have_no_effect_and_one_row_is_enough():
    learner, key = classifier(), seeds.block([0], "mask")
    for kept in (13, 1):
        batch = labelled()._replace(mask=np.arange(20)[None] < kept)
        other = batch._replace(inputs=np.where(batch.mask[..., None], batch.inputs, 1e3))
        one, info = learner.observe(learner.init(key), batch, key)
        two, _ = learner.observe(learner.init(key), other, key)
        assert np.isfinite(info["elbo"]).all() and (one["diagonal"] > 0).all()
        for name in one:
            np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.long
def test_parameters_that_no_row_touches_keep_their_prior():
    learner, key = classifier(prior_sd=0.7), seeds.block([0], "untouched")
    batch: Batch = labelled()
    batch.inputs[..., 2] = 0.0
    state, _ = learner.observe(learner.init(key), batch, key)
    of_input = slice(10, 15)
    assert (state["mean"][0, 0, of_input] == 0).all()
    assert (state["low_rank"][0, 0, of_input] == 0).all()
    np.testing.assert_allclose(state["diagonal"][0, 0, of_input], 0.7**-2, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("rank", [1, 8])
def test_a_second_task_starts_from_the_first_and_stays_finite(rank):
    learner, key = classifier(rank=rank), seeds.block([0], "two")
    state = learner.init(key)
    for task in range(2):
        state, info = learner.observe(state, labelled(seed=task), key)
    assert (state["tasks"] == 2).all()
    assert all(np.isfinite(a).all() for a in (*state.values(), *info.values()))


@pytest.mark.long
@pytest.mark.parametrize("where", ["inputs", "targets"])
def test_a_seed_that_diverges_harms_no_other(where):
    side_by_side.fails_alone(regressor(slang, rank=1, draws=2, epochs=1), where)
