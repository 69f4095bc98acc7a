"""Changes of a series in hindsight, from all of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.api import _own_components, learners
from shiftbench.api.arguments import array, length, mapping, refuse_doubled
from shiftbench.api.definition import Definition, defined
from shiftbench.api.input_error import InputError
from shiftbench.api.learners import Form
from shiftbench.api.steps import Steps
from shiftbench.core import extras
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch
from shiftbench.data.times import is_date
from shiftbench.evaluation.scoring import changes
from shiftbench.evaluation.scoring.changes import Change

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)
FEWEST = 3
"""The least number of values of a series."""
ROUNDING = 4 * np.finfo(float).eps
"""Relative standard deviation up to which a series counts as constant."""


@dataclass(frozen=True, eq=False)
class Changepoints:
    """The changes of a series that a method finds.

    Attributes
    ----------
    frame : DataFrame
        One row per change, indexed by the label of the first value of the new segment.
        ``position``: the number of this value, from 0. ``probability``: of a change within three
        values of it, judged at the end of the new segment. ``before``, ``after``: the means of
        the two segments; for several series ``before NAME`` and ``after NAME``.
    values : DataFrame
        The values [time, series] as they were given.
    method : str
        The name of the method, or the components of a pipeline.
    """

    frame: pd.DataFrame
    values: pd.DataFrame
    method: str

    def plot(self) -> Figure:
        """Return a figure: the series, its level in each segment, and the changes.

        The darker the line of a change, the more probable it is.
        """
        with extras.named("a figure"):
            from shiftbench.api import changepoint_figure  # seaborn takes a second
        return changepoint_figure.draw(self)

    def __repr__(self) -> str:
        """Return the frame as text."""
        return repr(self.frame)

    def _repr_html_(self) -> str | None:
        """Return the frame as notebooks show it."""
        return self.frame._repr_html_()  # type: ignore[operator]


def changepoints(
    values: Any,
    method: Any = "robust-bocpd",
    *,
    settings: Any = None,
    components: Any = None,
    **named: Any,
) -> Changepoints:
    """Find the changes of a series.

    Each series is standardised by the mean and the standard deviation of all its values, as in
    our study of annotated series, so that the settings of a method fit any units; levels are in
    the units of the values. Missing values (NaN) are left out.

    Parameters
    ----------
    values
        Numbers [n], or [n, d] for several series with changes in common. The labels of a pandas
        Series or DataFrame, such as dates, are kept.
    method
        A method that detects changes, by name or as a pipeline; for this and for the settings see
        `shiftbench.method`. Methods with run lengths, such as BOCPD, estimate when a change
        happened. Detectors, such as ``"cusum"`` and ``"adwin"``, give the time of their alarm,
        which may be later, with probability 1.
    components
        A folder with components of yours, or several, as for `shiftbench.method`.

    Returns
    -------
    Changepoints
        The most probable segmentation in hindsight, as a frame, with a picture.

    Raises
    ------
    ValueError
        For fewer than three values, a constant series, times out of order or repeated, and a method
        that does not fit.

    Examples
    --------
    >>> import shiftbench as sb
    >>> found = sb.changepoints([0.1, -0.2, 0.0, 0.2, -0.1] * 8 + [5.1, 4.9, 5.0, 5.2] * 10)
    >>> found.frame["position"].tolist()
    [40]
    """
    definition = defined(method, named, mapping("settings", settings), None, components)
    table = _table(values)
    rows = np.flatnonzero(~table.isna().any(axis=1))
    seen = table.to_numpy(float)[rows]
    segments = _segments(definition, _standardised(seen, table.columns))
    return Changepoints(_frame(table, rows, seen, segments), table, definition.label)


def _table(values: Any) -> pd.DataFrame:
    """Return values with their labels, [time, series]. InputError if they are not a series."""
    if isinstance(values, pd.Series):
        values = values.to_frame(values.name if values.name is not None else "value")
    if not isinstance(values, pd.DataFrame):
        values = _framed(values)
    if values.columns.empty:
        raise InputError("a DataFrame without columns; give a column for each series")
    refuse_doubled("series", values.columns)
    if (labels := _times(values.index)) is not None:
        _refuse_disorder(labels)
    columns = dict(enumerate(values.items()))
    numbers = {number: _numbers(str(name), column) for number, (name, column) in columns.items()}
    return pd.DataFrame(numbers, values.index).set_axis(values.columns, axis=1)


def _times(labels: pd.Index) -> pd.Index | None:
    """Return labels that are times, also dates of Python and in texts, as times; None for others.

    Numbers count as labels: those of joined or shuffled series often repeat or fall.
    """
    if isinstance(labels, TIMES):
        return labels
    texts = all(isinstance(one, str) and is_date(one) for one in labels)
    if texts or pd.api.types.infer_dtype(labels, skipna=True) in ("date", "datetime"):
        return pd.to_datetime(labels, format="ISO8601" if texts else None, errors="coerce")
    return None


def _refuse_disorder(times: pd.Index) -> None:
    """Raise InputError where times do not rise."""
    if times.hasnans:
        raise InputError("a time is missing; leave its value out")
    if not times.is_monotonic_increasing:
        raise InputError("the times are not in their order; sort the values: values.sort_index()")
    if not times.is_unique:
        twice = times[times.duplicated()][0]
        raise InputError(
            f"the time {twice} is there twice; keep one value of a time, such as their mean:"
            " values.groupby(level=0).mean()"
        )


def _framed(values: Any) -> pd.DataFrame:
    """Return an array [n] or [n, series], or a frame of Polars, as a frame of pandas.

    InputError for another shape.
    """
    length("values", values)
    names = getattr(values, "columns", None)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return pd.DataFrame({name: np.asarray(values[name]) for name in names})
    found = array("values", values)
    if found.ndim not in (1, 2) or not found.size:
        raise InputError(f"values have the shape {found.shape}; give [n], or [n, series]")
    names = ["value"] if found.ndim == 1 else range(found.shape[1])
    return pd.DataFrame(found.reshape(len(found), -1), columns=list(names))


def _numbers(name: str, column: pd.Series) -> np.ndarray:
    """Return a series as real numbers, NaN where one is missing. InputError for others."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return column.to_numpy(float, na_value=np.nan)
    if kind in "mM":
        raise InputError(f"{name} has times, not numbers; make them the index of the values")
    try:
        if kind == "c":
            raise TypeError(f"their type is {column.dtype}")
        return column.astype(object).where(column.notna(), np.nan).to_numpy().astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"values that are not numbers, in {name} ({error}); leave such series out, convert them"
            f" to numbers, or make times the index, as in frame.set_index({name!r})"
        ) from None


