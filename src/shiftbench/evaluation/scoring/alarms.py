"""Alarms as they are raised, from what is known then, against the true shifts of a stream.

An alarm is raised at a task if a shift since the last alarm, before one of the last m tasks, is
more probable than not, given the tasks so far (`shift_probabilities.filtered_within`). So no shift
is told twice, and a learner with one hypothesis raises an alarm where it decides for a shift. A
curve over all thresholds in place of one half sweeps that probability. A learner with an info
`alarm_statistic` is swept over this, and raises an alarm where it is above the threshold for the
first time in m tasks.

A shift is found by the first alarm from its task on, before the next shift. Its delay is the number
of tasks between; without an alarm before the next shift, or the end, the wait is censored there
(`survival`). The alarm counts as true if it comes at most w tasks after the shift or, where a drift
takes several tasks, after its last one. There is at most one true alarm for a shift. All others are
false, late ones too.

m and w depend on what a task is. A task of many rows shows at once whether it has shifted. One row
shows little: no learner knows after one row of a new level that it is one. Neither is more than
half a mean segment: with longer windows any alarm would find some shift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import (
    declared,
    shift_matching,
    shift_probabilities,
    survival,
)

HALF = 0.5
THRESHOLDS = 60
"""Number of thresholds of a sweep, from the highest value of the statistic down."""


class Horizon(NamedTuple):
    """Numbers of tasks. recent: m, of which q_t speaks; window: w, in which an alarm is true."""

    recent: int
    window: int


ROWS = Horizon(recent=10, window=50)
"""The most for tasks of one row."""
TASKS = Horizon(recent=1, window=2)
"""The most for tasks of many rows."""


class Episodes(NamedTuple):
    """True shifts of each seed [seed, shift]: first task, last task of the drift, next shift.

    The number of tasks stands for the end, and for shifts that a seed does not have.
    """

    start: np.ndarray
    last: np.ndarray
    stop: np.ndarray


class Judged(NamedTuple):
    """Alarms against shifts. The number of tasks is that of all but the first.

    raised, in_unchanged, unchanged: [seed], numbers of alarms, of alarms in change-free tasks, and
    of these tasks, which lie in no window after a shift. wait: [seed, shift], tasks until the first
    alarm, or the last task before the next shift; -1: no such shift. found: whether there is an
    alarm; in_window: whether it is a true one.
    """

    tasks: int
    raised: np.ndarray
    in_unchanged: np.ndarray
    unchanged: np.ndarray
    wait: np.ndarray
    found: np.ndarray
    in_window: np.ndarray

    @property
    def shifts(self) -> np.ndarray:
        """Number of true shifts [seed]."""
        return (self.wait >= 0).sum(axis=1)

    @property
    def true(self) -> np.ndarray:
        """Number of true alarms [seed], at most one a shift."""
        return self.in_window.sum(axis=1)

    @property
    def false(self) -> np.ndarray:
        """Number of all other alarms [seed]."""
        return self.raised - self.true


class Curve(NamedTuple):
    """Delay against false alarms over thresholds, from never to often, [threshold, seed] each.

    rate: false alarms in 1,000 tasks. delay: mean of min(D, w), in tasks; NaN without shifts.
    """

    rate: np.ndarray
    delay: np.ndarray


def horizon(stream: xr.Dataset) -> Horizon:
    """Return m and w for a stream: at least 1, at most half a mean segment."""
    most = ROWS if "one-row" in declared.words(stream, "gives") else TASKS
    half = max(shift_matching.mean_segment([stream["shift"].values]) // 2, 1)
    return Horizon(min(most.recent, half), min(most.window, half))


def raised(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray | None:
    """Return the alarms of a run [seed, task] bool; None for a learner that decides nothing."""
    probability = shift_probabilities.filtered_within(run, horizon(stream).recent)
    return None if probability is None else more_probable(probability, np.array([[HALF]]))[0]


def judged(run: xr.Dataset, stream: xr.Dataset) -> Judged | None:
    """Return the alarms of a run against the shifts that its seeds saw; None without decisions."""
    alarms = raised(run, stream)
    if alarms is None:
        return None
    return judge(alarms, episodes(run, stream), horizon(stream).window)


def episodes(run: xr.Dataset, stream: xr.Dataset) -> Episodes:
    """Return the true shifts of the realisations that a run's seeds saw."""
    shifted = shift_matching.truth(run, stream)
    seeds, tasks = shifted.shape
    start = np.full((seeds, int(shifted.sum(axis=1).max(initial=0))), tasks)
    for row, one in zip(start, shifted, strict=True):
        row[: one.sum()] = np.flatnonzero(one)
    stop = np.append(start[:, 1:], np.full((seeds, 1), tasks), axis=1)[:, : start.shape[1]]
    last = start
    if "shift_end" in stream:
        ends = stream["shift_end"].values[run["realisation"].values.astype(int)]
        padded = np.append(ends, np.full((seeds, 1), tasks), axis=1)
        last = np.maximum(np.take_along_axis(padded, start, axis=1), start)
    return Episodes(start, last, stop)


