"""Detectors of changes in error rates and levels: alarms and sums equal those of river 0.26.1."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from shiftbench.core import seeds
from shiftbench.methods.detectors import (
    adwin,
    ddm,
    detector,
    draws,
    focus,
    jumper,
    kswin,
    page_hinkley,
)
from tests.methods.detectors.watched import ERRORS, VALUES, watched


@pytest.mark.parametrize(
    ("of", "values", "rows"),
    [
        (page_hinkley.build(), ERRORS, []),
        (page_hinkley.build(10.0), ERRORS, [228]),
        (page_hinkley.build(), VALUES, [235]),
        (ddm.build(), ERRORS, [222]),
        (adwin.build(), ERRORS, [287]),
        (adwin.build(clock=1), ERRORS, [276]),
        (adwin.build(), VALUES, [223]),
        (adwin.build(clock=1), VALUES, [211]),
    ],
)
def test_alarms_are_those_of_river(of, values, rows):
    """Recorded from river 0.26.1, whose ADWIN tries all cuts except the newest bucket."""
    assert watched(of, values).alarms == rows


def test_adwin_forgets_its_oldest_values_where_the_last_level_is_full():
    """All other levels are full too, so that one value more merges two buckets of each."""
    of, random = adwin.build(), np.random.default_rng(0)
    held, sizes = 2.0 ** np.arange(adwin.LEVELS), np.full(adwin.LEVELS, float(adwin.BUCKETS))
    sizes[-1] += 1
    there = np.arange(adwin.BUCKETS + 1) < sizes[:, None]
    sums = held[:, None] * random.normal(size=there.shape) * there
    squares = held[:, None] * random.uniform(size=there.shape) * there * (held[:, None] > 1)
    width, total, spread = window(sums, squares, sizes)
    arrays = of.start | {
        "sums": sums, "squares": squares, "sizes": sizes,
        "width": width, "total": total, "spread": spread,
    }  # fmt: skip
    state = {name: np.array(array)[None, None] for name, array in arrays.items()}
    state, _ = detector.watch(of, state, np.array([[0.5]]), np.ones((1, 1), bool))
    assert state["sizes"][0, 0].tolist() == [4] * (adwin.LEVELS - 1) + [6]
    found = [state[name].item() for name in ("width", "total", "spread")]
    expected = window(*(state[name][0, 0] for name in ("sums", "squares", "sizes")))
    assert found == pytest.approx(expected, rel=1e-9)
    assert found[0] == width + 1 - held[-1]


def window(sums: np.ndarray, squares: np.ndarray, sizes: np.ndarray) -> tuple[float, float, float]:
    """Return width, total and centred squares of the values in buckets."""
    held = (2.0 ** np.arange(len(sizes)))[:, None]
    width, total = (held[:, 0] * sizes).sum(), sums.sum()
    there = np.arange(sums.shape[1]) < sizes[:, None]
    between = (there * held * (sums / held - total / width) ** 2).sum()
    return width, total, squares.sum() + between


def test_sums_of_page_hinkley_are_those_of_river():
    state = watched(page_hinkley.build(), ERRORS).state
    found = [state[name].item() for name in ("up", "low", "down", "high")]
    assert found == pytest.approx([42.58271977, -4.73984889, 46.50396802, 47.05404052], abs=5e-9)


@pytest.mark.parametrize(
    "of", [partial(page_hinkley.build, 20.0), partial(adwin.build, 6.2), partial(focus.build, 30.0)]
)
def test_a_fall_is_a_change_only_if_both_directions_are(of):
    rises, falls = VALUES, -VALUES
    assert watched(of(direction="up"), rises).alarms == watched(of(), rises).alarms != []
    assert watched(of(direction="up"), falls).alarms == []
    assert watched(of(), falls).alarms == watched(of(), rises).alarms


@pytest.mark.parametrize(
    "build", [adwin.build, ddm.build, focus.build, jumper.build, kswin.build, page_hinkley.build]
)
def test_the_start_is_finite(build):
    """The harness fails on a state that is not finite, even right after the warm-up."""
    assert all(np.isfinite(array).all() for array in build().start.values())


def test_ddm_warns_where_river_does():
    statistic = watched(ddm.build(), ERRORS).statistic
    assert np.flatnonzero(statistic > 2).tolist() == list(range(207, 223))


def test_ddm_takes_any_error_for_a_change_after_thirty_rows_without_one():
    values = np.array([0.0] * 40 + [1.0])
    assert watched(ddm.build(), values).alarms == [40]
    assert watched(ddm.build(), values[:40]).statistic.max() == 0


@pytest.mark.parametrize(
    ("values", "clock", "window"),
    [
        (ERRORS, 32, (112, 50, 27.6785714286)),
        (ERRORS, 1, (123, 55, 30.4065040650)),
        (VALUES, 32, (176, 263.9828761444, 21.9940106639)),
        (VALUES, 1, (188, 282.1772295462, 23.5026415657)),
    ],
)
def test_windows_of_adwin_are_those_of_river(values, clock, window):
    state = watched(adwin.build(clock=clock), values).state
    found = [state[name].item() for name in ("width", "total", "spread")]
    assert found == pytest.approx(window, rel=1e-11)


def test_buckets_of_adwin_hold_its_window():
    values = np.random.default_rng(0).normal(size=1000)
    state = watched(adwin.build(math.inf, clock=1000), values).state
    sums, squares, sizes = (state[k][0, 0] for k in ("sums", "squares", "sizes"))
    held = np.arange(sums.shape[1]) < sizes[:, None]
    assert (sizes <= adwin.BUCKETS).all() and (sizes * 2.0 ** np.arange(len(sizes))).sum() == 1000
    assert not sums[~held].any() and not squares[~held].any()
    assert sums.sum() == pytest.approx(values.sum()) == pytest.approx(state["total"].item())
    assert state["spread"].item() == pytest.approx(values.var() * 1000)
    level = int(np.flatnonzero(sizes)[-1])  # the oldest bucket has the oldest values
    oldest = values[: 2**level]
    assert sums[level, 0] == pytest.approx(oldest.sum())
    assert squares[level, 0] == pytest.approx(oldest.var() * len(oldest))


def test_the_statistic_of_adwin_is_the_confidence_at_which_its_bound_is_met():
    """The statistic is the confidence at which the paper's bound is met, over all cuts."""
    values = VALUES[150:230]
    statistic = watched(adwin.build(math.inf, clock=1), values).statistic[-1]
    n, d = len(values), math.log(2 * math.log(len(values))) + statistic
    variance = values.var()
    above = []
    for n0 in range(adwin.LEAST, n - adwin.LEAST + 1):
        q = 1 / (n0 - adwin.LEAST + 1) + 1 / (n - n0 - adwin.LEAST + 1)
        bound = math.sqrt(2 * q * d * variance) + 2 / 3 * q * d
        above.append(abs(values[:n0].mean() - values[n0:].mean()) / bound)
    # ADWIN cuts only between buckets, so it may miss the best cut between values.
    assert 0.9 < 1 / max(above) <= 1 + 1e-12


