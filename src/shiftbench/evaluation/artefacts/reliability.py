"""Reliability diagram of each learner: accuracy in ten bins of confidence, with counts.

farquhar2020radial, Fig. 3. One panel per learner, and a block per set of rows: test rows after
each task; if the stream has shifts, the rows on both sides of these, predicted from one state.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import predictions, referral, shift_probabilities
from shiftbench.evaluation.scoring.predictions import PredictedRows
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(judges=("categorical",), requires=("tests",), study=("predictions",))

BINS = 10
COLUMNS = 5
"""Largest number of panels beside each other."""


class _RowSet(NamedTuple):
    """A set of rows, of all seeds together, by learner."""

    title: str
    rows: dict[str, PredictedRows]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream and set of rows."""
    sets = [each for stream in study.streams for each in _row_sets(study, stream)]
    lines = [math.ceil(len(each.rows) / COLUMNS) for each in sets]
    figure = figure_style.figure(
        sum(2.6 * number + 0.3 for number in lines), caption(study), study.basis()
    )
    for (each, block), number in zip(figure_style.divide(figure, sets, lines), lines, strict=True):
        block.suptitle(each.title, x=0.01, ha="left", size=10, fontweight="bold")
        _draw_block(block, study, each, number)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the bins, the bars, the number of runs and the reductions."""
    return (
        f"Rows of all seeds together, in {BINS} bins of the probability of the most probable class;"
        " bars: Wilson's 95 % interval, as if rows were independent; grey: rows of each bin."
        " Dotted: calibrated; below it a learner is overconfident. ECE: expected calibration error,"
        f" 15 bins, of all these rows. As {bibliography.short('farquhar2020radial')}, Fig. 3; of "
        "two"
        " classes the probability is never below one half."
        f" {study.basis()}"
    )


def _row_sets(study: StudyResults, stream: str) -> list[_RowSet]:
    pooled: dict[str, dict[str, PredictedRows]] = {}
    for learner in study.learners:
        run = study.run(stream, learner)
        if run.sizes["seed"]:
            for name, of_seeds in predictions.sets(run, study.streams[stream]).items():
                rows = predictions.pooled([rows for each in of_seeds for rows in each])
                pooled.setdefault(name, {})[learner] = rows
    return [_RowSet(f"{stream}: {name}", rows) for name, rows in pooled.items()]


def _draw_block(block: SubFigure, study: StudyResults, each: _RowSet, lines: int) -> None:
    """Draw the curves, each above its counts, from the smallest possible confidence on."""
    columns = math.ceil(len(each.rows) / lines)
    heights = [3, 1] * lines
    panels = block.subplots(2 * lines, columns, squeeze=False, sharex=True, height_ratios=heights)
    least = 1 / max(rows.probability.shape[1] for rows in each.rows.values())
    start = math.floor(BINS * least) / BINS
    for number, (learner, rows) in enumerate(each.rows.items()):
        line, column = divmod(number, columns)
        curve, counts = panels[2 * line : 2 * line + 2, column]
        _draw_curve(curve, counts, rows, figure_style.method_style(study, learner))
        title = f"{study.label(learner)}\nECE {referral.calibration_error(rows):.3f}"
        curve.set_title(title, size=9)
        curve.set(xlim=(start - 0.02, 1.02), ylim=(-0.02, 1.02))
        if column == 0:
            curve.set_ylabel("accuracy")
            counts.set_ylabel("rows")
        counts.set_xlabel("confidence")
        counts.tick_params(labelbottom=True)
    for empty in range(len(each.rows), lines * columns):
        line, column = divmod(empty, columns)
        for panel in panels[2 * line : 2 * line + 2, column]:
            panel.set_axis_off()


def _draw_curve(axes: Axes, counts: Axes, rows: PredictedRows, style: dict[str, Any]) -> None:
    curve = shift_probabilities.reliability(rows.confidence, rows.correct, BINS)
    axes.plot([0, 1], [0, 1], color=figure_style.MUTED, lw=0.8, ls=":")
    bars = np.abs([curve.observed - curve.low, curve.high - curve.observed])
    axes.errorbar(curve.predicted, curve.observed, bars, **style, ms=4, lw=1.0, elinewidth=1.2)
    counts.hist(rows.confidence, bins=BINS, range=(0, 1), color="0.75", edgecolor="white", lw=0.5)
    counts.set(yscale="log", ylim=(0.7, 1.5 * len(rows.target)))
    counts.yaxis.set_major_formatter("{x:g}")
    counts.yaxis.set_minor_formatter(NullFormatter())
