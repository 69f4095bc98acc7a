"""Simulated series: each changing parameter, the positions, and the outliers."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.data.series import simulated_changes
from shiftbench.data.series.simulated_changes import Settings
from tests.data.building import builder

build = builder(simulated_changes)


def values(**settings):
    return build(**settings)["value"].values[..., 0]


def test_only_what_changes_differs_from_a_series_without_changes():
    few = {"realisations": 3, "points": 90, "changes": 2, "coefficient": 0.4}
    still = values(**few | {"changes": 0})
    noise = still - 0.4 * np.concatenate([np.zeros((3, 1)), still[:, :-1]], axis=1)
    changed = slice(30, 60)
    mean = values(**few, changing="mean", size=2.0) - still
    np.testing.assert_allclose(mean[:, changed], 2)
    assert not mean[:, :30].any() and not mean[:, 60:].any()
    for changing, size in (("variance", 4.0), ("coefficient", 0.5)):
        found = values(**few, changing=changing, size=size)
        np.testing.assert_array_equal(found[:, :30], still[:, :30])
        for t in range(30, 90):
            inside = t < 60
            slope = 0.9 if changing == "coefficient" and inside else 0.4
            scale = 2 if changing == "variance" and inside else 1
            expected = slope * found[:, t - 1] + scale * noise[:, t]
            np.testing.assert_allclose(found[:, t], expected, atol=1e-12)


def test_noise_is_standard_and_independent():
    found = values(realisations=200, changes=0)
    assert abs(found.mean()) < 0.01 and found.std() == pytest.approx(1, abs=0.005)
    assert abs((found[:, 1:] * found[:, :-1]).mean()) < 0.01
    slow = values(realisations=200, changes=0, coefficient=0.8)
    # The series is stationary from the first value on.
    assert slow[:, 0].std() == pytest.approx(1 / 0.6, rel=0.2)


def test_places_of_changes():
    store = build(realisations=2, points=90, changes=2)
    assert [row.nonzero()[0].tolist() for row in store["shift"].values] == [[30, 60]] * 2
    moved = build(realisations=400, points=80, changes=1, place="random")["shift"].values
    assert (moved.sum(axis=1) == 1).all()
    places = moved.argmax(axis=1)
    assert places.min() == 30 and places.max() == 50 and abs(places.mean() - 40) < 1
    assert not build(changes=0)["shift"].values.any()


def test_truth_is_that_of_the_row_where_rows_have_a_past():
    settings = {"realisations": 2, "points": 60, "place": "random", "outliers": 0.2}
    plain, lagged = build(**settings), build(**settings, regressors="own-lag")
    for name in ("shift", "outlier"):
        np.testing.assert_array_equal(lagged[name], plain[name][:, 1:])
    batch = simulated_changes.task(lagged, [1], 7).train
    np.testing.assert_array_equal(batch.targets[0, 0], plain["value"].values[1, 8])
    np.testing.assert_array_equal(batch.inputs[0, 0, 0, 0, 1], plain["value"].values[1, 7, 0])


@pytest.mark.parametrize("burst", [1, 5])
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_outliers_are_where_the_store_says_and_as_many_as_set(share, burst):
    settings = {"realisations": 100, "coefficient": 0.3}
    store = build(**settings, outliers=share, burst=burst)
    added = store["value"].values[..., 0] - values(**settings)
    outlier = store["outlier"].values
    np.testing.assert_allclose(np.abs(added)[outlier], 10)
    assert not added[~outlier].any()
    # 200,000 values in bursts: the relative standard error is sqrt(burst / n share).
    assert outlier.mean() == pytest.approx(share, rel=4 * np.sqrt(burst / (200_000 * share)))
    assert abs(np.sign(added[outlier]).mean()) < 4 * np.sqrt(burst / outlier.sum())
    ends = outlier[:, :-1] & ~outlier[:, 1:]
    assert outlier.sum() / ends.sum() >= 0.99 * burst


def test_settings_that_exclude_each_other():
    for settings, reason in (
        ({"changing": "coefficient", "coefficient": 0.3}, "runs away"),
        ({"changing": "variance"}, "size 1 leaves"),
        ({"points": 10, "changes": 2}, "too few for 2 changes"),
    ):
        (found,) = simulated_changes.unsupported(Settings(**settings))
        assert reason in found
    assert not [*simulated_changes.unsupported(Settings())]
