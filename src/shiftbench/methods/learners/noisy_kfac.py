"""Noisy K-FAC: a Gaussian with Kronecker factors by natural gradients, with a carried prior.

With g the gradient of an example's log likelihood in a layer's outputs at one of K weight draws, N
rows in the task, and the posterior of the last task as the prior (mean m, and precision
A0 (x) B0 + delta I for the weights and biases of each layer, with inputs (x, 1)), a step is

    A <- (1 - beta) A + beta mean((x, 1)(x, 1)')        B <- (1 - beta) B + beta mean(g g')
    mean <- mean + alpha precision^-1 (N mean(gradient) - (A0 (x) B0 + delta I) (mean - m))

(Zhang et al. 2018, algorithm 2; the means run over rows of the minibatch and over draws). The
precision is that of q, N A (x) B + A0 (x) B0 + delta I. It has no Kronecker factors, which
eschenhagen2019vogn, 3.5.2, leaves open. The choice here: the two terms are carried as their nearest
pair (`posteriors/kronecker_gaussian.py`), with delta, the precision of the first prior, apart; the
pull to the prior's mean stays exact. The other choice keeps a pair for each task: the precision is
then exact, but its memory grows, and draws and steps need conjugate gradients. Zhang et al. put
delta into both factors, which is exact for neither.

Draws and steps use eigenvectors that are computed again every `refresh` steps. Parameters that no
row of the task touches keep the prior's mean, and their rows and columns of the task's factors are
0. Knows: the likelihood.

State: mean [S, H, P]; left [S, H, sum a^2], right [S, H, sum b^2], ridge [S, H]: A, B and delta of
all layers; tasks [S, H], the number of tasks learnt. Info, [S, H], in nats over the task: as vogn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt, MinLen

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.networks import (
    example_gradients,
    kronecker_factors,
    natural_gradient,
    sampling,
)
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.model import Linear, Model, point
from shiftbench.methods.networks.natural_gradient import NaturalGradientSettings
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.training import Minibatch, epochs, where_repetitions
from shiftbench.methods.posteriors import kronecker_gaussian
from shiftbench.methods.posteriors.kronecker_gaussian import Precision, Sizes, Spectrum

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    offers=("broaden", "log_evidence"),
    model=True,
)


@dataclass(frozen=True)
class Settings(NaturalGradientSettings):
    draws: Annotated[int, Ge(1)] = 1
    """Number K of weight draws of a step; vogn has 10."""
    alpha: Annotated[float, Gt(0)] = 0.01
    """Step size of the mean, as short budgets of vogn need."""
    beta: Annotated[float, Gt(0), Lt(1)] = 0.01
    """Step size of the factors, as short budgets of vogn need."""
    refresh: Annotated[int, Ge(1)] = 5
    """Steps between two decompositions of the precision; more are faster, but may diverge."""
    initial_precision: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (2.0,)
    """Start values of A (x) B, one a task, times I; the last holds for all later tasks."""


class _Prior(NamedTuple):
    """Mean [S, H, P] and precision of the prior of a task."""

    mean: tf.Tensor
    precision: Precision


class _Iterate(NamedTuple):
    """q after a number of steps: mean, the task's factors A and B of an example, eigenvectors.

    touched [S, H, P]: whether any gradient was not 0. steps [S]: the number with rows.
    """

    mean: tf.Tensor
    left: tf.Tensor
    right: tf.Tensor
    spectrum: Spectrum
    touched: tf.Tensor
    steps: tf.Tensor


NOISE, STEPS, ELBO = range(3)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build noisy K-FAC for a model; TensorFlow traces one graph for each size of task."""
    sizes = kronecker_factors.sizes(model)
    fit = graph(partial(_fit, settings, model))

    @graph
    def moments(state: State, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        prior = _prior(state, sizes)
        draw = partial(_draw, prior.mean, kronecker_gaussian.spectrum(prior.precision))
        return sampling.predictive_moments(model, draw, settings.prediction_draws, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        first = kronecker_gaussian.first_state(len(seeds), sizes, settings.prior_sd**-2)
        return first | {"tasks": np.zeros((len(seeds), 1), np.int32)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return sampling.predictive(model, partial(moments, _posterior(state), seeds), inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = _start(settings, model, state, batch, seeds)
        results = fit(_posterior(state), *start, batch, seeds)
        new = {name: array.numpy() for name, array in results[0].items()}
        return new | {"tasks": state["tasks"] + 1}, sampling.info(
            *results[1:], kl_weight=1 / settings.dataset_size_scale
        )

    def broaden(state: State, broadening: Broadening) -> State:
        return kronecker_gaussian.broaden_state(state, sizes, broadening, settings.prior_sd**2)

    return Learner(init, predict, observe, broaden=broaden)


def _posterior(state: State) -> State:
    """Return the arrays of a state that describe the posterior."""
    return {name: array for name, array in state.items() if name != "tasks"}


def _prior(state: State, sizes: Sizes) -> _Prior:
    """Return mean and precision from the arrays of a posterior."""
    factors = state["left"], state["right"], state["ridge"]
    return _Prior(state["mean"], kronecker_gaussian.precision_of(*factors, sizes))


def _start(
    settings: Settings, model: Model, state: State, batch: Batch, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means [S, H, P] and the precision of an example [S, H] that a task starts with."""
    tasks, count = state["tasks"], settings.dataset_size_scale * batch.mask.sum(axis=1)
    initial = natural_gradient.first_precision(
        settings.initial_precision, settings.initial_precision_per, tasks, np.maximum(count, 1)
    )
    redrawn = (tasks == 0)[..., None] | (settings.start == "fresh")
    mean = np.where(redrawn, natural_gradient.fresh(model, seeds), state["mean"])
    return mean, initial / np.maximum(count, 1)[:, None].astype(np.float32)


def _fit(
    settings: Settings,
    model: Model,
    state: dict[str, tf.Tensor],
    mean: tf.Tensor,
    initial: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[dict[str, tf.Tensor], sampling.LogLikelihood, tf.Tensor, tf.Tensor]:
    """Fit q to a task; return the new state, the ELBO's two terms, and the number of steps."""
    sizes = kronecker_factors.sizes(model)
    prior = _prior(state, sizes)
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1) * settings.dataset_size_scale
    noise = sampling.table(fold_in(seeds, NOISE), settings.draws * model.size)

    def step(now: _Iterate, rows: Minibatch, step_seeds: tf.Tensor) -> _Iterate:
        drawn = _draws(now, settings.draws, noise, step_seeds)
        return _update(settings, model, now, prior, rows, count, drawn)

    left, right = (
        kronecker_gaussian.flat(tuple(tf.sqrt(initial)[..., None, None] * tf.eye(n) for n in side))
        for side in zip(*sizes, strict=True)
    )
    spectrum = _spectrum(prior, left, right, count, sizes)
    touched = tf.zeros_like(mean, tf.bool)
    none = tf.zeros_like(count, tf.int32)
    first = _Iterate(mean, left, right, spectrum, touched, none)
    last, steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    mean = tf.where(last.touched, last.mean, prior.mean)
    posterior = _precision(prior, *_of_touched(last, sizes), count, sizes)
    spectrum = kronecker_gaussian.spectrum(posterior)
    log_lik = sampling.expected_log_likelihood(
        model, partial(_draw, mean, spectrum), data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    kl = kronecker_gaussian.kl(mean, spectrum, prior.mean, prior.precision)
    return kronecker_gaussian.state_of(mean, posterior), log_lik, kl, steps


def _precision(
    prior: _Prior, left: tf.Tensor, right: tf.Tensor, count: tf.Tensor, sizes: Sizes
) -> Precision:
    """Return the precision of q from the task's flat factors of an example; count: N [S]."""
    none = tf.zeros_like(prior.precision.ridge)
    added = kronecker_gaussian.precision_of(left, count[:, None, None] * right, none, sizes)
    return kronecker_gaussian.nearest_pair(prior.precision, added)


def _spectrum(
    prior: _Prior, left: tf.Tensor, right: tf.Tensor, count: tf.Tensor, sizes: Sizes
) -> Spectrum:
    """Return the eigenvalues and eigenvectors of the precision of q."""
    return kronecker_gaussian.spectrum(_precision(prior, left, right, count, sizes))


def _of_touched(last: _Iterate, sizes: Sizes) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the task's factors, with 0 where no row touched a layer's input or output."""
    touched = kronecker_gaussian.matrices(tf.cast(last.touched, tf.float32), sizes)
    inputs, outputs = ([tf.reduce_max(one, axis) for one in touched] for axis in (-1, -2))
    left, right = (
        kronecker_gaussian.flat(tuple(t[..., :, None] * t[..., None, :] for t in side))
        for side in (inputs, outputs)
    )
    return left * last.left, right * last.right


def _draw(mean: tf.Tensor, spectrum: Spectrum, seeds: tf.Tensor, rows: int) -> Linear:
    """Return the network under one draw of its weights, for any number of rows."""
    noise = tf.broadcast_to(
        normals(seeds, [1, 1, mean.shape[-1]]), [*mean.shape[:2], 1, mean.shape[-1]]
    )
    return point(kronecker_gaussian.sample(mean, spectrum, noise)[:, :, 0])


def _draws(now: _Iterate, draws: int, noise: tf.Tensor, seeds: tf.Tensor) -> tf.Tensor:
    """Draw parameters [S, H K, P], with noise from a random place of each table."""
    s, h, p = now.mean.shape
    excerpt = sampling.excerpt(noise, seeds, draws * p)
    shared = tf.broadcast_to(tf.reshape(excerpt, [s, 1, draws, p]), [s, h, draws, p])
    return tf.reshape(kronecker_gaussian.sample(now.mean, now.spectrum, shared), [s, h * draws, p])


def _update(
    settings: Settings,
    model: Model,
    now: _Iterate,
    prior: _Prior,
    rows: Minibatch,
    count: tf.Tensor,
    drawn: tf.Tensor,
) -> _Iterate:
    """Return the next iterate; `epochs` keeps that of repetitions with an empty minibatch."""
    beta, sizes = settings.beta, kronecker_factors.sizes(model)
    _, passed = example_gradients.signals(model, point(drawn), rows)
    gradients = example_gradients.sums(passed, settings.draws) / settings.draws
    per_row = 1.0 / tf.maximum(tf.reduce_sum(rows.mask, 1), 1.0)[:, None, None]
    left, right = (
        (1 - beta) * old + beta * per_row * new
        for old, new in zip(
            (now.left, now.right),
            kronecker_factors.sums(passed, rows.mask, settings.draws),
            strict=True,
        )
    )
    steps = now.steps + 1
    due = steps % settings.refresh == 0

    def renewed() -> Spectrum:
        return where_repetitions(due, _spectrum(prior, left, right, count, sizes), now.spectrum)

    spectrum = tf.cond(tf.reduce_any(due), renewed, lambda: now.spectrum)
    pull = kronecker_gaussian.precision_times(prior.precision, now.mean - prior.mean)
    ascent = count[:, None, None] * per_row * gradients - pull
    mean = now.mean + settings.alpha * kronecker_gaussian.covariance_times(spectrum, ascent)
    return _Iterate(mean, left, right, spectrum, now.touched | (gradients != 0), steps)
