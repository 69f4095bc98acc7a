"""Regret and its bounds: published numbers on real data, and bounds above the regret."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.evaluation.theory import best_fixed, regret
from shiftbench.methods.learners import gibbs_grid, ngvi, oga, oga_el, sva, svb
from shiftbench.methods.online.losses import Loss
from tests.evaluation.scoring import stores

expected_regret = components.load_metric("expected_regret")
regret_bound = components.load_metric("regret_bound")
regret_bound_worst_case = components.load_metric("regret_bound_worst_case")
regret_metric = components.load_metric("regret")


@pytest.fixture(scope="module")
def breast():
    return stores.online_stream(realisations=5)


def scores(run, stream):
    metrics = (regret_metric, expected_regret, regret_bound, regret_bound_worst_case)
    return [metric.score(run, stream) for metric in metrics]


def test_sva_on_breast_cancer_has_the_known_numbers(breast):
    """Sums over 569 rows at eta = 1 / sqrt(T), the worst of 5 orders: 238, 321, 10832."""
    run = stores.online_run(breast, sva, n=5)
    point, expected, own, worst = scores(run, breast)
    lowest = 0.0171 * 569
    left = run["info_expected_loss"].sum(("task", "hypothesis"))
    assert left.max() == pytest.approx(238.2, abs=6)
    np.testing.assert_allclose(expected + lowest, left, atol=0.1)
    assert own.max() + lowest == pytest.approx(321.3, abs=4)
    # L^2 = |x|^2 + max x_j^2 / (2 pi) is at most 21.01^2; the infimum is 300.2.
    assert worst.max() + lowest == pytest.approx(10832, rel=0.002)
    assert (point < expected).all() and (expected < own).all() and (own < worst).all()


SETTINGS = {
    "oga": (oga, {}),
    "oga-el": (oga_el, {}),
    "sva": (sva, {"prior_sd": 0.7}),
    "svb": (svb, {"bound": 1.0}),
    "svb-linear": (svb, {"schedule": "linear", "ridge": 0.5, "bound": 1.0}),
    "sva-ridge": (sva, {"ridge": 0.1}),
}


@pytest.mark.long
@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("dataset", ["breast-cancer", "diabetes", "simulated-classification"])
def test_regret_is_below_both_bounds(case, dataset):
    module, settings = SETTINGS[case]
    stream = stores.online_stream(dataset, rows=80)
    point, expected, own, worst = scores(stores.online_run(stream, module, **settings), stream)
    assert (point <= expected + 1e-9).all()
    assert (expected <= own).all() and (expected <= worst).all()


@pytest.mark.parametrize("module", [oga, oga_el, sva, svb])
def test_regret_of_the_absolute_loss_is_below_both_bounds(module):
    stream = stores.online_stream("diabetes", rows=80)
    run = stores.online_run(stream, module, loss="absolute", bound=2.0)
    _, expected, own, worst = scores(run, stream)
    assert (expected <= own).all() and (expected <= worst).all()


def test_the_data_dependent_bound_is_not_vacuous(breast):
    """Predicting zero loses 569: the worst-case bound is above that, own gradients are below."""
    for module in (oga, oga_el, sva):
        _, _, own, worst = scores(stores.online_run(breast, module, n=5), breast)
        assert (own < 569).all() and (worst > 569).all()


def test_the_infimum_over_posteriors_is_below_random_ones(breast):
    rows = best_fixed.rows(breast, 0)
    used = regret.theorem_settings(stores.online_run(breast, sva, n=1), breast)
    lowest = regret._smallest_with_penalty(used, rows.x.tobytes(), rows.y.tobytes())
    rng = np.random.default_rng(0)
    for _ in range(30):
        m, sd = 0.3 * rng.normal(size=30), rng.uniform(0.01, 1, 30)
        tau = np.sqrt(rows.x**2 @ sd**2)
        kl = 0.5 * (m @ m + sd @ sd - 30 - 2 * np.log(sd).sum())
        value = Loss("hinge").expected(rows.y, rows.x @ m, tau).value.sum() + kl / used.eta
        assert lowest < value


def test_svb_with_the_printed_step_has_the_printed_bound():
    """c = D / (L sqrt 2) gives D L sqrt(2 T)."""
    stream = stores.online_stream(rows=60)
    used = regret.theorem_settings(stores.online_run(stream, svb, n=1, bound=1.0), stream)
    rows = best_fixed.rows(stream, 0)
    diameter, constant = 2 * np.sqrt(30), regret.lipschitz(used, rows, point=True)
    assert constant == pytest.approx(np.linalg.norm(rows.x, axis=1).max())
    step = float(diameter / (constant * np.sqrt(2)))
    run = stores.online_run(stream, svb, n=1, bound=1.0, step_size=step)
    worst = regret_bound_worst_case.score(run, stream)
    assert worst[0] == pytest.approx(diameter * constant * np.sqrt(2 * 60))


@pytest.mark.parametrize(
    ("kind", "dataset"),
    [("hinge", "breast-cancer"), ("absolute", "diabetes"), ("squared", "diabetes")],
)
def test_no_gradient_is_longer_than_the_lipschitz_constant(kind, dataset):
    stream = stores.online_stream(dataset, rows=60)
    run = stores.online_run(stream, oga_el, loss=kind, ridge=0.2)
    used = regret.theorem_settings(run, stream)
    squares = run["info_squared_gradient_mean"] + run["info_squared_gradient_sd"]
    for s in range(3):
        largest = regret.lipschitz(used, best_fixed.rows(stream, s), point=False)
        assert np.sqrt(squares.isel(seed=s).max()) <= largest


@pytest.mark.parametrize(
    ("dataset", "fields"),
    [
        ("simulated-classification", {}),
        ("simulated-regression", {"simulated_features": 1}),
        ("simulated-regression", {"simulated_features": 2}),
    ],
)
def test_gibbs_is_below_its_bounds_whose_infimum_is_that_of_the_grid(dataset, fields):
    """Without the term from Hoeffding's lemma, the bound would not hold."""
    stream = stores.online_stream(dataset, rows=60, **fields)
    run = stores.online_run(stream, gibbs_grid, points=41, reach=4.0, prior_sd=0.8)
    point, expected, own, worst = scores(run, stream)
    assert (point <= expected).all() and (expected <= own).all() and (own <= worst).all()
    used = regret.theorem_settings(run, stream)
    assert used.bound == pytest.approx(3.2)
    axes = [np.linspace(-3.2, 3.2, 41)] * stream.sizes["feature"]
    theta = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
    prior = np.exp(-(theta**2).sum(axis=1) / (2 * 0.64))
    for s in range(3):
        rows = best_fixed.rows(stream, s)
        loss = Loss(used.kind).value(rows.y[:, None], rows.x @ theta.T)
        lowest = -np.log(prior @ np.exp(-used.eta * loss.sum(axis=0)) / prior.sum()) / used.eta
        squares = (loss.max(axis=1) - loss.min(axis=1)) ** 2
        # The grid contains the ends of each loss but may miss its kink.
        np.testing.assert_allclose(
            regret.ranges(used, rows) ** 2, squares, rtol=0.1, atol=0.02 * squares.max()
        )
        best = best_fixed.smallest(rows, used.kind, 3.2)
        half = used.eta / 8 * (regret.ranges(used, rows) ** 2).sum()
        assert own[s] == pytest.approx(lowest + half - best)
        assert expected[s] > lowest - best


