"""A quadratic penalty with a precision for each parameter: the learner `map`, curvature `diagonal`.

The module of `map` has the formulas and the sources. Here a task is learnt: a fit by Adam, the
importance of its parameters, and Laplace's approximation of its evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shiftbench.core.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.networks import distillation, dropout, last_layer_laplace, sampling, swag
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.fisher import mean_fisher
from shiftbench.methods.networks.map_settings import MapSettings
from shiftbench.methods.networks.model import Model, glorot
from shiftbench.methods.networks.optimisers import no_steps
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import (
    Adam,
    Descent,
    Gradient,
    Minibatch,
    Penalty,
    adam_steps,
    epochs,
)
from shiftbench.methods.posteriors import mean_field_gaussian

STEPS, IMPORTANCE = range(2)
"""Purposes that a task's seeds are folded with."""


def build(
    settings: MapSettings,
    problem: Problem,
    model: Model,
    predict: Callable[[State, np.ndarray, np.ndarray], Predictive],
) -> Learner:
    """Build the learner; TensorFlow traces one graph for each size of task."""
    penalised = np.ones(model.size, dtype=np.float32)
    if settings.biases == "free":
        penalised[model.is_bias()] = 0.0
    # A precision in units of rows is the posterior precision divided by n_train.
    unit = 1 if settings.units == "task" else problem.n_train
    prior_variance = settings.prior_sd**2 if settings.prior == "normal" else np.inf
    fit = graph(partial(_fit, settings, model, penalised))

    def init(seeds: np.ndarray) -> State:
        precision = penalised / (prior_variance * unit)
        return _first_state(settings, problem, model, len(seeds), precision)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        # A mean of all zeros is untrained, and a saddle point that a network cannot leave.
        learnt, fresh = state["mean"].any(axis=-1, keepdims=True), glorot(model, seeds)
        start = np.where(learnt & (settings.start == "prior"), state["mean"], fresh)
        if settings.anchor == "initial":
            state = state | {"anchor": np.where(learnt, state["anchor"], fresh)}
        posterior, info = fit(state, start, batch, seeds)
        info = {name: a.numpy() for name, a in info.items()}
        info["steps"] = np.full(info["log_likelihood"].shape, info["steps"])
        after = {name: a.numpy() for name, a in posterior.items()}
        if settings.distil:
            after["taught"] = distillation.taught_after(state["taught"], batch, problem)
        return after, info

    def broaden(state: State, broadening: Broadening) -> State:
        return _broadened(settings, state, broadening, unit, prior_variance)

    widens = settings.prediction == "estimate"
    return Learner(init, predict, observe, broaden=broaden if widens else None)


def _first_state(
    settings: MapSettings, problem: Problem, model: Model, repetitions: int, precision: np.ndarray
) -> State:
    """Return the state of the first prior, whose precision is [P]."""
    shape = (repetitions, 1, len(precision))
    wide = np.broadcast_to(precision, shape).astype(np.float32)
    state = {"mean": np.zeros(shape, np.float32), "precision": wide}
    if settings.anchor != "last":
        state["anchor"] = np.zeros(shape, np.float32)
    if settings.optimiser_state == "kept":
        state |= {name: np.zeros(shape, np.float32) for name in ("first", "second")}
        state["steps"] = np.zeros(shape[:2], np.int32)
    if settings.distil:
        state["taught"] = distillation.none_taught(problem, repetitions)
    if settings.prediction == "laplace-last":
        state["root"] = np.zeros((*shape[:2], *[last_layer_laplace.size(model)] * 2), np.float32)
    if settings.prediction == "swag":
        state |= swag.first_state(shape, _rank(settings))
    return state


def _broadened(
    settings: MapSettings,
    state: State,
    broadening: Broadening,
    unit: int,
    prior_variance: float,
) -> State:
    """Return the state with a wider penalty around its centre, where a parameter has one."""
    centre = "mean" if settings.anchor == "last" else "anchor"
    free = state["precision"] == 0
    variance = 1.0 / np.where(free, 1.0, unit * state["precision"].astype(np.float64))
    first = state["anchor"] if settings.anchor == "initial" else 0.0
    mean, variance = mean_field_gaussian.broaden(
        state[centre], variance, broadening, first, prior_variance
    )
    return state | {
        centre: np.where(free, state[centre], mean).astype(np.float32),
        "precision": np.where(free, 0.0, 1.0 / (variance * unit)).astype(np.float32),
    }


