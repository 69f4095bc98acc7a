"""Bayesian linear regression with Student's t errors, as a rival of beta divergences.

y = x' mu + e, with e Student's t of scale sqrt(s2) and known degrees of freedom, and a
normal-inverse-gamma prior on (mu, s2). With a weight v for each row that is

    y = x' mu + (s2 / v)^1/2 noise,  v ~ Gamma(df / 2, rate df / 2).

Source: knoblauch2018robust, 2.1 and 2.3, which says that changepoints hardly change with such
errors. After a row the posterior is replaced by the nearest normal-inverse-gamma, and a forecast by
the nearest single Student's t (`posteriors/student_t_errors.py`). Knows: the prior and the degrees
of freedom. Models and designs: as in `bayes-linear`.

The log evidence is the exact log density of the row under the posterior before it. With beta_rlm >
0 it is the beta-divergence score of the forecast (Eq. 8).

State, all [S, H, ...]: model; count of rows; a, b, mean [p], root [p, p], with Sigma = root root'.
Info: log_evidence [S, H] in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Ge, Interval
from numba import cfunc, njit

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, LearnerError, Problem, State
from shiftbench.methods.online import conjugate_regression, rows
from shiftbench.methods.online.conjugate_regression import Prior
from shiftbench.methods.online.learnable_betas import RobustLearner
from shiftbench.methods.online.rows import STEP, CompiledRows, borrowed
from shiftbench.methods.posteriors import normal_inverse_gamma, student_t, student_t_errors

FACTS = Facts(
    takes={"design": "student-t", "designs": "student-t", "number": "student-t"},
    offers={"log_evidence": True, "betas": {"not beta_rlm": (0.0,)}},
)

MEAN_START = 4
"""Offset of the mean in a packed hypothesis, after model, count, a and b."""


@dataclass(frozen=True)
class Settings(Prior):
    df: Annotated[float, Interval(ge=1, le=100)] = 4.0
    """Degrees of freedom of the errors (paper: outliers in Fig. 1B have 4); beyond 100 errors are
    normal, as in bayes-linear."""
    beta_rlm: Annotated[float, Ge(0)] = 0.0
    """Beta of the evidence; 0 gives the log density."""


def build(settings: Settings, problem: Problem, model: None = None) -> RobustLearner:
    """Build the learner of one target on designs of input_shape (models, 1, p).

    Features of input_shape (p - 1,) work too. Raises LearnerError for other inputs, and for several
    targets, whose rows have no single weight.
    """
    models, d, p = conjugate_regression.design_shape("student-t-linear", problem)
    if d > 1:
        raise LearnerError(
            f"student-t-linear: learns one target a row, but the stream has {d}; choose a series of"
            " single values, or bayes-linear"
        )
    layout, nodes = conjugate_regression.layout(p), student_t_errors.nodes(settings.df)
    compiled = CompiledRows(
        check=partial(conjugate_regression.checked_rows, "student-t-linear", 1),
        features=conjugate_regression.features,
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step,
        predict=_predict,
        predictive=normal_inverse_gamma.student_t,
        outputs=3,
        constants=np.concatenate([[p, settings.beta_rlm], nodes]),
        scratch=3 * p + len(nodes) // 3,
    )

    def observe_at(state: State, batch: Batch, beta_p: np.ndarray) -> State:
        """Observe a batch; the parameters have no beta."""
        return rows.learn(compiled, state, batch)[0]

    return RobustLearner.of(
        partial(conjugate_regression.initial, settings, layout, models),
        compiled,
        beta_p=0.0,
        beta_rlm=settings.beta_rlm,
        observe_at=observe_at,
        scale=conjugate_regression.scale,
        with_scale=conjugate_regression.with_scale,
    )


@njit(cache=True, error_model="numpy")
def _score(x, y, posterior, nodes, beta_rlm, work):
    """Return the beta-divergence score of a row's forecast."""
    mean, a, b = student_t_errors.forecast_row(x, posterior, nodes, work)
    excess = 0.5 * (y - mean) ** 2 / b
    return student_t.score(beta_rlm, 2 * a, np.int64(1), math.log(b / a), excess)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add the row's log evidence."""
    numbers, x, constants, scratch = (
        borrowed(numbers), borrowed(x), borrowed(constants), borrowed(scratch)
    )  # fmt: skip
    p, beta_rlm, nodes = int(constants[0]), constants[1], constants[2:]
    split = MEAN_START + p
    for h in range(len(numbers)):
        if evidence[h] > -np.inf:
            start = int(numbers[h, 0]) * p
            design, mean, root = (
                x[start : start + p],
                numbers[h, MEAN_START:split],
                numbers[h, split:],
            )
            if beta_rlm > 0:
                evidence[h] += _score(design, y[0], numbers[h, 2:], nodes, beta_rlm, scratch)
            log_density = student_t_errors.learn(
                design, y[0], numbers[h, 2:4], mean, root, nodes, scratch
            )
            if beta_rlm == 0:
                evidence[h] += log_density
            numbers[h, 1] += 1


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to mean, scale and degrees of freedom of a row under each hypothesis."""
    numbers, x, constants, scratch = (
        borrowed(numbers), borrowed(x), borrowed(constants), borrowed(scratch)
    )  # fmt: skip
    p, nodes = int(constants[0]), constants[2:]
    for h in range(len(numbers)):
        start = int(numbers[h, 0]) * p
        mean, a, b = student_t_errors.forecast_row(
            x[start : start + p], numbers[h, 2:], nodes, scratch
        )
        out[3 * h], out[3 * h + 1], out[3 * h + 2] = mean, b / a, 2 * a
