"""Bayesian linear regression, standard or robust by beta-divergences.

y = X mu + noise in R^d, noise N(0, s2 I), with a normal-inverse-gamma prior. Several models
(designs X_m) make a set: the state starts with one hypothesis a model, so that `run_length`
weighs them as well. Rows of features are one model, with an intercept as the last regressor.
Source: knoblauch2018robust, sections 3 and 4.

beta_p > 0: the parameters have the beta-divergence posterior, approximated by the best normal-
inverse-gamma (`methods/posteriors/beta_posterior.py`), fitted anew after every row on the last
`window`
rows, or followed by the paper's SVRG (`methods/posteriors/svrg.py`); the conjugate posterior of all
rows is
kept beside it, another place to start from. beta_rlm > 0: the evidence is the beta-divergence score
of the prediction (Eq. 8), which is what makes the run lengths robust; 0 is the log density.

The conjugate posterior can be broadened: powers of it, and products with the prior, stay in the
family (`normal_inverse_gamma.broaden`). Not by `diffuse`, whose variance does not scale with s2;
and not a beta-divergence posterior, which is made anew from rows and prior after every row.

State, all [S, H, ...]: model; count of rows; a, b, mean [p], root [p, p] of the conjugate
posterior, L with Sigma = L L'; with beta_p also fit [2 + p + p p] (a, b, m, L),
window_x [window, d, p], window_y [window, d]; with svrg also svrg [3 (2 + p + p p) + 3]. Info:
log_evidence [S, H].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt
from numba import cfunc, njit

from shiftbench.core import seeds as seeding
from shiftbench.core.interface import (
    Batch,
    Broadening,
    Info,
    LearnerError,
    Problem,
    State,
    StudentT,
)
from shiftbench.methods.online import row_values
from shiftbench.methods.online.learnable_betas import RobustLearner
from shiftbench.methods.online.rows import STEP, CompiledRows, learn, pack, unpack
from shiftbench.methods.posteriors import beta_posterior, normal_inverse_gamma, student_t, svrg

NEEDS: tuple[str, ...] = ()
MODEL = False
TAKES = {"design": "student-t", "designs": "student-t", "number": "student-t"}
REFUSES = ("diffusion",)
OFFERS = {
    "broaden": {"beta_p": (0.0,)},
    "log_evidence": True,
    "betas": {"not beta_rlm": (0.0,)},
    "density": {"beta_p": (0.0,), "beta_rlm": (0.0,)},
}

FIELDS = 4
"""Numbers before the mean: model, count, a, b."""
RESTARTS = 50
"""Rows of a segment up to which a fit may start from the conjugate posterior."""
BETA_P = 3
"""Where beta_p lies among the constants."""


@dataclass(frozen=True)
class Settings:
    a0: Annotated[float, Gt(0)] = 1.0
    """Shape of the prior of s2; 1 on the well-log, 3 on Fig. 1B, 1 on the air pollution."""
    b0: Annotated[float, Gt(0)] = 1.0
    """Scale of the prior of s2; 1e7 (robust) and 1e4 (standard) on the raw well-log, 5, 20."""
    prior_mean: float = 0.0
    """Mean of the prior of every coefficient."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of a coefficient in units of s2; .25 on the well-log, 100, 20."""
    beta_p: Annotated[float, Ge(0)] = 0.0
    """beta of the parameters; 0 is the standard posterior. .05 on the well-log, .2, .005."""
    beta_rlm: Annotated[float, Ge(0)] = 0.0
    """beta of the evidence; 0 is the log density. The script for the well-log has 1e-4, which
    is not robust with correct formulas; .15, .1."""
    window: Annotated[int, Ge(1)] = 360
    """Rows that a beta posterior is fitted on; 360 on the well-log, 200, 300."""
    tolerance: Annotated[float, Gt(0)] = 0.001
    """Where a fit ends: no entry of the gradient larger, in units of the posterior's widths."""
    optimiser: Literal["full", "svrg"] = "full"
    """How the beta posterior follows the rows: a full fit after each, or the paper's SVRG."""


