"""FOCuS gives the likelihood ratio of the best position of a change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from shiftbench.data.series import _nile
from shiftbench.methods.detectors import focus
from tests.methods.detectors.watched import ERRORS, NEVER, STEP, watched
from tests.real_files import MIRROR, needs_mirror


def ratios(values, family):
    """Return the log likelihood ratio of a change at each t, from its definition."""
    n, sums = len(values), np.concatenate([[0.0], np.cumsum(values)])
    t = np.arange(n)
    size, before = np.maximum(t, 1), sums[:-1]
    after = sums[-1] - before
    if family == "gaussian-zero":
        return 0.5 * after**2 / (n - t)
    if family == "gaussian":
        return 0.5 * (before**2 / size + after**2 / (n - t) - sums[-1] ** 2 / n)

    def most(n, total):
        p = np.clip(total / n, 0, 1)
        return n * (xlogy(p, p) + xlog1py(1 - p, -p))

    return most(size, before) * (t > 0) + most(n - t, after) - most(n, sums[-1])


@pytest.mark.parametrize("family", ["gaussian", "gaussian-zero", "bernoulli"])
def test_statistic_is_that_of_the_best_change(family):
    rng = np.random.default_rng(3)
    level = np.repeat([0.2, 0.7, 0.4], 60)
    values = (rng.uniform(size=180) < level) * 1.0 if family == "bernoulli" else STEP
    found = watched(focus.build(NEVER, family), values)
    for n in range(1, len(values) + 1):
        expected = ratios(values[:n], family).max()
        assert found.statistic[n - 1] == pytest.approx(expected, abs=1e-9)


def signal(family, kind):
    """Return values whose level rises and falls, or falls once."""
    rng = np.random.default_rng(7)
    fall, both = [0.8] * 60 + [0.2] * 60, [0.2] * 40 + [0.7] * 40 + [0.4] * 40
    level = np.array(both if kind == "both" else fall)
    if family == "bernoulli":
        return (rng.uniform(size=120) < level) * 1.0
    return rng.normal(size=120) + 8 * (level - level[0])


@pytest.mark.parametrize("kind", ["both", "fall"])
@pytest.mark.parametrize("family", ["gaussian", "gaussian-zero", "bernoulli"])
def test_only_rises_count_if_the_direction_is_up(family, kind):
    values = signal(family, kind)
    found = watched(focus.build(NEVER, family, "up"), values).statistic
    for n in range(1, len(values) + 1):
        before = np.array([values[:t].mean() if t else np.inf for t in range(n)])
        before = np.zeros(n) if family == "gaussian-zero" else before
        rises = np.array([values[t:n].mean() for t in range(n)]) > before
        best = np.where(rises, ratios(values[:n], family), 0.0).max()
        assert found[n - 1] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "gaussian-zero"])
def test_an_outlier_below_is_no_rise(family):
    """Of 1, 2, 3 and then -9, no mean of the last values is above that of the others, or 0."""
    found = watched(focus.build(NEVER, family, "up"), np.array([1.0, 2.0, 3.0, -9.0])).statistic
    assert found[3] == 0
    # The best rise of 1, 2, 3: from 1 to 2.5, and from 0 to 2.
    assert found[2] == pytest.approx({"gaussian": 0.75, "gaussian-zero": 6.25}[family])


def test_statistics_are_those_of_the_reference():
    """Recorded from the package changepoint_online 1.2.1 on the same values."""
    found = watched(focus.build(NEVER), STEP)
    assert found.statistic[[29, 30, 64, 99]] == pytest.approx(
        [0.12209476, 27.10788961, 7.13395956, 40.23089448], abs=5e-9
    )
    assert found.statistic.max() == pytest.approx(50.41716420) and found.state["change"] == 60
    zero = watched(focus.build(NEVER, "gaussian-zero"), STEP)
    assert zero.statistic[30] == pytest.approx(28.16989931)


def test_statistics_of_errors_are_those_of_the_reference():
    found = watched(focus.build(NEVER, "bernoulli"), ERRORS)
    assert found.statistic[[49, 399]] == pytest.approx([2.39994355, 32.62315352], abs=5e-9)
    for threshold, n in ((5, 203), (10, 224)):
        assert np.flatnonzero(found.statistic >= threshold)[0] + 1 == n
        assert watched(focus.build(NEVER, "bernoulli"), ERRORS[:n]).state["change"] == 200


def test_statistics_of_the_nile_are_those_of_the_reference():
    values = _nile.read().value[0, :, 0]
    found = watched(focus.build(NEVER), (values - values.mean()) / values.std())
    expected = [2.78290992, 18.26832737, 21.827709447732573]
    assert found.statistic[[29, 59, 99]] == pytest.approx(expected, abs=5e-9)
    assert found.state["change"] == 28
    for threshold, n in ((5, 32), (10, 37), (20, 71)):
        assert np.flatnonzero(found.statistic >= threshold)[0] + 1 == n


@needs_mirror
def test_statistic_of_the_well_log_is_that_of_the_reference():
    file = MIRROR / "well-log" / "well.txt"
    values = np.loadtxt(file)[:200]
    found = watched(focus.build(NEVER), (values - values.mean()) / values.std())
    assert found.statistic[29] == pytest.approx(57.47249065)


@pytest.mark.parametrize("offset", [1e3, -1e7, 1e10])
def test_a_level_far_from_zero_changes_nothing(offset):
    """With S^2 / 2 n of sums of the values, 1e7 added to noise gave a statistic of 64."""
    values = np.round(np.random.default_rng(0).normal(size=3000) * 2**10) / 2**10
    near = watched(focus.build(NEVER), values)
    far = watched(focus.build(NEVER), values + offset)
    np.testing.assert_allclose(far.statistic, near.statistic, rtol=1e-9, atol=1e-9)
    assert far.state["change"] == near.state["change"]
    assert near.statistic.max() < 10 and not watched(focus.build(10.0), values + offset).alarms


def test_a_chain_without_room_loses_little():
    """The sums lie on a curve on which every value is a corner, so corners outnumber the slots."""
    values = np.linspace(-1, 1, 400)
    found = watched(focus.build(NEVER), values)
    for n in (50, 63):
        assert found.statistic[n - 1] == pytest.approx(ratios(values[:n], "gaussian").max())
    exact = ratios(values, "gaussian").max()
    assert exact * 0.999 < found.statistic[-1] < exact * (1 + 1e-12)
    assert found.state["sizes"].max() == focus.CORNERS


def test_few_corners_are_kept_of_noise():
    values = np.random.default_rng(0).normal(size=3000)
    sizes = watched(focus.build(NEVER), values).state["sizes"]
    assert sizes.max() < 25
