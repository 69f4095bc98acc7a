"""Charts: detectors of changes that decide after each value, as learners of single rows.

A chart has a Gaussian model of the current segment of a series, and a statistic that rises with the
evidence that the segment has ended. At a threshold it gives an alarm, and starts a new segment. To
metrics it is a beam of one hypothesis: its `shift` is a decision that nothing takes back.

Info: shift [S, 1], whether there was an alarm; parent and log_weight [S, 1], 0; alarm_statistic
[S, 1], 0 before the first model of a segment. Of several rows in a task: any alarm, and the largest
statistic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from shiftbench.core.interface import Batch, Info, LearnerError, Problem, State
from shiftbench.methods.online import row_values, rows
from shiftbench.methods.online.rows import CompiledRows, RowLearner

N_SUMS = 2
"""The last numbers of a hypothesis, of a task: its number of alarms, and its largest statistic."""


def learner(
    name: str,
    problem: Problem,
    start: Mapping[str, float],
    step: Any,
    predict: Any,
    constants: Sequence[float],
) -> RowLearner:
    """Return the learner of a chart.

    Parameters
    ----------
    name
        Name of the learner, for messages.
    start
        The numbers of the state before the first value, each an array [S, 1].
    step, predict
        Compiled functions, see `CompiledRows`; a hypothesis has the numbers of the state and then
        the N_SUMS, which `step` is to raise (`record`).
    constants
        The numbers that both functions get.

    Raises
    ------
    LearnerError
        For a stream with several targets a row.
    """
    if problem.n_outputs != 1:
        raise LearnerError(
            f"{name}: watches one value a row, but the stream has {problem.n_outputs}; take a"
            " stream of one series"
        )
    names, size = list(start), len(start)
    compiled = CompiledRows(
        check=partial(_checked_rows, name),
        features=row_values.no_features,
        pack=partial(_pack, names),
        unpack=partial(_unpack, names),
        step=step,
        predict=predict,
        predictive=rows.gaussian,
        outputs=2,
        constants=np.array(constants, float),
        scratch=1,
        sums=N_SUMS,
        kept=(size, size + N_SUMS),
        info=_info,
    )

    def init(seeds: np.ndarray) -> State:
        return {key: np.full((len(seeds), 1), value, float) for key, value in start.items()}

    return RowLearner.of(init, compiled, by_row=False)


@njit(cache=True, error_model="numpy", forceinline=True)
def record(sums, statistic, alarm):
    """Add the statistic of a value, and whether it raised an alarm, to those of its task."""
    sums[0] += alarm
    sums[1] = max(sums[1], statistic)


@njit(cache=True, error_model="numpy", forceinline=True)
def spread(count, squares, coefficients, first, before):
    """Return the noise variance of a segment from its sum of squared residuals.

    count: of its values; first: how many of them make the estimate; coefficients: how many were
    fitted. While there are fewer, the variance `before` the segment counts as one value more.
    """
    if count < first:
        return (before + squares) / max(count, 1.0)
    return squares / (count - coefficients) if squares > 0 else before


def _pack(names: list[str], state: State) -> np.ndarray:
    """Return the numbers of the state, and N_SUMS zeros, [S, H, P]."""
    numbers = [state[name] for name in names]
    return np.stack([*numbers, *[np.zeros_like(numbers[0])] * N_SUMS], axis=2)


def _unpack(names: list[str], packed: np.ndarray) -> State:
    return {name: packed[..., i].copy() for i, name in enumerate(names)}


def _info(kept: np.ndarray, evidence: np.ndarray) -> Info:
    """Return the Info from the N_SUMS [..., H, 2]; a chart has no evidence."""
    shift = (kept[..., 0] > 0).astype(np.int64)
    return {
        "shift": shift,
        "parent": np.zeros_like(shift),
        "log_weight": np.zeros(shift.shape),
        "alarm_statistic": kept[..., 1].copy(),
    }


def _checked_rows(name: str, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return no features [S, n, 0] and values [S, n, 1]; LearnerError if any is not finite."""
    return row_values.no_features(batch.inputs), row_values.checked(name, batch, 1)[1]
