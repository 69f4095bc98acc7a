"""Alarms about changes, recorded while rows come: when one is more probable than not.

The rule is that of the workflow (`evaluation/scoring/alarms.py`): a change before one of the last
m tasks and after the last alarm has a probability above one half. What earlier tasks gave is
dropped as soon as it cannot matter, so that a stream may go on for ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.interface import Info
from shiftbench.evaluation.scoring import alarms, shift_probabilities

KEPT = ("parent", "shift", "run_length", "map_log_joint", "log_weight")
"""Names of the Info that decisions about changes are read from."""
MOST = 1024
"""Tasks that are kept until they are judged."""
DIMS = ("seed", "task", "hypothesis")


class Alarm(NamedTuple):
    """An alarm: the task after which it was raised, and the task before which it sees the change.

    probability: of a change at any of the last m tasks since the last alarm.
    """

    change: int
    seen: int
    probability: float


class RecordedChanges:
    """The alarms of a stream so far.

    recent: m. can_tell: None before the first task, then whether the method decides about changes.
    """

    def __init__(self, recent: int) -> None:
        self.recent = recent
        self.can_tell: bool | None = None
        self._alarms: list[Alarm] = []
        self._waiting: list[Info] = []
        self._first, self._size = 0, 0

    def add(self, info: Info) -> None:
        """Add the Info of the next tasks, [1, n, H] each."""
        kept = {name: info[name] for name in KEPT if name in info}
        if self.can_tell is None:
            decides = {"parent", "shift"} <= kept.keys() or "map_log_joint" in kept
            self.can_tell = decides and "log_weight" in kept
        if self.can_tell:
            self._waiting.append(kept)
            self._size += kept["log_weight"].shape[1]
            if self._size > MOST:
                self._judge()

    def alarms(self) -> list[Alarm]:
        """Return all alarms so far, in their order."""
        if self._waiting:
            self._judge()
        return list(self._alarms)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that is recorded as arrays, from which `restore` makes the same."""
        found = {"alarms": np.array(self.alarms(), float).reshape(-1, 3)}
        joined = self._waiting[0] if self._waiting else {}
        return (
            found
            | {f"waiting.{name}": array for name, array in joined.items()}
            | {"first": np.array(self._first)}
        )

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go to what `arrays` gave."""
        self._alarms = [Alarm(int(a), int(b), p) for a, b, p in arrays["alarms"].tolist()]
        kept = {name: arrays[f"waiting.{name}"] for name in KEPT if f"waiting.{name}" in arrays}
        self._waiting, self._first = [kept] if kept else [], int(arrays["first"])
        self._size = kept["log_weight"].shape[1] if kept else 0
        self.can_tell = bool(kept) or None

    def _judge(self) -> None:
        """Find alarms in what waits, and drop what later tasks do not need."""
        names = self._waiting[0]
        one = {name: np.concatenate([w[name] for w in self._waiting], axis=1) for name in names}
        probability = shift_probabilities.filtered_within(_shortened(one), self.recent)
        assert probability is not None
        half = np.array([[alarms.HALF]])
        raised, last = alarms.more_probable(probability, half)[0, 0], 0
        seen_so_far = self._alarms[-1].seen if self._alarms else -1
        for task in np.flatnonzero(raised).tolist():
            within = min(task - last, self.recent)
            by_lag = np.diff(probability[0, task, :within], prepend=0.0)
            at = self._first + task
            if at > seen_so_far:
                p = float(min(probability[0, task, within - 1], 1.0))
                self._alarms.append(Alarm(at - int(by_lag.argmax()), at, p))
            last = task
        start = max(last, self._size - self.recent - 1)
        self._waiting = [{name: array[:, start:] for name, array in one.items()}]
        self._first, self._size = self._first + start, self._size - start


def as_run(infos: Info) -> xr.Dataset:
    """Return the Infos of some tasks, [1, n, H] each, in the form of a run's store."""
    return xr.Dataset({f"info_{name}": (DIMS, array) for name, array in infos.items()})


def _shortened(infos: Info) -> xr.Dataset:
    """Return Infos as a run, in which no segment is longer than the run.

    A segment that began before the first of these tasks began with it, for what is asked here.
    """
    found = dict(infos)
    if "run_length" in found:
        tasks = np.arange(found["run_length"].shape[1])[:, None]
        found["run_length"] = np.minimum(found["run_length"], tasks)
    return as_run(found)
