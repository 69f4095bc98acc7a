"""Schedules of segments: when the distribution of a stream changes, and what comes back.

A segment is a run of tasks with one distribution. Regular segments all have the same length, which
a clock that never looks at the data can know. The length of other segments is `shortest_segment`
tasks plus a geometric number, so that the chance of a change is the same at every later task.

A gradual drift of width w has its centre where a segment would start, just before task p. At task t
of its interval [p - w/2, p + w/2] the share is

    mixture  1 / (1 + exp(-4 (t + 1/2 - p) / w))  of rows from the new distribution,
    morph    1/2 + (t + 1/2 - p) / (w + 1)        of the way from the old parameters to the new.

The first is that of the ConceptDriftStream of river and MOA. There the mixture goes on outside of
the interval, with up to 12 % of the rows; here the drift ends with its interval.

A family inherits `Segments`, yields from `excluded` in its `unsupported`, merges `stored` into its
store, and draws one distribution for each number in `concepts`. It need not know whether segments
are regular: a task has the distribution of its `segment_of_task`. During a drift, a share
`new_share` is from it, and the rest from that of the segment before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge
from scipy.special import expit

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.attributes import about


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The settings of segments of tasks."""

    tasks: Annotated[int, Ge(1)] = 30
    """Number of tasks."""
    tasks_per_segment: Annotated[int, Ge(1)] = 3
    """Number of tasks of a segment, after which the distribution changes; the mean number unless
    the schedule is regular."""
    schedule: Literal["regular", "irregular", "recurring", "recurring-twin"] = "regular"
    """regular: all segments have tasks_per_segment tasks. irregular: shortest_segment tasks plus a
    geometric number, drawn for each realisation. recurring: as irregular, with distributions that
    come back, A B A C B A C for three. recurring-twin: as recurring, with the same first visits and
    a fresh distribution in place of each return."""
    shortest_segment: Annotated[int, Ge(1)] = 1
    """Smallest number of tasks of a segment whose length is drawn. With 1 the chance of a change is
    the same before every task."""
    concepts: Annotated[int, Ge(0)] = 0
    """Number of distributions of the recurring schedules, at least 2; 0 for the others."""
    drift_width: Annotated[int, Ge(0)] = 0
    """Number of tasks over which the distribution changes; 0: at once. It must be less than the
    shortest segment, so that drifts do not overlap."""
    drift_mode: Literal["mixture", "morph"] = "mixture"
    """mixture: more and more rows of a task are from the new distribution. morph: all rows are from
    one distribution, whose parameters move from the old ones to the new ones."""


def excluded(settings: Segments) -> Iterator[str]:
    """Yield each reason why settings exclude each other, with its remedy."""
    regular = settings.schedule == "regular"
    recurring = settings.schedule in ("recurring", "recurring-twin")
    mean, shortest = settings.tasks_per_segment, settings.shortest_segment
    if mean >= settings.tasks and not (regular and not settings.drift_width):
        yield (
            f"a segment of {mean} tasks is as long as the stream, which has {settings.tasks}, so"
            " that nothing would change; lower tasks_per_segment or raise tasks"
        )
    if regular and shortest > 1:
        yield (
            "shortest_segment has no effect on regular segments; leave it out, or set schedule to"
            " irregular"
        )
    if mean < shortest:
        yield (
            f"segments of at least {shortest} tasks cannot have {mean} in the mean; raise"
            " tasks_per_segment or lower shortest_segment"
        )
    if recurring and settings.concepts < 2:
        yield "nothing comes back among fewer than two distributions; set concepts to 2 or more"
    if settings.concepts and not recurring:
        yield (
            f"concepts has no effect on the schedule {settings.schedule}; leave it out, or set"
            " schedule to recurring"
        )
    gap, name = (mean, "tasks_per_segment") if regular else (shortest, "shortest_segment")
    if settings.drift_width >= gap:
        yield (
            f"drifts of width {settings.drift_width} would meet, as a segment can be as short as"
            f" {gap}; raise {name} above the width, or lower drift_width"
        )


def stored(settings: Segments, numbers: Sequence[int]) -> xr.Dataset:
    """Return the truth about the segments of some realisations, which reaches no learner.

    A realisation does not depend on the others, and a longer stream begins with the shorter one.

    Returns
    -------
    Dataset with [realisation, task]
        shift : bool, whether the distribution changed, or a drift began, just before the task
        segment_of_task : int, during a drift the segment that is coming
        shift_end : int, with drifts: last task of the drift that begins here, -1 elsewhere
        new_share : float, with drifts: share of the segment that is coming, 1 outside of drifts
        concept : int, with recurring schedules: number of the distribution
        stands_for : int, in a twin: number of the distribution at this task of the recurring stream

    UserError if settings exclude each other.
    """
    for reason in excluded(settings):
        raise UserError(f"Segments: {reason}.")
    each = [_realisation(settings, starts(settings, number)) for number in numbers]
    store = xr.Dataset(
        {
            name: (("realisation", "task"), np.stack([one[name] for one in each]), about(text))
            for name, text in _VARIABLES.items()
            if name in each[0]
        },
        coords={
            "realisation": ("realisation", list(numbers), about("number of the realisation")),
            "task": ("task", np.arange(settings.tasks), about("number of the task")),
            "segment": ("segment", np.arange(count(settings)), about("number of the segment")),
        },
    )
    return store


