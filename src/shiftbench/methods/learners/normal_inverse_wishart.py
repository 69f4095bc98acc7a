"""Mean and covariance of vectors, both unknown: the conjugate posterior, exact.

Rows y in R^d are independent N(mu, C), with a normal-inverse-Wishart prior. A row gives

    Psi <- Psi + kappa / (kappa + 1) (y - mean) (y - mean)',
    mean <- (kappa mean + y) / (kappa + 1),  kappa <- kappa + 1,  nu <- nu + 1.

So it learns correlations, which `bayes-linear` does not: there, all targets share one noise
variance. Source: A. Gelman et al., Bayesian Data Analysis, third edition, section 3.6; K. P.
Murphy, 2007, Conjugate Bayesian analysis of the Gaussian distribution, section 9. Knows: the prior.

The posterior can be broadened: its powers and their products with the prior stay in the family,
and `ou` moves mu alone, in units of C. `diffuse` is refused, because its variance does not scale
with C. Inputs are not used.

State, all [S, H, ...]: kappa, nu, mean [d] and root [d, d], the lower factor of Psi.
Info: log_evidence [S, H], exact, in nats.
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
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem, State
from shiftbench.methods.online import row_values, rows
from shiftbench.methods.online.rows import STEP, CompiledRows, RowLearner, borrowed
from shiftbench.methods.posteriors import normal_inverse_gamma, normal_inverse_wishart, student_t
from shiftbench.methods.posteriors.mean_field_gaussian import DIFFUSE, OU

FACTS = Facts(
    takes=dict.fromkeys(("value", "number", "design", "designs"), "student-t"),
    offers=("broaden", "log_evidence"),
    refuses=("diffusion",),
)
OWN = 2
"""Offset of the mean in a packed hypothesis, after kappa and nu."""


@dataclass(frozen=True)
class Settings:
    prior_mean: float = 0.0
    """Prior mean of every value."""
    mean_rows: Annotated[float, Gt(0)] = 1.0
    """Number of rows that the prior mean is worth, kappa_0."""
    prior_df: Annotated[float, Gt(0)] = 4.0
    """Degrees of freedom of the prediction before any row, nu_0 - d + 1; few: a vague prior."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior guess v of the variance of every value: Psi_0 = prior_df v I."""


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the learner of vectors of d = problem.n_outputs real values."""
    d = problem.n_outputs
    layout: dict[str, tuple[int, ...]] = {"kappa": (), "nu": (), "mean": (d,), "root": (d, d)}
    psi = settings.prior_df * settings.prior_variance
    prior = [settings.mean_rows, settings.prior_df + d - 1, settings.prior_mean, psi]
    compiled = CompiledRows(
        check=partial(_checked_rows, d=d),
        features=row_values.no_features,
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step,
        predict=_predict,
        predictive=normal_inverse_gamma.student_t,
        outputs=d + d * d + 1,
        constants=np.array([d, *prior], float),
        scratch=d,
        broaden=_broaden,
    )

    def init(seeds: np.ndarray) -> State:
        size = (len(seeds), 1)
        return {
            "kappa": np.full(size, prior[0]),
            "nu": np.full(size, prior[1]),
            "mean": np.full((*size, d), prior[2]),
            "root": np.tile(math.sqrt(psi) * np.eye(d), (*size, 1, 1)),
        }

    return RowLearner.of(init, compiled, broaden=partial(_broadened, compiled))


def _broadened(compiled: CompiledRows, state: State, broadening: Broadening) -> State:
    """Broaden all hypotheses; LearnerError where that leaves the family."""
    if broadening.kind == "diffuse":
        raise LearnerError(
            "a normal-inverse-Wishart posterior cannot be widened by `diffuse`, after which the"
            " covariance of its mean is not a multiple of that of the noise; set broadening to"
            " geometric, ou, temper or temper-prior"
        )
    after, refused = rows.broaden(compiled, state, broadening)
    if refused.any():
        d, beta = state["mean"].shape[-1], broadening.beta
        needed = (2 * d + 1) / beta - d - 2
        raise LearnerError(
            f"a normal-inverse-Wishart posterior of nu = {state['nu'].min():g} has no power"
            f" {beta:g} that can be normalised, which needs nu > {needed:g}; set broadening to"
            " geometric or temper-prior, or raise beta, prior_df, or the rows of a task"
        )
    return after


def _checked_rows(batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return no features [S, n, 0] and targets [S, n, d], all finite where they are seen."""
    batch = batch._replace(inputs=row_values.no_features(batch.inputs))
    return row_values.checked("normal-inverse-wishart", batch, d)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add the row's log evidence."""
    numbers, y, scratch = borrowed(numbers), borrowed(y), borrowed(scratch)
    d = int(constants[0])
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            scales, mean = numbers[h, :OWN], numbers[h, OWN : OWN + d]
            df = scales[1] - d + 1
            log_det, excess = normal_inverse_wishart.learn(
                scales, mean, numbers[h, OWN + d :], y, scratch
            )
            evidence[h] += student_t.log_density(df, d, log_det, excess)


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to the prediction of a row under each hypothesis."""
    d = int(constants[0])
    size = d + d * d + 1
    for h in range(len(numbers)):
        normal_inverse_wishart.predict(
            numbers[h, :OWN],
            numbers[h, OWN : OWN + d],
            numbers[h, OWN + d :],
            out[h * size : (h + 1) * size],
        )


@cfunc(STEP, cache=True, error_model="numpy")
def _broaden(numbers, widening, nothing, constants, scratch, refused):
    """Widen the hypotheses, in place; refused is 1 where one has no such power."""
    d = int(constants[0])
    beta, share, _, way = widening
    for h in range(len(numbers)):
        mean, root = numbers[h, OWN : OWN + d], numbers[h, OWN + d :]
        if way == OU:
            normal_inverse_wishart.relax(numbers[h, :OWN], mean, beta, constants[1:])
            continue
        proper = normal_inverse_wishart.powers(
            numbers[h, :OWN], mean, root, beta, share, constants[1:], scratch
        )
        refused[h] = way == DIFFUSE or not proper
