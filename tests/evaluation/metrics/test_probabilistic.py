"""CRPS, interval score, energy score and PIT against SciPy, quadrature and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, optimize, stats

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Gaussian, LearnerError, StudentT
from shiftbench.evaluation.scoring import crps, energy_score, student_t_tail
from shiftbench.evaluation.scoring.marginals import Marginals

metric = components.load_metric
SOME, INF = np.random.default_rng(3), np.inf


def batch(targets, mask=None) -> Batch:
    targets = np.asarray(targets, float)
    mask = np.ones(targets.shape[:2], bool) if mask is None else np.array(mask)
    return Batch(np.zeros((*targets.shape[:2], 0)), targets, mask)


def mixture(size: int, rows: int, normal: bool) -> Gaussian | StudentT:
    """Return a mixture of components with very different places, widths and degrees of freedom."""
    weights = np.log(SOME.dirichlet(np.full(size, 0.7), size=1))
    centre = SOME.normal(scale=4, size=(1, size, rows, 1))
    width = np.exp(SOME.normal(size=(1, size, rows, 1)))
    if normal:
        return Gaussian(weights, centre, width**2)
    return StudentT(weights, centre, width[..., None] ** 2, 1.5 + SOME.exponential(9, (1, size)))


def cdf(predicted: Gaussian | StudentT, row: int):
    weight, centre, width, df = Marginals.of(predicted)
    centre, width = centre[0, :, row, 0], width[0, :, row, 0]
    of = stats.norm(centre, width) if np.isinf(df).all() else stats.t(df[0], centre, width)
    return lambda y: float(weight[0] @ of.cdf(y))


def by_quadrature(cdf, y: float) -> float:
    """Return the CRPS as the integral of the squared difference of distribution functions."""
    over = lambda v: (1 - cdf(y + np.sinh(v))) ** 2 * np.cosh(v)  # noqa: E731
    under = lambda v: cdf(y - np.sinh(v)) ** 2 * np.cosh(v)  # noqa: E731
    return sum(integrate.quad(side, 0, 30, limit=500, epsabs=1e-9)[0] for side in (over, under))


@pytest.mark.parametrize("df", [0.3, 1.5, 7.2, 20.0, 21.0, 1e4, INF])
def test_tails_and_densities_are_those_of_scipy(df):
    of, front = stats.t(df) if df < INF else stats.norm(), student_t_tail.front(df)
    for t in (-30.0, -1.3, 0.0, 1e-3, 0.7, 2.5, 9.0, 1e4):
        assert student_t_tail.tail(t, df, front) == pytest.approx(of.sf(t), abs=1e-11)
        assert student_t_tail.density(t, df, front) == pytest.approx(of.pdf(t), abs=1e-12)


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("size", [1, 2, 12])
def test_crps_is_the_integral(size, normal):
    predicted, y = mixture(size, 3, normal), np.array([-7.0, 0.3, 4.0])
    found = crps.crps(Marginals.of(predicted), y[None, :, None], np.ones((1, 3), bool))
    golden = [by_quadrature(cdf(predicted, row), y[row]) for row in range(3)]
    np.testing.assert_allclose(found[0, :, 0], golden, rtol=2e-6)


def test_crps_of_a_standard_normal_at_its_mean():
    one = np.ones((1, 1, 1, 1))
    predicted = Gaussian(np.zeros((1, 1)), 0 * one, one)
    golden = (np.sqrt(2) - 1) / np.sqrt(np.pi)  # the example of Gneiting and Raftery 2007, Eq. 21
    assert metric("crps").score(predicted, batch([[[0.0]]])) == pytest.approx([golden], rel=1e-12)


@pytest.mark.parametrize("normal", [True, False])
def test_the_interval_ends_at_the_quantiles(normal):
    predicted, y = mixture(7, 3, normal), np.array([-9.0, 0.3, 12.0])
    golden = []
    for row in range(3):
        low, high = (
            optimize.brentq(lambda x, q=q, row=row: cdf(predicted, row)(x) - q, -1e4, 1e4)
            for q in (0.05, 0.95)
        )
        golden.append(high - low + 20 * max(low - y[row], y[row] - high, 0))
    found = metric("interval_score").score(predicted, batch(y[None, :, None]))
    assert found == pytest.approx([np.mean(golden)], rel=1e-8)


@pytest.mark.parametrize(
    "name",
    ["crps", "interval_score", "energy_score", "coverage_50", "pit", "predicted_correlation"],
)
def test_rows_are_scored_alike_alone_and_together_and_masked_ones_not_at_all(name):
    score = metric(name).score
    weights, df = np.log(SOME.dirichlet([1, 1, 1], size=4)), np.full((4, 3), 5.0)
    matrix = np.tile(np.array([[2.0, 1.0], [1.0, 1.0]]), (4, 3, 2, 1, 1))
    predicted = StudentT(weights, SOME.normal(size=(4, 3, 2, 2)), matrix, df)
    values = SOME.normal(size=(4, 2, 2))
    whole = score(predicted, batch(values))
    each = [
        score(type(predicted)(*(a[s : s + 1] for a in predicted)), batch(values[s : s + 1]))[0]
        for s in range(4)
    ]
    assert whole.tolist() == each
    mask = [[True, False]] * 4
    values[:, 1] = np.nan
    first = StudentT(weights, predicted.mean[:, :, :1], matrix[:, :, :1], df)
    np.testing.assert_array_equal(
        score(predicted, batch(values, mask)), score(first, batch(values[:, :1]))
    )
    assert np.isnan(score(predicted, batch(values, [[False, False]] * 4))).all()


def test_coverage_counts_what_lies_between_the_quantiles():
    predicted = Gaussian(np.zeros((1, 1)), np.zeros((1, 1, 4, 1)), np.ones((1, 1, 4, 1)))
    found = batch([[[0.67], [0.68], [1.64], [1.65]]])
    assert metric("coverage_50").score(predicted, found).tolist() == [0.25]
    assert metric("coverage_90").score(predicted, found).tolist() == [0.75]


def test_the_energy_score_tends_to_its_integral(monkeypatch):
    """For a bivariate normal at its mean, E|X - X'| is sqrt(2) times E|X - y|, sd sqrt(pi / 2)."""
    monkeypatch.setattr(energy_score, "DRAWS", 3000)
    predicted = Gaussian(np.zeros((1, 1)), np.zeros((1, 1, 1, 2)), np.full((1, 1, 1, 2), 4.0))
    golden = 2 * np.sqrt(np.pi / 2) * (1 - np.sqrt(0.5))
    found = metric("energy_score").score(predicted, batch([[[0.0, 0.0]]]))
    assert found == pytest.approx([golden], rel=0.05)


