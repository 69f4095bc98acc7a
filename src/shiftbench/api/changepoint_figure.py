"""The picture of a series with its changes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    for panel, name in zip(panels, found.values.columns, strict=True):
        _draw_series(panel, found, name)
    panels[0].set_title(f"{number} change{'s' * (number != 1)}")
    panels[-1].set_xlabel(str(found.values.index.name or ""))
    return canvas


def _draw_series(panel: Axes, found: Changepoints, name: object) -> None:
    """Draw the values, the level of each segment, and the changes."""
    values, labels = found.values[name].to_numpy(), found.values.index
    panel.plot(labels, values, color="black", lw=0.9)
    ends = [0, *found.frame["position"].tolist(), len(values)]
    for first, last in pairwise(ends):
        level = np.nanmean(values[first:last])
        panel.plot(labels[[first, last - 1]], [level, level], color=figure_style.COLOURS["orange"])
    probabilities = found.frame["probability"]
    for place, probability in zip(found.frame.index, probabilities, strict=True):
        alpha = FAINTEST + (1 - FAINTEST) * probability
        panel.axvline(place, color=figure_style.INK, lw=1.0, ls="--", alpha=alpha)
    panel.set_ylabel(str(name))
    panel.margins(x=0.01)
