"""Bayesian linear regression with known noise: the exact Gaussian posterior, full covariance.

y = w'x + noise, noise N(0, noise_sd^2), w ~ N(prior_mean, prior_variance I). With covariance V, a
row gives

    mean <- mean + V x (y - x' mean) / (x' V x + noise_sd^2),
    V <- V - V x x' V / (x' V x + noise_sd^2).

The posterior is Gaussian and does not depend on the order of rows and tasks. Every kind of
broadening keeps it Gaussian (`posteriors/full_gaussian.py`), which makes this the exact learner for
a beam over a regression (li2021vbs, in the version of NeurIPS 2021, has it on its real streams).
Rows update a root of the covariance, without an inverse (`posteriors/normal_inverse_gamma.py`).
Knows: the noise level.

With a `weight` it is the weighted-likelihood filter (WoLF; duranmartin2024wolf, section 3): a row's
likelihood is raised to the power w^2, which falls with the row's error, so that an outlier moves
the posterior by a bounded amount. That is the Kalman update with the noise variance R / w^2. Each
hypothesis weighs a row by its own error, so the order of rows then matters.

State, all [S, H, ...]: mean [P]; root [P, P], lower triangular, with covariance root root'. P is
the number of features or regressors, plus one for a bias, which comes last.
Info: log_evidence [S, H] of the task's rows together, in nats; exact without a weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, get_args

import numpy as np
from annotated_types import Gt
from numba import cfunc, njit

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, LearnerError, Problem, State
from shiftbench.methods.online import full_gaussian_rows, row_values, rows
from shiftbench.methods.online.rows import STEP, CompiledRows, RowLearner, borrowed
from shiftbench.methods.posteriors import normal_inverse_gamma

FACTS = Facts(
    takes={"number": "gaussian", "design": "gaussian"}, offers=("broaden", "log_evidence")
)

Weight = Literal["none", "imq", "md", "tmd"]


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
    weight: Weight = "none"
    """Weight w of a row with the error e of its prediction. imq: w^2 = 1 / (1 + e^2 / c^2). md:
    the same with e in standard deviations of the noise. tmd: rows whose error is c of these or more
    are left out; judged by the noise alone, a wrong prior can leave out all. none: w = 1."""
    threshold: Annotated[float, Gt(0)] = 4.0
    """The c of the weights (the paper's code: 4 or 6 with a noise of 1)."""
    evidence: Literal["score", "bayes"] = "bayes"
    """Log evidence of a weighted row. bayes: of the likelihood to the power w^2, bounded below for
    every target. score: of the prediction whose noise variance is R / w^2. Equal where w = 1."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.weight == "tmd" and settings.evidence == "score":
        yield (
            "weight: tmd leaves rows out, and the score of a row that is left out is -infinity; set"
            " evidence: bayes, by which it is 0"
        )


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the learner of one real target; LearnerError for several, or for other inputs."""
    bias = settings.bias and len(problem.input_shape) == 1
    p = _n_regressors(problem) + bias
    layout = {"mean": (p,), "root": (p, p)}
    compiled = CompiledRows(
        check=partial(_checked_rows, bias=bias),
        features=partial(row_values.regressors, bias=bias),
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step,
        predict=_predict,
        predictive=rows.gaussian,
        outputs=2,
        constants=_constants(settings),
        scratch=max(3 * p + 1, p * p + p),
        broaden=full_gaussian_rows.broaden,
    )

    def init(seeds: np.ndarray) -> State:
        size, sd = (len(seeds), 1), math.sqrt(settings.prior_variance)
        mean = np.full((*size, p), settings.prior_mean, dtype=float)
        return {"mean": mean, "root": np.tile(sd * np.eye(p), (*size, 1, 1))}

    widen = partial(full_gaussian_rows.broadened, "linear-gaussian", compiled)
    return RowLearner.of(init, compiled, broaden=widen)


def _constants(settings: Settings) -> np.ndarray:
    """Return noise sd, prior mean and variance, code and threshold of the weight, is it bayes."""
    code = get_args(Weight).index(settings.weight)
    # Without a weight both evidences are equal; then the one with fewer operations is taken.
    is_bayes = settings.evidence == "bayes" and code > 0
    prior = settings.prior_mean, settings.prior_variance
    return np.array([settings.noise_sd, *prior, code, settings.threshold, is_bayes], float)


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


def _checked_rows(batch: Batch, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return regressors [S, n, P] and targets [S, n, 1]; LearnerError if any is not finite."""
    x, y = row_values.checked("linear-gaussian", batch, 1)
    return row_values.regressors(x, bias), y


@njit(cache=True, error_model="numpy", forceinline=True)
def _power(x, y, mean, constants):
    """Return the power w^2 of the likelihood of a row, from its error; see Settings.weight."""
    noise_sd, _, _, code, threshold, _ = constants
    if code == 0:
        return 1.0
    error = y
    for j in range(len(x)):
        error -= x[j] * mean[j]
    if code > 1:
        error /= noise_sd
    if code == 3:
        return 1.0 if abs(error) < threshold else 0.0
    return 1.0 / (1.0 + (error / threshold) ** 2)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add the target's log evidence."""
    numbers, scratch = borrowed(numbers), borrowed(scratch)
    p, noise_sd, is_bayes = len(x), constants[0], constants[5] > 0
    regressors, target, work = scratch[:p], scratch[p : p + 1], scratch[p + 1 :]
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            mean, root = numbers[h, :p], numbers[h, p:]
            power = _power(x, y[0], mean, constants)
            if power == 0:
                continue
            # In units of the noise, as `learn` has unit variance.
            sd = noise_sd / math.sqrt(power)
            for j in range(p):
                regressors[j] = x[j] / sd
            target[0] = y[0] / sd
            scale = 1.0 if is_bayes else 2 * math.pi * sd**2
            log_det, quadratic = normal_inverse_gamma.learn(
                regressors, target, scale, mean, root, work
            )
            if is_bayes:
                log_det += power * math.log(2 * math.pi * noise_sd**2)
            evidence[h] -= 0.5 * (log_det + quadratic)


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to mean and variance of the target of a row, for each hypothesis."""
    numbers, spread = borrowed(numbers), borrowed(scratch)
    p, noise_sd = len(x), constants[0]
    for h in range(len(numbers)):
        mean, variance = 0.0, noise_sd * noise_sd
        spread[:p] = 0.0
        for i in range(p):
            mean += x[i] * numbers[h, i]
            for k in range(i + 1):
                spread[k] += numbers[h, p + i * p + k] * x[i]
        for k in range(p):
            variance += spread[k] * spread[k]
        out[2 * h], out[2 * h + 1] = mean, variance
