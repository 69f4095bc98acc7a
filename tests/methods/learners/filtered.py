"""Inputs of golden numbers, given by formulas, and runs of online filters on them."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from shiftbench.core.interface import Batch, Learner, Predictive, Problem, State
from shiftbench.methods.combinators import run_length

N = 120


def regression() -> tuple[np.ndarray, np.ndarray]:
    """Return regressors [n, 2] and targets [n] with a change at 60 and an outlier at 30."""
    i = np.arange(N)
    x = np.stack([np.cos(0.3 * i), np.ones(N)], axis=1)
    w = np.where(i[:, None] < 60, [2.0, 1.0], [0.5, -1.0])
    y = (x * w).sum(axis=1) + 0.3 * np.sin(1.7 * i)
    y[30] += 10
    return x, y


def step() -> np.ndarray:
    """Return values [n] whose level changes at 60, with an outlier at 30."""
    i = np.arange(N)
    y = 0.5 * np.sin(i) + 2.0 * (i >= 60)
    y[30] += 8
    return y


def classes() -> tuple[np.ndarray, np.ndarray]:
    """Return features [n, 3] and labels [n], which are swapped from row 60 on."""
    i = np.arange(N)
    x = np.stack([np.cos(0.7 * i), np.sin(1.1 * i), np.ones(N)], axis=1)
    return x, ((np.cos(0.7 * i) + 0.5 * np.sin(1.1 * i) > 0) ^ (i >= 60)).astype(int)


def rows(x: np.ndarray, y: np.ndarray) -> Batch:
    """Return one repetition of rows x [n, f], y [n]; integer y are labels, others real targets."""
    targets = y[None] if y.dtype.kind == "i" else y[None, :, None]
    return Batch(x[None], targets, np.ones((1, len(y)), bool))


def run(learner: Learner, x: np.ndarray, y: np.ndarray, key) -> tuple[State, Predictive, dict]:
    """Return the last state, the predictions before each row, and the infos; each row is a task."""
    return learner.block(learner.init(key), rows(x, y), True)


def segmented(
    inner: Learner, problem: Problem, x: np.ndarray, y: np.ndarray, key, hazard: float,
    keep: int = N,
) -> tuple[float, list[tuple[int, int, int]], float]:  # fmt: skip
    """Run run-length over the learner.

    Return the log evidence of all rows, as the sum of log mixtures of the learner's evidences;
    the jumps of the most probable run length as (row, length before, length after); and the
    largest weight at the end.
    """
    learner = run_length.build(run_length.Settings(hazard=hazard, keep=keep), problem, inner)
    state, total, before, jumps = learner.init(key), 0.0, 0, []
    for i in range(len(y)):
        one = Batch(*(a[:, i : i + 1] for a in rows(x, y)))
        drifted = learner.drift(state, key)
        base = {k[5:]: a for k, a in drifted.items() if k.startswith("base.")}
        _, info = inner.observe(base, one, key)
        joint = drifted["log_joint"]
        total += logsumexp(joint + info["log_evidence"]) - logsumexp(joint)
        state, info = learner.observe(drifted, one, key)
        best = int(info["run_length"][0, 0])
        if i and best != before + 1:
            jumps.append((i, before, best))
        before = best
    return total, jumps, float(np.exp(info["log_weight"][0, 0]))


def lineage(info: dict) -> list[int]:
    """Return the rows before which the last best hypothesis of a beam has shifts."""
    slot, shifts = 0, []
    for i in range(info["parent"].shape[1] - 1, -1, -1):
        if info["shift"][0, i, slot]:
            shifts.append(i)
        slot = int(info["parent"][0, i, slot])
    return shifts[::-1]
