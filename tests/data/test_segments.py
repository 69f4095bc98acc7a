"""Schedules of segments against the distributions they are drawn from, and invalid settings."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from shiftbench.core.errors import UserError
from shiftbench.data import segments
from shiftbench.data.segments import Segments


def stored(numbers=(0, 1, 2), **settings):
    return segments.stored(Segments(**settings), numbers)


def of(shortest=1, mean=4, **settings):
    return {
        "schedule": "irregular",
        "shortest_segment": shortest,
        "tasks_per_segment": mean,
        **settings,
    }


def lengths(realisations=120, **settings):
    """Return the lengths of all segments that end before the stream, except few truncated ones."""
    made = Segments(tasks=300, **settings)
    return np.concatenate([np.diff(segments.starts(made, r)[:21]) for r in range(realisations)])


@pytest.mark.parametrize(("shortest", "mean"), [(1, 3), (2, 4), (6, 7)])
def test_lengths_are_the_shortest_and_a_geometric_number_more(shortest, mean):
    more = lengths(**of(shortest, mean)) - shortest
    assert len(more) > 2_000 and more.min() == 0
    law = scipy.stats.geom(1 / (1 + mean - shortest), loc=-1)
    most = int(law.ppf(0.99))
    found = np.bincount(np.minimum(more, most + 1), minlength=most + 2)
    expected = len(more) * np.append(law.pmf(np.arange(most + 1)), law.sf(most))
    assert scipy.stats.chisquare(found, expected).pvalue > 1e-3


def test_without_spread_all_lengths_are_the_shortest():
    assert set(np.diff(segments.starts(Segments(tasks=40, **of(5, 5)), 0))) == {5}


def test_the_chance_of_a_change_is_the_same_at_every_task():
    shift = stored(range(1000), tasks=30, **of(1, 4))["shift"].values
    counts = shift[:, 1:].sum(axis=0)
    assert scipy.stats.binom(1000, 1 / 4).interval(1 - 1e-5)[0] < counts.min()
    assert counts.max() < scipy.stats.binom(1000, 1 / 4).interval(1 - 1e-5)[1]
    since = shift[:, 1:-1] & shift[:, 2:]  # a change right after a change is as likely
    assert abs(since.sum() / shift[:, 1:-1].sum() - 1 / 4) < 0.01


@pytest.mark.parametrize(
    "settings",
    [
        {},
        of(),
        of(4, 9, drift_width=3),
        of(4, 9, drift_width=2, drift_mode="morph"),
        of(schedule="recurring", concepts=3),
        of(schedule="recurring-twin", concepts=3),
    ],
)
def test_a_longer_stream_begins_with_the_shorter_one(settings):
    short, long = (stored(tasks=tasks, **settings) for tasks in (31, 60))
    assert short.sizes["segment"] == segments.count(Segments(tasks=31, **settings))
    for name in short.data_vars:
        np.testing.assert_array_equal(short[name], long[name][:, :31])
    one = stored([2], tasks=31, **settings)
    np.testing.assert_array_equal(one["shift"][0], short["shift"][2])


def test_regular_segments_have_one_length():
    store = stored(tasks=7)
    np.testing.assert_array_equal(store["shift"], [[0, 0, 0, 1, 0, 0, 1]] * 3)
    np.testing.assert_array_equal(store["segment_of_task"], [[0, 0, 0, 1, 1, 1, 2]] * 3)
    assert set(store.data_vars) == {"shift", "segment_of_task"} and store.sizes["segment"] == 3


@pytest.mark.parametrize(
    ("concepts", "expected"),
    [(2, [0, 1, 0, 1, 0, 1]), (3, [0, 1, 0, 2, 1, 0, 2, 1, 0]), (4, [0, 1, 0, 2, 1, 3, 0, 2, 1])],
)
def test_distributions_come_back_in_turn(concepts, expected):
    settings = Segments(tasks=60, **of(schedule="recurring", concepts=concepts))
    assert segments.concepts(settings)[: len(expected)] == expected


def test_a_twin_has_a_fresh_distribution_in_place_of_each_return():
    one, twin = (
        stored(range(20), tasks=60, **of(schedule=schedule, concepts=3))
        for schedule in ("recurring", "recurring-twin")
    )
    for name in ("shift", "segment_of_task"):
        np.testing.assert_array_equal(one[name], twin[name])
    np.testing.assert_array_equal(twin["stands_for"], one["concept"])
    assert "stands_for" not in one
    for realisation in range(20):
        starts = [0, *np.flatnonzero(one["shift"][realisation])]
        coming, fresh = (store["concept"].values[realisation, starts] for store in (one, twin))
        is_return = np.array([concept in coming[:k] for k, concept in enumerate(coming)])
        np.testing.assert_array_equal(fresh[~is_return], coming[~is_return])
        assert len(set(fresh)) == len(fresh) and fresh[is_return].min(initial=3) >= 3


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
def test_a_drift_has_its_interval_and_the_share_of_river(width):
    store = stored(range(5), tasks=80, **of(12, 16, drift_width=width))
    abrupt = stored(range(5), tasks=80, **of(12, 16))
    for realisation in range(5):
        share = store["new_share"].values[realisation]
        for centre in np.flatnonzero(abrupt["shift"][realisation]):
            inside = [t for t in range(80) if abs(t + 0.5 - centre) <= width / 2]
            assert store["shift"].values[realisation, inside[0]]
            assert store["shift_end"].values[realisation, inside[0]] == inside[-1] or (
                inside[-1] == 79  # the stream ends first
            )
            for t in inside:
                river = 1 / (1 + np.exp(-4 * (t + 0.5 - centre) / width))
                assert share[t] == pytest.approx(river, rel=1e-12)
                share[t] = 1
        assert (share == 1).all() or (share < 1).argmax() >= 80 - width
    np.testing.assert_array_equal(store["shift_end"].values >= 0, store["shift"])


def test_a_morph_moves_by_equal_steps():
    share = segments.new_share("morph", 4, np.arange(-2, 2))
    np.testing.assert_allclose(share, [0.2, 0.4, 0.6, 0.8])
    assert segments.new_share("morph", 1, np.arange(-1, 1)).tolist() == [0.25, 0.75]


def test_a_short_regular_stream_has_one_segment():
    assert not stored(tasks=2)["shift"].any()


def test_width_0_is_an_abrupt_change():
    for mode in ("mixture", "morph"):
        one, other = (stored(tasks=40, **of(3, 5, **more)) for more in ({}, {"drift_mode": mode}))
        assert one.identical(other)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tasks": 3, "drift_width": 2}, "lower tasks_per_segment or raise tasks"),
        (of(1, 30), "lower tasks_per_segment or raise tasks"),
        ({"shortest_segment": 2}, "set schedule to irregular"),
        (of(5, 4), "raise tasks_per_segment or lower shortest_segment"),
        (of(schedule="recurring"), "set concepts to 2 or more"),
        (of(schedule="recurring-twin", concepts=1), "set concepts to 2 or more"),
        (of(concepts=3), "set schedule to recurring"),
        ({"concepts": 3}, "set schedule to recurring"),
        ({"drift_width": 3}, "raise tasks_per_segment above the width"),
        (of(4, 8, drift_width=4), "raise shortest_segment above the width"),
    ],
)
def test_settings_that_exclude_each_other_have_one_remedy(settings, words):
    (reason,) = segments.excluded(Segments(**settings))
    assert words in reason
    with pytest.raises(UserError, match=words):
        stored(**settings)


def test_widths_up_to_the_gap_are_taken():
    assert not list(segments.excluded(Segments(drift_width=2)))
    assert not list(segments.excluded(Segments(**of(4, 8, drift_width=3))))