def build(settings: Settings, problem: Problem, model: None = None) -> RobustLearner:
    """The learner of problem.n_outputs targets on designs of input_shape (models, d, p).

    Of one target on features of input_shape (p - 1,), too. LearnerError for other inputs.
    """
    models, d, p = _shape(problem)
    window = settings.window if settings.beta_p else 0
    layout = _layout(d, p, window, settings)
    sizes = [d, p, window, settings.beta_p, settings.beta_rlm, settings.tolerance]
    rows = CompiledRows(
        check=partial(_checked, d=d),
        pack=partial(pack, layout),
        unpack=partial(unpack, layout),
        step=_step,
        constants=np.concatenate([sizes, _prior(settings, p)]),
        scratch=3 * p + p * p,
    )

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        learnt, evidence = learn(rows, state, batch)
        return learnt, {"log_evidence": evidence}

    def observe_at(state: State, batch: Batch, beta_p: np.ndarray) -> State:
        constants = np.tile(rows.constants, (len(beta_p), 1))
        constants[:, BETA_P] = beta_p
        return learn(rows, state, batch, constants)[0]

    return RobustLearner(
        partial(_initial, settings, layout, models),
        _predict,
        observe,
        broaden=None if settings.beta_p else partial(_broadened, settings),
        rows=rows,
        beta_p=settings.beta_p,
        beta_rlm=settings.beta_rlm,
        observe_at=observe_at,
        scale=lambda state: (state["a"], state["b"]),
        with_scale=_with_scale,
    )


def _initial(
    settings: Settings, layout: Mapping[str, tuple[int, ...]], models: int, seeds: np.ndarray
) -> State:
    """The prior [S, models, ...], before any row."""
    size, (p,) = (len(seeds), models), layout["mean"]
    root = math.sqrt(settings.prior_variance) * np.eye(p)
    state = {name: np.zeros((*size, *shape)) for name, shape in layout.items()} | {
        "model": np.tile(np.arange(models, dtype=float), (len(seeds), 1)),
        "a": np.full(size, settings.a0),
        "b": np.full(size, settings.b0),
        "mean": np.full((*size, p), settings.prior_mean),
        "root": np.tile(root, (*size, 1, 1)),
    }
    if "fit" in layout:
        fit = np.concatenate([_prior(settings, p)[: 2 + p], root.ravel()])
        state["fit"] = np.tile(fit, (*size, 1))
    if "svrg" in layout:
        state["svrg"][..., -2] = seeding.fold_each(seeds, "svrg")[:, :1].view(np.uint32)
    return state


def _predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> StudentT:
    x = _designs(state["model"].astype(int), _with_intercept(inputs))
    return normal_inverse_gamma.prediction(x, *_posterior(state))


def _broadened(settings: Settings, state: State, broadening: Broadening) -> State:
    named = ("a", "b", "mean", "root")
    prior = settings.a0, settings.b0, settings.prior_mean, settings.prior_variance
    wide = normal_inverse_gamma.broaden(*(state[name] for name in named), broadening, prior)
    return state | dict(zip(named, wide, strict=True))


def _with_scale(state: State, a: np.ndarray, b: np.ndarray) -> State:
    return state | {k: np.broadcast_to(v, state[k].shape).copy() for k, v in (("a", a), ("b", b))}


