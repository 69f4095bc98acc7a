"""Metrics of online alarms: brute force on small cases, closed forms, and all histories."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.evaluation.metrics import alarms as metrics
from shiftbench.evaluation.scoring import alarms, shift_probabilities
from tests.evaluation.scoring import stores

NAMES = [row.name for row in metrics.METRICS]


def score(name, run, stream):
    return components.load_metric(name).score(run, stream)


def stream_of(shift, one_row=True, ends=None):
    """Return a stream with these shifts [seed, task], with single rows or many per task."""
    family = "toy-step" if one_row else "transformed-images"
    spec = {"stream": "s", "family": family, "settings": {}}
    store = xr.Dataset({"shift": (("realisation", "task"), np.asarray(shift, bool))})
    if ends is not None:
        store["shift_end"] = ("realisation", "task"), ends
    return store.assign_attrs(spec=json.dumps(spec))


def decided(flags, stream, **infos):
    """Return a run of one hypothesis with decisions [seed, task] and other infos [seed, task]."""
    flags = np.asarray(flags, float)[..., None]
    none = np.zeros_like(flags)
    infos = {name: np.asarray(values)[..., None] for name, values in infos.items()}
    infos |= {"shift": flags, "parent": none, "log_weight": none}
    return stores.run_store(np.zeros((1, *flags.shape[:2])), ["m"], stream, "v", [["x", {}]], infos)


def test_windows_are_shorter_than_half_a_segment():
    shift = np.zeros((2, 300), bool)
    for segment, rows, many in (
        (300, (10, 50), (1, 2)),
        (30, (10, 15), (1, 2)),
        (3, (1, 1), (1, 1)),
    ):
        shift[:] = (np.arange(300) % segment == 0) & (np.arange(300) > 0)
        assert alarms.horizon(stream_of(shift)) == rows
        assert alarms.horizon(stream_of(shift, one_row=False)) == many
    shift[:] = True  # segments of one task
    assert alarms.horizon(stream_of(shift)) == (1, 1)


def cases(number=60, tasks=14, seed=1, shifts=0.1):
    random = np.random.default_rng(seed)
    shift, flags = random.random((2, number, tasks)) < np.array([shifts, 0.25])[:, None, None]
    shift[:, 0] = flags[:, 0] = False
    return shift, flags


def by_hand(shift, ends, flags, window):
    """Return waits with whether they ended, true alarms, and change-free tasks of one seed."""
    tasks, starts = len(shift), np.flatnonzero(shift).tolist()
    waits, true, free = [], 0, set(range(1, tasks))
    for start, stop in zip(starts, [*starts[1:], tasks], strict=False):
        place = next((t for t in range(start, stop) if flags[t]), None)
        waits.append((stop - 1 - start, False) if place is None else (place - start, True))
        inside = range(start, min(int(ends[start]) + window + 1, stop))
        true += place is not None and place in inside
        free -= set(inside)
    return waits, true, free


def curve_by_hand(waits, upto):
    """Return P(D > d) as the product over days of 1 - deaths / at risk."""
    alive, curve = 1.0, []
    for d in range(upto):
        risk = sum(wait >= d for wait, _ in waits)
        deaths = sum(wait == d and ended for wait, ended in waits)
        alive *= 1 - deaths / risk if risk else 1
        curve.append(alive)
    return curve


@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("drifts", [True, False])
def test_every_metric_of_alarms_equals_brute_force(one_row, drifts):
    shift, flags = cases()
    ends = np.where(shift, np.arange(14), -1)
    if drifts:
        ends[shift] += np.random.default_rng(3).integers(0, 4, shift.sum())
    told = np.where(ends == np.arange(14), -1, ends)  # abrupt shifts need no end
    stream = stream_of(shift, one_row, told if drifts else None)
    run, window = decided(flags, stream), alarms.horizon(stream).window
    got = {name: score(name, run, stream) for name in NAMES[:7]}
    for s in range(len(shift)):
        waits, true, free = by_hand(shift[s], ends[s], flags[s], window)
        raised, here = flags[s].sum(), sum(flags[s][t] for t in free)
        curve = curve_by_hand(waits, 15)
        below = [d for d, alive in enumerate(curve) if alive <= 0.5 + 1e-9]
        longest = 1 + max((wait for wait, _ in waits), default=0)
        expected = {
            "alarm_f1": 2 * true / (raised + len(waits)) if raised + len(waits) else 1,
            "episode_recall": true / len(waits) if waits else np.nan,
            "false_alarm_rate": 1000 * (raised - true) / 13,
            "false_alarm_rate_unchanged": 1000 * here / len(free) if free else np.nan,
            "median_delay": (below[0] if below else longest) if waits else np.nan,
            "restricted_delay": sum((curve + 35 * curve[-1:])[:window]) if waits else np.nan,
        }
        for name, value in expected.items():
            assert got[name][s] == pytest.approx(value, nan_ok=True), name


def test_an_alarm_lasts_until_the_statistic_was_low_for_long_enough():
    value = np.array([[9, 0, 7, 8, 0, 9, 0, 0, 9, 9.0]])
    for recent, expected in ((1, [2, 3, 5, 8, 9]), (2, [2, 5, 8]), (3, [2, 8]), (4, [2])):
        assert np.flatnonzero(alarms.above(value, recent, 5.0)[0]).tolist() == expected
    random = np.random.default_rng(1)
    value = random.random((30, 25))
    for recent in (1, 2, 5):
        got = alarms.above(value, recent, 0.7)
        for s, t in np.ndindex(*value.shape):
            high = t > 0 and value[s, t] > 0.7
            quiet = not any(value[s, i] > 0.7 for i in range(max(1, t - recent + 1), t))
            assert got[s, t] == (high and quiet)


def test_false_alarms_of_a_constant_hazard_have_its_rate():
    flags = np.random.default_rng(1).random((20, 5000)) < 0.02
    stream = stream_of(np.zeros(flags.shape, bool))
    run = decided(flags, stream)
    for rate in ("false_alarm_rate", "false_alarm_rate_unchanged"):
        assert score(rate, run, stream).mean() == pytest.approx(20, rel=0.05)
    assert np.isnan(score("median_delay", run, stream)).all()


def test_the_area_of_the_perfect_and_of_the_silent_detector():
    shift = np.zeros((2, 300), bool)
    shift[:, [100, 200]] = True
    stream = stream_of(shift)
    assert score("alarm_area", decided(shift, stream), stream) == pytest.approx([0, 0])
    assert score("alarm_area", decided(shift & False, stream), stream) == pytest.approx([1, 1])
    late = decided(np.roll(shift, 25, axis=1), stream)  # half of w = 50
    assert score("alarm_area", late, stream) == pytest.approx([0.5, 0.5])


def test_the_area_of_a_random_detector_is_that_of_a_geometric_delay():
    # Tasks of many rows: w = 2, and E min(D, 2) = (1 - p) + (1 - p)^2 at 1000 p' false alarms. A
    # shift every 50 tasks turns (1 - (1 - p)^3) / 50 of the alarms into true ones.
    random = np.random.default_rng(1)
    shift = np.tile(np.arange(20_000) % 50 == 25, (4, 1))
    stream = stream_of(shift, one_row=False)
    noise = random.random(shift.shape)
    run = decided(shift & False, stream, alarm_statistic=noise)
    p = np.geomspace(1e-5, 0.5, 20_000)
    rate = 1000 * (p - (1 - (1 - p) ** 3) / 50)
    delay = ((1 - p) + (1 - p) ** 2) / 2
    x = np.geomspace(0.1, 100, 2001)
    expected = np.interp(x, rate, delay).mean()
    assert score("alarm_area", run, stream).mean() == pytest.approx(expected, abs=0.02)


def test_the_area_is_that_below_the_best_thresholds():
    random = np.random.default_rng(2)
    rate = np.append(np.zeros((3, 1)), random.gamma(1, 20, (3, 8)), axis=1)
    delay = random.random(rate.shape)
    x = np.geomspace(0.1, 100, 100_001)
    for s in range(3):
        least = [delay[s][rate[s] <= one].min() for one in x[::50]]
        assert metrics.area(rate, delay)[s] == pytest.approx(np.mean(least), abs=2e-3)


def test_a_sweep_starts_silent_and_its_points_are_those_of_its_thresholds():
    shift, _ = cases(6, 40)
    value = np.random.default_rng(4).random(shift.shape)
    stream = stream_of(shift, one_row=False)
    run = decided(shift & False, stream, alarm_statistic=value)
    curve = alarms.sweep(run, stream)
    has = shift.any(axis=1)
    assert (curve.rate[0] == 0).all() and (curve.delay[0][has] == 2).all()
    every = decided(np.arange(40) > np.zeros((6, 1)), stream)
    assert (curve.rate[-1] == score("false_alarm_rate", every, stream)).all()
    assert (curve.delay[-1][has] == 0).all()
    third = -np.sort(-value[:, 1:], axis=1)[:, 2]
    flagged = (value > third[:, None]) & (np.arange(40) > 0)
    of_third = score("false_alarm_rate", decided(flagged, stream), stream)
    assert any((row == of_third).all() for row in curve.rate)
    # Common thresholds give each seed other points from the same runs.
    assert alarms.sweep(run, stream, pooled=True).rate.shape[1] == 6


def history_weights(values, odds):
    """Return each history of shifts [history, task] and its probability given all values."""
    every = list(itertools.product([0, 1], repeat=len(values) - 1))
    joint = []
    for history in every:
        mean, variance, total = 0.0, 1.0, 0.0
        for t, x in enumerate(values):
            if t:
                total += -np.logaddexp(0, (1 - 2 * history[t - 1]) * odds)
                variance += history[t - 1]
            spread = variance + 0.25
            total += -0.5 * (np.log(spread) + (x - mean) ** 2 / spread)
            mean += variance / spread * (x - mean)
            variance *= 0.25 / spread
        joint.append(total)
    weight = np.exp(np.array(joint) - max(joint))
    return np.array([[0, *one] for one in every]), weight / weight.sum()


@pytest.mark.parametrize("within", [1, 3])
def test_a_beam_that_keeps_all_says_how_probable_a_recent_shift_is(within):
    stream = stores.toy_stream(2).isel(task=slice(6))
    run = stores.toy_run(stream, "wide", 2, size=32, weights="bayes")
    got = shift_probabilities.filtered(run, within)
    for s, t in itertools.product(range(2), range(1, 6)):
        values = stream["value"].values[s, : t + 1]
        history, weight = history_weights(values, stores.LOG_ODDS)
        recent = history[:, max(0, t - within + 1) :].any(axis=1)
        assert got[s, t - 1] == pytest.approx(weight[recent].sum(), abs=1e-9)


def test_run_lengths_say_how_probable_a_recent_shift_is():
    # A run length of t contains the first task, which no shift precedes.
    random = np.random.default_rng(5)
    length = np.tile(np.arange(6.0), (2, 6, 1))
    weight = np.where(length <= np.arange(6)[:, None], random.random(length.shape), 0)
    weight /= weight.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        infos = {"run_length": length, "log_weight": np.log(weight)}
    infos["map_log_joint"] = infos["log_weight"]
    stream = stream_of(np.zeros((2, 6), bool))
    run = stores.run_store(np.zeros((1, 2, 6)), ["m"], stream, "v", [["x", {}]], infos)
    for within in (1, 2, 4, 9):
        got = shift_probabilities.filtered(run, within)
        for s, t in itertools.product(range(2), range(1, 6)):
            expected = sum(weight[s, t, r] for r in range(t) if r < within)
            assert got[s, t - 1] == pytest.approx(expected)


def test_scores_of_the_probability_of_a_recent_shift():
    shift, flags = cases(8, 30)
    stream = stream_of(shift)
    run, m = decided(flags, stream), alarms.horizon(stream).recent
    assert m > 1
    true, said = (
        np.array([[one[max(0, t - m + 1) : t + 1].any() for t in range(1, 30)] for one in each])
        for each in (shift, flags)
    )
    true, said = true.astype(float), said.astype(float)
    assert score("shift_within_brier", run, stream) == pytest.approx(((said - true) ** 2).mean(1))
    p = np.clip(said, 1e-6, 1 - 1e-6)
    log = -(true * np.log(p) + (1 - true) * np.log(1 - p)).mean(1)
    assert score("shift_within_log_score", run, stream) == pytest.approx(log)
    base = np.zeros(8)
    for s in range(8):
        for t in range(29):
            b = (true[s, :t].sum() + 0.5) / (t + 1)
            base[s] -= np.log(b if true[s, t] else 1 - b) / 29
    assert score("shift_within_skill", run, stream) == pytest.approx(1 - log / base)
    expected = [
        sum((said[s] == v).mean() * (v - true[s][said[s] == v].mean()) ** 2 for v in set(said[s]))
        for s in range(8)
    ]
    assert score("shift_within_calibration", run, stream) == pytest.approx(expected)


def test_the_base_rate_itself_has_no_skill_and_the_truth_has_all():
    shift, _ = cases(5, 200)
    true = shift[:, 1:]
    assert metrics.skill(shift_probabilities.base_rate(true), true) == pytest.approx(np.zeros(5))
    assert (metrics.skill(true.astype(float), true) > 0.999).all()


def test_an_alarm_speaks_of_a_shift_since_the_last_one():
    # Two steps four tasks apart: the last shift has run length 0, 1, ... with certainty.
    length = np.array([0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4])
    infos = {name: np.zeros((1, 12, 1)) for name in ("log_weight", "map_log_joint")}
    infos["run_length"] = np.where(np.arange(12) < 3, np.arange(12), length)[None, :, None]
    stream = stream_of(np.zeros((1, 12), bool))
    run = stores.run_store(np.zeros((1, 1, 12)), ["m"], stream, "v", [["x", {}]], infos)
    assert np.flatnonzero(alarms.raised(run, stream)[0]).tolist() == [3, 7]


@pytest.mark.parametrize("most", [1, 3])
def test_alarms_of_several_hypotheses_equal_brute_force(most):
    random = np.random.default_rng(6)
    length = np.tile(np.arange(20), (4, 20, 1))
    weight = np.where(length <= np.arange(20)[:, None], random.gamma(0.3, size=length.shape), 0)
    weight /= weight.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        infos = {"run_length": length.astype(float), "log_weight": np.log(weight)}
    infos["map_log_joint"] = infos["log_weight"]
    stream = stream_of(np.zeros((4, 20), bool))
    run = stores.run_store(np.zeros((1, 4, 20)), ["m"], stream, "v", [["x", {}]], infos)
    thresholds = np.array([[0.2], [0.5], [0.8]])
    got = alarms.more_probable(shift_probabilities.filtered_within(run, most), thresholds)
    for c, s in np.ndindex(3, 4):
        last = 0
        for t in range(1, 20):
            lengths = range(min(most, t - last))  # a shift after the last alarm and after task 0
            fires = sum(weight[s, t, r] for r in lengths) > thresholds[c, 0]
            assert got[c, s, t] == fires
            last = t if fires else last


def test_without_decisions_there_is_no_score():
    stream = stores.image_stream()
    run = stores.image_run(stream, "vcl", 0.8)
    for name in NAMES:
        assert np.isnan(score(name, run, stream)).all()
        assert score(name, run.isel(seed=[]), stream).shape == (0,)


def test_no_seed_of_a_run_gives_an_empty_score():
    shift, flags = cases(3)
    stream = stream_of(shift)
    run = decided(flags, stream)
    for name in NAMES:
        assert score(name, run.isel(seed=[]), stream).shape == (0,)
        whole = score(name, run, stream)
        alone = score(name, run.isel(seed=[1]), stream)
        np.testing.assert_array_equal(whole[1:2], alone)
