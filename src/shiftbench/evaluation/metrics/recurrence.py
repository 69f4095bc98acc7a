"""Metrics of concepts that come back: what a learner still knows, and how fast it learns it again.

A stream gives `concept` [realisation, task]: an equal number is the same distribution again. A
visit is a segment, from one shift to the next; a return is a visit to a concept that had one
before, and is compared with the first visit to it.

Later segments are learnt better or worse than early ones for other reasons too, so a score says
little alone. It is read beside that of a twin stream, equal but for a fresh concept in place of
each return. A twin gives `stands_for` [realisation, task], the concept in whose place each task
stands, and has the same scores at the same tasks. The gain of a method is the difference of the
two, paired by seed; that of `return_accuracy` is the recall gain. A metric sees one run, and so the
table or figure that shows both streams takes the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.metrics import plasticity
from shiftbench.evaluation.scoring import predictions, realisations, shift_matching

TOLERANCE = 0.02
"""Accuracy by which a return may stay below the end of the first visit and count as known again."""


class Return(NamedTuple):
    """Tasks of the first visit to a concept, and of a later one."""

    first: range
    again: range


def returns(shift: np.ndarray, concept: np.ndarray) -> list[Return]:
    """Return the returns of a stream [task], in order."""
    tasks = len(shift)
    starts = [0, *(np.flatnonzero(shift[1:]) + 1).tolist()]
    first: dict[int, range] = {}
    found = []
    for start, stop in zip(starts, [*starts[1:], tasks], strict=True):
        visit, number = range(start, stop), int(concept[start])
        if number in first:
            found.append(Return(first[number], visit))
        first.setdefault(number, visit)
    return found


def of_seeds(run: xr.Dataset, stream: xr.Dataset) -> list[list[Return]]:
    """Return the returns that each seed of a run saw; of a twin, the places of returns."""
    name = "stands_for" if "stands_for" in stream else "concept"
    concept = realisations.of_seeds(run, stream[name])
    shift = shift_matching.truth(run, stream)
    return [returns(*pair) for pair in zip(shift, concept, strict=True)]


def return_accuracy(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the accuracy on the first tasks of returns, before they are learnt [seed].

    It is the accuracy over all their rows together. NaN without returns.
    """
    scores = []
    for s, found in enumerate(of_seeds(run, stream)):
        rows = [predictions.before(run, s, one.again.start) for one in found]
        scores.append(predictions.pooled(rows).correct.mean() if rows else np.nan)
    return np.array(scores, float)


def savings(accuracy: np.ndarray, one: Return) -> float:
    """Return 1 - k_return / k_first (Ebbinghaus 1885) from the accuracy after each task [task].

    k is the number of tasks until the accuracy is that at the end of the first visit minus
    TOLERANCE. Both visits are cut to the length of the shorter one, and k is this length, a bound,
    if the accuracy is not reached. So a visit gains nothing by being short.
    """
    length = min(len(one.first), len(one.again))
    first, again = (tasks_needed(accuracy, one, visit[:length]) for visit in one)
    return 1 - again / first


def recovery_time(accuracy: np.ndarray, one: Return) -> float:
    """Return k_return of `savings`; the length of the visit if the accuracy is not reached."""
    return tasks_needed(accuracy, one, one.again)


def tasks_needed(accuracy: np.ndarray, one: Return, visit: range) -> int:
    """Return the number of tasks of a visit until the accuracy is that at the first visit's end.

    accuracy: [task]. If it is not reached, the length of the visit.
    """
    reached = accuracy[visit] >= accuracy[one.first[-1]] - TOLERANCE
    return int(reached.argmax()) + 1 if reached.any() else len(visit)


def over_returns(
    run: xr.Dataset, stream: xr.Dataset, *, measure: Callable[[np.ndarray, Return], float]
) -> np.ndarray:
    """Return the mean over returns [seed] of a measure of one; NaN without returns."""
    ends = plasticity.own_accuracy(run)[..., -1]
    pairs = zip(ends, of_seeds(run, stream), strict=True)
    each = [[measure(accuracy, one) for one in found] for accuracy, found in pairs]
    return np.array([np.mean(values) if values else np.nan for values in each], float)


OfReturns = partial(
    Metric, stage="run", judges=("categorical",), requires=("tests", "shifts", "returns")
)
METRICS = [
    OfReturns(
        "return_accuracy",
        about="Accuracy on rows of a concept that comes back, before any of them is learnt again.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        study=("predictions",),
        score=return_accuracy,
    ),
    OfReturns(
        "savings",
        about="Share of the tasks that a concept took at first and does not take again.",
        unit="fraction",
        bounds=(None, 1.0),
        better="higher",
        uses=("accuracy",),
        score=partial(over_returns, measure=savings),
    ),
    OfReturns(
        "recovery_time",
        about="Tasks until a concept that comes back is known as well as after its first visit.",
        unit="tasks",
        bounds=(1.0, None),
        better="lower",
        uses=("accuracy",),
        score=partial(over_returns, measure=recovery_time),
    ),
]
