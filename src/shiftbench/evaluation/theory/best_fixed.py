"""The best fixed linear predictor of a stream in hindsight, the reference of regret.

Its score is <theta, x> with theta in [-bound, bound]^d, chosen from all rows. Solved by libraries:
linear programs for the hinge and the absolute loss (HiGHS through SciPy), bounded least squares for
the squared loss; with a quadratic penalty scikit-learn's linear support vector machines, or linear
programs again if the box binds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse
from scipy.optimize import linprog, lsq_linear

from shiftbench.methods.online.losses import Kind, Loss

TOLERANCE = 1e-6
"""Relative tolerance of the minimum with a penalty in a box that binds."""
MOST_TANGENTS = 100


class Examples(NamedTuple):
    """Rows in the order of a stream: x [T, d], y [T] (-1 and +1, or real values)."""

    x: np.ndarray
    y: np.ndarray


def rows(stream: xr.Dataset, realisation: int) -> Examples:
    """Return the rows of a realisation of a `tabular` stream, in its order."""
    order = stream["order"].values[realisation]
    flipped = stream["flipped"].values[realisation]
    target = stream["target"].values[order].astype(float)
    if stream.attrs["kind"] == "classification":
        target = 2 * target - 1
    return Examples(stream["inputs"].values[order], np.where(flipped, -target, target))


def sorted_rows(ordered: Examples) -> Examples:
    """Return the rows in a canonical order, so that equal sets are equal arrays."""
    order = np.lexsort([ordered.y, *ordered.x.T])
    return Examples(ordered.x[order], ordered.y[order])


def smallest(ordered: Examples, kind: Kind, bound: float, weight: float = 0.0) -> float:
    """Return the minimum over theta in the box of the sum of losses + weight / 2 |theta|^2.

    With a weight it is the value at the solver's point: the minimum to its tolerance, and never
    below it. Other orders of the same rows reuse the solution.
    """
    x, y = sorted_rows(ordered)
    return _smallest(x.tobytes(), y.tobytes(), kind, bound, weight)


@lru_cache(maxsize=256)
def _smallest(x_bytes: bytes, y_bytes: bytes, kind: Kind, bound: float, weight: float) -> float:
    y = np.frombuffer(y_bytes)
    x = np.frombuffer(x_bytes).reshape(len(y), -1)
    if kind == "squared":
        theta = _least_squares(x, y, bound, weight)
    elif weight:
        theta = _support_vectors(x, y, kind, weight)
        if np.abs(theta).max(initial=0) > bound:
            theta = _with_penalty_in_box(x, y, kind, bound, weight)
    else:
        theta = _linear_program(x, y, kind, bound)
    return float(Loss(kind).value(y, x @ theta).sum() + 0.5 * weight * theta @ theta)


def _least_squares(x: np.ndarray, y: np.ndarray, bound: float, weight: float) -> np.ndarray:
    d = x.shape[1]
    penalty = np.sqrt(0.5 * weight) * np.eye(d)
    return lsq_linear(
        np.vstack([x, penalty]), np.concatenate([y, np.zeros(d)]), (-bound, bound), tol=1e-12
    ).x


def _linear_program(x: np.ndarray, y: np.ndarray, kind: Kind, bound: float) -> np.ndarray:
    """Return theta that minimises sum slack, with slack >= each linear piece of a row's loss."""
    n, d = x.shape
    pieces, limits = _pieces(x, y, kind)
    cost = np.concatenate([np.zeros(d), np.ones(n)])
    limit = [(-bound, bound)] * d + [(0, None)] * n
    return linprog(cost, A_ub=pieces, b_ub=limits, bounds=limit, method="highs").x[:d]


def _pieces(x: np.ndarray, y: np.ndarray, kind: Kind) -> tuple[sparse.sparray, np.ndarray]:
    """Return A and b of the constraints A (theta, slack) <= b."""
    slack = -sparse.eye_array(len(y), format="csr")
    if kind == "hinge":
        return sparse.hstack([sparse.csr_array(-y[:, None] * x), slack]), -np.ones(len(y))
    both = [sparse.hstack([sparse.csr_array(sign * x), slack]) for sign in (1, -1)]
    return sparse.vstack(both), np.concatenate([y, -y])


def _with_penalty_in_box(
    x: np.ndarray, y: np.ndarray, kind: Kind, bound: float, weight: float
) -> np.ndarray:
    """Return theta by linear programs that replace theta_j^2 by the largest of its tangents.

    A program's value is a lower bound; a tangent at its solution is added until the two agree.
    Support vector machines support no box; this is slower, but rarely needed.
    """
    n, d = x.shape
    pieces, limits = _pieces(x, y, kind)
    rows = [sparse.hstack([pieces, sparse.csr_array((len(limits), d))])]
    ends = [limits]
    cost = np.concatenate([np.zeros(d), np.ones(n), np.full(d, 0.5 * weight)])
    limit = [(-bound, bound)] * d + [(0, None)] * (n + d)
    theta = np.zeros(d)
    for _ in range(MOST_TANGENTS):
        tangent = [sparse.diags_array(2 * theta), sparse.csr_array((d, n)), -sparse.eye_array(d)]
        rows.append(sparse.hstack(tangent))
        ends.append(theta**2)
        result = linprog(
            cost, A_ub=sparse.vstack(rows), b_ub=np.concatenate(ends), bounds=limit, method="highs"
        )
        theta = result.x[:d]
        gap = 0.5 * weight * float(theta @ theta - result.x[d + n :].sum())
        if gap <= TOLERANCE * result.fun:
            break
    return theta


def _support_vectors(x: np.ndarray, y: np.ndarray, kind: Kind, weight: float) -> np.ndarray:
    from sklearn.svm import LinearSVC, LinearSVR

    fixed = {"C": 1 / weight, "fit_intercept": False, "tol": 1e-8, "max_iter": 100_000}
    machine = (
        LinearSVC(loss="hinge", dual=True, random_state=0, **fixed)
        if kind == "hinge"
        else LinearSVR(epsilon=0.0, dual=True, random_state=0, **fixed)
    )
    return machine.fit(x, y).coef_.ravel()
