"""Shared parts of linear regressions with a normal-inverse-gamma posterior: settings, rows, state.

y = X mu + noise in R^d, X [d, p] a row's design, noise of variance s2; mu | s2 ~ N(m0, s2 Sigma0),
s2 ~ IG(a0, b0). A set of models (designs X_m) is learnt side by side: the state starts with one
hypothesis for each. Plain features are a single model, with an intercept as the last regressor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt

from shiftbench.core.interface import Batch, LearnerError, Problem, State
from shiftbench.methods.online import row_values

Layout = Mapping[str, tuple[int, ...]]
"""Shapes of a state's arrays, without seed and hypothesis."""


@dataclass(frozen=True)
class Prior:
    a0: Annotated[float, Gt(0)] = 1.0
    """Shape of the prior of s2 (paper: 1 on the well-log, 3 in Fig. 1B, 1 on air pollution)."""
    b0: Annotated[float, Gt(0)] = 1.0
    """Scale of the prior of s2 (paper: on the raw well-log 1e7 if robust and 1e4 if standard, 5 in
    Fig. 1B, 20 on air pollution)."""
    prior_mean: float = 0.0
    """Prior mean of every coefficient."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of a coefficient in units of s2 (paper: 0.25 on the well-log, 100 in Fig. 1B,
    20 on air pollution)."""


def layout(p: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the conjugate posterior, in packing order."""
    return {"model": (), "count": (), "a": (), "b": (), "mean": (p,), "root": (p, p)}


def initial(prior: Prior, shapes: Layout, models: int, seeds: np.ndarray) -> State:
    """Return the state [S, models, ...] before any row: the prior of every model, and zeros."""
    size, (p,) = (len(seeds), models), shapes["mean"]
    root = math.sqrt(prior.prior_variance) * np.eye(p)
    return {name: np.zeros((*size, *shape)) for name, shape in shapes.items()} | {
        "model": np.tile(np.arange(models, dtype=float), (len(seeds), 1)),
        "a": np.full(size, prior.a0),
        "b": np.full(size, prior.b0),
        "mean": np.full((*size, p), prior.prior_mean),
        "root": np.tile(root, (*size, 1, 1)),
    }


def scale(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return a and b [S, H] of the conjugate posterior."""
    return state["a"], state["b"]


def with_scale(state: State, a: np.ndarray, b: np.ndarray) -> State:
    """Replace a and b of the conjugate posterior; [S, 1] sets all hypotheses."""
    return state | {k: np.broadcast_to(v, state[k].shape).copy() for k, v in (("a", a), ("b", b))}


def checked_rows(name: str, d: int, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return designs [S, n, M d p] and targets [S, n, d] for compiled code, after checks."""
    batch = batch._replace(inputs=_with_intercept(batch.inputs))
    return row_values.checked(name, batch, d)


def features(inputs: np.ndarray) -> np.ndarray:
    """Return designs [S, n, M d p]."""
    return _with_intercept(inputs).reshape(*inputs.shape[:2], -1)


def _with_intercept(inputs: np.ndarray) -> np.ndarray:
    """Turn features [S, n, p - 1] into designs [S, n, 1, 1, p]; leave designs unchanged."""
    if inputs.ndim != 3:
        return inputs
    intercept = np.ones((*inputs.shape[:2], 1))
    return np.concatenate([inputs, intercept], axis=2)[:, :, None, None]


def design_shape(name: str, problem: Problem) -> tuple[int, int, int]:
    """Return (models, targets, regressors) of a design; LearnerError if inputs are not designs."""
    shape = problem.input_shape
    if problem.kind == "regression" and len(shape) == problem.n_outputs == 1:
        return 1, 1, shape[0] + 1
    if problem.kind != "regression" or len(shape) != 3 or shape[1] != problem.n_outputs:
        raise LearnerError(
            f"{name}: needs real targets and a design of shape (models, targets, regressors)"
            " for each row, as the stream family series has, or one real target and features; the"
            f" inputs here are {shape}"
        )
    return shape  # type: ignore[return-value]
