"""Fit of a mean-field posterior over weights to one task, by descent on the negative ELBO.

In (mean, rho), sd = softplus(rho), by minibatches, for a fixed number of epochs or until the score
no longer improves. Sources: the learner `mfvi`, which names the source of each setting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from shiftbench.methods.lazy_probability import tfp
from shiftbench.methods.networks import (
    early_stopping,
    elbo,
    gradient_spread,
    mean_field,
    parameter_layout,
    sampling,
)
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.mean_field import Anchor, MeanField
from shiftbench.methods.networks.optimisers import Optimiser
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Data, Gradient, Minibatch, Schedule, minimise
from shiftbench.methods.networks.weight_draws import Draws
from shiftbench.methods.posteriors import radial


class FitSettings(NamedTuple):
    """Settings of the fits of a learner.

    bayesian: [P], 0 for points. density: of a radial prior. elbo_draws: of the final ELBO.
    judge_draws, patience, tolerance: of early stopping. by_elbo: whether its score is the ELBO, or
    else the likelihood of the rows that judge. anchor: of the divergence, or None for a plain one.
    """

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
    anchor: Anchor | None

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.epochs, self.batch_size, self.optimiser)


class FitData(NamedTuple):
    """The data of one fit.

    before: the posterior of the previous task, which inactive parameters keep.
    active: [S, 1, P] bool; None if all are active.
    data: the rows to learn from. judges: the rows that early stopping scores, or None.
    """

    before: MeanField
    active: tf.Tensor | None
    data: Data
    judges: Data | None


Score = Callable[["tf.Tensor"], "tf.Tensor"]
"""(mean, rho) [S, H, 2 P] -> score [S, H], larger is better."""
STEPS, ELBO, PRETRAINING, NOISE, JUDGE, SPREAD = range(6)
"""Purposes that a task's seeds are folded with."""


def maximum_likelihood(
    settings: FitSettings, start: tf.Tensor, data: Data, seeds: tf.Tensor
) -> tf.Tensor:
    """Return parameters [S, H, P] trained without prior and noise."""
    gradient = partial(parameter_layout.mean_nll_gradient, settings.draws.model)
    seeds = fold_in(seeds, PRETRAINING)
    return minimise(gradient, start, data, seeds, settings.schedule)[0]


def gradient_sd(
    settings: FitSettings,
    number: int,
    mean: tf.Tensor,
    sd: tf.Tensor,
    data: Data,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Return the sd [S, H] over draws of a draw's gradient in the means, on a minibatch."""
    seeds = fold_in(seeds, SPREAD)
    rows = gradient_spread.some_rows(data, settings.batch_size, seeds)
    single = settings.draws._replace(number=1)
    return gradient_spread.of_likelihood(single, mean, sd, rows, number, seeds)


def fit(
    settings: FitSettings, prior: MeanField, start: MeanField, task: FitData, seeds: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Return mean and sd of the posterior, the ELBO's two terms, steps, and the epoch kept."""
    draws, counted = settings.draws, settings.bayesian
    if task.active is not None:
        counted = settings.bayesian * tf.cast(task.active, tf.float32)
    gradient = _gradient(settings, prior, counted, task.data[2], seeds)
    score = None
    if task.judges is not None:
        score = _score(settings, prior, counted, task.judges, task.data[2], seeds)
    parameters, steps, best_epoch = _descend(settings, gradient, score, start, task, seeds)
    mean, sd = mean_field.unpack(parameters, settings.bayesian)
    if task.active is not None:
        mean = tf.where(task.active, mean, task.before.mean)
        sd = tf.where(task.active, sd, task.before.sd)
    seeds, number = fold_in(seeds, ELBO), settings.elbo_draws
    draw = partial(elbo.drawn, draws, mean, sd)
    log_lik = sampling.expected_log_likelihood(draws.model, draw, task.data, number, seeds)
    posterior = MeanField(mean, sd)
    kl = elbo.divergence(
        draws, posterior, prior, counted, settings.density, number, seeds, settings.anchor
    )
    return mean, sd, log_lik, kl, steps, best_epoch


def _gradient(
    settings: FitSettings, prior: MeanField, counted: tf.Tensor, mask: tf.Tensor, seeds: tf.Tensor
) -> Gradient:
    """Return the gradient of the negative ELBO per row, in (mean, rho)."""
    draws = settings.draws
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None, None]
    batch_size = min(settings.batch_size, mask.shape[1])
    noise_of_step = elbo.noise_of_steps(draws, batch_size, fold_in(seeds, NOISE))

    def gradient(parameters: tf.Tensor, rows: Minibatch, step_seeds: tf.Tensor) -> tf.Tensor:
        q = MeanField(*mean_field.unpack(parameters, settings.bayesian))
        noise = noise_of_step(step_seeds)
        likelihood = elbo.likelihood_gradient(draws, q.mean, q.sd, noise, rows)
        weight = count / settings.kl_weight
        if draws.blocks is None:
            return mean_field.gaussian_gradient(
                likelihood, q, prior, counted, weight, settings.anchor
            )
        return mean_field.radial_gradient(
            likelihood, q, prior, counted, weight, noise.eps, draws.blocks, settings.density
        )

    return gradient


def _score(
    settings: FitSettings,
    prior: MeanField,
    counted: tf.Tensor,
    judges: Data,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> Score:
    """Return the score per row: log likelihood of the rows that judge, or the ELBO with it."""
    number, seeds = settings.judge_draws, fold_in(seeds, JUDGE)
    rows, all_rows = (
        tf.reduce_sum(tf.cast(seen, tf.float32), axis=1)[:, None] for seen in (judges[2], mask)
    )

    def score(parameters: tf.Tensor) -> tf.Tensor:
        q = MeanField(*mean_field.unpack(parameters, settings.bayesian))
        draws, model = settings.draws, settings.draws.model
        draw = partial(elbo.drawn, draws, q.mean, q.sd)
        log_lik = sampling.expected_log_likelihood(model, draw, judges, number, seeds).mean / rows
        if not settings.by_elbo:
            return log_lik
        kl = elbo.divergence(
            draws, q, prior, counted, settings.density, number, seeds, settings.anchor
        )
        return log_lik - settings.kl_weight * kl / all_rows

    return score


def _descend(
    settings: FitSettings,
    gradient: Gradient,
    score: Score | None,
    start: MeanField,
    task: FitData,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return (mean, rho) [S, H, 2 P], the steps taken, and the epoch kept."""
    rho = tfp.math.softplus_inverse(tf.maximum(start.sd, 1e-12))
    parameters, seeds = tf.concat([start.mean, rho], -1), fold_in(seeds, STEPS)
    schedule = settings.schedule
    if score is None:
        end, steps = minimise(gradient, parameters, task.data, seeds, schedule)
        return end, steps, tf.constant(settings.epochs)
    rule = early_stopping.StoppingRule(score, settings.patience, settings.tolerance)
    return early_stopping.minimise_until(rule, gradient, parameters, task.data, seeds, schedule)
