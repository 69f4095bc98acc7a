"""Gaussian mean with known noise: the conjugate posterior, exact.

Source: li2021vbs, C.1 (with s = 0 the Kalman update of Algorithm 1, exact), for the toy stream:

    1 / variance <- 1 / variance + 1 / noise^2,
    mean <- mean + variance (y - mean) / noise^2, with the new variance.

Knows: the noise level.

State: mean, variance [S, H, d] of the posterior over the d means.
Info: log_evidence [S, H], exact, in nats; posterior_mean, posterior_variance [S, H, d].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Gt
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Broadening, Info, Problem, State
from shiftbench.methods.online import row_values, rows
from shiftbench.methods.online.rows import STEP, CompiledRows, RowLearner

FACTS = Facts(
    takes={"value": "gaussian", "number": "gaussian", "design": "gaussian", "designs": "gaussian"},
    offers=("broaden", "log_evidence", "level"),
)


@dataclass(frozen=True)
class Settings:
    noise_sd: Annotated[float, Gt(0)] = 0.5
    """Standard deviation of an observation around the mean."""
    prior_mean: float = 0.0
    """Prior mean of the level."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of the level (li2021vbs: 1 in Algorithm 1, 9999 in its code)."""


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the learner of d = problem.n_outputs independent means."""
    d = problem.n_outputs
    layout = {"mean": (d,), "variance": (d,)}
    compiled = CompiledRows(
        check=partial(_checked_rows, d=d),
        features=row_values.no_features,
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step,
        predict=_predict,
        predictive=rows.gaussian,
        outputs=2 * d,
        constants=np.array(
            [settings.noise_sd**2, settings.prior_mean, settings.prior_variance], float
        ),
        scratch=1,
        broaden=_broaden,
        kept=(0, 2 * d),
        info=_info,
    )

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, d)
        return {
            "mean": np.full(shape, settings.prior_mean, float),
            "variance": np.full(shape, settings.prior_variance, float),
        }

    def broaden(state: State, broadening: Broadening) -> State:
        return rows.broaden(compiled, state, broadening)[0]

    return RowLearner.of(init, compiled, broaden=broaden, by_row=False)


def _checked_rows(batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return no features [S, n, 0] and targets [S, n, d]."""
    batch = batch._replace(inputs=row_values.no_features(batch.inputs))
    return row_values.checked("gaussian-mean", batch, d)


def _info(kept: np.ndarray, evidence: np.ndarray) -> Info:
    mean, variance = np.split(kept, 2, axis=-1)
    return {
        "log_evidence": evidence,
        "posterior_mean": mean.copy(),
        "posterior_variance": variance.copy(),
    }


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add the log density of its targets."""
    d, noise = len(y), constants[0]
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            mean, variance = numbers[h, :d], numbers[h, d:]
            for j in range(d):
                total, residual = variance[j] + noise, y[j] - mean[j]
                density = math.log(2 * math.pi * total) + residual * residual / total
                evidence[h] -= 0.5 * density
                mean[j] += residual * (variance[j] / total)
                variance[j] *= noise / total


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to the means and the variances of the targets of a row, for each hypothesis."""
    size = numbers.shape[1]
    for h in range(len(numbers)):
        for j in range(size):
            out[h * size + j] = numbers[h, j] + (constants[0] if j >= size // 2 else 0.0)


@cfunc(STEP, cache=True, error_model="numpy")
def _broaden(numbers, widening, nothing, constants, scratch, refused):
    """Widen the hypotheses, in place."""
    d, (_, prior_mean, prior_variance) = numbers.shape[1] // 2, constants
    beta, share, added, way = widening
    for h in range(len(numbers)):
        mean, variance = numbers[h, :d], numbers[h, d:]
        for j in range(d):
            mean[j], variance[j] = rows.widened(
                mean[j], variance[j], beta, share, added, way, prior_mean, prior_variance
            )
