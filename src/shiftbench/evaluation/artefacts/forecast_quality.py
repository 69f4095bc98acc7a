"""Error and calibration of the predictive distributions of each method.

For each stream, from the left: the continuous ranked probability score (CRPS); the share of values
within the central 50 and 90 % predictive intervals; and the distance of the probability integral
transform from uniform, beside the distance that calibrated predictions exceed in 5 % of cases.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

COVERAGE = {"coverage_50": 0.5, "coverage_90": 0.9}
DISTANCE = "pit_distance"
FACTS = Facts(uses=("crps", *COVERAGE, DISTANCE))

STRETCHES = 20
"""Number of stretches of a single run over which an interval is taken."""
ROW = 0.28
"""Height of a method, in inches."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per stream. UserError without one of the metrics."""
    study.require_metrics("forecast-quality", *FACTS.uses)
    height = len(study.streams) * (ROW * len(study.methods) + 1.0) + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study), study.basis())
    figure_style.set_message(figure, message(study))
    panels = figure.subplots(len(study.streams), 3, squeeze=False, sharey=True)
    letters = iter(figure_style.panel_letters(panels.size))
    for row, stream in zip(panels, study.streams, strict=True):
        _draw_crps(row[0], study, stream)
        _draw_coverage(row[1], study, stream)
        _draw_distance(row[2], study, stream)
        titles = (f"{stream}: error", "calibration", "distance from calibration")
        for panel, title in zip(row, titles, strict=True):
            figure_style.set_title(panel, next(letters), title)
        row[0].set_yticks(range(len(study.methods)), map(study.label, study.methods))
        row[0].set_ylim(len(study.methods) - 0.5, -0.5)
    return figure


def caption(study: StudyResults) -> str:
    """Say whose error is smallest, describe the panels, the intervals, runs and reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which method has the smallest CRPS, or on how many streams it has."""
    scores = {
        stream: {name: repetitions(study.by_task(stream, name, "crps")) for name in study.methods}
        for stream in study.streams
    }
    one_run = study.cube.sizes["seed"] == 1
    paired = f" (paired over {STRETCHES} stretches of one run)" * one_run
    return f"{_best.smallest(study, scores, 'CRPS')}{paired}"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    over = (
        f"{STRETCHES} consecutive stretches of the run (Student t)"
        if study.cube.sizes["seed"] == 1
        else f"seeds, {statistics.described('crps')}"
    )
    return (
        "Left: CRPS, lower is better. Middle: share of values within the central 50 and 90 %"
        " predictive interval; dotted: calibrated. Right: largest distance between the distribution"
        " of the probability integral transform and the uniform one; dotted: chance alone is below"
        f" it in 95 % of the cases. Bars: 95 % intervals over {over}. {study.basis()}"
    )


def repetitions(by_task: np.ndarray) -> np.ndarray:
    """Return the means of scores [seed, task] over the tasks [seed]; NaN without scores.

    With a single seed they are those of STRETCHES stretches of consecutive tasks [stretch], which
    depend little on each other.
    """
    rows = list(by_task)
    if len(rows) == 1 and len(rows[0]) >= 2 * STRETCHES:
        rows = np.array_split(rows[0], STRETCHES)
    return np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in rows])


def spread(by_task: np.ndarray, metric: str) -> Interval:
    """Return the mean of scores [seed, task] and its interval, over their repetitions."""
    return statistics.interval(repetitions(by_task), statistics.bounds(metric))


def _draw_crps(panel: Axes, study: StudyResults, stream: str) -> None:
    for y, method in enumerate(study.methods):
        _draw_point(panel, study, stream, method, "crps", y)
    panel.set_xlabel("CRPS (unit of the series)")
    panel.grid(axis="x", lw=0.4, alpha=0.5)


def _draw_coverage(panel: Axes, study: StudyResults, stream: str) -> None:
    for metric, level in COVERAGE.items():
        panel.axvline(level, color=figure_style.INK, lw=1, ls=":")
        for y, method in enumerate(study.methods):
            _draw_point(panel, study, stream, method, metric, y)
    panel.set(xlabel="share within the 50 and 90 % intervals", xlim=(0, 1))


def _draw_distance(panel: Axes, study: StudyResults, stream: str) -> None:
    for y, method in enumerate(study.methods):
        of_seeds = study.score(stream, method, DISTANCE)
        style = figure_style.method_style(study, method)
        panel.plot(of_seeds, np.full(len(of_seeds), y), ls="", **style)
    tasks = study.streams[stream].sizes["task"]
    panel.axvline(stats.kstwo.ppf(0.95, tasks), color=figure_style.INK, lw=1, ls=":")
    panel.set(xlabel="distance of the PIT from uniform", xlim=(0, None))


def _draw_point(
    panel: Axes, study: StudyResults, stream: str, method: str, metric: str, y: int
) -> None:
    """Draw a method's mean and interval at a height."""
    of = spread(study.by_task(stream, method, metric), metric)
    bars = np.nan_to_num(figure_style.error_bars(of))
    style = figure_style.method_style(study, method)
    panel.errorbar(of.mean, y, xerr=bars, ls="", capsize=2, elinewidth=1.2, **style)
