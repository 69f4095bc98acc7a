"""What online learners of a linear predictor share: one row after the other, one update each.

A row (x, y) costs l(y, <theta, x>), plus ridge / 2 |theta|^2 where that is set. The learner
predicts with the mean m of q = N(m, diag(sd^2)), sees the gradients of the loss or of its
expectation under q, and moves. Source: the set-up of cherief2019online. Settings of all of them:

loss: `auto` is hinge where the targets are two classes (labels 0 and 1 mean -1 and +1),
squared where they are one real value. bound: m is kept in [-bound, bound]^d.

State: mean, sd [S, H, d]; step [S, H], the number of rows seen; what the learner adds.
Info, [S, H], sums over the rows of the batch, all of the posterior before it saw the row:
loss at m; expected_loss under q; score_sd, the standard deviation of the score under q;
squared_sd, |sd|^2;
squared_gradient_mean and squared_gradient_sd, squared norms of the gradients in m and sd
that the learner descends; log_evidence = -expected_loss, which is what a loss has in place
of a log likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numba import njit, types

from shiftbench.core.interface import (
    Batch,
    Broadening,
    Gaussian,
    Info,
    Learner,
    LearnerError,
    Problem,
    State,
)
from shiftbench.methods.online import losses
from shiftbench.methods.posteriors import mean_field_gaussian


class Common(Protocol):
    """The settings that every online learner has."""

    @property
    def loss(self) -> Literal["auto", "hinge", "squared", "absolute"]: ...
    @property
    def prior_sd(self) -> float: ...
    @property
    def bound(self) -> float: ...
    @property
    def ridge(self) -> float: ...


ROW = types.float64[::1]
UPDATE = types.void(ROW, ROW, ROW, ROW, ROW, types.float64, ROW)
"""Type of a compiled update (mean, sd, extra, gradient, curvature, t, settings), all but t of
one row [d] and changed in place: gradient is the one in the mean, curvature >= 0 the one in sd
divided by sd; t counts rows from 1. `extra` has the learner's own array, or no entry."""

INFO = (
    "loss",
    "expected_loss",
    "score_sd",
    "squared_sd",
    "squared_gradient_mean",
    "squared_gradient_sd",
)


def learner(
    name: str,
    settings: Common,
    problem: Problem,
    update: Any,
    constants: Sequence[float],
    extra: str | None = None,
    spread: bool = True,
) -> Learner:
    """An online learner from its compiled update (a `numba.cfunc` of type UPDATE).

    constants: what the update gets as its settings. extra: name of a further array [S, H, d]
    of the state, zero at first. spread: whether there is a posterior around the mean; without
    one sd is 0 and the loss is taken at m.
    """
    code = losses.CODES[loss_kind(name, settings.loss, problem)]
    d = int(np.prod(problem.input_shape))
    fixed = np.array(constants, dtype=float)

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, d)
        sd = settings.prior_sd if spread else 0.0
        state = {"mean": np.zeros(shape), "sd": np.full(shape, sd), "step": np.zeros(shape[:2])}
        return state | ({extra: np.zeros(shape)} if extra else {})

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        x = features(name, inputs)
        mean = np.einsum("shd,snd->shn", state["mean"], x)[..., None]
        variance = np.einsum("shd,snd->shn", state["sd"] ** 2, x**2)[..., None]
        s, h = mean.shape[:2]
        return Gaussian(np.full((s, h), -np.log(h)), mean, variance)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        x, y = features(name, batch.inputs), targets(name, batch, code)
        after = {k: np.array(a, dtype=float, order="C") for k, a in state.items()}
        own = after[extra] if extra else np.zeros((*after["step"].shape, 0))
        found = np.zeros((len(INFO), *after["step"].shape))
        _rows(
            update, code, settings.ridge, settings.bound, fixed,
            x, y, np.require(batch.mask, bool, ["C", "W"]),
            after["mean"], after["sd"], own, after["step"], found,
        )  # fmt: skip
        info = dict(zip(INFO, found, strict=True))
        return after, info | {"log_evidence": -info["expected_loss"]}

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"], state["sd"] ** 2, broadening, 0.0, settings.prior_sd**2
        )
        return state | {"mean": mean, "sd": np.sqrt(variance)}

    return Learner(init, predict, observe, broaden=broaden if spread else None)