def test_the_energy_score_draws_from_the_mixture_of_t(monkeypatch):
    """Draws have the mean and covariance of a t distribution, with w scale df / (df - 2)."""
    monkeypatch.setattr(energy_score, "DRAWS", 40_000)
    scale = np.array([[2.0, 1.5], [1.5, 2.0]])
    predicted = StudentT(
        np.log([[0.999999, 1e-6]]),
        np.full((1, 2, 1, 2), 3.0),
        np.tile(scale, (1, 2, 1, 1, 1)),
        np.full((1, 2), 12.0),
    )
    draws = energy_score._draws(predicted, np.array([1.0, 0.0]), 0, 0, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), [3, 3], atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), scale * 1.2, atol=0.1)


def test_a_prediction_without_a_mean_is_refused_with_the_remedy():
    one = np.ones((1, 1, 1, 1))
    predicted = StudentT(np.zeros((1, 1)), one, one[..., None], np.ones((1, 1)))
    with pytest.raises(LearnerError, match="df <= 1 has no mean; raise the prior's shape"):
        metric("crps").score(predicted, batch([[[0.0]]]))


def test_pit_distance_is_that_of_kolmogorov_and_smirnov():
    values = SOME.random((2, 30)) ** 1.3
    dims = ("metric", "seed", "task")
    run = xr.Dataset({"score": (dims, values[None])}, coords={"metric": ["pit"]})
    run["score"].values[0, 1, 25:] = np.nan
    found = metric("pit_distance").score(run, xr.Dataset())
    golden = [stats.kstest(v, "uniform").statistic for v in (values[0], values[1, :25])]
    assert found == pytest.approx(golden)


def test_the_predicted_correlation_is_that_of_the_mixture():
    """Many draws from a mixture of two normals whose means lie on a line."""
    mean = np.array([[0.0, 0.0], [3.0, 1.0]])[None, :, None]
    predicted = Gaussian(np.log([[0.4, 0.6]]), mean, np.ones((1, 2, 1, 2)))
    covariance = 0.24 * 3 * 1
    golden = covariance / np.sqrt((1 + 0.24 * 9) * (1 + 0.24))
    found = metric("predicted_correlation").score(predicted, batch([[[0.0, 0.0]]]))
    assert found == pytest.approx([golden])
    with pytest.raises(UserError, match="several targets a row"):
        metric("predicted_correlation").score(predicted, batch([[[0.0]]]))


def test_the_predicted_correlation_takes_the_covariance_of_a_t():
    """Two t distributions, of correlation 1/2 and -1/2; the one with df = 4 has twice its scale."""
    scale = np.array([[[2.0, 1.0], [1.0, 2.0]], [[2.0, -1.0], [-1.0, 2.0]]])[None, :, None]
    df, zero = np.array([[4.0, 1e9]]), np.zeros((1, 2, 1, 2))
    score, rows = metric("predicted_correlation").score, batch([[[0.0, 0.0]]])
    found = score(StudentT(np.log([[0.25, 0.75]]), zero, scale, df), rows)
    golden = (0.25 * 2 * 1 - 0.75 * 1) / (0.25 * 2 * 2 + 0.75 * 2)
    assert found == pytest.approx([golden], rel=1e-6)
    heavy = np.array([[4.0, 2.0]])
    assert np.isnan(score(StudentT(np.log([[0.25, 0.75]]), zero, scale, heavy), rows))
    with np.errstate(divide="ignore"):
        certain = np.log([[1.0, 0.0]])
    assert score(StudentT(certain, zero, scale, heavy), rows) == pytest.approx([0.5])
