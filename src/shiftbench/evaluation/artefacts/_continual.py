"""Scores, scales and panels shared by figures and tables of continual learning.

Methods that forget everything before each task (combinator `reset`) represent training from
scratch. For these the artefacts show the score of each task right after it was learnt, like the
"from scratch" rows of eschenhagen2019vogn: after the last task they know only that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from shiftbench.config import bibliography, provenance
from shiftbench.core.errors import UserError
from shiftbench.evaluation.metrics import continual
from shiftbench.evaluation.scoring.results import StudyResults

METRIC = "accuracy"
SOURCE = "eschenhagen2019vogn"
"""Paper whose numbers are shown beside ours."""
FROM_SCRATCH = "acc_from_scratch"
"""Name in paper_numbers.yaml of the mean accuracy of tasks that are each learnt from scratch."""
COLUMNS = 6
"""Number of small panels side by side, at most."""
TITLE, SMALLEST, LETTERS = 8.5, 7.0, 96
"""Largest and smallest font size of panels' titles, and the letters of the largest size that fit
into a row of panels."""

PAPER: dict[str, Any] = {"color": "black", "marker": "D", "ls": "none", "mfc": "white"}
"""Style of published numbers."""

BEST, BEYOND = 99.95, 0.1
"""Accuracy (%) up to which the scale is the logarithm of the error, so that equal ratios of errors
look equal, and the length of the rest, up to 100 %, as a share of that of a tenth of the error."""
LINEAR = 60.0
"""Average accuracy (%) of the best method below which the scale is linear: the logarithm of large
errors would hide the differences."""
TICKS = (0, 20, 40, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9, 100)


def check(study: StudyResults, artefact: str, metrics: tuple[str, ...] = (METRIC,)) -> None:
    """Raise UserError if the study lacks a metric, or all runs on a stream failed."""
    study.require_metrics(artefact, *metrics)
    for stream in study.streams:
        if all(not study.run(stream, name).sizes["seed"] for name in study.methods):
            raise UserError(
                f"study {study.name}: every run on {stream} failed, so that {artefact} has "
                "nothing to show; see the status in summary.csv"
            )


def forgets(study: StudyResults, stream: str, method: str) -> bool:
    """Return whether the method starts each task from scratch."""
    return provenance.offering(study.run(stream, method), "scratch") is not None


def matrix(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the accuracy matrix in percent [seed, task, tested task]; NaN for later tasks."""
    return 100 * continual.matrix(study.run(stream, method))


def at_end(study: StudyResults, stream: str, method: str, metric: str = METRIC) -> np.ndarray:
    """Return each task's score after the last task [seed, task].

    For methods from scratch, its score right after it was learnt.
    """
    run = study.run(stream, method)
    if forgets(study, stream, method):
        return continual.diagonal(run, metric)
    return continual.matrix(run, metric)[:, -1]


