"""Alarms that learners raise online, compared with the true shifts of a stream.

A learner raises an alarm at a task if a shift before one of the last m tasks is more probable than
not, given the tasks so far (`shift_probabilities.filtered_within`). Only shifts since the last
alarm count, so that no shift is reported twice. A learner with one hypothesis raises an alarm where
it decides for a shift.

A curve of delay against false alarms varies the threshold, which is one half otherwise. For a
learner with an info `alarm_statistic` the threshold applies to that statistic: an alarm is raised
where it exceeds the threshold for the first time in m tasks.

The first alarm from the task of a shift on, before the next shift, finds it. The delay is the
number of tasks between shift and alarm. Without an alarm, the wait is censored at the next shift or
at the end of the stream (`survival`). The alarm is true if it comes at most w tasks after the
shift; where a drift takes several tasks, w counts from the last one. A shift has at most one true
alarm. All other alarms are false, also those that come too late.

m and w depend on the size of a task. A task of many rows shows at once whether the distribution has
shifted. A single row shows little: no learner can tell a new level from one row of it. Neither m
nor w is more than half a mean segment, since with longer windows any alarm would find some shift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import (
    declared,
    realisations,
    run_infos,
    shift_matching,
    shift_probabilities,
    survival,
)

HALF = 0.5
THRESHOLDS = 60
"""Number of thresholds of a sweep, which begins at the highest value of the statistic."""


class Horizon(NamedTuple):
    """The windows m and w, in tasks.

    recent: m; q_t is the probability that one of the last m tasks began with a shift. window:
    w, the tasks after a shift in which an alarm is true.
    """

    recent: int
    window: int


ROWS = Horizon(recent=10, window=50)
"""Largest windows for tasks of one row."""
TASKS = Horizon(recent=1, window=2)
"""Largest windows for tasks of many rows."""


class Episodes(NamedTuple):
    """True shifts of each seed [seed, shift]: first task, last task of the drift, next shift.

    The value is the number of tasks where there is no next shift, and in the entries of a seed that
    has fewer shifts than others.
    """

    start: np.ndarray
    last: np.ndarray
    stop: np.ndarray


class Judged(NamedTuple):
    """Alarms compared with the true shifts.

    tasks: number of tasks without the first. raised: number of alarms [seed]. unchanged: number of
    change-free tasks [seed], which lie in no window after a shift. in_unchanged: number of alarms
    in these [seed]. wait: tasks until the first alarm, or until the last task before the next shift
    [seed, shift]; -1 where a seed has no such shift. found: whether there is such an alarm.
    in_window: whether it is a true one.
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
    """Delay and false alarms by threshold, from the highest to the lowest, [threshold, seed] each.

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
    """Return the alarms of a run [seed, task] bool; None if the learner makes no decisions."""
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
        ends = realisations.of_seeds(run, stream["shift_end"])
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
    """Return whether a task lies in no window after a shift [seed, task]; False for the first."""
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

    probability: probability of a shift within the last 1, 2, ... m tasks [seed, task, m].
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

    An alarm is raised where the statistic is above the threshold and was not in the recent - 1
    tasks before. The first task raises none.
    """
    exceeds = statistic > threshold
    exceeds[:, 0] = False
    count = np.pad(exceeds.cumsum(axis=1), ((0, 0), (recent, 0)))
    return exceeds & (count[:, recent - 1 : -1] == count[:, :-recent])


def sweep(run: xr.Dataset, stream: xr.Dataset, pooled: bool = False) -> Curve | None:
    """Return delay against false alarms, as the threshold falls; None without decisions.

    pooled: whether all seeds share the thresholds; else each seed has those of its own statistic.
    The first threshold is the highest value and raises no alarm; the last point has an alarm at
    every task.
    """
    of, (recent, window) = episodes(run, stream), horizon(stream)
    if "info_alarm_statistic" in run:
        value = run_infos.values(run, "alarm_statistic")[..., 0]
        each = [above(value, recent, one[:, None]) for one in _thresholds(value, pooled)]
    else:
        probability = shift_probabilities.filtered_within(run, recent)
        if probability is None:
            return None
        value = probability[:, :, -1]
        ranked = _thresholds(value, pooled)
        half = np.full((1, ranked.shape[1]), HALF)  # the method's own threshold
        each = list(more_probable(probability, np.append(ranked, half, axis=0)))
    always = np.broadcast_to(np.arange(value.shape[1]) > 0, value.shape)
    points = [judge(one, of, window) for one in (*each, always)]
    return Curve(
        np.array([1000 * one.false / max(one.tasks, 1) for one in points]),
        np.array([survival.restricted_mean(one.wait, one.found, window) for one in points]),
    )


def _thresholds(values: np.ndarray, pooled: bool) -> np.ndarray:
    """Return thresholds [threshold, seed or 1]: values [seed, task] at ranks in geometric steps.

    The first task is left out.
    """
    later = values[:, 1:]
    falling = -np.sort(-(later.reshape(1, -1) if pooled else later), axis=1)
    size = max(falling.shape[1], 1)
    ranks = np.unique(np.geomspace(1, size, THRESHOLDS).astype(int) - 1)
    return falling[:, ranks[ranks < falling.shape[1]]].T


def _next(alarms: np.ndarray) -> np.ndarray:
    """Return the first alarm at or after each task [seed, task + 1], or the number of tasks."""
    tasks = alarms.shape[1]
    at = np.where(alarms, np.arange(tasks), tasks)
    ahead = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1]
    return np.append(ahead, np.full((len(alarms), 1), tasks), axis=1)