def _checked(batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Designs [S, n, M d p] and targets [S, n, d], as compiled code takes them."""
    whole = batch._replace(inputs=_with_intercept(batch.inputs))
    return row_values.checked("bayes-linear", whole, d)


def _with_intercept(inputs: np.ndarray) -> np.ndarray:
    """Features [S, n, p - 1] as designs [S, n, 1, 1, p]; designs [S, n, M, d, p] as they are."""
    if inputs.ndim != 3:
        return inputs
    one = np.ones((*inputs.shape[:2], 1))
    return np.concatenate([inputs, one], axis=2)[:, :, None, None]


def _shape(problem: Problem) -> tuple[int, int, int]:
    """Numbers of models, targets and regressors; LearnerError for what makes none."""
    shape = problem.input_shape
    if problem.kind == "regression" and len(shape) == problem.n_outputs == 1:
        return 1, 1, shape[0] + 1
    if problem.kind != "regression" or len(shape) != 3 or shape[1] != problem.n_outputs:
        raise LearnerError(
            "bayes-linear: needs real targets and a design of shape (models, targets, regressors)"
            " for each row, as the stream family series has, or one real target and features; the"
            f" inputs here are {shape}"
        )
    return shape  # type: ignore[return-value]


def _prior(settings: Settings, p: int) -> np.ndarray:
    """a0, b0, m0, Sigma0^-1, log |Sigma0| in one array, as `beta_posterior.elbo` takes it."""
    precision = np.eye(p) / settings.prior_variance
    return np.concatenate(
        [
            [settings.a0, settings.b0],
            np.full(p, settings.prior_mean),
            precision.ravel(),
            [p * math.log(settings.prior_variance)],
        ]
    )


def _layout(d: int, p: int, window: int, settings: Settings) -> dict[str, tuple[int, ...]]:
    """Shapes of the state's arrays, without seed and hypothesis, in the order of their packing."""
    layout: dict[str, tuple[int, ...]] = {"model": (), "count": (), "a": (), "b": ()}
    layout |= {"mean": (p,), "root": (p, p)}
    if settings.beta_p:
        layout |= {"fit": (2 + p + p * p,), "window_x": (window, d, p), "window_y": (window, d)}
        if settings.optimiser == "svrg":
            layout["svrg"] = (svrg.size(p),)
    return layout


def _posterior(state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """a, b [S, H], mean [S, H, p] and root [S, H, p, p] that predictions are made with."""
    if "fit" not in state:
        return state["a"], state["b"], state["mean"], state["root"]
    fit, p = state["fit"], state["mean"].shape[-1]
    root = fit[..., 2 + p :].reshape(*fit.shape[:2], p, p)
    return fit[..., 0], fit[..., 1], fit[..., 2 : 2 + p], root


def _designs(model: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Design of each hypothesis' model [S, H, n, d, p]; inputs [S, n, M, d, p]."""
    return inputs[np.arange(len(model))[:, None], :, model]


@njit(cache=True, error_model="numpy")
def _refit(numbers, design, y, constants, d, p, window, beta):
    """Puts the row into the window and fits the beta posterior on it.

    From the fit before or, with few rows, from the conjugate posterior if that has the larger
    ELBO: at first the fit before, or the prior, may be a poor local optimum.
    """
    at = FIELDS + p + p * p
    fit = numbers[at : at + 2 + p + p * p]
    at += 2 + p + p * p
    window_x = numbers[at : at + window * d * p].reshape(window, d, p)
    end = at + window * d * (p + 1)
    window_y = numbers[at + window * d * p : end].reshape(window, d)
    own = numbers[end:]
    place = int(numbers[1] - 1) % window
    window_x[place], window_y[place] = design, y
    rows = min(int(numbers[1]), window)
    prior, tolerance = constants[6:], constants[5]
    x, targets = window_x[:rows], window_y[:rows]
    if len(own) and not svrg.wants_optimum(own, rows, window):
        svrg.step(own, fit, prior, beta, x, targets, window)
        return
    if numbers[1] <= RESTARTS:
        conjugate, gradient = numbers[2 : 4 + p + p * p], np.empty(len(fit))
        work = np.empty(beta_posterior.work_size(d, p))
        before = beta_posterior.elbo(fit, prior, beta, x, targets, gradient, work)
        other = beta_posterior.elbo(conjugate, prior, beta, x, targets, gradient, work)
        if other > before:
            fit[:] = conjugate
    beta_posterior.fit(fit, prior, beta, x, targets, tolerance, np.int64(200))
    if len(own):
        svrg.step(own, fit, prior, beta, x, targets, window)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch):
    """Evidence of a row, then the conjugate update and, with beta_p, the fit."""
    d, p = int(constants[0]), int(constants[1])
    window, beta_p, beta_rlm = int(constants[2]), constants[3], constants[4]
    at = int(numbers[0]) * d * p
    design, end = x[at : at + d * p].reshape(d, p), FIELDS + p + p * p
    work, a, b = scratch[: 2 * p], numbers[2], numbers[3]
    log_det, quadratic = normal_inverse_gamma.learn(
        design, y, numbers[FIELDS : FIELDS + p], numbers[FIELDS + p : end].reshape(p, p), work
    )
    numbers[1] += 1
    numbers[2] += 0.5 * d
    numbers[3] += 0.5 * quadratic
    if beta_p > 0:
        fit, before = numbers[end : end + 2 + p + p * p], scratch[2 * p :]
        before[:] = fit[2:]
        log_det, quadratic = normal_inverse_gamma.learn(
            design, y, before[:p], before[p:].reshape(p, p), work
        )
        a, b = fit[0], fit[1]
        _refit(numbers, design, y, constants, d, p, window, beta_p)
    log_det += d * math.log(b / a)
    return student_t.score(beta_rlm, 2 * a, d, log_det, quadratic * a / b)
