"""Changes of a series in hindsight: labels, levels, gaps, several series, errors, the figure."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import shiftbench as sb
from shiftbench.data.series import _nile

NUMBERS = np.random.default_rng(0)
STEP = np.r_[NUMBERS.normal(size=40), NUMBERS.normal(size=30) + 8]


def test_the_nile_falls_in_1899() -> None:
    """G. W. Cobb (1978) and later authors date the change to 1899."""
    series = _nile.read()
    flow = pd.Series(series.value[0, :, 0], index=series.time, name="flow")
    found = sb.changepoints(flow).frame
    assert found.index.tolist() == [1899] and 0.5 < found["probability"].iloc[0] <= 1
    assert found["before"].iloc[0] == pytest.approx(flow[:28].mean())
    assert found["after"].iloc[0] == pytest.approx(flow[28:].mean())


@pytest.mark.parametrize("method", ["bocpd", "student-t", "robust-fpop", "vbs-covariance", "focus"])
def test_units_do_not_matter(method) -> None:
    plain, other = sb.changepoints(STEP, method), sb.changepoints(1e6 + 250 * STEP, method)
    assert plain.frame["position"].tolist() == other.frame["position"].tolist()
    assert abs(plain.frame["position"].iloc[0] - 40) <= 3


def test_values_with_dates_and_gaps_keep_their_labels() -> None:
    days = pd.date_range("2024-01-01", periods=70)
    frame = pd.DataFrame({"up": STEP, "down": -STEP}, index=days)
    frame.iloc[20:25, 0] = np.nan
    found = sb.changepoints(frame, "bocpd").frame
    assert found.index.tolist() == [days[40]] and found["position"].tolist() == [40]
    assert found["after down"].iloc[0] == pytest.approx(frame["down"].iloc[40:].mean())
    assert found["before up"].iloc[0] == pytest.approx(frame["up"].iloc[:40].mean())
    kept = frame["down"].iloc[:40].drop(days[20:25])
    assert found["before down"].iloc[0] == pytest.approx(kept.mean())


def test_the_picture_shows_values_levels_and_changes() -> None:
    found = sb.changepoints(pd.DataFrame({"a": STEP, "b": -STEP}), "bocpd")
    figure = found.plot()
    assert [panel.get_ylabel() for panel in figure.axes] == ["a", "b"]
    assert figure.axes[0].get_title(loc="left") == "1 change"
    for panel in figure.axes:
        values, *levels, change = panel.get_lines()
        assert len(values.get_xdata()) == 70 and len(levels) == 2
        assert change.get_xdata()[0] == 40


def test_rounding_errors_are_no_change() -> None:
    for values in ([0.1] * 49, [0.1 + 0.2] * 20 + [0.3] * 20):
        with pytest.raises(ValueError, match="the series value is constant"):
            sb.changepoints(values)


def test_the_picture_of_series_with_gaps_has_the_levels_of_the_frame() -> None:
    frame = pd.DataFrame({"a": STEP, "b": -STEP})
    frame.loc[5, "a"], frame.loc[6, "b"] = 1e3, np.nan
    frame.loc[6, "a"] = 1e3
    found = sb.changepoints(frame, "bocpd")
    drawn = {
        (panel.get_ylabel(), tuple(line.get_ydata()))
        for panel in found.plot().axes
        for line in panel.get_lines()
        if len(line.get_ydata()) == 2
    }
    for name in ("a", "b"):
        levels = [*found.frame[f"before {name}"], found.frame[f"after {name}"].iloc[-1]]
        for level in levels:
            assert any(own == name and y == pytest.approx((level, level)) for own, y in drawn)


def test_notebooks_show_the_picture_and_the_frame() -> None:
    found = sb.changepoints(STEP, "bocpd")
    assert found._repr_html_() == found.frame._repr_html_()
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (pd.period_range("2001Q1", periods=70, freq="Q"), "2011-01-01"),
        (pd.date_range("2001", periods=70, tz="Europe/Berlin"), "2001-02-10"),
        (pd.timedelta_range("1h", periods=70), 40),
        (pd.Index([f"run {number}" for number in range(70)]), 40),
        (pd.MultiIndex.from_product([range(10), range(7)]), 40),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_picture_has_labels_of_any_type(labels, place, tmp_path) -> None:
    found = sb.changepoints(pd.Series(STEP, labels), "bocpd")
    assert found.frame.index.tolist() == [labels[40]]
    figure = found.plot()
    change = figure.axes[0].get_lines()[-1].get_xdata()[0]
    assert change == (place if isinstance(place, int) else pd.Timestamp(place))
    figure.savefig(tmp_path / "found.png")
    if isinstance(place, int):
        assert str(labels[8]) in [tick.get_text() for tick in figure.axes[0].get_xticklabels()]


@pytest.mark.parametrize("number", [Decimal, lambda one: pd.NA if one == STEP[3] else one])
def test_decimals_are_numbers_and_na_is_missing(number) -> None:
    found = sb.changepoints([number(one) for one in STEP], "bocpd")
    assert found.frame["position"].tolist() == [40] and found.values["value"].dtype == float


def test_a_series_without_a_change_has_an_empty_frame() -> None:
    found = sb.changepoints(np.tile([0.0, 1.0], 20))
    assert found.frame.empty and repr(found).startswith("Empty DataFrame")
    assert found.plot().axes[0].get_title(loc="left") == "0 changes"


class FrameLikePolars:
    """A data frame of another library than pandas, whose columns are a list of names."""

    def __init__(self, **columns) -> None:
        self.columns, self._columns = list(columns), columns

    def __len__(self) -> int:
        return len(self._columns[self.columns[0]])

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]


def test_other_frames_keep_their_names_and_their_dates_are_no_series() -> None:
    found = sb.changepoints(FrameLikePolars(a=STEP, b=2 * STEP))
    assert found.frame["position"].tolist() == [40] and "before a" in found.frame
    days = np.datetime64("2024-01-01") + np.arange(len(STEP))
    with pytest.raises(ValueError, match="d has times, not numbers"):
        sb.changepoints(FrameLikePolars(d=days, a=STEP))


@pytest.mark.parametrize("name", ["cost $x_$ now", "$5 bill $", "$"])
def test_dollar_signs_in_names_are_shown_as_they_are(name, tmp_path) -> None:
    labels = pd.Index([f"${number}_$" for number in range(len(STEP))], name=name)
    canvas = sb.changepoints(pd.Series(STEP, labels, name=name)).plot()
    canvas.savefig(tmp_path / "figure.svg")
    (panel,) = canvas.axes
    assert panel.get_ylabel() == name and not panel.yaxis.label.get_parse_math()


@pytest.mark.parametrize("labels", [[*range(40), *range(30)], [*range(69, -1, -1)]])
def test_numbers_that_do_not_rise_are_labels_in_their_order(labels) -> None:
    (panel,) = sb.changepoints(pd.Series(STEP, labels)).plot().axes
    assert panel.get_lines()[0].get_xdata().tolist() == list(range(len(STEP)))


DAYS = pd.date_range("2024", periods=70)


@pytest.mark.parametrize(
    "same", [lambda days: days, lambda days: days.date, lambda days: days.astype(str)]
)
def test_times_that_fall_or_repeat_are_refused(same) -> None:
    for wrong, message in (
        (DAYS[::-1], "the times are not in their order; sort the values"),
        (DAYS.repeat(2)[:70], "the time 2024-01-01.* is there twice"),
    ):
        with pytest.raises(ValueError, match=message):
            sb.changepoints(pd.Series(STEP, pd.Index(same(wrong))), "bocpd")
    assert len(sb.changepoints(pd.Series(STEP, pd.Index(same(DAYS))), "bocpd").frame) == 1


@pytest.mark.parametrize(
    ("values", "method", "message"),
    [
        ([1.0, 1.0, 1.0, 1.0], "bocpd", "the series value is constant"),
        ([1.0, np.nan, 2.0], "bocpd", "a series of 2 values; at least 3 are needed"),
        ([], "bocpd", r"shape \(0,\); give"),
        (pd.DataFrame(index=range(9)), "bocpd", "without columns"),
        (1e300 * STEP, "bocpd", "the values of value are too large"),
        (1e-170 * STEP, "bocpd", "the values of value are too small"),
        (
            pd.Series(STEP, pd.to_datetime(["2024-01-01"] * 69 + [None])),
            "bocpd",
            "a time is missing",
        ),
        (pd.Series(STEP, pd.date_range("2024", periods=70)[::-1]), "bocpd", "sort_index"),
        (pd.DataFrame({"a": STEP, "b": "x"}), "bocpd", "not numbers, in b .*'x'"),
        (STEP, None, "None is not a method; give a name"),
        (
            pd.DataFrame([STEP[:3]] * 2, columns=["a", "b", "a"]),
            "bocpd",
            "several series are called a",
        ),
        (
            pd.Series(STEP, pd.period_range("2001", periods=70, freq="Q")[::-1]),
            "bocpd",
            "sort_index",
        ),
        ([[1.0], [1.0, 2.0], [3.0]], "bocpd", "rows of different lengths"),
        ([1.0, 10**400, 2.0], "bocpd", "not numbers, in value"),
        (STEP + 1j, "bocpd", "not numbers, in value .*complex128"),
        (
            pd.date_range("2001", periods=9),
            "bocpd",
            "value has times, not numbers; make them the index",
        ),
        ([1.0, np.inf, 2.0], "bocpd", "infinite"),
        (["a", "b", "c"], "bocpd", "values that are not numbers, in value"),
        (np.zeros((2, 2, 2)), "bocpd", "give \\[n\\], or \\[n, series\\]"),
        (STEP, "linear-regression", "takes no decisions about changes"),
        (STEP, "online-logistic", "take another method|name the classes"),
        (STEP, "bocdp", 'did you mean "bocpd"'),
    ],
)
def test_what_is_no_series_is_refused(values, method, message) -> None:
    with pytest.raises(ValueError, match=message):
        sb.changepoints(values, method)
