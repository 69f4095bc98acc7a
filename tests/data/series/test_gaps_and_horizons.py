"""Series with gaps, lags, horizons and history against a plain loop; facts of real series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import _plain_series, _simulated_correlation, series
from shiftbench.data.series._series_store import Series, View, stored, training_rows
from shiftbench.data.series._series_store import problem as problem_of
from shiftbench.data.series.series import Settings
from shiftbench.data.store.raw import Dataset
from tests.real_files import MIRROR, needs_mirror

GAPS = [17, 19, 30]
ENTRY = Dataset("t", "l", "c", {})


def made(view: View, after_gap=GAPS, d: int = 2):
    value = np.random.default_rng(0).normal(size=(1, 50, d))
    names = [f"s{number}" for number in range(d)]
    whole = Series(value, np.arange(50), names, "1", "unknown", [], after_gap=after_gap)
    return stored("made", whole, view, ENTRY)


def by_loop(view: View, value: np.ndarray, after_gap: list[int]) -> list[tuple[int, list]]:
    """Return the rows of each task as (position, regressors), independently of the store's code."""
    tasks: list[list] = []
    segment = np.searchsorted(after_gap, np.arange(len(value)), side="right")
    free = 0  # rows left in the open task
    for t in range(len(value)):
        past = [t - lag - view.horizon + 1 for lag in view.lags]
        if t < view.history or min(past) < 0 or segment[min(past)] != segment[t]:
            free = 0
            continue
        if free == 0 or segment[t] != segment[t - 1]:
            tasks.append([])
            free = view.rows_per_task
        free -= 1
        tasks[-1].append((t, [value[p] for p in past]))
    judged = [task[view.horizon - 1 :] for task in tasks]
    return [row for task in judged for row in task]


VIEWS = [
    View("own-lag", "none", "none", 4),
    View("own-lag", "none", "none", 4, (1, 3), 3, 5),
    View("own-level-and-lag", "none", "none", 5, (2,), 2),
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("after_gap", [[], GAPS])
def test_rows_have_the_values_before_them_and_none_of_before_a_gap(view, after_gap):
    store = made(view, after_gap)
    batch = training_rows(store, [0], range(store.sizes["task"]))
    value, mask = store["value"].values[0], batch.mask[0]
    golden = by_loop(view, value, after_gap)
    np.testing.assert_array_equal(batch.targets[0][mask], [value[t] for t, _ in golden])
    levels = np.ones((2, 1)) if view.regressors == "own-lag" else np.eye(2)
    for design, (_, past) in zip(batch.inputs[0, :, 0][mask], golden, strict=True):
        np.testing.assert_array_equal(design, np.hstack([levels, *map(np.diag, past)]))
    assert problem_of(store).input_shape == batch.inputs.shape[2:]


def test_the_first_task_after_a_gap_is_told():
    store = made(View("own-lag", "none", "none", 4))
    told = store["position"].values[store["gap"].values] - 1
    assert told.tolist() == [18, 20, 31]  # the value after the first one has a lag
    assert "gap" not in made(VIEWS[0], [])


def test_a_history_scales_and_nothing_after_it_does():
    view = View("own-lag", "z-score", "none", 1, history=20)
    store = made(view, [])
    value = store["value"].values[0]
    np.testing.assert_allclose(value[:20].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(value[:20].std(axis=0), 1)
    assert store.attrs["look_ahead"] == "" and store["position"].values[0] == 21
    whole = made(View("own-lag", "z-score", "none", 1), [])
    assert whole.attrs["look_ahead"] == "mean and standard deviation"


def test_a_history_that_leaves_nothing_is_refused():
    with pytest.raises(UserError, match="leave no task after a history of 50"):
        made(View("own-lag", "none", "none", 1, history=50))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"horizon": 2}, "raise rows_per_task, or lower horizon"),
        ({"lags": ()}, "lags is empty"),
        ({"dataset": "london-nox", "regressors": "neighbours", "lags": (1, 2)}, "leave out lags"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(settings, reason):
    (said,) = series.unsupported(Settings(**settings))
    assert reason in said


def test_values_are_kept_that_are_half_a_step_apart():
    minutes = [0, 5, 9, 10, 15, 15, 23, 28, 36]
    times = np.datetime64("2010-03-24T09:51") + np.array(minutes).astype("timedelta64[m]")
    keep, after_gap = _plain_series._spaced(times.astype(str), 5)
    assert [minutes[k] for k in keep] == [0, 5, 9, 15, 23, 28, 36]
    assert after_gap == [4, 6]


def test_the_correlation_changes_and_nothing_else():
    settings = Settings("simulated-correlation", realisations=300, series=3, regressors="constant")
    store = series.build(settings, Path("unused"))
    value = store["value"].values
    assert np.flatnonzero(store["shift"].values[7]).tolist() == [210, 330, 520]
    pieces = np.split(value, _simulated_correlation.CHANGES, axis=1)
    for piece, golden in zip(pieces, _simulated_correlation.CORRELATIONS, strict=True):
        found = np.cov(piece.reshape(-1, 3).T)
        np.testing.assert_allclose(found, golden + (1 - golden) * np.eye(3), atol=0.03)
        assert abs(piece.mean()) < 0.02


@needs_mirror
def test_the_stocks_have_the_volatility_and_correlation_of_their_years():
    store = series.build(Settings("stocks", regressors="constant"), MIRROR / "stocks")
    value, year = store["value"].values[0], store["time"].values.astype("datetime64[Y]").astype(str)
    assert value.shape == (3269, 3) and value[:, 0].min() == pytest.approx(-73.12, abs=0.01)
    assert store["time"].values[value[:, 0].argmin()] == "2000-09-29"
    for when, sd, correlation in (
        ("2000", [6.62, 3.14, 3.71], 0.22),
        ("2008", [3.70, 2.27, 3.02], 0.63),
    ):
        of_year = value[year == when]
        np.testing.assert_allclose(of_year.std(axis=0, ddof=1), sd, atol=0.015)
        found = np.corrcoef(of_year.T)[np.triu_indices(3, 1)].mean()
        assert found == pytest.approx(correlation, abs=0.006)


@needs_mirror
@pytest.mark.parametrize(
    ("dataset", "values", "gaps", "last"),
    [
        ("glucose", 52084, 187, ("2010-10-10T23:57", 165)),
        ("sea-surface-temperature", 19225, 2, ("2017-03-22T00:00", 4.316)),
        ("elnino", 732, 0, ("2010-12", 22.07)),
        ("sunspots", 309, 0, ("2008", 2.9)),
        ("us-unemployment", 828, 0, ("2016-12", 4.5)),
    ],
)
def test_the_real_series_are_whole(dataset, values, gaps, last):
    read = _plain_series.read(dataset, MIRROR / dataset)
    assert read.value.shape == (1, values, 1) and len(read.after_gap) == gaps
    assert (read.time[-1], read.value[0, -1, 0]) == last
