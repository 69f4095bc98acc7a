"""The picture of a series with its changes."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from shiftbench.evaluation import figure_style

if TYPE_CHECKING:
    from shiftbench.api.changepoints import Changepoints

HEIGHT = 2.2
"""Height of the panel of a series, in inches."""
FAINTEST = 0.3
"""Opacity of the line of a change without any probability."""


@figure_style.styled
def draw(found: Changepoints) -> Figure:
    """Draw a panel for each series."""
    number, total = len(found.frame), len(found.values.columns)
    caption = (
        f"Orange: mean of each segment. Dashed lines: changes in hindsight, by {found.method};"
        " the darker, the more probable."
    )
    canvas = figure_style.figure(HEIGHT * total + 0.3, caption)
    panels = canvas.subplots(total, 1, sharex=True, squeeze=False)[:, 0]
    labels = found.values.index
    places = _places(labels)
    for panel, name in zip(panels, found.values.columns, strict=True):
        _draw_series(panel, found, name, places)
    if places is not labels and not isinstance(places, pd.DatetimeIndex):
        panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        panels[-1].xaxis.set_major_formatter(lambda at, _: _label(labels, at))
    panels[0].set_title(f"{number} change{'s' * (number != 1)}")
    panels[-1].set_xlabel(str(found.values.index.name or ""))
    figure_style.take_literally(canvas.findobj(Text))
    # Notebooks show objects with this method. A plain figure lacks it and needs `%matplotlib
    # inline`.
    canvas._repr_png_ = partial(_png, canvas)  # type: ignore[attr-defined]
    return canvas


def _png(canvas: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    file = BytesIO()
    canvas.savefig(file, format="png")
    return file.getvalue()


def _places(labels: pd.Index) -> pd.Index:
    """Return where the axis has the labels: rising numbers and dates at their own place.

    Periods are at their start, times of a zone at its clock, and all others in their order.
    """
    if isinstance(labels, pd.PeriodIndex):
        return labels.to_timestamp()
    if isinstance(labels, pd.DatetimeIndex):
        return labels.tz_localize(None)
    numbers = pd.api.types.is_any_real_numeric_dtype(labels)
    rising = labels.is_monotonic_increasing and labels.is_unique
    return labels if numbers and rising else pd.RangeIndex(len(labels))


def _label(labels: pd.Index, at: float) -> str:
    """Return the label at a place of the axis; empty between two labels."""
    return figure_style.escaped(str(labels[int(at)])) if at in range(len(labels)) else ""


def _draw_series(panel: Axes, found: Changepoints, name: object, places: pd.Index) -> None:
    """Draw the values, the level of each segment, and the changes."""
    values = found.values[name].to_numpy()
    panel.plot(places, values, color="black", lw=0.9)
    ends = [0, *found.frame["position"].tolist(), len(values)]
    complete = found.values.notna().all(axis=1).to_numpy()
    for first, last in pairwise(ends):
        level = values[first:last][complete[first:last]].mean()
        panel.plot(places[[first, last - 1]], [level, level], color=figure_style.COLOURS["orange"])
    at = places[found.frame["position"]]
    for place, probability in zip(at, found.frame["probability"], strict=True):
        alpha = FAINTEST + (1 - FAINTEST) * probability
        panel.axvline(place, color=figure_style.INK, lw=1.0, ls="--", alpha=alpha)
    panel.set_ylabel(str(name))
    panel.margins(x=0.01)
