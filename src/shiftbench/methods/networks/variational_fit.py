"""The fit of a mean-field posterior over weights to one task: down the negative ELBO.

In (mean, rho), sd = softplus(rho), by minibatches, for all epochs or until it no longer gets
better. Sources: the
learner `mfvi`, which says which setting is whose.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import tensorflow_probability as tfp

from shiftbench.methods.networks import (
    early_stopping,
    elbo,
    gradient_spread,
    mean_field,
    parameter_layout,
    sampling,
)
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.mean_field import Prior
from shiftbench.methods.networks.optimisers import Optimiser
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Gradient, Minibatch, minimise
from shiftbench.methods.networks.weight_draws import Draws
from shiftbench.methods.posteriors import radial


class Plan(NamedTuple):
    """How it is done. bayesian [P]: 0 for points; density: of a radial prior; elbo_draws: of the
    final ELBO; judge_draws, patience, tolerance: of early stopping, by_elbo: or by how likely the
    rows are that judge."""

    draws: Draws
    bayesian: np.ndarray
    density: radial.PriorDensity
    kl_weight: float
    epochs: int
    batch_size: int
    optimiser: Optimiser
    elbo_draws: int
    judge_draws: int
    patience: int
    tolerance: float
    by_elbo: bool


class Posterior(NamedTuple):
    """Independent normals, [S, H, P] each; sd is 0 where there is a point alone."""

    mean: tf.Tensor
    sd: tf.Tensor


Data = tuple[tf.Tensor, tf.Tensor, tf.Tensor]
Score = Callable[[tf.Tensor], tf.Tensor]
"""(mean, rho) [S, H, 2 P] -> how good it is [S, H]."""


class Task(NamedTuple):
    """before: the posterior of the task before, which parameters keep that are not active [S, 1, P]
    (None: all are); data: the rows to learn from; judges: those that end it early, or None."""

    before: Posterior
    active: tf.Tensor | None
    data: Data
    judges: Data | None


STEPS, ELBO, PRETRAINING, NOISE, JUDGE, SPREAD = range(6)
"""What the seeds of a task are folded with, for each use of them."""


def maximum_likelihood(plan: Plan, start: tf.Tensor, data: Data, seeds: tf.Tensor) -> tf.Tensor:
    """Parameters [S, H, P] trained without prior and noise."""
    fitted, _ = minimise(
        partial(parameter_layout.mean_nll_gradient, plan.draws.model),
        start,
        data,
        fold_in(seeds, PRETRAINING),
        plan.epochs,
        plan.batch_size,
        plan.optimiser,
    )
    return fitted


def gradient_sd(
    plan: Plan, number: int, mean: tf.Tensor, sd: tf.Tensor, data: Data, seeds: tf.Tensor
) -> tf.Tensor:
    """Standard deviation [S, H] of one draw's gradient in the means, on one minibatch."""
    seeds = fold_in(seeds, SPREAD)
    rows = gradient_spread.some_rows(data, plan.batch_size, seeds)
    one = plan.draws._replace(number=1)
    return gradient_spread.of_likelihood(one, mean, sd, rows, number, seeds)


def fit(
    plan: Plan, prior: Prior, start: Posterior, task: Task, seeds: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """mean and sd of the posterior, the ELBO's two terms, steps, and the epoch that is kept."""
    draws, counted = plan.draws, plan.bayesian
    if task.active is not None:
        counted = plan.bayesian * tf.cast(task.active, tf.float32)
    gradient = _gradient(plan, prior, counted, task.data[2], seeds)
    score = None if task.judges is None else _score(plan, prior, counted, task, seeds)
    fitted, steps, best = _descend(plan, gradient, score, start, task, seeds)
    mean, sd = mean_field.unpack(fitted, plan.bayesian)
    if task.active is not None:
        mean = tf.where(task.active, mean, task.before.mean)
        sd = tf.where(task.active, sd, task.before.sd)
    seeds, number = fold_in(seeds, ELBO), plan.elbo_draws
    draw = partial(elbo.drawn, draws, mean, sd)
    log_lik = sampling.expected_log_likelihood(draws.model, draw, task.data, number, seeds)
    kl = elbo.divergence(draws, mean, sd, prior, counted, plan.density, number, seeds)
    return mean, sd, log_lik, kl, steps, best


def _gradient(
    plan: Plan, prior: Prior, counted: tf.Tensor, mask: tf.Tensor, seeds: tf.Tensor
) -> Gradient:
    """Of the negative ELBO per row, in (mean, rho)."""
    draws = plan.draws
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None, None]
    rows = min(plan.batch_size, mask.shape[1])
    noise = elbo.noise_of_steps(draws, rows, fold_in(seeds, NOISE))

    def gradient(parameters: tf.Tensor, rows: Minibatch, step_seeds: tf.Tensor) -> tf.Tensor:
        mean, sd = mean_field.unpack(parameters, plan.bayesian)
        drawn = noise(step_seeds)
        likelihood = elbo.likelihood_gradient(draws, mean, sd, drawn, rows)
        known = *likelihood, mean, sd, prior, counted, count / plan.kl_weight
        if draws.blocks is None:
            return mean_field.gaussian_gradient(*known)
        return mean_field.radial_gradient(*known, drawn.eps, draws.blocks, plan.density)

    return gradient


def _score(plan: Plan, prior: Prior, counted: tf.Tensor, task: Task, seeds: tf.Tensor) -> Score:
    """Log likelihood a row of the rows that judge, or the ELBO a row with it, in (mean, rho)."""
    judging, (judges, number) = fold_in(seeds, JUDGE), (task.judges, plan.judge_draws)
    rows, all_rows = (
        tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None]
        for mask in (judges[2], task.data[2])
    )

    def score(parameters: tf.Tensor) -> tf.Tensor:
        mean, sd = mean_field.unpack(parameters, plan.bayesian)
        draw = partial(elbo.drawn, plan.draws, mean, sd)
        model = plan.draws.model
        found = sampling.expected_log_likelihood(model, draw, judges, number, judging).mean / rows
        if not plan.by_elbo:
            return found
        known = plan.draws, mean, sd, prior, counted, plan.density, number, judging
        return found - plan.kl_weight * elbo.divergence(*known) / all_rows

    return score


def _descend(
    plan: Plan,
    gradient: Gradient,
    score: Score | None,
    start: Posterior,
    task: Task,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """(mean, rho) [S, H, 2 P], the steps taken, and the epoch that is kept."""
    rho = tfp.math.softplus_inverse(tf.maximum(start.sd, 1e-12))
    known = (
        gradient,
        tf.concat([start.mean, rho], -1),
        task.data,
        fold_in(seeds, STEPS),
        plan.epochs,
        plan.batch_size,
        plan.optimiser,
    )
    if score is None:
        return *minimise(*known), tf.constant(plan.epochs)
    stopped = early_stopping.minimise_until(score, plan.patience, plan.tolerance, *known)
    return stopped.x, stopped.steps, stopped.epoch
