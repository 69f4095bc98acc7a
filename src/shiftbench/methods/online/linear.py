"""Shared code of online learners of a linear predictor, which make an update for each row.

A row (x, y) has the loss l(y, <theta, x>), plus ridge / 2 |theta|^2 if ridge is set. The learner
predicts with the mean m of q = N(m, diag(sd^2)), gets the gradients of the loss or of its
expectation under q, and updates q. Labels 0 and 1 mean -1 and +1. Source: the set-up of
cherief2019online. `network.py` has the same for a network, and for expectations by draws.

State: mean, sd [S, H, d]; step [S, H], the number of rows seen; an array of the learner, if any.
Info, [S, H], sums over the rows of the batch, for the posterior before it saw the row: loss at m;
expected_loss under q; score_sd, the standard deviation of the score under q; squared_sd, |sd|^2;
squared_gradient_mean and squared_gradient_sd, squared norms of the gradients in m and sd that the
learner descends; log_evidence = -expected_loss, in place of a log likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import cfunc, njit, types

from shiftbench.core.interface import Batch, Broadening, Info, LearnerError, Problem, State
from shiftbench.methods.online import losses, row_functions, rows
from shiftbench.methods.online.row_functions import ROW, STEP
from shiftbench.methods.online.rows import CompiledRows, RowLearner
from shiftbench.methods.online.settings import CommonSettings

UPDATE = types.void(ROW, ROW, ROW, ROW, ROW, types.float64, ROW)
"""Type of a compiled update (mean, sd, extra, gradient, curvature, t, settings) of a row.

It changes mean, sd and extra [d] in place. gradient: of the loss in the mean. curvature >= 0: the
gradient in sd, divided by sd. t: the number of the row, from 1. extra: the learner's own array,
empty if it has none."""

call_update = row_functions.caller(UPDATE)

INFO = (
    "loss",
    "expected_loss",
    "score_sd",
    "squared_sd",
    "squared_gradient_mean",
    "squared_gradient_sd",
)
N_SUMS, N_COMMON = len(INFO), 5
"""Numbers of sums for INFO, and of constants of all these learners."""


def learner(
    name: str,
    settings: CommonSettings,
    problem: Problem,
    update: Any,
    constants: Sequence[float],
    extra: str | None = None,
    spread: bool = True,
) -> RowLearner:
    """Return the online learner with a compiled update (a `numba.cfunc` of type UPDATE).

    name: used in messages. constants: the settings that the update gets. extra: the name of a
    further array [S, H, d] of the state, zero at first; the learner cannot be broadened then, as
    that would leave this array behind. spread: whether there is a posterior around the mean;
    without it sd is 0 and the loss is taken at m.
    """
    code = losses.CODES[loss_kind(name, settings.loss, problem)]
    d = int(np.prod(problem.input_shape))
    layout = state_layout(d, extra)
    size = 2 * d + 1 + (d if extra else 0)
    common = [update.address, code, settings.ridge, settings.bound, settings.prior_sd]
    compiled = CompiledRows(
        check=partial(_checked_rows, name, code),
        features=features,
        pack=partial(pack, layout),
        unpack=partial(unpack, layout),
        step=_step,
        predict=_predict,
        predictive=rows.gaussian,
        outputs=2,
        constants=np.array([*common, *constants], float),
        scratch=2 * d,
        broaden=_broaden,
        sums=len(INFO),
        kept=(size, size + len(INFO)),
        info=info_of,
    )

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, d)
        sd = settings.prior_sd if spread else 0.0
        state = {"mean": np.zeros(shape), "sd": np.full(shape, sd), "step": np.zeros(shape[:2])}
        return state | ({extra: np.zeros(shape)} if extra else {})

    def broaden(state: State, broadening: Broadening) -> State:
        return rows.broaden(compiled, state, broadening)[0]

    whole = spread and not extra
    return RowLearner.of(init, compiled, broaden=broaden if whole else None, by_row=False)


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


def state_layout(d: int, extra: str | None) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the state's arrays by name, without seed and hypothesis."""
    layout: dict[str, tuple[int, ...]] = {"mean": (d,), "sd": (d,), "step": ()}
    return layout | ({extra: (d,)} if extra else {})


def pack(layout: Mapping[str, tuple[int, ...]], state: State) -> np.ndarray:
    """Return the state's numbers and the sums of INFO, [S, H, P]."""
    packed = rows.pack(layout, state)
    return np.concatenate([packed, np.zeros((*packed.shape[:2], len(INFO)))], axis=2)


def unpack(layout: Mapping[str, tuple[int, ...]], packed: np.ndarray) -> State:
    """Return the state, without the sums, of the array of `pack`."""
    return rows.unpack(layout, packed[..., : -len(INFO)])


def info_of(kept: np.ndarray, evidence: np.ndarray) -> Info:
    """Return the Info from the sums [..., H, N_SUMS] and minus the expected losses [..., H]."""
    info = {name: kept[..., j].copy() for j, name in enumerate(INFO)}
    return info | {"log_evidence": evidence}