_VARIABLES = {
    "shift": "whether the distribution changed just before this task",
    "segment_of_task": "segment to which a task belongs",
    "shift_end": "last task of the drift that begins with this task, -1 where none does",
    "new_share": "share of the distribution of the segment, the rest being that of the one before",
    "concept": "number of the distribution; equal numbers are the same distribution",
    "stands_for": "number of the distribution that a stream with returns has at this task",
}


def starts(settings: Segments, realisation: int) -> list[int]:
    """Return the first task of each segment, or the centre of the drift to it.

    The last one may lie beyond the end of the stream, if its drift begins before.
    """
    found = [0]
    while True:
        following = found[-1] + _length(settings, realisation, len(found) - 1)
        if following - _half(settings) >= settings.tasks:
            return found
        found.append(following)


def count(settings: Segments) -> int:
    """Return the largest number of segments that a stream can have."""
    regular = settings.schedule == "regular"
    shortest = settings.tasks_per_segment if regular else settings.shortest_segment
    return 1 + (settings.tasks - 1 + _half(settings)) // shortest


def concepts(settings: Segments) -> list[int]:
    """Return the number of the distribution of each of the `count` segments.

    Recurring: every other segment has a new distribution until there are `concepts`. All other
    segments bring back the one that has been away for longest: 0 1 0 2 1 0 2 1 0. In a twin each
    return has a number of its own.
    """
    number = count(settings)
    if settings.schedule not in ("recurring", "recurring-twin"):
        return list(range(number))
    found = _returning(settings.concepts, number)
    if settings.schedule == "recurring":
        return found
    fresh = iter(range(settings.concepts, settings.concepts + number))
    return [next(fresh) if one in found[:k] else one for k, one in enumerate(found)]


def _returning(most: int, number: int) -> list[int]:
    away: list[int] = []  # in the order of their last visits
    found: list[int] = []
    for segment in range(number):
        new = len(set(found))
        is_new = new < most and (segment < 2 or segment % 2 == 1)
        concept = new if is_new else away.pop(0)
        away += found[-1:]
        found.append(concept)
    return found


def _length(settings: Segments, realisation: int, segment: int) -> int:
    """Return the number of tasks from the start of a segment to that of the next."""
    if settings.schedule == "regular":
        return settings.tasks_per_segment
    random = seeds.generator(seeds.fold("segments", "length", realisation, segment))
    more = settings.tasks_per_segment - settings.shortest_segment
    return settings.shortest_segment + int(random.geometric(1 / (1 + more))) - 1


def _half(settings: Segments) -> int:
    """Return the number of tasks in the interval of a drift on each side of its centre."""
    return (settings.drift_width + 1) // 2


def _realisation(settings: Segments, found: list[int]) -> dict[str, np.ndarray]:
    """Return the variables of one realisation, each [task], from the starts of its segments."""
    half, tasks = _half(settings), np.arange(settings.tasks)
    first = np.array([0, *(start - half for start in found[1:])])
    segment = np.searchsorted(first, tasks, side="right") - 1
    shift = np.zeros(settings.tasks, bool)
    shift[first[1:]] = True
    variables = {"shift": shift, "segment_of_task": segment}
    if settings.drift_width:
        end, share = np.full(settings.tasks, -1), np.ones(settings.tasks)
        for start in found[1:]:
            end[start - half] = start + half - 1
            drift = tasks[start - half : start + half]
            share[drift] = new_share(settings.drift_mode, settings.drift_width, drift - start)
        variables |= {"shift_end": end, "new_share": share}
    if settings.schedule in ("recurring", "recurring-twin"):
        variables["concept"] = np.array(concepts(settings))[segment]
    if settings.schedule == "recurring-twin":
        returning = _returning(settings.concepts, count(settings))
        variables["stands_for"] = np.array(returning)[segment]
    return variables


def new_share(mode: str, width: int, tasks: np.ndarray) -> np.ndarray:
    """Return the share of the new distribution at tasks, counted from the centre of a drift."""
    middle = tasks + 0.5
    if mode == "mixture":
        return expit(4 * middle / width)
    return 0.5 + middle / (width + 1)