def test_without_a_theorem_there_is_no_bound_but_a_regret(breast):
    constant = stores.online_run(breast, svb, schedule="constant", step_size=0.1)
    for run in (stores.online_run(breast, ngvi), constant):
        point, expected, own, worst = scores(run, breast)
        assert np.isfinite(point).all() and np.isfinite(expected).all()
        assert np.isnan(own).all() and np.isnan(worst).all()


def test_combinators_and_other_streams_have_no_regret():
    stream = stores.toy_stream(2)
    run = stores.toy_run(stream, "vbs-k2", 2, size=2)
    assert all(np.isnan(values).all() for values in scores(run, stream))


def test_after_a_change_each_order_has_an_optimum_of_its_own():
    stream = stores.online_stream(rows=60)
    stream["flipped"][:, 30:] = True
    run = stores.online_run(stream, oga)
    point = regret_metric.score(run, stream)
    lost = run["info_loss"].sum(("task", "hypothesis")).values
    own = [best_fixed.smallest(best_fixed.rows(stream, s), "hinge", 20.0) for s in range(3)]
    np.testing.assert_allclose(point, lost - own)
    assert len(set(own)) == 3


@pytest.mark.parametrize("module", [oga, oga_el, sva, svb, ngvi])
def test_a_run_of_which_every_seed_failed_has_no_scores(module):
    stream = stores.online_stream(rows=20)
    run = stores.online_run(stream, module, n=1).isel(seed=slice(0, 0))
    assert [values.shape for values in scores(run, stream)] == [(0,)] * 4
