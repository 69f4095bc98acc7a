"""Reliability diagram of each method: accuracy in ten bins of confidence, with counts.

farquhar2020radial, Fig. 3. One panel per method, and a block per set of rows: test rows after
each task; if the stream has shifts, the rows on both sides of these, predicted from one state.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import predictions, referral, shift_probabilities, statistics
from shiftbench.evaluation.scoring.predictions import PredictedRows
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(judges=("categorical",), requires=("tests",), study=("predictions",))

BINS = 10
COLUMNS = 5
"""Largest number of panels beside each other."""


class _RowSet(NamedTuple):
    """A set of rows by method: those of all seeds together, and the error (%) of each [seed]."""

    name: str
    rows: dict[str, PredictedRows]
    errors: dict[str, np.ndarray]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream and set of rows."""
    sets = _row_sets(study)
    lines = [math.ceil(len(each.rows) / COLUMNS) for each in sets]
    figure = figure_style.figure(
        sum(2.6 * number + 0.3 for number in lines), _foot(study), study.basis()
    )
    for (each, block), number in zip(figure_style.divide(figure, sets, lines), lines, strict=True):
        figure_style.set_message(block, _message(study, each))
        _draw_block(block, study, each, number)
    return figure


def caption(study: StudyResults) -> str:
    """Say whose error is smallest, describe the bins, the bars and the reductions."""
    messages = "".join(f"{_message(study, each)}. " for each in _row_sets(study))
    return f"{messages}{_foot(study)}"


def _message(study: StudyResults, each: _RowSet) -> str:
    """Say which method has the smallest calibration error on a set of rows."""
    return _best.smallest(study, {each.name: each.errors}, "calibration error", unit=" %")


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    classes = {
        rows.probability.shape[1] for each in _row_sets(study) for rows in each.rows.values()
    }
    least = "".join(
        f"; of {number} classes the probability is at least {100 / number:.0f} %"
        for number in sorted(classes)
    )
    return (
        f"Rows of all seeds together, in {BINS} bins of the probability of the most probable class;"
        " bars: Wilson's 95 % interval, as if rows were independent; grey: rows of each bin."
        " Dotted: calibrated; below it a method is overconfident. ECE: expected calibration error,"
        " 15 bins, mean over seeds, of each seed alone."
        f" As {bibliography.short('farquhar2020radial')}, Fig. 3{least}."
        f" {study.basis()}"
    )


@lru_cache(maxsize=1)  # the figure and its caption need them, and they take seconds
def _row_sets(study: StudyResults) -> list[_RowSet]:
    """Return the sets of rows of each stream, of methods with a seed that did not fail."""
    found: dict[str, _RowSet] = {}
    for stream in study.streams:
        for method in study.methods:
            run = study.run(stream, method)
            if not run.sizes["seed"]:
                continue
            for name, of_seeds in predictions.sets(run, study.streams[stream]).items():
                each = found.setdefault(f"{stream}, {name}", _RowSet(f"{stream}, {name}", {}, {}))
                each.rows[method] = predictions.pooled([one for of in of_seeds for one in of])
                each.errors[method] = study.on_seeds(run, _errors(name, of_seeds))
    return list(found.values())


def _errors(name: str, of_seeds: list[list[PredictedRows]]) -> np.ndarray:
    """Return the calibration error (%) of each seed, as the metrics ece and new_segment_ece."""
    if name == predictions.TESTED:
        by_task = [[referral.calibration_error(rows) for rows in each] for each in of_seeds]
        return 100 * np.nanmean(by_task, axis=1)
    pooled = [referral.calibration_error(predictions.pooled(each)) for each in of_seeds]
    return 100 * np.array(pooled)


def _draw_block(block: SubFigure, study: StudyResults, each: _RowSet, lines: int) -> None:
    """Draw the curves, each above its counts, from the smallest possible confidence on."""
    columns = math.ceil(len(each.rows) / lines)
    heights = [3, 1] * lines
    panels = block.subplots(2 * lines, columns, squeeze=False, sharex=True, height_ratios=heights)
    least = 1 / max(rows.probability.shape[1] for rows in each.rows.values())
    start = math.floor(BINS * least) / BINS
    for number, (method, rows) in enumerate(each.rows.items()):
        line, column = divmod(number, columns)
        curve, counts = panels[2 * line : 2 * line + 2, column]
        _draw_curve(curve, counts, rows, highlights.style(study, method, [method]))
        error = statistics.interval(each.errors[method]).mean
        curve.set_title(f"{study.label(method)}\nECE {error:.1f} %", size=9)
        curve.set(xlim=(100 * start - 2, 102), ylim=(-2, 102))
        if column == 0:
            curve.set_ylabel("accuracy (%)")
            counts.set_ylabel("rows")
        counts.set_xlabel("confidence (%)")
        counts.tick_params(labelbottom=True)
    for empty in range(len(each.rows), lines * columns):
        line, column = divmod(empty, columns)
        for panel in panels[2 * line : 2 * line + 2, column]:
            panel.set_axis_off()


def _draw_curve(axes: Axes, counts: Axes, rows: PredictedRows, style: dict[str, Any]) -> None:
    curve = shift_probabilities.reliability(rows.confidence, rows.correct, BINS)
    axes.plot([0, 100], [0, 100], color=figure_style.MUTED, lw=0.8, ls=":")
    bars = 100 * np.abs([curve.observed - curve.low, curve.high - curve.observed])
    points = 100 * curve.predicted, 100 * curve.observed
    axes.errorbar(*points, bars, **style, ms=4, lw=1.0, elinewidth=1.2)
    counts.hist(
        100 * rows.confidence, bins=BINS, range=(0, 100), color="0.75", edgecolor="white", lw=0.5
    )
    counts.set(yscale="log", ylim=(0.7, 1.5 * len(rows.target)))
    counts.yaxis.set_major_formatter(figure_style.THOUSANDS)
    counts.yaxis.set_minor_formatter(NullFormatter())
