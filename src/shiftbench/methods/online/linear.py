"""Shared code of online learners of a linear predictor, which make an update for each row.

A row (x, y) has the loss l(y, <theta, x>), plus ridge / 2 |theta|^2 if ridge is set. The learner
predicts with the mean m of q = N(m, diag(sd^2)), gets the gradients of the loss or of its
expectation under q, and updates q. Source: the set-up of cherief2019online. Common settings:

loss: `auto` is hinge for two classes (labels 0 and 1 mean -1 and +1), squared for a real target.
bound: m is kept in [-bound, bound]^d.

State: mean, sd [S, H, d]; step [S, H], the number of rows seen; an array of the learner, if any.
Info, [S, H], sums over the rows of the batch, for the posterior before it saw the row: loss at m;
expected_loss under q; score_sd, the standard deviation of the score under q; squared_sd, |sd|^2;
squared_gradient_mean and squared_gradient_sd, squared norms of the gradients in m and sd that the
learner descends; log_evidence = -expected_loss, in place of a log likelihood.
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


class CommonSettings(Protocol):
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
"""Type of a compiled update (mean, sd, extra, gradient, curvature, t, settings) of a row.

It changes mean, sd and extra [d] in place. gradient: of the loss in the mean. curvature >= 0: the
gradient in sd, divided by sd. t: the number of the row, from 1. extra: the learner's own array,
empty if it has none."""

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
    settings: CommonSettings,
    problem: Problem,
    update: Any,
    constants: Sequence[float],
    extra: str | None = None,
    spread: bool = True,
) -> Learner:
    """Return the online learner with a compiled update (a `numba.cfunc` of type UPDATE).

    name: used in messages. constants: the settings that the update gets. extra: the name of a
    further array [S, H, d] of the state, zero at first. spread: whether there is a posterior around
    the mean; without it sd is 0 and the loss is taken at m.
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
        sums = np.zeros((len(INFO), *after["step"].shape))
        _rows(
            update, code, settings.ridge, settings.bound, fixed,
            x, y, np.require(batch.mask, bool, ["C", "W"]),
            after["mean"], after["sd"], own, after["step"], sums,
        )  # fmt: skip
        info = dict(zip(INFO, sums, strict=True))
        return after, info | {"log_evidence": -info["expected_loss"]}

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"], state["sd"] ** 2, broadening, 0.0, settings.prior_sd**2
        )
        return state | {"mean": mean, "sd": np.sqrt(variance)}

    return Learner(init, predict, observe, broaden=broaden if spread else None)


def loss_kind(name: str, loss: str, problem: Problem) -> losses.Kind:
    """Return the loss, resolving `auto`. Raises LearnerError if it does not suit the targets."""
    classes = problem.kind == "classification"
    if problem.n_outputs != (2 if classes else 1):
        targets = f"{problem.n_outputs} {'classes' if classes else 'targets a row'}"
        raise LearnerError(
            f"{name}: learns from two classes or one real target, but the stream has {targets};"
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
def _rows(update, code, ridge, bound, constants, x, y, seen, mean, sd, extra, step, sums):
    """Update mean, sd, extra and step by each row that is seen; add to the sums of INFO."""
    repetitions, rows, d = x.shape
    gradient, curvature = np.empty(d), np.empty(d)
    for s in range(repetitions):
        for i in range(rows):
            if not seen[s, i]:
                continue
            for h in range(mean.shape[1]):
                m, spread = mean[s, h], sd[s, h]
                _gradients(
                    code, ridge, x[s, i], y[s, i], m, spread, gradient, curvature, sums[:, s, h]
                )
                step[s, h] += 1
                update(m, spread, extra[s, h], gradient, curvature, step[s, h], constants)
                for j in range(d):
                    m[j] = min(max(m[j], -bound), bound)


@njit(cache=True, error_model="numpy")
def _gradients(code, ridge, x, y, mean, sd, gradient, curvature, sums):
    """Set gradient and curvature [d] of a row; add its INFO to the sums."""
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
    sums[0] += losses.at_point(code, y, mu)[0] + 0.5 * ridge * norm
    sums[1] += value + 0.5 * ridge * (norm + norm_sd)
    sums[2] += tau
    sums[3] += norm_sd
    sums[4] += squared
    sums[5] += squared_sd


def features(name: str, inputs: np.ndarray) -> np.ndarray:
    """Return the inputs [S, n, d]. Raises LearnerError if one is missing or infinite."""
    x = np.require(inputs, float, ["C", "W"]).reshape(*inputs.shape[:2], -1)
    if not np.isfinite(x).all():
        s, n, j = np.argwhere(~np.isfinite(x))[0]
        raise LearnerError(
            f"{name}: feature {j} of row {n} of repetition {s} is {x[s, n, j]}; fill or drop"
            " missing values when the stream is built"
        )
    return x


def targets(name: str, batch: Batch, code: int) -> np.ndarray:
    """Return the targets [S, n], labels as -1 and +1. Raises LearnerError for invalid targets."""
    y = np.asarray(batch.targets, dtype=float).reshape(batch.mask.shape)
    if code == losses.CODES["hinge"]:
        if not ((y == 0) | (y == 1) | ~batch.mask).all():
            values = y[batch.mask]
            other = values[~np.isin(values, (0, 1))][0]
            raise LearnerError(f"{name}: labels are 0 and 1, but there is {other}")
        return 2 * y - 1
    if not np.isfinite(y[batch.mask]).all():
        raise LearnerError(f"{name}: a target is not a number; fill or drop missing values")
    return np.where(batch.mask, y, 0.0)


@njit(cache=True)
def shrink(x: float) -> float:
    """Return h(x) = sqrt(1 + x^2) - x, in (0, 1], for x >= 0, without cancellation."""
    return 1 / (math.sqrt(1.0 + x * x) + x)