def loss_kind(name: str, loss: str, problem: Problem) -> losses.Kind:
    """The loss that `auto` means here. LearnerError for targets that it cannot have."""
    classes = problem.kind == "classification"
    if problem.n_outputs != (2 if classes else 1):
        found = f"{problem.n_outputs} {'classes' if classes else 'targets a row'}"
        raise LearnerError(
            f"{name}: learns from two classes or one real target, but the stream has {found};"
            " choose another stream or another learner"
        )
    if loss == "auto":
        return "hinge" if classes else "squared"
    if (loss == "hinge") != classes:
        raise LearnerError(
            f"{name}: loss {loss} does not fit a stream of {problem.kind}; use loss: auto"
        )
    return loss  # type: ignore[return-value]


@njit(cache=True, error_model="numpy")
def _rows(update, code, ridge, bound, constants, x, y, seen, mean, sd, extra, step, found):
    """One update a row that is seen; changes mean, sd, extra and step, adds to found."""
    repetitions, rows, d = x.shape
    gradient, curvature = np.empty(d), np.empty(d)
    for s in range(repetitions):
        for i in range(rows):
            if not seen[s, i]:
                continue
            for h in range(mean.shape[1]):
                m, spread = mean[s, h], sd[s, h]
                _gradients(
                    code, ridge, x[s, i], y[s, i], m, spread, gradient, curvature, found[:, s, h]
                )
                step[s, h] += 1
                update(m, spread, extra[s, h], gradient, curvature, step[s, h], constants)
                for j in range(d):
                    m[j] = min(max(m[j], -bound), bound)


@njit(cache=True, error_model="numpy")
def _gradients(code, ridge, x, y, mean, sd, gradient, curvature, found):
    """Fills gradient and curvature [d] of one row; adds its INFO to found."""
    mu = variance = 0.0
    for j in range(x.size):
        mu += mean[j] * x[j]
        variance += (sd[j] * x[j]) ** 2
    tau = math.sqrt(variance)
    value, slope, curved = losses.under_gaussian(code, y, mu, tau)
    squared = squared_sd = norm = norm_sd = 0.0
    for j in range(x.size):
        gradient[j] = slope * x[j]
        curvature[j] = curved * x[j] * x[j]
        if ridge > 0:
            gradient[j] += ridge * mean[j]
            curvature[j] += ridge
            norm += mean[j] ** 2
        norm_sd += sd[j] ** 2
        squared += gradient[j] ** 2
        squared_sd += (curvature[j] * sd[j]) ** 2
    found[0] += losses.at_point(code, y, mu)[0] + 0.5 * ridge * norm
    found[1] += value + 0.5 * ridge * (norm + norm_sd)
    found[2] += tau
    found[3] += norm_sd
    found[4] += squared
    found[5] += squared_sd


def features(name: str, inputs: np.ndarray) -> np.ndarray:
    """The inputs [S, n, d]. LearnerError where one is missing or infinite."""
    x = np.require(inputs, float, ["C", "W"]).reshape(*inputs.shape[:2], -1)
    if not np.isfinite(x).all():
        s, n, j = np.argwhere(~np.isfinite(x))[0]
        raise LearnerError(
            f"{name}: feature {j} of row {n} of repetition {s} is {x[s, n, j]}; fill or drop"
            " missing values when the stream is built"
        )
    return x


def targets(name: str, batch: Batch, code: int) -> np.ndarray:
    """The targets [S, n], labels as -1 and +1. LearnerError where one is no such target."""
    y = np.asarray(batch.targets, dtype=float).reshape(batch.mask.shape)
    if code == losses.CODES["hinge"]:
        if not ((y == 0) | (y == 1) | ~batch.mask).all():
            raise LearnerError(f"{name}: labels are 0 and 1, but there is {_odd(y, batch.mask)}")
        return 2 * y - 1
    if not np.isfinite(y[batch.mask]).all():
        raise LearnerError(f"{name}: a target is not a number; fill or drop missing values")
    return np.where(batch.mask, y, 0.0)


def _odd(y: np.ndarray, mask: np.ndarray) -> float:
    values = y[mask]
    return values[~np.isin(values, (0, 1))][0]


@njit(cache=True)
def shrink(x: float) -> float:
    """h(x) = sqrt(1 + x^2) - x, without cancellation for large x; in (0, 1] for x >= 0."""
    return 1 / (math.sqrt(1.0 + x * x) + x)
