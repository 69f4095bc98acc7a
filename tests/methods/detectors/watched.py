"""Run a detector over a whole signal, for tests."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shiftbench.core import seeds
from shiftbench.core.interface import State
from shiftbench.methods.detectors import detector
from shiftbench.methods.detectors.detector import Detector

ROWS = np.arange(400)
ERRORS = (np.where(ROWS < 200, 10, 45) > (7919 * ROWS) % 100).astype(float)
"""ERR in the notes on detectors: 20 errors in the first 200 rows, 90 in the others."""
VALUES = 0.5 * np.sin(ROWS) + 1.5 * (ROWS >= 200)
"""VAL in the notes: a level that rises at row 200."""
STEP = 0.5 * np.sin(ROWS[:120]) + 2.0 * (ROWS[:120] >= 60) + 8.0 * (ROWS[:120] == 30)
"""STEP in the notes: a level that rises at row 60, and an outlier."""
NEVER = math.inf


class Signal(NamedTuple):
    """The rows with an alarm, the statistic after each row, and the last state."""

    alarms: list[int]
    statistic: np.ndarray
    state: State


def watched(of: Detector, values: np.ndarray, seed: int = 0) -> Signal:
    """Return the alarms of a detector on values [n]; it starts again after each alarm."""
    state, alarms, statistic = of.init(seeds.block([seed], "watched")), [], np.zeros(len(values))
    done = 0
    while done < len(values):
        rest = values[None, done:]
        state, found = detector.watch(of, state, rest, np.ones(rest.shape, bool))
        end = found.row[0] + 1 if found.row[0] >= 0 else rest.shape[1]
        statistic[done : done + end] = found.statistic[0, :end]
        if found.row[0] >= 0:
            alarms.append(int(done + found.row[0]))
        done += end
    return Signal(alarms, statistic, state)
