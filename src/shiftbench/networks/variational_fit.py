"""The fit of a mean-field posterior over weights to one task: down the negative ELBO.

In (mean, rho), sd = softplus(rho), by minibatches, with or without early stopping. Sources: the
learner `mfvi`, which says which setting is whose.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import tensorflow_probability as tfp

from shiftbench.networks import (
    early_stopping,
    elbo,
    gradient_spread,
    layerwise,
    mean_field,
    sampling,
)
from shiftbench.networks.backend import tf
from shiftbench.networks.mean_field import Prior
from shiftbench.networks.optimisers import Optimiser
from shiftbench.networks.random import fold_in
from shiftbench.networks.training import Gradient, Minibatch, minimise
from shiftbench.networks.weight_draws import Draws
from shiftbench.posteriors import radial


class Plan(NamedTuple):
    """How it is done. bayesian [P]: 0 for points; density: of a radial prior; elbo_draws: of the
    final ELBO; judge_draws, patience: of early stopping."""

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


class Posterior(NamedTuple):
    """Independent normals, [S, H, P] each; sd is 0 where there is a point alone."""

    mean: tf.Tensor
    sd: tf.Tensor


Data = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


class Task(NamedTuple):
    """before: the posterior of the task before, which parameters keep that are not active [S, 1, P]
    (None: all are); data: the rows to learn from; held: those held back, or None."""

    before: Posterior
    active: tf.Tensor | None
    data: Data
    held: Data | None


STEPS, ELBO, PRETRAINING, NOISE, JUDGE, SPREAD = range(6)
"""What the seeds of a task are folded with, for each use of them."""


def maximum_likelihood(plan: Plan, start: tf.Tensor, data: Data, seeds: tf.Tensor) -> tf.Tensor:
    """Parameters [S, H, P] trained without prior and noise."""
    fitted, _ = minimise(
        partial(layerwise.mean_nll_gradient, plan.draws.model),
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
    fitted, steps, best = _descend(plan, gradient, start, task, seeds)
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


def _descend(
    plan: Plan, gradient: Gradient, start: Posterior, task: Task, seeds: tf.Tensor
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
    if task.held is None:
        return *minimise(*known), tf.constant(plan.epochs)
    held, judging = task.held, fold_in(seeds, JUDGE)

    def judge(parameters: tf.Tensor) -> tf.Tensor:
        draw = partial(elbo.drawn, plan.draws, *mean_field.unpack(parameters, plan.bayesian))
        model, number = plan.draws.model, plan.judge_draws
        return sampling.expected_log_likelihood(model, draw, held, number, judging).mean

    stopped = early_stopping.minimise_until(judge, plan.patience, *known)
    return stopped.x, stopped.steps, stopped.epoch
