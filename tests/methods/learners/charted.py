"""Run charts over values, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Gaussian, Info, Problem, State


def charted(module: Any, values: np.ndarray, **settings: Any) -> tuple[State, Gaussian, Info]:
    """Return state, predictions and info of a chart on series [S, n], with one value per task."""
    values = np.atleast_2d(values)
    problem = Problem("regression", (0,), 1, 1, values.shape[1])
    learner = module.build(module.Settings(**settings), problem)
    state = learner.init(seeds.block(range(len(values)), "chart"))
    batch = Batch(np.zeros((*values.shape, 0)), values[..., None], np.ones(values.shape, bool))
    return learner.block(state, batch, True)


def alarms(module: Any, values: np.ndarray, **settings: Any) -> np.ndarray:
    """Return a mask [S, n] of the values at which there is an alarm."""
    return charted(module, values, **settings)[2]["shift"][..., 0] == 1
