"""Theory figures of robust changepoints, and the formulas behind them."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from shiftbench.core.errors import UserError
from shiftbench.data.series import _stationary_ar, series
from shiftbench.evaluation.artefacts import beta_contours, influence, k_hat, outlier_bound
from shiftbench.evaluation.running import build_run, harness, run_store
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.theory import odds_bound
from shiftbench.methods.learners.beta_approximation import Settings
from shiftbench.methods.posteriors import beta_exact, student_t
from shiftbench.methods.posteriors.closeness import closeness
from tests.evaluation.scoring import stores

STUDY = SimpleNamespace(name="beta-posterior")
FIG_1B = {"d": 5, "a0": 3.0, "b0": 5.0}


@pytest.mark.parametrize(("beta", "d", "spread"), [(0.15, 5, 1.0), (0.5, 2, 1.0), (0.3, 1, 20.0)])
def test_no_observation_breaks_the_bound_on_the_odds(beta, d, spread):
    """Compare with the score, over prior scales, run lengths and positions of the outlier."""
    a0, b0, hazard, log_det = 3.0, 5.0, 0.01, -6.0
    bound = odds_bound.log_odds_bound(beta, hazard, d, log_det, a0, b0)
    prior_log_det = d * np.log(spread * b0 / a0)
    worst = np.inf
    for df, of_run, of_prior in itertools.product(
        (6, 50, 5000), *[np.geomspace(1e-3, 1e6, 40)] * 2
    ):
        run = student_t.score(beta, float(df), d, log_det, of_run)
        prior = student_t.score(beta, 2 * a0, d, prior_log_det, of_prior)
        worst = min(worst, np.log((1 - hazard) / hazard) + run - prior)
    assert worst >= bound
    if spread == 1:  # At the smallest scale of the prior, the bound is sharp.
        assert worst == pytest.approx(bound, abs=0.02)


@pytest.mark.parametrize(("beta", "d"), [(0.2, 29), (0.5, 29), (1.0, 10), (0.5, 5), (0.3, 1)])
def test_the_smallest_scale_is_enough_for_every_run_length(beta, d):
    """Compare with the score; in many dimensions a run of one row is worse than a long one."""
    a0, b0, hazard = 3.0, 5.0, 0.01
    log_det = float(odds_bound.smallest_log_det(beta, hazard, d, a0, b0))
    assert odds_bound.log_odds_bound(beta, hazard, d, log_det, a0, b0) == pytest.approx(0, abs=1e-9)
    prior = student_t.score(beta, 2 * a0, d, d * np.log(b0 / a0), 0.0)
    odds = [
        np.log((1 - hazard) / hazard)
        + student_t.score(beta, 2 * a0 + rows * d, d, log_det, 1e300)
        - prior
        for rows in (*range(1, 100), 1000, 1_000_000)
    ]
    assert min(odds) == pytest.approx(0, abs=1e-4) and min(odds) > -1e-9
    assert odds.index(min(odds)) == (0 if d > 5 else len(odds) - 1)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 29, 100])
def test_the_integral_has_no_maximum_at_a_run_of_middle_length(d):
    df = np.geomspace(0.1, 1e4, 500)
    for beta in (0.02, 0.1, 0.3, 1.0):
        values = np.array([student_t.log_integral(beta, one, d, 0.0) for one in df])
        rises = np.diff(values) > 0
        assert (np.diff(rises.astype(int)) >= 0).all()


def test_the_paper_condition_holds_from_a_much_smaller_determinant():
    # The paper has log odds of 4.595 and sup f_0^beta / beta = 2.986, satisfied from 2e-10 on.
    peak = np.exp(0.15 * stats.multivariate_t(None, 5 / 3 * np.eye(5), 6).logpdf(np.zeros(5)))
    assert peak / 0.15 == pytest.approx(2.986, abs=1e-3)
    smallest = np.exp(odds_bound.smallest_log_det(0.15, 0.01, **FIG_1B))
    # Ours keeps the prior's integral, which the paper's condition drops, so it is lower.
    assert smallest == pytest.approx(4.3e-11, rel=0.02)
    at = odds_bound.log_odds_bound(0.15, 0.01, log_det=np.log(smallest), **FIG_1B)
    assert at == pytest.approx(0, abs=1e-9)
    assert odds_bound.smallest_log_det(0.05, 0.01, **FIG_1B) == np.inf


def rows_of(n: int, d: int):
    values, eye = _stationary_ar.generate(0, d)[-n - 1 :], np.eye(d)
    x = np.concatenate([np.broadcast_to(eye, (n, d, d)), values[:-1, None] * eye], axis=2)
    return x, values[1:], beta_exact.Prior(3.0, 5.0, 0.5, 2.0)


def test_the_exact_posterior_is_prior_times_exp_of_the_beta_losses():
    x, y, prior = rows_of(4, 2)
    s2, mu, beta = 1.7, np.array([0.1, -0.2, 0.3, 0.4]), 0.3

    def value(s2: float, mu: np.ndarray) -> float:
        total = stats.invgamma(prior.a, scale=prior.b).logpdf(s2)
        total += stats.norm(0.5, np.sqrt(2 * s2)).logpdf(mu).sum()
        one = stats.norm(0, np.sqrt(s2))
        integral = integrate.quad(lambda z: one.pdf(z) ** (1 + beta), -20, 20)[0] ** 2
        for design, target in zip(x, y, strict=True):
            density = one.pdf(target - design @ mu).prod()
            total += density**beta / beta - integral / (1 + beta)
        return total

    found = beta_exact.log_density(
        prior, beta, x, y, np.array([s2, 2 * s2]), np.stack([mu, mu + 1])
    )
    assert found[1] - found[0] == pytest.approx(value(2 * s2, mu + 1) - value(s2, mu), rel=1e-6)


@pytest.mark.long
def test_the_approximation_integrates_to_one_and_for_small_beta_is_the_standard_posterior():
    x, y, prior = rows_of(30, 2)
    q = beta_exact.Approximation.unpacked(beta_exact.conjugate(prior, x, y))
    fitted = beta_exact.approximation(prior, 1e-6, x, y)
    np.testing.assert_allclose(fitted.packed(), q.packed(), rtol=1e-3, atol=1e-4)
    s2, mu = q.draw(20_000, np.random.default_rng(0))
    assert s2.mean() == pytest.approx(q.b / (q.a - 1), rel=0.01)
    exact = beta_exact.log_density(prior, 1e-6, x, y, s2, mu)
    # In the limit of the standard posterior, the log ratio is constant.
    assert (exact - q.log_density(s2, mu)).std() < 1e-3
    one = beta_exact.Approximation(3.0, 2.0, np.array([0.5]), np.array([[0.7]]))
    mass = integrate.dblquad(
        lambda m, s: np.exp(one.log_density(np.array([s]), np.array([[m]])))[0], 1e-3, 60, -25, 25
    )[0]
    assert mass == pytest.approx(1, abs=5e-3)


def test_k_hat_is_close_as_the_paper_says_and_finds_what_forgets_the_data():
    prior, random = beta_exact.Prior(3.0, 5.0, 0.0, 100.0), np.random.default_rng(0)

    def found(beta: float, d: int):
        x, y, _ = rows_of(101, d)
        fitted = beta_exact.approximation(prior, beta, x[:-1], y[:-1])
        return closeness(prior, beta, fitted, x, y, 2000, random)

    near = found(0.05, 2)
    assert near.predictive < 0.5 and near.effective > 0.99 and near.learnt > 0.5
    assert found(0.5, 10).learnt < 0.02


def test_figures_of_formulas_draw_the_conditions_that_they_speak_of():
    curves, _ = influence.draw(STUDY).get_axes()
    assert [text.get_text() for text in curves.get_legend().get_texts()] == [
        "standard (0)", "0.05", "0.1", "0.25", "0.5",
    ]  # fmt: skip
    odds, _, hazards = outlier_bound.draw(STUDY).get_axes()
    lines = {line.get_label(): line for line in odds.get_lines()}
    assert (lines["0.1"].get_ydata() < 0).all() and lines["0.15"].get_ydata()[-1] > 0
    assert np.isfinite(hazards.get_lines()[0].get_ydata()).all()
    for module in (influence, outlier_bound):
        assert "no run of the study beta-posterior enters" in module.caption(STUDY)
        assert module.draw(STUDY).get_suptitle() == module.message()
        assert module.caption(STUDY).startswith(f"{module.message()}. ")


def test_formulas_have_their_numbers_in_the_title():
    curves, _ = influence.draw(STUDY).get_axes()
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in curves.get_lines()
             if line.get_label() in ("0.05", "0.5")]  # fmt: skip
    ends = f"it falls from {peaks[0]:.1f} standard deviations on, with 0.5 from {peaks[1]:.1f} on"
    assert influence.message().endswith(ends)
    odds, *_ = outlier_bound.draw(STUDY).get_axes()
    (line,) = (one for one in odds.get_lines() if one.get_label() == "0.15")
    smallest = np.interp(0, line.get_ydata(), np.log(line.get_xdata()))
    assert smallest == pytest.approx(np.log(outlier_bound._smallest()), abs=0.1)
    assert f"above {outlier_bound._smallest():.1e} (8.12e-06" in outlier_bound.message()


def k_hat_study(d: int, betas: tuple[float, ...]):
    """Return a run of the harness on two data sets of d stationary autoregressions."""
    fields = {
        "dataset": "stationary-ar", "regressors": "own-level-and-lag", "series": d,
        "realisations": 2, "rows_per_task": 100,
    }  # fmt: skip
    about = {"stream": "ar", "family": "series", "settings": fields}
    stream = series.build(series.Settings(**fields), Path()).assign_attrs(spec=json.dumps(about))
    spec = {
        "study": "closeness", "stream": {"name": "ar", "family": "series"}, "method": "fits",
        "learner": [["beta-approximation", asdict(Settings(betas=betas))]], "model": None,
        "seeds": [0, 1], "reveals": [], "drift": "before-prediction",
        "metrics": ["log_predictive"], "code": "",
    }  # fmt: skip
    run = build_run.run(spec, stream)
    position = harness.start(run)
    for _ in range(2):
        position = harness.advance(run, position, Meter())
    store = run_store.dataset(run, position)
    return stores.study("closeness", stream, ["log_predictive"], [store], cuts="")


def test_k_hat_draws_no_point_where_the_data_are_forgotten():
    study = k_hat_study(10, (0.05, 0.5))
    panel, *_ = k_hat.draw(study).get_axes()
    assert panel.containers[0].lines[0].get_xdata().size == 1
    (crosses,) = (line for line in panel.get_lines() if line.get_marker() == "x")
    assert crosses.get_xdata().size == 1
    assert "100 rows" in k_hat.caption(study) and "2 of 2 runs" in k_hat.caption(study)


def test_k_hat_names_lines_and_crosses_and_says_how_close_the_fit_is():
    study = k_hat_study(10, (0.05, 0.5))
    figure = k_hat.draw(study)
    found = study.run("ar", "fits").isel(task=-1, hypothesis=0)["info_predictive"].values
    closeness = "is close to" if np.median(found) < 0.5 else "is not everywhere close to"
    said = (
        f"The fit's next-row density {closeness} the exact one: the median k-hat is at most"
        f" {np.median(found):.2f} (at d = 10) where the data are not forgotten; below 0.5 is close"
    )
    assert figure.get_suptitle() == said and k_hat.caption(study).startswith(said)
    for panel in figure.get_axes():
        assert {"data forgotten:", "d = 10"} <= {text.get_text() for text in panel.texts}
        assert panel.get_legend() is None
    assert "effective" not in figure.get_axes()[2].get_ylabel()


def test_k_hat_has_bars_of_the_middle_half_of_the_data_sets():
    study = k_hat_study(2, (0.05, 0.2))
    panel, _, lost = k_hat.draw(study).get_axes()
    found = study.run("ar", "fits").isel(task=-1).transpose("hypothesis", "seed", ...)
    bars = np.array(panel.containers[0].lines[2][0].get_segments())[:, :, 1]
    quartiles = np.quantile(found["info_predictive"], [0.25, 0.75], axis=1)
    np.testing.assert_allclose(bars.T, quartiles)
    shares = lost.containers[0].lines[0].get_ydata()
    assert shares == pytest.approx(100 * (1 - found["info_effective"].median("seed").values))
    low, high = panel.get_ylim()
    assert low < bars.min() and high > bars.max()


def test_k_hat_of_a_run_is_that_of_the_paper_s_rows():
    """Compare with the approximation of a hundred rows and the next row, for each data set."""
    study = k_hat_study(2, (0.05, 0.2))
    found = study.run("ar", "fits").isel(task=-1)
    prior, random = beta_exact.Prior(3.0, 5.0, 0.0, 100.0), np.random.default_rng(0)
    x, y, _ = rows_of(101, 2)
    for place, beta in enumerate((0.05, 0.2)):
        fitted = beta_exact.approximation(prior, beta, x[:-1], y[:-1])
        expected = closeness(prior, beta, fitted, x, y, 2000, random)
        of_run = found.isel(seed=0, hypothesis=place)
        assert float(of_run["info_learnt"]) == pytest.approx(expected.learnt, rel=1e-12)
        assert float(of_run["info_predictive"]) == pytest.approx(expected.predictive, abs=0.3)
        assert float(of_run["info_effective"]) == pytest.approx(expected.effective, abs=0.01)


def test_k_hat_needs_runs():
    with pytest.raises(UserError, match="needs a method that says how near"):
        k_hat.draw(stores.toy_study(2))


def contours_study(draws):
    """Return a study in which the draws of the sampler are draws of the approximation."""
    fit = beta_exact.Approximation(
        6.0, 12.0, np.array([0.5, -0.2]), np.array([[0.2, 0], [0.05, 0.1]])
    )
    stream = stores.toy_stream(1)
    size = (1, stream.sizes["task"], 1)
    s2, mu = fit.draw(draws, np.random.default_rng(0))
    both = np.concatenate([s2[:, None], mu], axis=1)
    run = stores.run_store(
        np.zeros((1, *size[:2])),
        ["log_predictive"],
        stream,
        "exact",
        [["beta-hmc", {"beta_p": 0.25}]],
        {"r_hat": np.ones(size), "accepted": np.ones(size)},
    )
    run["info_draws"] = (
        ("seed", "task", "hypothesis", "draws_0", "draws_1"), np.tile(both, (*size, 1, 1))
    )  # fmt: skip
    run["info_fit"] = (("seed", "task", "hypothesis", "fit_0"), np.tile(fit.packed(), (*size, 1)))
    return stores.study("beta-posterior", stream, ["log_predictive"], [run], cuts="")


def test_contours_of_draws_from_the_approximation_lie_on_its_own():
    study = contours_study(40_000)
    drawn = beta_contours.draw(study)
    panels = drawn.get_axes()
    assert [panel.get_xlabel() for panel in panels[:3]] == [*["coefficient 1"] * 2, "coefficient 2"]
    for panel in panels[:3]:
        exact, fitted = panel.collections
        for one, two in zip(exact.get_paths(), fitted.get_paths(), strict=True):
            span = np.ptp(two.vertices, axis=0)
            difference = np.abs(one.get_extents().get_points() - two.get_extents().get_points())
            assert (difference < 0.1 * span).all()
    words = panels[2].get_title(loc="right")
    assert words.startswith("means within 0.0")
    assert "40,000 draws" in beta_contours.caption(study)
    sds = "standard deviations"
    parts = words.removeprefix("means within ").removesuffix(" %")
    mean, sd = parts.split(f" {sds}, these within ")
    said = f"draws of the exact posterior by at most {mean} {sds} in means and {sd} % in {sds}"
    assert drawn.get_suptitle().endswith(said)
    assert beta_contours.caption(study).startswith(f"{drawn.get_suptitle()}. ")


def test_contours_need_a_sampler():
    with pytest.raises(UserError, match="needs a method that publishes draws"):
        beta_contours.draw(stores.toy_study(2))
