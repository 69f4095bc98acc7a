"""Online learners of a network with one hidden layer, by draws of expected losses.

The network is f(x) = b + sum_i v_i max(0, c_i + <w_i, x>), as in the California experiment of
cherief2019online; without hidden units it is <theta, x>. Each row has K draws theta = m + sd e,
with the same e for all hypotheses, which give unbiased estimates

    E l = mean l(theta),    gradient in m = mean dl,    gradient in sd = mean dl e.

With sd = 0 one evaluation at m is exact. An estimate, and the loss of a network, may fall where sd
grows; sd is therefore kept at most prior_sd, the box of the paper, which never binds for a convex
loss. At m = 0 a network's gradients vanish but for b. So m starts at normal draws of variance
2 / fan_in (He et al. 2015), biases at 0, and the prior N(m, s^2 I) is around them; the paper says
m = 0. A linear predictor starts at 0.

A prediction has the score f at m, which the paper judges, and the mean square of draws around it.

State and Info: as in `linear.py`, with parameters in the order w, c, v, b.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from shiftbench.core.interface import (
    Batch,
    Gaussian,
    Info,
    Learner,
    LearnerError,
    Problem,
    State,
)
from shiftbench.core.seeds import generator
from shiftbench.methods.online import linear, losses
from shiftbench.methods.online.rows import equal_weights
from shiftbench.methods.online.settings import DRAWN, CommonSettings

TINY = 1e-100
"""Standard deviations below this give gradients of 0, as a quotient by them may overflow."""


class Constants(NamedTuple):
    """Numbers of a learner for compiled loops; update: an address. s: prior standard deviation."""

    update: int
    code: int
    hidden: int
    ridge: float
    bound: float
    s: float
    settings: np.ndarray


def learner(
    name: str,
    settings: CommonSettings,
    problem: Problem,
    update: Any,
    constants: Sequence[float],
    extra: str | None = None,
    spread: bool = True,
    draws: int = 0,
) -> Learner:
    """Return the online learner of a network; see `linear.learner` for the arguments.

    draws: number of draws for each expected loss; a point estimate (no spread) takes none. Without
    hidden units and draws, it is the learner of a linear predictor in closed form.
    Raises LearnerError for a Gaussian over a network without draws.
    """
    if not settings.hidden and not draws:
        return linear.learner(name, settings, problem, update, constants, extra, spread)
    if spread and not draws:
        raise LearnerError(f"{name}: {DRAWN}")
    code = losses.CODES[linear.loss_kind(name, settings.loss, problem)]
    d = int(np.prod(problem.input_shape))
    size = settings.hidden * (d + 2) + 1 if settings.hidden else d
    layout = linear.state_layout(size, extra)
    sd = settings.prior_sd if spread else 0.0
    numbers = _constants(settings, update.address, code, constants)
    noise = partial(_noise, draws if spread else 0, size)

    def init(seeds: np.ndarray) -> State:
        mean = np.stack([_start(seed, settings.hidden, d) for seed in seeds])[:, np.newaxis]
        state = {"mean": mean, "sd": np.full(mean.shape, sd), "step": np.zeros(mean.shape[:2])}
        return state | ({extra: np.zeros(mean.shape)} if extra else {})

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        x = linear.features(inputs)
        out = np.empty((2, *state["mean"].shape[:2], x.shape[1]))
        for s, seed in enumerate(seeds):
            given = x[s], noise(seed, 1)[0], settings.hidden, out[:, s]
            _scores(state["mean"][s], state["sd"][s], *given)
        return Gaussian(equal_weights(*out.shape[1:3]), *out[..., np.newaxis])

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        x, y = linear.checked_features(name, batch), linear.targets(name, batch, code)
        packed = linear.pack(layout, state)
        evidence = np.zeros(packed.shape[:2])
        for s, seed in enumerate(seeds):
            seen = batch.mask[s]
            rows = x[s, seen], y[s, seen], noise(seed, int(seen.sum()))
            _learn(packed[s], *rows, numbers, evidence[s])
        info = linear.info_of(packed[..., -linear.N_SUMS :], evidence)
        return linear.unpack(layout, packed), info

    return Learner(init, predict, observe)


def _constants(
    settings: CommonSettings, update: int, code: int, constants: Sequence[float]
) -> Constants:
    """Return the constants of the loops, of one type each, so that these are compiled once."""
    return Constants(
        update=update,
        code=code,
        hidden=settings.hidden,
        ridge=float(settings.ridge),
        bound=float(settings.bound),
        s=float(settings.prior_sd),
        settings=np.array(constants, float),
    )


def _start(seed: np.ndarray, hidden: int, d: int) -> np.ndarray:
    """Return the start values of the mean [P]."""
    if not hidden:
        return np.zeros(d)
    drawn = generator(seed).standard_normal(hidden * (d + 1))
    inner, outer = drawn[: hidden * d] * (2 / d) ** 0.5, drawn[hidden * d :] * (2 / hidden) ** 0.5
    return np.concatenate([inner, np.zeros(hidden), outer, np.zeros(1)])


def _noise(draws: int, size: int, seed: np.ndarray, rows: int) -> np.ndarray:
    """Return standard normal draws [rows, K, P]; one row of zeros each if there are no draws."""
    if not draws:
        return np.zeros((rows, 1, size))
    return generator(seed).standard_normal((rows, draws, size))


@njit(cache=True, error_model="numpy")
def _score(hidden, theta, x, slopes):
    """Return f(x), and set slopes [P] to its gradient in theta."""
    d = x.size
    if hidden == 0:
        score = 0.0
        for j in range(d):
            score += theta[j] * x[j]
            slopes[j] = x[j]
        return score
    biases, outer = hidden * d, hidden * (d + 1)
    score, slopes[-1] = theta[-1], 1.0
    for i in range(hidden):
        unit = theta[biases + i]
        for j in range(d):
            unit += theta[i * d + j] * x[j]
        active = max(unit, 0.0)
        score += theta[outer + i] * active
        slope = theta[outer + i] if unit > 0 else 0.0
        slopes[outer + i], slopes[biases + i] = active, slope
        for j in range(d):
            slopes[i * d + j] = slope * x[j]
    return score


@njit(cache=True, error_model="numpy")
def _gradients(constants, x, y, noise, numbers, gradient, curvature):
    """Estimate gradient and curvature [P] of a row, add its INFO; return its expected loss."""
    size, draws = gradient.size, len(noise)
    mean, sd = numbers[:size], numbers[size : 2 * size]
    theta, slopes = np.empty(size), np.empty(size)
    centre = _score(constants.hidden, mean, x, slopes)
    gradient[:], curvature[:] = 0.0, 0.0
    value = offset = square = 0.0
    for k in range(draws):
        for j in range(size):
            theta[j] = mean[j] + sd[j] * noise[k, j]
        score = _score(constants.hidden, theta, x, slopes)
        loss, slope = losses.at_point(constants.code, y, score)
        value += loss / draws
        offset += (score - centre) / draws
        square += (score - centre) ** 2 / draws
        for j in range(size):
            of_mean = slope * slopes[j] / draws
            gradient[j] += of_mean
            curvature[j] += of_mean * noise[k, j]
    for j in range(size):
        # Where sd is 0 or nearly so, nothing depends on it.
        curvature[j] = curvature[j] / sd[j] if sd[j] > TINY else 0.0
    spread = np.sqrt(max(square - offset**2, 0.0))
    found = losses.at_point(constants.code, y, centre)[0], value, spread
    sums = numbers[numbers.size - linear.N_SUMS :]
    return linear.recorded(constants.ridge, mean, sd, gradient, curvature, found, sums)


@njit(cache=True, error_model="numpy")
def _learn(packed, x, y, noise, constants, evidence):
    """Update the hypotheses [H, ...] by rows, in place, and subtract their expected losses."""
    size = noise.shape[2]
    gradient, curvature = np.empty(size), np.empty(size)
    for h in range(len(packed)):
        for i in range(len(x)):
            evidence[h] -= _gradients(
                constants, x[i], y[i], noise[i], packed[h], gradient, curvature
            )
            linear.moved(
                constants.update, constants.bound, packed[h], gradient, curvature,
                constants.settings,
            )  # fmt: skip
            for j in range(size, 2 * size):
                packed[h, j] = min(packed[h, j], constants.s)


@njit(cache=True, error_model="numpy")
def _scores(mean, sd, x, noise, hidden, out):
    """Set out [2, H, n] to the score at the mean, and the mean square of draws around it."""
    size, draws = mean.shape[1], len(noise)
    theta, slopes = np.empty(size), np.empty(size)
    for h in range(len(mean)):
        for i in range(len(x)):
            centre = _score(hidden, mean[h], x[i], slopes)
            square = 0.0
            for k in range(draws):
                for j in range(size):
                    theta[j] = mean[h, j] + sd[h, j] * noise[k, j]
                square += (_score(hidden, theta, x[i], slopes) - centre) ** 2 / draws
            out[0, h, i], out[1, h, i] = centre, square