def average(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the mean over tasks of `at_end` in percent [seed]; NaN for failed seeds."""
    values = 100 * at_end(study, stream, method).mean(axis=1)
    return study.on_seeds(study.run(stream, method), values)


def so_far(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the average accuracy over the tasks so far, after each task [seed, task]."""
    values = continual.matrix(study.run(stream, method))
    if forgets(study, stream, method):
        of_tasks = np.diagonal(values, axis1=1, axis2=2)
        return of_tasks.cumsum(axis=1) / np.arange(1, of_tasks.shape[1] + 1)
    return np.stack([values[:, t, : t + 1].mean(axis=1) for t in range(values.shape[1])], axis=1)


def mean_over_seeds(values: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis, the seeds; NaN without seeds."""
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)


def from_scratch(study: StudyResults) -> str:
    """Return a sentence for captions on methods that forget; empty if the study has none."""
    names = _forgetful(study)
    return f"{names}: each task just learnt, since nothing of the others is known. " * bool(names)


def from_scratch_note(study: StudyResults) -> str:
    """Return a sentence on what such methods know of each task; empty without them."""
    names = _forgetful(study)
    return f"{names}: nothing of the tasks before is known. " * bool(names)


def _forgetful(study: StudyResults) -> str:
    """Return the labels of methods that forget everything before each task, in words."""
    return " and ".join(
        study.label(name)
        for name in study.methods
        if any(forgets(study, stream, name) for stream in study.streams)
    )


def published_metric(study: StudyResults, stream: str, method: str) -> str:
    """Return the name in paper_numbers.yaml of the average accuracy of this method."""
    return FROM_SCRATCH if forgets(study, stream, method) else "acc"


def published_averages(study: StudyResults, stream: str) -> dict[str, float]:
    """Return the published average accuracy in percent of methods with a comparable training."""
    numbers = {
        name: study.published(stream, name, published_metric(study, stream, name))
        for name in study.methods
    }
    return {
        name: 100 * number.mean
        for name, number in numbers.items()
        if number is not None and number.comparable
    }


def has_published(study: StudyResults) -> bool:
    """Return whether a method of the study has a published average accuracy on a stream."""
    return any(published_averages(study, stream) for stream in study.streams)


def diamonds(study: StudyResults) -> str:
    """Return words for captions on published averages; empty if the study has none."""
    if not has_published(study):
        return ""
    return f"; diamonds: the average in {bibliography.short(SOURCE)}, measured or quoted there"


def to_scale(percent: np.ndarray | float) -> np.ndarray:
    """Return the position of an accuracy (%) on the scale of accuracies."""
    least, error = 100 - BEST, 100 - np.asarray(percent, float)
    beyond = BEYOND * np.maximum(0.0, 1 - error / least)
    return -np.log10(np.maximum(error, least)) + beyond


def from_scale(position: np.ndarray | float) -> np.ndarray:
    """Return the accuracy (%) at a position of that scale."""
    least, place = 100 - BEST, np.asarray(position)
    beyond = np.maximum(0.0, place + np.log10(least)) / BEYOND
    return 100 - np.maximum(10**-place, least) + least * beyond


def ticks(low: float, high: float, space: float) -> list[float]:
    """Return round accuracies from `low` to `high`, at least a share `space` of the scale apart."""
    least = space * (to_scale(high) - to_scale(low))
    spaced: list[float] = []
    for tick in TICKS:
        near = spaced and to_scale(tick) - to_scale(spaced[-1]) < least
        if low <= tick <= high and not near:
            spaced.append(tick)
    return spaced


def is_linear(study: StudyResults) -> bool:
    """Return whether scales of accuracies are linear: on each stream the best method is poor."""
    best = [
        max((np.nanmean(average(study, stream, name)) for name in study.methods
             if name not in study.bounds and study.run(stream, name).sizes["seed"]), default=np.nan)
        for stream in study.streams
    ]  # fmt: skip
    return all(percent < LINEAR for percent in best)


def scale_note(study: StudyResults) -> str:
    """Return the words on the scale of accuracies."""
    return "linear" if is_linear(study) else "logarithm of the error"


def scale(
    axes: Axes,
    letter: Literal["x", "y"],
    values: Iterable[float],
    space: float,
    linear: bool = False,
) -> None:
    """Put an axis of accuracies (%) on their scale, with limits that cover the values.

    space: least distance of ticks, as a share of the axis. linear: see `is_linear`.
    """
    finite = [value for value in values if not np.isnan(value)]
    if linear:
        margin = 0.05 * (max(finite) - min(finite) or 1.0)
        limits = min(finite) - margin, max(finite) + margin
        (axes.set_xlim if letter == "x" else axes.set_ylim)(*limits)
        return
    low = max(0.0, float(from_scale(to_scale(min(finite)) - 0.1)))
    high = float(from_scale(to_scale(max(finite)) + 0.1))
    setters: dict[str, tuple[Callable[..., Any], ...]] = {
        "x": (axes.set_xscale, axes.set_xlim, axes.set_xticks),
        "y": (axes.set_yscale, axes.set_ylim, axes.set_yticks),
    }
    set_scale, set_limits, set_ticks = setters[letter]
    set_scale("function", functions=(to_scale, from_scale))
    set_limits(low, high)
    marks = ticks(low, high, space)
    set_ticks(marks, [f"{tick:g}" for tick in marks])


def rows(number: int, most: int = COLUMNS) -> int:
    """Return the number of rows that a number of panels needs, with at most `most` in each."""
    return math.ceil(number / most)


def most_columns(titles: Iterable[str]) -> int:
    """Return how many panels with these titles beside a number fit side by side, at most."""
    longest = max(map(len, titles), default=1)
    return max(1, min(COLUMNS, int(LETTERS * TITLE / SMALLEST / longest)))


def columns_of_methods(study: StudyResults) -> int:
    """Return the largest number of panels in a row in which the label of each method fits."""
    return most_columns(map(study.label, study.methods))


def title_size(panels: Sequence[Axes], titles: Sequence[str]) -> float:
    """Return the size at which the longest title of panels fits beside a number, for all alike."""
    columns = panels[0].get_gridspec().ncols
    return TITLE * min(1.0, LETTERS / columns / max(map(len, titles)))


def panels(block: SubFigure, number: int, most: int = COLUMNS) -> list[Axes]:
    """Return a number of small panels on common axes, in rows of nearly equal length."""
    lines = rows(number, most)
    columns = math.ceil(number / lines)
    grid = block.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[number:]:
        axes.remove()
    for axes in grid[max(0, number - columns) : number]:
        axes.tick_params(labelbottom=True)
    return list(grid[:number])