def test_kswin_finds_the_change():
    """river finds the change at row 210 or 211, depending on the seed; our draws differ."""
    for seed in range(10):
        assert 208 <= watched(kswin.build(), VALUES, seed).alarms[0] <= 214


def test_the_threshold_of_kswin_is_the_largest_distance_at_the_level_of_river():
    size = kswin.RECENT
    for count, is_alarm in ((13, False), (14, True)):
        one = np.arange(size, dtype=float)
        p = stats.ks_2samp(one, one + count, method="exact").pvalue
        assert kswin.distance(one, one + count) == pytest.approx(count / size)
        assert (p <= 0.005) == is_alarm == (count / size > kswin.THRESHOLD)


def test_the_distance_is_that_of_scipy():
    rng = np.random.default_rng(1)
    for one, two in ((rng.normal(size=30), rng.normal(1, 2, 30)), (rng.integers(0, 4, (2, 30)))):
        expected = stats.ks_2samp(one, two).statistic
        assert kswin.distance(one.astype(float), two.astype(float)) == pytest.approx(expected)


def test_draws_of_kswin_are_without_replacement_and_cover_what_is_older():
    counts = np.zeros(70)
    for drawn in range(400):
        begin = np.uint64(draws.start(np.array([5.0, -7.0]), float(drawn)))
        sample = kswin.drawn_from(np.arange(70.0), 30, begin)
        assert len(set(sample)) == 30
        counts[sample.astype(int)] += 1
    # Binomial(400, 3/7), of sd 9.9.
    assert np.abs(counts - 400 * 30 / 70).max() < 4.5 * 9.9


def test_numbers_are_those_of_splitmix64():
    """The first outputs for start 0, as printed by the authors' code."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    for place, output in enumerate(expected):
        assert draws.uniform(np.uint64(0), place) == (output >> 11) * 2.0**-53
    starts = {int(draws.start(key.astype(float), n)) for key in seeds.block(range(9), "a")
              for n in (0.0, 1.0, 2.0)}  # fmt: skip
    assert len(starts) == 27


def test_an_alarm_does_not_set_back_the_count_of_draws():
    found = watched(kswin.build(), VALUES)
    after = 399 - found.alarms[-1]
    assert len(found.alarms) == 1 and found.state["count"] == after
    assert found.state["drawn"] == 400 - 99 - 99


def test_unseen_values_and_those_after_an_alarm_leave_a_detector_as_it_is():
    of, values = ddm.build(), np.stack([ERRORS, ERRORS])
    seen = np.ones(values.shape, bool)
    seen[1, ::3] = False
    state, found = detector.watch(of, of.init(np.zeros((2, 2), int)), values, seen)
    alone = watched(of, ERRORS[seen[1]])
    assert found.row[0] == 222 and np.flatnonzero(seen[1])[alone.alarms[0]] == found.row[1]
    assert not state["count"].any() and not found.statistic[0, 223:].any()
