"""How often each learner is right where it is so and so confident, in ten bins, with counts.

farquhar2020radial, Fig. 3. A panel a learner, and a block for each set of rows: test rows after
each task; where the stream has shifts, the rows on both sides of these, predicted from one state.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from shiftbench.config import bibliography
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import predictions, referral, shift_probabilities
from shiftbench.evaluation.scoring.predictions import Rows
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
JUDGES = ("categorical",)
REQUIRES = ("tests",)
KEEPS = ("predictions",)

BINS = 10
COLUMNS = 5
"""Panels beside each other at most."""


class _Block(NamedTuple):
    """The rows of all seeds together, of each learner."""

    title: str
    rows: dict[str, Rows]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """One block a stream and set of rows."""
    blocks = [block for stream in study.streams for block in _blocks(study, stream)]
    lines = [math.ceil(len(block.rows) / COLUMNS) for block in blocks]
    drawn = figure_style.figure(
        sum(2.6 * number + 0.3 for number in lines), caption(study), study.budget()
    )
    parts = drawn.subfigures(len(blocks), 1, squeeze=False, height_ratios=lines)[:, 0]
    for part, block, number in zip(parts, blocks, lines, strict=True):
        part.suptitle(block.title, x=0.01, ha="left", size=10, fontweight="bold")
        _draw_block(part, study, block, number)
    return drawn


def caption(study: StudyResults) -> str:
    """What the bins are of, what the bars are, on how many runs, and what is cut."""
    return (
        f"Rows of all seeds together, in {BINS} bins of the probability of the most probable class;"
        " bars: Wilson's 95 % interval, as if rows were independent; grey: rows of each bin."
        " Dotted: calibrated; below it a learner is overconfident. ECE: expected calibration error,"
        f" 15 bins, of all these rows. As {bibliography.short('farquhar2020radial')}, Fig. 3; of "
        "two"
        " classes the probability is never below one half."
        f" {study.budget()}"
    )


def _blocks(study: StudyResults, stream: str) -> list[_Block]:
    pooled: dict[str, dict[str, Rows]] = {}
    for learner in study.learners:
        run = study.run(stream, learner)
        if run.sizes["seed"]:
            for name, of_seeds in predictions.sets(run, study.streams[stream]).items():
                rows = predictions.pooled([rows for each in of_seeds for rows in each])
                pooled.setdefault(name, {})[learner] = rows
    return [_Block(f"{stream}: {name}", rows) for name, rows in pooled.items()]


def _draw_block(part: SubFigure, study: StudyResults, block: _Block, lines: int) -> None:
    """The curves, each above its counts, from the least confidence that there is."""
    columns = min(COLUMNS, len(block.rows))
    heights = [3, 1] * lines
    panels = part.subplots(2 * lines, columns, squeeze=False, sharex=True, height_ratios=heights)
    least = 1 / max(rows.probability.shape[1] for rows in block.rows.values())
    start = math.floor(BINS * least) / BINS
    for place, (learner, rows) in enumerate(block.rows.items()):
        line, column = divmod(place, columns)
        curve, counts = panels[2 * line : 2 * line + 2, column]
        _draw_curve(curve, counts, rows, figure_style.look(study, learner))
        title = f"{study.label(learner)}\nECE {referral.calibration_error(rows):.3f}"
        curve.set_title(title, size=9)
        curve.set(xlim=(start - 0.02, 1.02), ylim=(-0.02, 1.02))
        if column == 0:
            curve.set_ylabel("accuracy")
            counts.set_ylabel("rows")
        counts.set_xlabel("confidence")
        counts.tick_params(labelbottom=True)
    for empty in range(len(block.rows), lines * columns):
        line, column = divmod(empty, columns)
        for panel in panels[2 * line : 2 * line + 2, column]:
            panel.set_axis_off()


def _draw_curve(axes: Axes, counts: Axes, rows: Rows, look: dict) -> None:
    curve = shift_probabilities.reliability(rows.confidence, rows.correct, BINS)
    axes.plot([0, 1], [0, 1], color=figure_style.MUTED, lw=0.8, ls=":")
    reach = np.abs([curve.observed - curve.low, curve.high - curve.observed])
    axes.errorbar(curve.predicted, curve.observed, reach, **look, ms=4, lw=1.0, elinewidth=1.2)
    counts.hist(rows.confidence, bins=BINS, range=(0, 1), color="0.75", edgecolor="white", lw=0.5)
    counts.set(yscale="log", ylim=(0.7, 1.5 * len(rows.target)))
    counts.yaxis.set_major_formatter("{x:g}")
    counts.yaxis.set_minor_formatter(NullFormatter())
