"""Control charts: statistics by brute force, models, and alarm rates from theory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import optimize, stats
from scipy.special import logsumexp

from shiftbench.config import components
from shiftbench.contract.blocks import one_by_one, same, same_results
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import control_chart, page_hinkley
from tests.methods.learners.charted import alarms, charted

NEVER = 1e9
KNOWN = {"mean": 0.4, "sd": 1.3, "coefficient": 0.3, "first": 0}
SIZES = {"mean": 0.8, "variance": 2.5, "coefficient": 0.4}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def log_ratios(values, detects, sign):
    """Return log p1 / p0 of each value, with the densities written out."""
    size, mean, sd = SIZES[detects], KNOWN["mean"], KNOWN["sd"]
    past = np.concatenate([[mean], values[:-1]])
    if detects == "mean":
        before, after = stats.norm(mean, sd), stats.norm(mean + sign * size * sd, sd)
    elif detects == "variance":
        before, after = stats.norm(mean, sd), stats.norm(mean, sd * size ** (sign / 2))
    else:
        slopes = KNOWN["coefficient"], KNOWN["coefficient"] + sign * size
        before, after = (stats.norm(mean + slope * (past - mean), sd) for slope in slopes)
    return after.logpdf(values) - before.logpdf(values)


@pytest.mark.long
@pytest.mark.parametrize("detects", SIZES)
@pytest.mark.parametrize("direction", ["up", "down", "both"])
@pytest.mark.parametrize("statistic", ["shewhart", "cusum", "shiryaev-roberts"])
def test_statistic_is_that_of_all_starts(statistic, detects, direction):
    """The last ratio, the largest sum over starts, or the log of summed ratios over starts."""
    values = 0.4 + 1.5 * normal(60)
    over_starts = {
        "shewhart": lambda sums: sums[-1],
        "cusum": max,
        "shiryaev-roberts": logsumexp,
    }[statistic]
    signs = {"up": [1], "down": [-1], "both": [1, -1]}[direction]
    expected = []
    for t in range(1, len(values) + 1):
        each = []
        for sign in signs:
            ratios = log_ratios(values[:t], detects, sign)
            each.append(over_starts([ratios[start:].sum() for start in range(t)]))
        one = max(each) if statistic != "shiryaev-roberts" else logsumexp(each) - np.log(len(each))
        expected.append(max(0.0, one))
    settings = {"statistic": statistic, "detects": detects, "direction": direction}
    _, _, info = charted(
        control_chart, values, **settings, **KNOWN, size=SIZES[detects], threshold=NEVER
    )
    np.testing.assert_allclose(info["alarm_statistic"][0, :, 0], expected, atol=1e-11)
    assert max(expected) > 0.2


def test_model_is_that_of_the_first_values():
    values = 3 + 0.01 * np.stack([normal(90, seed=seed) for seed in range(2)])
    state, predicted, info = charted(control_chart, values, first=40, threshold=NEVER)
    seen = values[:, :40]
    np.testing.assert_allclose(state["level"][:, 0], seen.mean(axis=1))
    np.testing.assert_allclose(state["variance"][:, 0], seen.var(axis=1, ddof=1))
    assert (info["alarm_statistic"][:, :40] == 0).all() and (state["count"] == 40).all()
    mean, variance = (part.reshape(2, 90) for part in (predicted.mean, predicted.variance))
    np.testing.assert_allclose(mean[:, 40:], np.tile(seen.mean(axis=1), (50, 1)).T)
    np.testing.assert_allclose(variance[:, -1], seen.var(axis=1, ddof=1) * (1 + 1 / 40))
    # Before that, the model is that of the values so far, with the set sd as one more square.
    few = values[:, :7]
    np.testing.assert_allclose(mean[:, 7], few.mean(axis=1))
    np.testing.assert_allclose(variance[:, 7], (1 + 7 * few.var(axis=1)) / 7 * (8 / 7))


def test_model_of_a_coefficient_is_the_least_squares_fit():
    values = 2 + normal(300).cumsum() * 0.1
    state, predicted, _ = charted(
        control_chart, values, detects="coefficient", first=200, mean=2.0, threshold=NEVER
    )
    past = np.concatenate([[2.0], values[:199]])
    fit = stats.linregress(past, values[:200])
    residual = values[:200] - fit.intercept - fit.slope * past
    assert state["slope"].item() == pytest.approx(fit.slope)
    assert state["variance"].item() == pytest.approx((residual**2).sum() / 198)
    level = values[:200].mean()
    assert predicted.mean[250].item() == pytest.approx(level + fit.slope * (values[249] - level))


def test_a_segment_starts_with_the_value_of_the_alarm():
    values = np.concatenate([normal(100), 6 + normal(80, seed=1)])
    state, predicted, info = charted(control_chart, values, first=30, threshold=15.0)
    (alarm,) = info["shift"][0, :, 0].nonzero()[0]
    assert 100 < alarm < 105
    assert state["level"].item() == pytest.approx(values[alarm : alarm + 30].mean())
    assert predicted.mean[alarm + 1].item() == values[alarm]
    assert info["alarm_statistic"][0, alarm, 0] >= 15
    # Until the chart has fitted a model, its statistic is that of a chart without alarms.
    free = charted(control_chart, values, first=30, threshold=NEVER)[2]["alarm_statistic"]
    until = alarm + 30
    np.testing.assert_array_equal(info["alarm_statistic"][:, :until], free[:, :until])
    restarted = charted(control_chart, values[alarm:], first=30, threshold=NEVER)[2]
    after = restarted["alarm_statistic"][0, 30:]
    np.testing.assert_allclose(info["alarm_statistic"][0, until:], after, atol=1e-9)
    assert not info["parent"].any() and not info["log_weight"].any()


def test_a_constant_series_raises_no_alarm():
    assert not alarms(control_chart, np.full(100, 7.0)).any()


@pytest.mark.parametrize("module", [control_chart, page_hinkley])
@pytest.mark.parametrize("detects", ["coefficient", "mean"])
def test_blocks_are_rows_one_by_one_and_a_task_of_rows_has_their_alarms(module, detects):
    problem = Problem("regression", (0,), 1, 1, 120)
    values = np.concatenate([normal(2, 60), normal(2, 60, seed=1) + np.array([[2], [-2]])], axis=1)
    settings = {"first": 8} if module is control_chart else {"first": 8, "threshold": 8.0}
    settings |= {"detects": detects} if module is control_chart else {}
    learner = module.build(module.Settings(**settings), problem)
    batch = Batch(np.zeros((2, 120, 0)), values[..., None], np.ones((2, 120), bool))
    batch.mask[1, 40] = False
    start = learner.init(np.zeros((2, 2), int))
    block = learner.block(start, batch, True)
    assert same_results(block, one_by_one(learner, start, batch, True))
    whole, info = learner.observe(start, batch, np.zeros((2, 2), int))
    assert same(whole, block[0]) and block[2]["shift"].any()
    for name in ("shift", "alarm_statistic"):
        np.testing.assert_array_equal(info[name], block[2][name].max(axis=1))


def test_what_does_not_fit_is_refused():
    problem = Problem("regression", (0,), 2, 1, 9)
    with pytest.raises(LearnerError, match=r"control-chart: watches one value a row, but .* has 2"):
        control_chart.build(control_chart.Settings(), problem)
    for changes, expected in (
        ({"detects": "variance", "size": 0.5}, ["size"]),
        ({"first": 2}, ["first:"]),
        ({"first": 0}, []),
    ):
        settings = components.check("learners", "control-chart", changes)
        reasons = components.unsupported("learners", "control-chart", settings)
        assert [reason.split(" ")[0] for reason in reasons] == expected


def run_length(limit, mean, reference=0.5, nodes=60):
    """Return the mean run length to an alarm of a one-sided CUSUM S <- max(0, S + y - reference).

    The CUSUM runs from 0 to `limit` on y ~ N(mean, 1). Solves E. S. Page's integral equation (1954)
    by Gauss-Legendre quadrature.
    """
    place, weight = np.polynomial.legendre.leggauss(nodes)
    place = np.concatenate([[0.0], (place + 1) * limit / 2])
    step = reference - mean + place - place[:, None]
    kernel = stats.norm.pdf(step) * np.concatenate([[0.0], weight * limit / 2])
    kernel[:, 0] = stats.norm.cdf(reference - mean - place)
    return np.linalg.solve(np.eye(len(place)) - kernel, np.ones(len(place)))[0]


def between_alarms(module, mean, shape=(200, 2000), seed=0, **settings):
    """Return the mean number of values between alarms, with its standard error."""
    values = mean + normal(*shape, seed=seed)
    count = alarms(module, values, **settings).sum()
    return values.size / count, values.size / count**1.5


def test_oracle_has_the_published_run_lengths():
    """D. C. Montgomery's table for k = 1/2, two-sided, and D. Siegmund's approximation (1985)."""
    table = {4: (168, 8.38), 5: (465, 10.4)}
    for limit, (without, after) in table.items():
        assert run_length(limit, 0.0) / 2 == pytest.approx(without, rel=0.003)
        assert run_length(limit, 1.0) == pytest.approx(after, rel=0.003)
        far = limit + 1.166
        assert run_length(limit, 0.0) == pytest.approx(2 * (np.exp(far) - far - 1), rel=0.02)


CUSUM = {"first": 0, "direction": "up", "threshold": 4.0}


def test_false_alarms_and_delay_of_cusum_are_those_of_theory():
    """For size 1 the log likelihood ratio is y - 1/2, so nats are standard deviations."""
    without, error = between_alarms(control_chart, 0.0, **CUSUM)
    assert abs(without - run_length(4, 0.0)) < 4 * error
    delay, error = between_alarms(control_chart, 1.0, shape=(20, 2000), **CUSUM)
    assert abs(delay - run_length(4, 1.0)) < 4 * error
    # G. Lorden, 1971: log(mean values to a false alarm) / divergence, which is size^2 / 2.
    assert delay < np.log(without) / 0.5
    both, error = between_alarms(control_chart, 0.0, **CUSUM | {"direction": "both"})
    assert abs(both - run_length(4, 0.0) / 2) < 4 * error


def test_false_alarms_of_shiryaev_roberts_are_rarer_than_its_threshold():
    """The mean run length is at least e^threshold, as ratio minus time is a martingale.

    M. Pollak, 1987, gives the factor 1 / .56 for size 1. The ratios of both directions average 1.
    """
    of = partial(between_alarms, control_chart, 0.0, statistic="shiryaev-roberts", first=0)
    for direction in ("up", "both"):
        found, error = of(threshold=5.0, direction=direction)
        assert found - 4 * error > np.exp(5)
        assert abs(found - np.exp(5) / 0.56) < 4 * error + 0.02 * found


def test_false_alarms_of_shewhart_are_those_of_the_normal_law():
    limit = 2.5
    settings = {"statistic": "shewhart", "first": 0, "threshold": 1.0 * (limit - 0.5)}
    found, error = between_alarms(control_chart, 0.0, **settings)
    assert abs(found - 0.5 / stats.norm.sf(limit)) < 4 * error


@pytest.mark.parametrize("method", ["cusum", "shiryaev-roberts", "shewhart"])
def test_thresholds_of_the_methods_give_500_values_between_false_alarms(method):
    text = Path("config/methods/control-charts.yaml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)[method]["pipeline"][0]["control-chart"]
    found, error = between_alarms(control_chart, 0.0, **settings, first=0)
    assert abs(found - 500) < 4 * error


RIVALS = {
    "shiryaev-roberts": (control_chart, {"statistic": "shiryaev-roberts", "threshold": 5.2}),
    "shewhart": (control_chart, {"statistic": "shewhart", "threshold": 2.2}),
    "cusum for half the size": (control_chart, {"size": 0.5, "threshold": 3.2}),
    "cusum for twice the size": (control_chart, {"size": 2.0, "threshold": 4.4}),
    "page-hinkley": (page_hinkley, {"delta": 0.5, "threshold": 4.2, "alpha": 1.0}),
}
ALMOST = ("shiryaev-roberts", "page-hinkley")


@pytest.mark.long
@pytest.mark.parametrize("rival", RIVALS)
def test_no_detector_is_quicker_than_cusum_in_the_worst_case(rival):
    """CUSUM is optimal among detectors with equal mean time between false alarms.

    This is due to G. V. Moustakides, 1986. The worst case is at least the delay after one history:
    here values at the mean, after which the statistics of charts are 0.
    """
    module, settings = RIVALS[rival]
    settings = settings | {"direction": "up"}
    if module is control_chart:
        settings |= {"first": 0}
    without, error = between_alarms(module, 0.0, shape=(400, 5000), **settings)
    quiet = 100
    values = np.concatenate([np.zeros((20_000, quiet)), 1 + normal(20_000, 400, seed=1)], axis=1)
    raised = alarms(module, values, **settings)
    assert not raised[:, :quiet].any() and raised.any(axis=1).all()
    delays = raised[:, quiet:].argmax(axis=1) + 1
    least = without - 4 * error
    limit = optimize.brentq(lambda one: run_length(one, 0.0) - least, 0.5, 9)
    fastest = run_length(limit, 1.0)
    assert delays.mean() + 4 * delays.std() / np.sqrt(len(delays)) > fastest
    # Detectors that are almost a CUSUM are almost as quick.
    assert rival in ALMOST or delays.mean() > 1.05 * fastest
