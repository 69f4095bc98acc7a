"""The figure of the ledger: a bar for each paper, with the number of its claims by verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import verdicts

STYLES: Mapping[str, dict[str, Any]] = {
    verdicts.REPRODUCED: {"facecolor": "#01568a"},
    verdicts.CONTRADICTED: {"facecolor": figure_style.COLOURS["orange"], "hatch": "////"},
    verdicts.UNRESOLVED: {"facecolor": "#e0aed2"},
    verdicts.MIXED: {"facecolor": "#e9e3b0", "hatch": "xxxx"},
    verdicts.TOO_LITTLE: {"facecolor": "0.88"},
    verdicts.UNKNOWN: {"facecolor": "0.94", "hatch": "...."},
    verdicts.NOT_RUN: {"facecolor": "white"},
}
"""Fill of each verdict: from dark to light, so that they stay apart in grey."""
EDGE = {"edgecolor": "0.35", "linewidth": 0.7}
BAR = 0.34
"""Height of a paper's bar, in inches."""


@figure_style.styled
def draw(counts: pd.DataFrame, foot: str) -> Figure:
    """Draw the number of claims of each paper by verdict; counts: of `ledger.by_paper`."""
    figure = figure_style.figure(BAR * len(counts) + 1.3, foot)
    below = figure_style.below_message(figure, message(counts))
    axes = below.subplots()
    left = np.zeros(len(counts))
    for verdict, style in STYLES.items():
        numbers = counts[verdict].to_numpy()
        bars = axes.barh(range(len(counts)), numbers, left=left, height=0.74, **style, **EDGE)
        labels = axes.bar_label(bars, [str(n) if n else "" for n in numbers], label_type="center")
        for label in labels:
            _legible(label, verdict)
        left += numbers
    _finish(axes, counts)
    handles = [
        Patch(label=f"{verdict}: {counts[verdict].sum()}", **STYLES[verdict], **EDGE)
        for verdict in STYLES
    ]
    figure_style.figure_legend(below, handles)
    return figure


def message(counts: pd.DataFrame) -> str:
    """Say how many claims are reproduced of those that could be judged; counts: as of `draw`."""
    total = counts.sum()
    judged = total.sum() - total[[*verdicts.NO_VERDICT]].sum()
    if not judged:
        return f"None of {total.sum()} claims could be judged"
    return (
        f"{judged} of {total.sum()} claims could be judged: {total[verdicts.REPRODUCED]} are"
        f" reproduced, {total[verdicts.CONTRADICTED]} contradicted"
    )


def _legible(label: Any, verdict: str) -> None:
    """Set a count's colour, on a plain ground where the bar is hatched."""
    style = STYLES[verdict]
    label.set(size=8.5, color="white" if verdict == verdicts.REPRODUCED else "black")
    if "hatch" in style:
        label.set_bbox({"facecolor": style["facecolor"], "edgecolor": "none", "pad": 0.6})


def _finish(axes: Axes, counts: pd.DataFrame) -> None:
    totals = counts.sum(axis=1)
    names = [f"{paper}  ({total})" for paper, total in totals.items()]
    axes.set_yticks(range(len(counts)), names, size=9)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(0, totals.max() + 0.5)
    axes.set_xlabel("claims")
    axes.set_ylim(len(counts) - 0.5, -0.5)
