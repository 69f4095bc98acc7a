"""The interface of detectors: numbers, a compiled update by one value, and a threshold.

A detector has a statistic that rises with the evidence for a change. It raises an alarm where the
statistic exceeds the threshold, and starts again with the next value, as river's detectors do. All
else is `numbers`, float64, so that a state of arrays holds a detector and nothing is carried
outside of it. Values are added one by one in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit, types

from shiftbench.core.interface import State
from shiftbench.core.seeds import fold_each
from shiftbench.methods.online import rows
from shiftbench.methods.online.row_functions import ROW, caller

Direction = Literal["both", "up"]
"""Whether a fall of the signal counts as a change, too, or only a rise."""
UPDATE = types.float64(ROW, types.float64, ROW)
"""(numbers, value, constants) -> the statistic after the value; changes numbers."""
KEY: dict[str, tuple[int, ...]] = {"key": (2,), "drawn": ()}
"""The first arrays of a detector that draws: seed, and number of values that have drawn so far."""
KEPT = 3
"""Their size; no alarm sets them back, so that no segment repeats the draws of another."""

call = caller(UPDATE)
"""call(address, (numbers, value, constants)), in compiled code."""


class Detector(NamedTuple):
    """A detector of P numbers.

    start: the arrays before the first value, by name, without seed and hypothesis; a detector that
        draws begins with KEY. update: a `numba.cfunc` of the type UPDATE. constants: what it gets.
    threshold: the statistic above which an alarm is raised. draws: whether it draws.
    """

    start: Mapping[str, np.ndarray]
    update: Any
    constants: np.ndarray
    threshold: float
    draws: bool = False

    @property
    def layout(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays, without seed and hypothesis."""
        return {name: array.shape for name, array in self.start.items()}

    def init(self, seeds: np.ndarray) -> State:
        """Return the arrays [S, 1, ...] before the first value."""
        state = {name: np.tile(a, (len(seeds), 1, *[1] * a.ndim)) for name, a in self.start.items()}
        if self.draws:
            state["key"] = fold_each(seeds, "detector")[:, None].astype(float)
        return state


class Watched(NamedTuple):
    """The statistic after each value [S, n], 0 where none was added; the alarm's row, or -1 [S]."""

    statistic: np.ndarray
    row: np.ndarray


def watch(
    detector: Detector, state: State, values: np.ndarray, seen: np.ndarray
) -> tuple[State, Watched]:
    """Add the seen values [S, n] in order, in each repetition up to its first alarm.

    After an alarm the detector is at its start again, and the values that follow are left out.
    """
    numbers = rows.pack(detector.layout, state)
    start = rows.pack(detector.layout, detector.init(np.zeros((1, 2), np.int32)))[0, 0]
    found = Watched(np.zeros(values.shape), np.full(len(values), -1))
    values, seen = np.require(values, float, ["C", "W"]), np.require(seen, bool, ["C", "W"])
    how = detector.update.address, detector.constants, float(detector.threshold)
    _watch(how, numbers[:, 0], start, KEPT if detector.draws else 0, values, seen, found)
    return rows.unpack(detector.layout, numbers), found


def numbers_of(**arrays: float | np.ndarray) -> dict[str, np.ndarray]:
    """Return named arrays of float64."""
    return {name: np.array(array, float) for name, array in arrays.items()}


@njit(cache=True, error_model="numpy")
def _watch(how, numbers, start, kept, values, seen, found):
    """Run the loop of `watch`, in place."""
    update, constants, threshold = how
    for s in range(values.shape[0]):
        for i in range(values.shape[1]):
            if seen[s, i]:
                statistic = call(update, (numbers[s], values[s, i], constants))
                found.statistic[s, i] = statistic
                if statistic > threshold:
                    found.row[s] = i
                    numbers[s, kept:] = start[kept:]
                    break
