"""The best fixed predictor against grids, other solvers and published losses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from shiftbench.data.tables import tabular
from shiftbench.evaluation.theory import best_fixed
from shiftbench.methods.online.losses import Loss
from tests.evaluation.scoring import stores

KINDS = ("hinge", "squared", "absolute")


def some_rows(kind, d=2, n=30, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    score = x.sum(axis=1) + rng.normal(size=n)
    return best_fixed.Examples(x, np.where(score > 0, 1.0, -1.0) if kind == "hinge" else score)


@pytest.mark.parametrize("weight", [0.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_is_the_minimum_over_a_grid(kind, weight):
    rows = some_rows(kind)
    axis = np.linspace(-3, 3, 401)
    theta = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    sums = Loss(kind).value(rows.y, theta @ rows.x.T).sum(axis=1)
    on_grid = (sums + 0.5 * weight * (theta**2).sum(axis=1)).min()
    smallest = best_fixed.smallest(rows, kind, 20.0, weight)
    assert smallest <= on_grid + 1e-6
    assert smallest == pytest.approx(on_grid, abs=0.1)


@pytest.mark.parametrize("weight", [0.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_box_binds(kind, weight):
    rows = some_rows(kind)
    axis = np.linspace(-0.1, 0.1, 201)
    theta = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    sums = Loss(kind).value(rows.y, theta @ rows.x.T).sum(axis=1)
    on_grid = (sums + 0.5 * weight * (theta**2).sum(axis=1)).min()
    smallest = best_fixed.smallest(rows, kind, 0.1, weight)
    assert smallest == pytest.approx(on_grid, abs=1e-3)
    assert smallest > best_fixed.smallest(rows, kind, 20.0, weight) + 0.1


@pytest.mark.parametrize("kind", ["hinge", "absolute"])
def test_a_box_that_binds_some_coordinates_is_not_a_clipped_optimum(kind):
    """Correlated features: coordinates inside the box compensate for those at its bound."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3)) @ [[1, 0.9, 0], [0, 0.3, 0.9], [0, 0, 0.5]]
    score = x @ [2, -2, 0.5] + 0.5 * rng.normal(size=30)
    rows = best_fixed.Examples(x, np.sign(score) if kind == "hinge" else score)
    bound, weight = 0.3, 0.3

    def sums(theta):
        return Loss(kind).value(rows.y, rows.x @ theta).sum() + 0.5 * weight * theta @ theta

    axis = np.linspace(-bound, bound, 61)
    theta = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    each = Loss(kind).value(rows.y, theta @ rows.x.T).sum(axis=1)
    on_grid = (each + 0.5 * weight * (theta**2).sum(axis=1)).min()
    smallest = best_fixed.smallest(rows, kind, bound, weight)
    clipped = np.clip(best_fixed._support_vectors(rows.x, rows.y, kind, weight), -bound, bound)
    assert on_grid - 0.1 < smallest <= on_grid * (1 + 1e-6)
    assert smallest < sums(clipped) - 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_penalty_it_equals_a_general_solver(kind):
    rows = some_rows(kind, d=4)

    def objective(theta):
        return Loss(kind).value(rows.y, rows.x @ theta).sum() + 1.5 * theta @ theta

    tight = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 20_000, "maxfev": 20_000}
    general = min(
        minimize(objective, start, method="Nelder-Mead", options=tight).fun
        for start in (np.zeros(4), np.full(4, 0.5))
    )
    assert best_fixed.smallest(rows, kind, 20.0, 3.0) == pytest.approx(general, rel=2e-3)


def test_breast_cancer_has_the_known_optimum_and_orders_share_it():
    stream = stores.online_stream()
    smallest = [best_fixed.smallest(best_fixed.rows(stream, r), "hinge", 20.0) for r in range(3)]
    assert smallest[0] / 569 == pytest.approx(0.0171, abs=1e-4)
    assert smallest[0] == smallest[1] == smallest[2]


@pytest.mark.parametrize(("intercept", "expected"), [(False, 0.363), (True, 0.328)])
def test_no_fixed_predictor_has_the_loss_of_the_papers_toy(intercept, expected):
    """The black line of the paper's Figure 1 is at .140: an error rate, not a hinge loss."""
    settings = {"dataset": "simulated-classification", "scaling": "none", "intercept": intercept}
    stream = tabular.build(tabular.Settings(**settings, realisations=1), Path())
    rows = best_fixed.rows(stream, 0)
    smallest = best_fixed.smallest(rows, "hinge", 20.0) / len(rows.y)
    assert smallest == pytest.approx(expected, abs=0.03) and smallest > 2 * 0.14
    theta = np.linalg.lstsq(rows.x, rows.y)[0]
    assert np.mean(np.sign(rows.x @ theta) != rows.y) == pytest.approx(0.14, abs=0.02)


@pytest.mark.long
def test_the_toy_of_the_paper_has_its_loss_with_the_other_sign():
    """With covariance -1, the best loss is the black line of the figure; with 1 it is far above."""
    settings = {"dataset": "simulated-classification", "scaling": "none", "realisations": 8}
    other = tabular.Settings(**settings, simulated_covariance=-1.0, simulated_tables="each")
    stream = tabular.build(other, Path())
    found = [best_fixed.rows(stream, seed) for seed in range(8)]
    losses = [best_fixed.smallest(rows, "hinge", 20.0) / len(rows.y) for rows in found]
    assert np.mean(losses) == pytest.approx(0.14, abs=0.01)
    assert np.std(losses) < 0.01 and len(set(losses)) == 8


def test_rows_follow_the_order_and_the_change():
    stream = stores.online_stream(rows=10)
    stream["flipped"][1, 6:] = True
    plain, changed = best_fixed.rows(stream, 0), best_fixed.rows(stream, 1)
    for rows, number in ((plain, 0), (changed, 1)):
        order = stream["order"].values[number]
        np.testing.assert_array_equal(rows.x, stream["inputs"].values[order])
        signed = 2.0 * stream["target"].values[order] - 1
        signed[6:] *= -1 if number else 1
        np.testing.assert_array_equal(rows.y, signed)
