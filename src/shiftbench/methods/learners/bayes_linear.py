"""Bayesian linear regression with unknown noise, standard or robust by beta divergences.

y = X mu + noise in R^d, noise N(0, s2 I), with a normal-inverse-gamma prior on (mu, s2):

    log posterior = log prior + sum over rows of log f(y) + constant,

with f the density of a row, or for beta_p > 0 with f(y)^beta / beta - int f^(1 + beta) / (1 + beta)
in place of log f(y). Source: knoblauch2018robust, sections 3 and 4. Knows: the prior and, where
robust, both betas.

A set of models (designs X_m) is learnt side by side: the state starts with one hypothesis for each
model, so that `run_length` weighs the models too. Plain features are a single model, with an
intercept as the last regressor.

With beta_p > 0 the parameters have the beta-divergence posterior. It is approximated by the best
normal-inverse-gamma (`posteriors/beta_posterior.py`), refitted after every row to the last `window`
rows, or tracked by the paper's SVRG or plain stochastic gradients (`posteriors/svrg.py`). The
conjugate posterior of all rows is kept as a second starting point. With beta_rlm > 0 the log
evidence is the beta-divergence score of the prediction (Eq. 8), which makes run lengths robust;
with 0 it is the log density.

The conjugate posterior can be broadened: its powers and their products with the prior stay in the
family (`normal_inverse_gamma.broaden`), and `ou` moves the coefficients alone. `diffuse` is
refused, because its variance does not scale with s2, and so is any broadening of a beta-divergence
posterior, which is recomputed from rows and prior after every row.

State, all [S, H, ...]: model; count of rows; a, b, mean [p], root [p, p] of the conjugate
posterior, with Sigma = root root'. With beta_p also fit [2 + p + p p] (a, b, mean, root), window_x
[window, d, p], window_y [window, d]; with SVRG also svrg [3 (2 + p + p p) + 3], with plain
stochastic gradients sgd [1].
Info: log_evidence [S, H] in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt
from numba import cfunc, njit

from shiftbench.core import seeds as seeding
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Broadening, Problem, State
from shiftbench.methods.online import conjugate_regression, rows
from shiftbench.methods.online.conjugate_regression import Prior
from shiftbench.methods.online.learnable_betas import RobustLearner
from shiftbench.methods.online.rows import STEP, CompiledRows, borrowed
from shiftbench.methods.posteriors import (
    beta_posterior,
    full_gaussian,
    normal_inverse_gamma,
    student_t,
    svrg,
)
from shiftbench.methods.posteriors.mean_field_gaussian import DIFFUSE, OU

FACTS = Facts(
    takes={"design": "student-t", "designs": "student-t", "number": "student-t"},
    offers={
        "broaden": {"beta_p": (0.0,)},
        "log_evidence": True,
        "betas": {"not beta_rlm": (0.0,)},
        "density": {"beta_p": (0.0,), "beta_rlm": (0.0,)},
    },
    refuses=("diffusion",),
)

MEAN_START = 4
"""Offset of the mean in a packed hypothesis, after model, count, a and b."""
RESTARTS = 50
"""Largest number of rows at which a fit may start from the conjugate posterior."""
BETA_P = 3
"""Index of beta_p in the constants."""


@dataclass(frozen=True)
class Settings(Prior):
    beta_p: Annotated[float, Ge(0)] = 0.0
    """Beta of the parameters; 0 gives the standard posterior (paper: 0.05 on the well-log, 0.2 in
    Fig. 1B, 0.005 on air pollution)."""
    beta_rlm: Annotated[float, Ge(0)] = 0.0
    """Beta of the evidence; 0 gives the log density (paper: 0.15 in Fig. 1B, 0.1 on air pollution;
    the authors' script for the well-log has 1e-4, which is not robust with correct formulas)."""
    window: Annotated[int, Ge(1)] = 360
    """Number of latest rows that a beta posterior is fitted to (paper: 360 on the well-log, 200 in
    Fig. 1B, 300 on air pollution)."""
    tolerance: Annotated[float, Gt(0)] = 0.001
    """Largest gradient entry at which a fit ends, in units of the posterior's widths."""
    optimiser: Literal["full", "svrg", "sgd"] = "full"
    """Update of the beta posterior after a row: a full fit, the paper's SVRG steps, or plain
    stochastic gradients."""


def build(settings: Settings, problem: Problem, model: None = None) -> RobustLearner:
    """Build the learner of d targets on designs of input_shape (models, d, p).

    One target on features of input_shape (p - 1,) works too. Raises LearnerError for other inputs.
    """
    models, d, p = conjugate_regression.design_shape("bayes-linear", problem)
    window = settings.window if settings.beta_p else 0
    layout = _layout(d, p, window, settings)
    sizes = [d, p, window, settings.beta_p, settings.beta_rlm, settings.tolerance]
    compiled = CompiledRows(
        check=partial(conjugate_regression.checked_rows, "bayes-linear", d),
        features=conjugate_regression.features,
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step,
        predict=_predict,
        predictive=normal_inverse_gamma.student_t,
        outputs=d + d * d + 1,
        constants=np.concatenate([sizes, _prior(settings, p)]),
        scratch=max(3 * p + p * p, d * p),
        broaden=None if settings.beta_p else _broaden,
    )

    def observe_at(state: State, batch: Batch, beta_p: np.ndarray) -> State:
        """Observe a batch under another beta_p [S] than that of the settings."""
        constants = np.tile(compiled.constants, (len(beta_p), 1))
        constants[:, BETA_P] = beta_p
        return rows.learn(compiled, state, batch, constants)[0]

    learner = RobustLearner.of(
        partial(_initial, settings, layout, models),
        compiled,
        broaden=None if settings.beta_p else partial(_broadened, settings),
        beta_p=settings.beta_p,
        beta_rlm=settings.beta_rlm,
        observe_at=observe_at,
        scale=conjugate_regression.scale,
        with_scale=conjugate_regression.with_scale,
    )
    # Stochastic gradients draw from seeds of the task in which a segment starts.
    return replace(learner, block=None) if settings.optimiser in layout else learner


def _initial(
    settings: Settings, layout: conjugate_regression.Layout, models: int, seeds: np.ndarray
) -> State:
    """Return the state [S, models, ...] before any row: the prior of every model."""
    state = conjugate_regression.initial(settings, layout, models, seeds)
    if "fit" in layout:
        (p,) = layout["mean"]
        fit = np.concatenate([_prior(settings, p)[: 2 + p], state["root"][0, 0].ravel()])
        state["fit"] = np.tile(fit, (len(seeds), models, 1))
    for optimiser, place in (("svrg", -2), ("sgd", 0)):
        if optimiser in layout:
            random = seeding.fold_each(seeds, optimiser)[:, :1].view(np.uint32)
            state[optimiser][..., place] = random
    return state


def _broadened(settings: Settings, state: State, broadening: Broadening) -> State:
    """Broaden the conjugate posterior of every hypothesis."""
    parameters = ("a", "b", "mean", "root")
    prior = settings.a0, settings.b0, settings.prior_mean, settings.prior_variance
    a, b, mean, root = (state[name] for name in parameters)
    broad = normal_inverse_gamma.broaden(a, b, mean, root, broadening, prior)
    return state | dict(zip(parameters, broad, strict=True))


def _prior(settings: Settings, p: int) -> np.ndarray:
    """Return a0, b0, m0, Sigma0^-1, log |Sigma0| as the one array `beta_posterior.elbo` takes."""
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
    """Return the shapes of the state's arrays, without seed and hypothesis, in packing order."""
    layout = conjugate_regression.layout(p)
    if settings.beta_p:
        layout |= {"fit": (2 + p + p * p,), "window_x": (window, d, p), "window_y": (window, d)}
        if settings.optimiser == "svrg":
            layout["svrg"] = (svrg.size(p),)
        elif settings.optimiser == "sgd":
            layout["sgd"] = (1,)
    return layout


@njit(cache=True, error_model="numpy")
def _refit(numbers, design, y, constants, d, p):
    """Write the row into the window and update the beta posterior, in place.

    A fit starts from the previous fit or, while there are few rows, from the conjugate posterior if
    that has the larger ELBO: the first fits can be poor local optima.
    """
    window, beta = int(constants[2]), constants[BETA_P]
    start = MEAN_START + p + p * p
    fit = numbers[start : start + 2 + p + p * p]
    start += 2 + p + p * p
    window_x = numbers[start : start + window * d * p].reshape(window, d, p)
    end = start + window * d * (p + 1)
    window_y = numbers[start + window * d * p : end].reshape(window, d)
    own = numbers[end:]
    slot = int(numbers[1] - 1) % window
    window_x[slot], window_y[slot] = design.reshape(d, p), y
    rows = min(int(numbers[1]), window)
    prior, tolerance = constants[6:], constants[5]
    x, targets = window_x[:rows], window_y[:rows]
    if len(own) == 1:
        svrg.plain_step(own, fit, prior, beta, x, targets)
        return
    if len(own) and not svrg.wants_optimum(own, rows, window):
        svrg.step(own, fit, prior, beta, x, targets, window)
        return
    if numbers[1] <= RESTARTS:
        conjugate, gradient = numbers[2 : 4 + p + p * p], np.empty(len(fit))
        work = np.empty(beta_posterior.work_size(d, p))
        elbo_of_fit = beta_posterior.elbo(fit, prior, beta, x, targets, gradient, work)
        elbo = beta_posterior.elbo(conjugate, prior, beta, x, targets, gradient, work)
        if elbo > elbo_of_fit:
            fit[:] = conjugate
    beta_posterior.fit(fit, prior, beta, x, targets, tolerance, np.int64(200))
    if len(own):
        svrg.step(own, fit, prior, beta, x, targets, window)


@njit(cache=True, error_model="numpy")
def _learn_fit(numbers, design, y, constants, d, p, scratch):
    """Update the beta posterior with a row; return the row's log evidence by the fit before it."""
    end = MEAN_START + p + p * p
    fit, copy = numbers[end : end + 2 + p + p * p], scratch[2 * p : 3 * p + p * p]
    a, b, copy[:] = fit[0], fit[1], fit[2:]
    log_det, quadratic = normal_inverse_gamma.learn(
        design, y, b / a, copy[:p], copy[p:], scratch[: 2 * p]
    )
    _refit(numbers, design, y, constants, d, p)
    return student_t.score(constants[4], 2 * a, d, log_det, 0.5 * quadratic / b)


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add the row's log evidence."""
    numbers, x, y, scratch = borrowed(numbers), borrowed(x), borrowed(y), borrowed(scratch)
    d, p = int(constants[0]), int(constants[1])
    beta_p, beta_rlm = constants[BETA_P], constants[4]
    split, end = MEAN_START + p, MEAN_START + p + p * p
    for h in range(len(numbers)):
        if evidence[h] > -np.inf:
            start, a, b = int(numbers[h, 0]) * d * p, numbers[h, 2], numbers[h, 3]
            design = x[start : start + d * p]
            if d * p == 1:
                mean, root = numbers[h, MEAN_START], numbers[h, split]
                mean, root, log_det, quadratic = normal_inverse_gamma.learn_scalar(
                    x[start], y[0], b / a, mean, root
                )
                numbers[h, MEAN_START], numbers[h, split] = mean, root
            else:
                means, roots = numbers[h, MEAN_START:split], numbers[h, split:end]
                log_det, quadratic = normal_inverse_gamma.learn(
                    design, y, b / a, means, roots, scratch[: 2 * p]
                )
            numbers[h, 1] += 1
            numbers[h, 2] += 0.5 * d
            numbers[h, 3] += 0.5 * quadratic
            if beta_p > 0:
                evidence[h] += _learn_fit(numbers[h], design, y, constants, d, p, scratch)
            else:
                evidence[h] += student_t.score(beta_rlm, 2 * a, d, log_det, 0.5 * quadratic / b)


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to the prediction of a row under each hypothesis and its design."""
    numbers, x, scratch, out = borrowed(numbers), borrowed(x), borrowed(scratch), borrowed(out)
    d, p = int(constants[0]), int(constants[1])
    start = MEAN_START + p + p * p if constants[BETA_P] > 0 else 2
    size = d + d * d + 1
    for h in range(len(numbers)):
        design, posterior = int(numbers[h, 0]) * d * p, numbers[h, start : start + 2 + p + p * p]
        normal_inverse_gamma.predict(
            x[design : design + d * p],
            posterior[0],
            posterior[1],
            posterior[2 : 2 + p],
            posterior[2 + p :],
            out[h * size : (h + 1) * size],
            scratch,
        )


@cfunc(STEP, cache=True, error_model="numpy")
def _broaden(numbers, widening, nothing, constants, scratch, refused):
    """Widen the conjugate posteriors, in place; refused is 1 where one has no such power."""
    p = int(constants[1])
    beta, share, _, way = widening
    prior = np.array([constants[6], constants[7], constants[8], 1 / constants[8 + p]])
    for h in range(len(numbers)):
        mean = numbers[h, MEAN_START : MEAN_START + p]
        root = numbers[h, MEAN_START + p : MEAN_START + p + p * p].reshape(p, p)
        if way == OU:
            full_gaussian.relax(mean, root, beta, prior[2], prior[3], scratch)
            continue
        normal_inverse_gamma.powers(numbers[h, 2:4], mean, root, beta, share, prior, scratch)
        refused[h] = way == DIFFUSE or not numbers[h, 2] > 0
