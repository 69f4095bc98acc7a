"""Bayesian linear regression with known noise: the exact Gaussian posterior, full covariance.

y = w'x + noise, noise N(0, noise_sd^2), w ~ N(prior_mean, prior_variance I). The posterior is
Gaussian and does not depend on the order of rows and tasks. Every kind of broadening keeps it
Gaussian (`posteriors/full_gaussian.py`), which makes this the exact learner for a beam over a
regression (li2021vbs, in the version of NeurIPS 2021, has it on its real streams). Rows update a
root of the covariance, without an inverse (`posteriors/normal_inverse_gamma.py`). Knows: the noise
level.

State, all [S, H, ...]: mean [P]; root [P, P], lower triangular, with covariance root root'. P is
the number of features or regressors, plus one for a bias, which comes last.
Info: log_evidence [S, H] of the task's rows together, exact, in nats.
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
from shiftbench.core.interface import (
    Batch,
    Broadening,
    Gaussian,
    Info,
    LearnerError,
    Problem,
    State,
)
from shiftbench.methods.online import row_values
from shiftbench.methods.online.rows import (
    STEP,
    CompiledRows,
    RowLearner,
    borrowed,
    learn,
    pack,
    unpack,
)
from shiftbench.methods.posteriors import full_gaussian, normal_inverse_gamma

FACTS = Facts(
    takes={"number": "gaussian", "design": "gaussian"}, offers=("broaden", "log_evidence")
)

LARGEST_ROOT = 1e10
"""Bound of the root's entries, in noise standard deviations; there rounding errors are 1e-6 of what
a row tells."""


@dataclass(frozen=True)
class Settings:
    noise_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of a target around its prediction."""
    prior_mean: float = 0.0
    """Prior mean of every coefficient."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of every coefficient."""
    bias: bool = True
    """Whether features get a constant regressor of 1; a design matrix stays as it is."""


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the learner of one real target; LearnerError for several, or for other inputs."""
    bias = settings.bias and len(problem.input_shape) == 1
    p = _n_regressors(problem) + bias
    layout = {"mean": (p,), "root": (p, p)}
    rows = CompiledRows(
        check=partial(_checked_rows, bias=bias),
        pack=partial(pack, layout),
        unpack=partial(unpack, layout),
        step=_step,
        constants=np.array([settings.noise_sd]),
        scratch=3 * p + 1,
    )

    def init(seeds: np.ndarray) -> State:
        size, sd = (len(seeds), 1), math.sqrt(settings.prior_variance)
        mean = np.full((*size, p), settings.prior_mean, dtype=float)
        return {"mean": mean, "root": np.tile(sd * np.eye(p), (*size, 1, 1))}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        x, (s, h) = _regressors(inputs, bias), state["mean"].shape[:2]
        mean = np.einsum("snp,shp->shn", x, state["mean"])
        variance = ((x[:, None] @ state["root"]) ** 2).sum(axis=3) + settings.noise_sd**2
        return Gaussian(np.full((s, h), -math.log(h)), mean[..., None], variance[..., None])

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        posterior, evidence = learn(rows, state, batch)
        return posterior, {"log_evidence": evidence}

    def broaden(state: State, broadening: Broadening) -> State:
        prior = settings.prior_mean, settings.prior_variance
        mean, root = full_gaussian.broaden(state["mean"], state["root"], broadening, *prior)
        if not np.abs(root).max() < LARGEST_ROOT * settings.noise_sd:
            raise LearnerError(
                "linear-gaussian: broadening again and again has wound up the variance of what no"
                " row shows, and rounding would hide what rows do; set broadening to temper-prior"
                " or geometric, which end at the prior"
            )
        return {"mean": mean, "root": root}

    return RowLearner(init, predict, observe, broaden=broaden, rows=rows)


def _n_regressors(problem: Problem) -> int:
    """Return the number of regressors without a bias; LearnerError for other streams."""
    shape, outputs = problem.input_shape, problem.n_outputs
    design = len(shape) == 3 and shape[0] == 1
    if problem.kind != "regression" or not (design or len(shape) == 1) or outputs != 1:
        raise LearnerError(
            "linear-gaussian: needs one real target a row, with its features or its one design"
            f" matrix; here a row has {outputs} targets or classes and inputs of shape {shape}."
            " For several targets take bayes-linear, or a stream of one series"
        )
    return math.prod(shape)


def _regressors(inputs: np.ndarray, bias: bool) -> np.ndarray:
    """Flatten features or designs into regressors [S, n, P], with the bias last."""
    flat = np.asarray(inputs, float).reshape(*inputs.shape[:2], -1)
    ones = np.ones((*flat.shape[:2], 1))
    return np.concatenate([flat, ones], axis=2) if bias else flat


def _checked_rows(batch: Batch, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return regressors [S, n, P] and targets [S, n, 1]; LearnerError if any is not finite."""
    x, y = row_values.checked("linear-gaussian", batch, 1)
    return np.require(_regressors(x, bias), float, ["C", "W"]), y


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add the target's log density."""
    numbers, scratch = borrowed(numbers), borrowed(scratch)
    p, noise_sd = len(x), constants[0]
    # In units of the noise, as `learn` has unit variance.
    regressors, target, work = scratch[:p], scratch[p : p + 1], scratch[p + 1 :]
    for j in range(p):
        regressors[j] = x[j] / noise_sd
    target[0] = y[0] / noise_sd
    scale = 2 * math.pi * noise_sd**2
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            mean, root = numbers[h, :p], numbers[h, p:]
            log_det, quadratic = normal_inverse_gamma.learn(
                regressors, target, scale, mean, root, work
            )
            evidence[h] -= 0.5 * (log_det + quadratic)
