"""What figures and tables of continual learning share.

Learners that forget all before each task (the combinator `reset`) stand for training from
scratch: of them these artefacts show each task's score just after it was learnt, as the
"from scratch" rows of eschenhagen2019vogn do. After the last task they know nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import bibliography, provenance
from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.metrics import _matrix
from shiftbench.evaluation.scoring.results import StudyResults

METRIC = "accuracy"
SOURCE = "eschenhagen2019vogn"
"""Whose printed numbers stand beside ours."""
FROM_SCRATCH = "acc_from_scratch"
"""What published.yaml calls the mean accuracy of tasks that are each learnt from scratch."""
COLUMNS = 6
"""Small panels side by side."""

PAPER: dict[str, Any] = {"color": "black", "marker": "D", "ls": "none", "mfc": "white"}
"""Looks of published numbers."""

BEST = 99.95
"""Accuracies are drawn on the logarithm of the error (equal ratios of errors look equal), up to
here."""
TICKS = (0, 20, 40, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9)


def check(study: StudyResults, artefact: str, metrics: tuple[str, ...] = (METRIC,)) -> None:
    """UserError where the study has not what the artefact shows."""
    study.require_metrics(artefact, *metrics)
    for stream in study.streams:
        if all(not study.run(stream, name).sizes["seed"] for name in study.learners):
            raise UserError(
                f"study {study.name}: every run on {stream} failed, so that {artefact} has "
                "nothing to show; see the status in summary.csv"
            )


def forgets(study: StudyResults, stream: str, learner: str) -> bool:
    """Whether the learner starts each task from scratch."""
    return provenance.offering(study.run(stream, learner), "scratch") is not None


def matrix(study: StudyResults, stream: str, learner: str) -> np.ndarray:
    """The accuracy matrix in percent [seed, task, tested task]; NaN for tasks to come."""
    return 100 * _matrix.matrix(study.run(stream, learner))


def at_end(study: StudyResults, stream: str, learner: str, metric: str = METRIC) -> np.ndarray:
    """Each task's score after the last task [seed, task]; from scratch, just after its own."""
    run = study.run(stream, learner)
    if forgets(study, stream, learner):
        return _matrix.diagonal(run, metric)
    return _matrix.matrix(run, metric)[:, -1]


def so_far(study: StudyResults, stream: str, learner: str) -> np.ndarray:
    """Average accuracy over the tasks so far, after each task [seed, task]."""
    values = _matrix.matrix(study.run(stream, learner))
    if forgets(study, stream, learner):
        of_tasks = np.diagonal(values, axis1=1, axis2=2)
        return of_tasks.cumsum(axis=1) / np.arange(1, of_tasks.shape[1] + 1)
    return np.stack([values[:, t, : t + 1].mean(axis=1) for t in range(values.shape[1])], axis=1)


def from_scratch(study: StudyResults) -> str:
    """Words for captions about learners that forget; empty where the study has none."""
    found = [
        name
        for name in study.learners
        if any(forgets(study, stream, name) for stream in study.streams)
    ]
    if not found:
        return ""
    names = " and ".join(map(study.label, found))
    return f"{names}: each task just learnt, since nothing of the others is known. "


def published_metric(study: StudyResults, stream: str, learner: str) -> str:
    """Under which name the published average accuracy of this learner stands."""
    return FROM_SCRATCH if forgets(study, stream, learner) else "acc"


def published_averages(study: StudyResults, stream: str) -> dict[str, float]:
    """The published average accuracies in percent, of the learners that have one."""
    numbers = {
        name: study.published(stream, name, published_metric(study, stream, name))
        for name in study.learners
    }
    return {
        name: 100 * number.shown
        for name, number in numbers.items()
        if number is not None and number.shown is not None
    }


def has_published(study: StudyResults) -> bool:
    """Whether some learner on some stream has a published average accuracy."""
    return any(published_averages(study, stream) for stream in study.streams)


def diamonds(study: StudyResults) -> str:
    """Words for captions about published averages; empty where the study has none."""
    if not has_published(study):
        return ""
    return f"; diamonds: the average in {bibliography.short(SOURCE)}, measured or quoted there"


def to_scale(percent: np.ndarray | float) -> np.ndarray:
    """Place of an accuracy in percent on the scale of accuracies."""
    return -np.log10(100 - np.minimum(percent, BEST))


def from_scale(place: np.ndarray | float) -> np.ndarray:
    """The accuracy in percent at a place of that scale."""
    return 100 - 10 ** -np.asarray(place)


def ticks(low: float, high: float, space: float) -> list[float]:
    """Round accuracies between two, at least this share of the scale apart."""
    least = space * (to_scale(high) - to_scale(low))
    spaced: list[float] = []
    for tick in TICKS:
        near = spaced and to_scale(tick) - to_scale(spaced[-1]) < least
        if low <= tick <= high and not near:
            spaced.append(tick)
    return spaced


def scale(axes: Axes, letter: Literal["x", "y"], values: Iterable[float], space: float) -> None:
    """Puts an axis of accuracies in percent on their scale, with room for the values."""
    known = [value for value in values if not np.isnan(value)]
    low = max(0.0, float(from_scale(to_scale(min(known)) - 0.1)))
    high = float(from_scale(to_scale(max(known)) + 0.1))
    setters: dict[str, tuple[Callable[..., Any], ...]] = {
        "x": (axes.set_xscale, axes.set_xlim, axes.set_xticks),
        "y": (axes.set_yscale, axes.set_ylim, axes.set_yticks),
    }
    set_scale, set_limits, set_ticks = setters[letter]
    set_scale("function", functions=(to_scale, from_scale))
    set_limits(low, high)
    chosen = ticks(low, high, space)
    set_ticks(chosen, [f"{tick:g}" for tick in chosen])


def panels(block: SubFigure, number: int) -> list[Axes]:
    """So many small panels on common axes, in rows of `COLUMNS`."""
    rows = -(-number // COLUMNS)
    grid = block.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[number:]:
        axes.remove()
    for axes in grid[max(0, number - COLUMNS) : number]:
        axes.tick_params(labelbottom=True)
    return list(grid[:number])


def blocks(drawn: Figure, study: StudyResults) -> Iterator[tuple[str, SubFigure]]:
    """Each stream with its part of the figure, which has a title."""
    parts = drawn.subfigures(len(study.streams), 1, squeeze=False)[:, 0]
    letters = figure_style.letters(len(parts))
    for letter, stream, part in zip(letters, study.streams, parts, strict=True):
        words = figure_style.named(stream, study.streams[stream])
        part.suptitle(figure_style.lettered(letter, words), x=0.008, ha="left", size=10)
        yield stream, part
