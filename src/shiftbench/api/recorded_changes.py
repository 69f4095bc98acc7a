"""Alarms, recorded as rows arrive: a change has become more probable than not.

The rule is that of the workflow (`evaluation/scoring/alarms.py`): a change before one of the last
m tasks and after the last alarm has a probability above one half. From task to task only the age of
each hypothesis's segment is kept; the list of alarms grows by one entry per alarm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Info
from shiftbench.evaluation.scoring import alarms, run_infos
from shiftbench.evaluation.scoring.beam_lineage import NEVER


class Alarm(NamedTuple):
    """An alarm: the task after which it was raised, and the task before which it sees the change.

    probability: of a change at any of the last m tasks since the last alarm.
    """

    change: int
    seen: int
    probability: float


class RecordedChanges:
    """The alarms of a stream so far.

    recent: m. can_tell: None before the first task, then whether the method's Info tells about
    changes.
    """

    def __init__(self, recent: int) -> None:
        self.recent = recent
        self.can_tell: bool | None = None
        self.alarms: list[Alarm] = []
        self._tasks, self._last = 0, 0
        self._age: np.ndarray | None = None

    def add(self, info: Info) -> None:
        """Add the Info of the next tasks, [1, n, H] each."""
        if self.can_tell is None:
            self.can_tell = run_infos.history_among(info) and "log_weight" in info
        if not self.can_tell:
            return
        for row, log_weight in enumerate(info["log_weight"][0]):
            self._age = self._ages(info, row)
            self._judge(self._age, log_weight)
            self._tasks += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that is recorded as arrays, from which `restore` makes the same."""
        found = {
            "alarms": np.array(self.alarms, float).reshape(-1, 3),
            "tasks": np.array([self._tasks, self._last]),
        }
        found |= {} if self.can_tell is None else {"can_tell": np.array(self.can_tell)}
        return found if self._age is None else found | {"age": self._age}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what `arrays` returned."""
        self.alarms = [Alarm(int(a), int(b), p) for a, b, p in arrays["alarms"].tolist()]
        self._tasks, self._last = arrays["tasks"].tolist()
        self._age = arrays.get("age")
        self.can_tell = bool(arrays["can_tell"]) if "can_tell" in arrays else None

    def _ages(self, info: Info, row: int) -> np.ndarray:
        """Return the tasks since the shift that began each hypothesis's segment [H].

        At least the number of tasks for a segment that holds the first one, which no shift began.
        """
        if "shift" not in info:
            return info["run_length"][0, row]
        shifted = info["shift"][0, row].astype(bool)
        if self._age is None:
            return np.full(shifted.shape, NEVER)
        return np.where(shifted, 0, self._age[info["parent"][0, row].astype(int)] + 1)

    def _judge(self, age: np.ndarray, log_weight: np.ndarray) -> None:
        """Raise an alarm after the present task if the rule says so."""
        within = min(self._tasks - self._last, self.recent)
        recent = age < within
        weight = np.exp(log_weight[recent])
        probability = float(weight.sum())
        if probability > alarms.HALF:
            by_lag = np.bincount(age[recent].astype(int), weight)
            change = self._tasks - int(by_lag.argmax())
            self.alarms.append(Alarm(change, self._tasks, min(probability, 1.0)))
            self._last = self._tasks