def _checked_rows(name: str, code: int, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return features [S, n, d] and targets [S, n, 1]."""
    return checked_features(name, batch), targets(name, batch, code)[..., np.newaxis]


@njit(cache=True, error_model="numpy")
def _gradients(code, ridge, x, y, mean, sd, gradient, curvature, sums):
    """Set gradient and curvature [d] of a row, add its INFO to the sums; return expected loss."""
    mu = variance = 0.0
    for j in range(x.size):
        mu += mean[j] * x[j]
        variance += (sd[j] * x[j]) ** 2
    tau = math.sqrt(variance)
    value, slope, curved = losses.under_gaussian(code, y, mu, tau)
    for j in range(x.size):
        gradient[j] = slope * x[j]
        curvature[j] = curved * x[j] * x[j]
    found = losses.at_point(code, y, mu)[0], value, tau
    return recorded(ridge, mean, sd, gradient, curvature, found, sums)


@njit(cache=True, error_model="numpy")
def recorded(ridge, mean, sd, gradient, curvature, found, sums):
    """Add the ridge to gradient and curvature, and INFO to the sums; return the expected loss.

    found: loss at the mean, expected loss and standard deviation of the score, without the ridge.
    """
    at_mean, value, tau = found
    squared = squared_sd = norm = norm_sd = 0.0
    for j in range(mean.size):
        if ridge > 0:
            gradient[j] += ridge * mean[j]
            curvature[j] += ridge
            norm += mean[j] ** 2
        norm_sd += sd[j] ** 2
        squared += gradient[j] ** 2
        squared_sd += (curvature[j] * sd[j]) ** 2
    sums[0] += at_mean + 0.5 * ridge * norm
    expected = value + 0.5 * ridge * (norm + norm_sd)
    sums[1] += expected
    sums[2] += tau
    sums[3] += norm_sd
    sums[4] += squared
    sums[5] += squared_sd
    return expected


@njit(cache=True, error_model="numpy")
def moved(update, bound, numbers, gradient, curvature, settings):
    """Update the numbers of a hypothesis by the gradients of a row, in place."""
    d, size = gradient.size, numbers.size - N_SUMS
    mean, sd, extra = numbers[:d], numbers[d : 2 * d], numbers[2 * d + 1 : size]
    numbers[2 * d] += 1
    call_update(update, (mean, sd, extra, gradient, curvature, numbers[2 * d], settings))
    for j in range(d):
        mean[j] = min(max(mean[j], -bound), bound)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and subtract their expected losses."""
    d, size = len(x), numbers.shape[1] - N_SUMS
    update, code, ridge, bound = int(constants[0]), int(constants[1]), constants[2], constants[3]
    gradient, curvature = scratch[:d], scratch[d : 2 * d]
    for h in range(len(numbers)):
        if not evidence[h] > -math.inf:
            continue
        evidence[h] -= _gradients(
            code, ridge, x, y[0], numbers[h, :d], numbers[h, d : 2 * d], gradient, curvature,
            numbers[h, size:],
        )  # fmt: skip
        moved(update, bound, numbers[h], gradient, curvature, constants[N_COMMON:])


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to mean and variance of the score of a row, for each hypothesis."""
    d = len(x)
    for h in range(len(numbers)):
        mean = variance = 0.0
        for j in range(d):
            mean += numbers[h, j] * x[j]
            variance += (numbers[h, d + j] * x[j]) ** 2
        out[2 * h], out[2 * h + 1] = mean, variance


@cfunc(STEP, cache=True, error_model="numpy")
def _broaden(numbers, widening, nothing, constants, scratch, refused):
    """Widen the hypotheses, in place."""
    d, prior_variance = len(scratch) // 2, constants[4] * constants[4]
    beta, share, added, way = widening
    for h in range(len(numbers)):
        mean, sd = numbers[h, :d], numbers[h, d : 2 * d]
        for j in range(d):
            mean[j], variance = rows.widened(
                mean[j], sd[j] * sd[j], beta, share, added, way, 0.0, prior_variance
            )
            sd[j] = math.sqrt(variance)


def features(inputs: np.ndarray) -> np.ndarray:
    """Return the inputs [S, n, d]; what is missing in a row makes its prediction NaN."""
    return np.require(inputs, float, ["C", "W"]).reshape(*inputs.shape[:2], -1)


def checked_features(name: str, batch: Batch) -> np.ndarray:
    """Return the inputs [S, n, d]. Raises LearnerError if a seen row lacks one, or has inf."""
    x = features(batch.inputs)
    if np.isfinite(x).all():
        return x
    bad = ~np.isfinite(x) & batch.mask[..., None]
    if bad.any():
        s, n, j = np.argwhere(bad)[0]
        raise LearnerError(
            f"{name}: feature {j} of row {n} of repetition {s} is {x[s, n, j]}; fill or drop"
            " missing values, or mask the row, when the stream is built"
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
    """Return h(x) = sqrt(1 + x^2) - x, without cancellation; 1 or less for x >= 0."""
    if x < 0:  # only draws give an expected loss that falls with sd
        return math.sqrt(1.0 + x * x) - x
    return 1 / (math.sqrt(1.0 + x * x) + x)
