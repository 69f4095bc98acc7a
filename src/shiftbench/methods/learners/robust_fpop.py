"""R-FPOP: the best segmentation of all values so far, with a loss that bounds outliers.

Values have a level that jumps. The segmentation of lowest cost is found exactly
(`online/functional_pruning.py`):

    cost = sum over segments of (penalty + sum over their values of min((y - level)^2, K^2)).

Source: P. Fearnhead and G. Rigaill (2019), which knoblauch2018robust, 5.1, compares with. K is 3
standard deviations of the noise and the penalty 2 log n variances, for n values, as there. The
noise is estimated from all values so far.

The method is off line: after each task it segments all values so far, so its time grows with the
square of a series' length. The segmentation after the last task is that of the paper. The
forecast is the level of the last segment with the noise around it. Knows: nothing. Inputs are
ignored, so a series with lags as regressors is treated as independent values.

State, [S, 1, ...]: count of values; values [N]; times [N], those before each, and time, those so
far, where tasks without rows count from the first value on; level of the last segment; scale of the
noise.
Info, [S, K]: rows_since_change, of the changes of the best segmentation, the latest first, -1 where
there are fewer; a task without rows counts as a row. As `run_length`, of a single history in the
first slot: run_length, model, log_weight, map_log_joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Gaussian, Info, Learner, LearnerError, Problem, State
from shiftbench.methods.online import functional_pruning, row_values

FACTS = Facts(takes={"value": "gaussian", "design": "gaussian"}, offers=("changes", "run_length"))


@dataclass(frozen=True)
class Settings:
    threshold: Annotated[float, Gt(0)] = 3.0
    """Distance K from the level, in standard deviations of the noise, beyond which a value costs no
    more (Fearnhead and Rigaill: 3)."""
    penalty: Annotated[float, Gt(0)] = 2.0
    """Penalty of a change, in variances of the noise times the logarithm of the number of values
    (Fearnhead and Rigaill: 2)."""
    keep: Annotated[int, Ge(1)] = 100
    """Largest number of changes that Info has room for."""
    sd: Annotated[float, Gt(0)] = 1.0
    """Predicted standard deviation of the first two values, a guess that has no other effect."""


def rows_kept(settings: Settings, problem: Problem) -> tuple[int, int]:
    """Return how many rows it keeps of a whole stream, and the numbers of a row."""
    return problem.n_train * problem.n_tasks, 1


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build the segmentation of one value a row; LearnerError for several."""
    if problem.kind != "regression" or problem.n_outputs != 1:
        raise LearnerError(
            f"robust-fpop: segments one real value a row, but the stream has {problem.n_outputs}"
            f" of {problem.kind}; choose a series of single values"
        )

    def init(seeds: np.ndarray) -> State:
        size, rows = (len(seeds), 1), problem.n_tasks * problem.n_train
        return {
            "count": np.zeros(size, np.int64),
            "values": np.zeros((*size, rows)),
            "times": np.zeros((*size, rows), np.int64),
            "time": np.zeros(size, np.int64),
            "level": np.zeros(size),
            "scale": np.full(size, settings.sd),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        shape = (*state["level"].shape, inputs.shape[1], 1)
        moments = state["level"], state["scale"] ** 2
        mean, variance = (np.broadcast_to(a[..., None, None], shape).copy() for a in moments)
        return Gaussian(np.zeros(shape[:2]), mean, variance)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        _, y = row_values.checked("robust-fpop", batch, 1)
        after, starts = _with_room(state, y.shape[1]), []
        for s, (new, seen) in enumerate(zip(y, batch.mask, strict=True)):
            first, number = after["count"][s, 0], int(seen.sum())
            last, time = first + number, after["time"][s, 0]
            after["count"][s, 0], after["values"][s, 0, first:last] = last, new[seen, 0]
            after["times"][s, 0, first:last] = time + np.arange(number)
            after["time"][s, 0] = time + (number or last > 0)
            values = after["values"][s, 0, :last]
            if last > 1:
                after["scale"][s, 0] = functional_pruning.scale_of(values)
            starts.append(np.zeros(last, np.int64))
            if last:
                after["level"][s, 0] = _segment(settings, values, after["scale"][s, 0], starts[s])
        return after, _info(starts, after["times"][:, 0], after["time"][:, 0], settings.keep)

    return Learner(init, predict, observe)


def _segment(settings: Settings, values: np.ndarray, scale: float, starts: np.ndarray) -> float:
    """Set starts of `functional_pruning.segment`; return the level of the last segment."""
    centre, penalty = np.median(values), settings.penalty * math.log(len(values))
    best = functional_pruning.segment(
        (values - centre) / scale, settings.threshold, penalty, starts
    )
    if best.start < 0:
        raise LearnerError(
            f"robust-fpop: the cost of a level has more than {functional_pruning.PIECES} pieces;"
            " lower threshold or penalty"
        )
    return float(centre + scale * best.level)


def _with_room(state: State, rows: int) -> State:
    """Return a copy of the state with room for more values, which a warm-up may need."""
    missing = int(state["count"].max()) + rows - state["values"].shape[2]
    after = {name: array.copy() for name, array in state.items()}
    if missing > 0:
        for name in ("values", "times"):
            after[name] = np.pad(after[name], ((0, 0), (0, 0), (0, missing)))
    return after


def _info(starts: list[np.ndarray], times: np.ndarray, time: np.ndarray, keep: int) -> Info:
    """Return the changes of the best segmentations, and their last segments as run lengths."""
    since, run_length = np.full((len(starts), keep), -1), np.zeros((len(starts), keep), np.int64)
    log_weight = np.full(since.shape, -np.inf)
    for s, of_seed in enumerate(starts):
        changes = functional_pruning.changes(of_seed)
        if len(changes) > keep:
            raise LearnerError(
                f"robust-fpop: the best segmentation has more than {keep} changes; raise keep, or"
                " penalty"
            )
        since[s, : len(changes)] = [time[s] - 1 - times[s, change] for change in changes]
        if len(of_seed):
            run_length[s, 0] = time[s] - 1 - times[s, of_seed[-1]]
            log_weight[s, 0] = 0.0
    return {
        "rows_since_change": since,
        "run_length": run_length,
        "model": np.zeros_like(run_length),
        "log_weight": log_weight,
        "map_log_joint": log_weight.copy(),
    }