def _fit(
    settings: MapSettings,
    model: Model,
    penalised: np.ndarray,
    state: dict[str, tf.Tensor],
    start: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Minimise the penalised loss by Adam; return the state with its new penalty, and the Info."""
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1)[:, None, None]
    rows = count if settings.units == "task" else tf.ones_like(count)
    precision, anchor = state["precision"], state.get("anchor", state["mean"])
    step = adam_steps(
        _gradient(settings, model, state),
        Adam(settings.learning_rate),
        Penalty(settings.strength * precision, anchor, rows) if _has_penalty(settings) else None,
    )
    begin = _optimiser_start(settings, state, start)
    end, spread, steps = _descended(settings, step, begin, data, fold_in(seeds, STEPS))
    estimate = spread.get("mean", end.x)
    added = (
        rows
        * _importance(settings, model, start, end, data, fold_in(seeds, IMPORTANCE))
        * penalised
    )
    posterior = {"mean": estimate, "precision": settings.decay * precision + added} | spread
    if settings.anchor == "initial":
        posterior["anchor"] = anchor
    if settings.anchor == "each":
        share = tf.math.divide_no_nan(added, posterior["precision"])
        posterior["anchor"] = anchor + share * (end.x - anchor)
    if settings.optimiser_state == "kept":
        posterior |= {"first": end.first, "second": end.second, "steps": end.steps[..., 0]}
    log_lik = sampling.log_likelihood(model, estimate, data)
    info = {"log_likelihood": log_lik, "steps": steps}
    if settings.prediction == "estimate":
        squares = tf.reduce_sum(precision * tf.square(end.x - anchor), -1) * (count / rows)[..., 0]
        volume = _log_volume_ratio(precision, posterior["precision"])
        info["log_evidence"] = log_lik - 0.5 * squares + 0.5 * volume
    if settings.prediction == "laplace-last":
        precision_of_prior = settings.prior_sd**-2 if settings.last_prior == "trained" else None
        last = last_layer_laplace.fitted(model, estimate, data, precision_of_prior)
        posterior["root"] = last.root
        info |= {"prior_precision": last.prior_precision, "log_marginal": last.log_marginal}
    return posterior, info


def _descended(
    settings: MapSettings,
    step: Callable[[Descent, Minibatch, tf.Tensor], Descent],
    begin: Descent,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[Descent, dict[str, tf.Tensor], tf.Tensor]:
    """Train; return the end, SWAG's arrays of the state if asked for, and the number of steps."""
    if settings.prediction == "swag":
        return swag.descend(
            step,
            begin,
            data,
            seeds,
            settings.epochs,
            settings.batch_size,
            settings.swag_epochs,
            _rank(settings),
        )
    end, steps = epochs(step, begin, data, seeds, settings.epochs, settings.batch_size)
    return end, {}, steps


def _rank(settings: MapSettings) -> int:
    """Return the number of deviations that SWAG keeps."""
    return min(settings.swag_rank, settings.swag_epochs)


def _gradient(settings: MapSettings, model: Model, state: dict[str, tf.Tensor]) -> Gradient:
    """Return the gradient of a minibatch's loss without the penalty."""
    if settings.distil:
        how = distillation.Distillation(settings.distil, settings.temperature)
        return distillation.gradient(how, model, state["mean"], state["taught"])
    return dropout.mean_nll_gradient(dropout.of_settings(settings), model)


def _has_penalty(settings: MapSettings) -> bool:
    """Return whether any task has a penalty."""
    return settings.strength > 0 and (settings.importance, settings.prior) != ("none", "flat")


def _optimiser_start(
    settings: MapSettings, state: dict[str, tf.Tensor], start: tf.Tensor
) -> Descent:
    """Return the optimiser's state at the start of a task."""
    zeros = tf.zeros_like(start)
    path = (zeros,) if settings.importance == "path" else ()
    if settings.optimiser_state == "kept":
        return Descent(start, state["first"], state["second"], state["steps"][..., None], path)
    return Descent(start, zeros, zeros, no_steps(start), path)


def _importance(
    settings: MapSettings,
    model: Model,
    start: tf.Tensor,
    end: Descent,
    data: Batch,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Return the task's importance a row [S, H, P], which is added to the precision."""
    if settings.importance == "path":
        return 2 * omega(end.path[0], start, end.x, settings.damping)
    if settings.importance == "none":
        return tf.zeros_like(end.x)
    return mean_fisher(
        model,
        end.x,
        data,
        settings.fisher_labels,
        settings.fisher_estimator == "summed",
        settings.fisher_rows,
        settings.batch_size,
        seeds,
    )


def omega(path: tf.Tensor, start: tf.Tensor, end: tf.Tensor, damping: float) -> tf.Tensor:
    """Return SI's importance Omega [S, H, P] from the path integral of one task.

    Eq. 5 of Zenke et al. 2017, with negative values set to 0 as in the authors' code.
    """
    return tf.nn.relu(path / (tf.square(end - start) + damping))


def _log_volume_ratio(before: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
    """Return the sum [S, H] of log(before / after) over parameters that have both precisions."""
    proper = (before > 0) & (after > 0)
    ratio = tf.math.log(tf.where(proper, before, 1.0)) - tf.math.log(tf.where(proper, after, 1.0))
    return tf.reduce_sum(ratio, -1)