def judge(alarms: np.ndarray, of: Episodes, window: int) -> Judged:
    """Compare alarms [seed, task] bool with shifts; window: w."""
    tasks, unchanged = alarms.shape[1], change_free(of, alarms.shape[1], window)
    first = np.take_along_axis(_next(alarms), of.start, axis=1)
    found = first < of.stop
    return Judged(
        tasks=tasks - 1,
        raised=alarms.sum(axis=1),
        in_unchanged=(alarms & unchanged).sum(axis=1),
        unchanged=unchanged.sum(axis=1),
        wait=np.where(found, first, of.stop - 1) - of.start,
        found=found,
        in_window=first < _until(of, window),
    )


def change_free(of: Episodes, tasks: int, window: int) -> np.ndarray:
    """Return the tasks [seed, task] bool in no window after a shift, without the first of all."""
    seeds = np.arange(len(of.start))[:, None]
    changed = np.zeros((len(of.start), tasks + 1), int)
    np.add.at(changed, (seeds, of.start), 1)
    np.add.at(changed, (seeds, _until(of, window)), -1)
    unchanged = changed.cumsum(axis=1)[:, :tasks] == 0
    unchanged[:, 0] = False  # the first task has no past to shift from
    return unchanged


def _until(of: Episodes, window: int) -> np.ndarray:
    """Return the task after the last one at which an alarm is true [seed, shift]."""
    return np.minimum(of.last + window + 1, of.stop)


def more_probable(probability: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return the alarms [threshold, seed, task] bool at each threshold, [threshold, seed or 1].

    probability: that of a shift within 1, 2, ... m tasks [seed, task, m].
    """
    seeds, tasks, most = probability.shape
    alarms = np.zeros((len(threshold), seeds, tasks), bool)
    last, seed = np.zeros(alarms.shape[:2], int), np.arange(seeds)
    for task in range(1, tasks):
        within = np.minimum(task - last, most)
        fires = probability[seed, task, within - 1] > threshold
        alarms[:, :, task] = fires
        last[fires] = task
    return alarms


def above(statistic: np.ndarray, recent: int, threshold: float | np.ndarray) -> np.ndarray:
    """Return the alarms [seed, task] bool of a statistic at a threshold, a number or [seed, 1].

    An alarm is raised where the statistic is above the threshold after recent - 1 tasks that are
    not. The first task raises none.
    """
    exceeds = statistic > threshold
    exceeds[:, 0] = False
    count = np.pad(exceeds.cumsum(axis=1), ((0, 0), (recent, 0)))
    return exceeds & (count[:, recent - 1 : -1] == count[:, :-recent])


def sweep(run: xr.Dataset, stream: xr.Dataset, pooled: bool = False) -> Curve | None:
    """Return delay against false alarms, as the threshold falls; None without decisions.

    pooled: all seeds have the same thresholds; if not, each those of its own statistic. The first
    threshold is the highest value, which raises no alarm; the last point has one at each task.
    """
    of, (recent, window) = episodes(run, stream), horizon(stream)
    if "info_alarm_statistic" in run:
        value = run["info_alarm_statistic"].transpose("seed", "task", "hypothesis").values[..., 0]
        each = [above(value, recent, one[:, None]) for one in _thresholds(value, pooled)]
    else:
        probability = shift_probabilities.filtered_within(run, recent)
        if probability is None:
            return None
        value = probability[:, :, -1]
        ranked = _thresholds(value, pooled)
        half = np.full((1, ranked.shape[1]), HALF)  # where it raises alarms by itself
        each = list(more_probable(probability, np.append(ranked, half, axis=0)))
    always = np.broadcast_to(np.arange(value.shape[1]) > 0, value.shape)
    points = [judge(one, of, window) for one in (*each, always)]
    return Curve(
        np.array([1000 * one.false / max(one.tasks, 1) for one in points]),
        np.array([survival.restricted_mean(one.wait, one.found, window) for one in points]),
    )


def _thresholds(values: np.ndarray, pooled: bool) -> np.ndarray:
    """Return thresholds [threshold, seed or 1], values [seed, task] at ranks in geometric steps.

    The first task counts for nothing.
    """
    later = values[:, 1:]
    falling = -np.sort(-(later.reshape(1, -1) if pooled else later), axis=1)
    size = max(falling.shape[1], 1)
    ranks = np.unique(np.geomspace(1, size, THRESHOLDS).astype(int) - 1)
    return falling[:, ranks[ranks < falling.shape[1]]].T


def _next(alarms: np.ndarray) -> np.ndarray:
    """Return the first alarm from each task on [seed, task + 1]; the number of tasks for none."""
    tasks = alarms.shape[1]
    at = np.where(alarms, np.arange(tasks), tasks)
    ahead = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1]
    return np.append(ahead, np.full((len(alarms), 1), tasks), axis=1)