def _standardised(seen: np.ndarray, names: Any) -> np.ndarray:
    """Return z-scores of values [n, d]. InputError where there are none."""
    if len(seen) < FEWEST:
        raise InputError(f"a series of {len(seen)} values; at least {FEWEST} are needed")
    if not np.isfinite(seen).all():
        raise InputError("a value is infinite; leave it out, or write NaN")
    with np.errstate(over="ignore", invalid="ignore"):
        sd = seen.std(axis=0)
    if not np.isfinite(sd).all():
        name = names[int(np.isfinite(sd).argmin())]
        raise InputError(f"the values of {name} are too large; divide them by their largest")
    rounding = ROUNDING * np.abs(seen).max(axis=0)
    constant, varies = sd <= rounding, np.ptp(seen, axis=0) > rounding
    if (constant & varies).any():
        name = names[int((constant & varies).argmax())]
        raise InputError(f"the values of {name} are too small; divide them by their largest")
    if constant.any():
        raise InputError(
            f"the series {names[int(constant.argmax())]} is constant, up to rounding; leave it out"
        )
    return (seen - seen.mean(axis=0)) / sd


def _segments(definition: Definition, scaled: np.ndarray) -> list[Change]:
    """Return the changes of the most probable segmentation of values [n, d]."""
    n, d = scaled.shape
    with _own_components.known(definition.own):
        built = learners.built(definition, Form((), d, False, 1), n)
    steps = Steps(built.learner, seeding.block([0], "python", "series", definition.name))
    batch = Batch(built.inputs(np.zeros(n)), scaled[None], np.ones((1, n), bool))
    infos = list(steps.learn_rows(batch))
    joined = {name: np.concatenate([one[name] for one in infos], axis=1) for name in infos[0]}
    dims = ("seed", "task", "hypothesis")
    run = xr.Dataset({f"info_{name}": (dims, a) for name, a in joined.items() if a.ndim == 3})
    found = changes.inferred(run)
    if found is None:
        raise InputError(
            "the method takes no decisions about changes; take one that does, such as robust-bocpd"
        )
    return found


def _frame(
    table: pd.DataFrame, rows: np.ndarray, seen: np.ndarray, segments: list[Change]
) -> pd.DataFrame:
    """Return the changes with their labels and the levels around them."""
    positions = rows[[one.task for one in segments]] if segments else rows[:0]
    frame = pd.DataFrame({"position": positions}, index=table.index[positions])
    frame["probability"] = [min(one.probability, 1.0) for one in segments]
    for number, name in enumerate(table.columns):
        suffix = f" {name}" if len(table.columns) > 1 else ""
        means = [
            (seen[one.before : one.task, number].mean(), seen[one.task : one.end, number].mean())
            for one in segments
        ]
        frame[f"before{suffix}"] = [before for before, _ in means]
        frame[f"after{suffix}"] = [after for _, after in means]
    return frame
