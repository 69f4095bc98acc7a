"""Variational online Gauss-Newton: a mean-field Gaussian by natural gradients.

With g the gradient of an example's negative log likelihood at one of K weight draws, N rows
in the task, and the posterior of the last task as the prior (mean m, precision p), a step is

    precision <- (1 - beta) precision + beta (N mean(g^2) + p)
    mean      <- mean - alpha (N mean(g) + p (mean - m)) / precision

(eschenhagen2019vogn, eq. 50-53; the mean step uses the new precision, as eq. 52 and the public code
do). The mean runs over the minibatch's rows, however many, and the draws, each shared by all rows
(Osawa et al. 2019). Parameters that no row of the task has a gradient for, such as those of
other heads, keep their prior. Knows: the likelihood.

State: mean, precision [S, H, P]; tasks [S, H], how many were learnt.
Info, [S, H] in nats over the task: elbo = log_evidence = expected_log_likelihood - kl /
dataset_size_scale, these two, elbo_se (Monte Carlo); steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
import tensorflow_probability as tfp
from annotated_types import Ge, Gt, Lt, MinLen

from shiftbench.core.interface import Batch, Broadening, Info, Learner, Predictive, Problem, State
from shiftbench.methods.models._model import (
    Layer,
    Linear,
    Model,
    biases_of,
    per_example,
    product,
    weights_of,
)
from shiftbench.methods.networks import example_gradients, natural_gradient, sampling
from shiftbench.methods.networks.backend import fused, graph, tf
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Minibatch, epochs
from shiftbench.methods.posteriors import mean_field_gaussian
from shiftbench.methods.posteriors._roots import inverse_sqrt

tfd = tfp.distributions

NEEDS: tuple[str, ...] = ()
MODEL = True
TAKES = {"image": "categorical", "classes": "categorical"}
OFFERS = ("broaden", "log_evidence")


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the data of a task (eschenhagen2019vogn, 4.3; 60, then 600, for split CIFAR)."""
    batch_size: Annotated[int, Ge(1)] = 256
    """Rows of a minibatch (eschenhagen2019vogn)."""
    draws: Annotated[int, Ge(1)] = 10
    """Weight draws of a step, K (eschenhagen2019vogn)."""
    alpha: Annotated[float, Gt(0)] = 0.001
    """Step size of the mean (eschenhagen2019vogn); ten epochs of 60,000 rows need 0.01."""
    beta: Annotated[float, Gt(0), Lt(1)] = 0.001
    """Step size of the precision (eschenhagen2019vogn; 0.0001 for split CIFAR); as alpha if
    reduced."""
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Decay of the step's running sum (0.9 for split CIFAR, eschenhagen2019vogn, 4.5)."""
    momentum_kind: Literal["exponential", "heavy-ball"] = "heavy-ball"
    """Weight of a new step: 1 - momentum, or 1, up to 10 times the step, as in public code."""
    dataset_size_scale: Annotated[float, Gt(0)] = 1.0
    """Factor of N, for augmented data (eschenhagen2019vogn, 3.4; rho), or a cold posterior."""
    initial_precision: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (20.0,)
    """At the start of each task; the last holds for all later ones (split CIFAR: 4e3, 4e4)."""
    initial_precision_per: Literal["example", "task"] = "example"
    """example: times N, as in the public code, where 20 N is the 1e6 of eschenhagen2019vogn."""
    start: Literal["fresh", "prior"] = "fresh"
    """Means of a task: drawn anew (eschenhagen2019vogn, 4.3), or the prior's (split CIFAR)."""
    start_precision: Literal["initial", "prior"] = "initial"
    """Precision of a task: reset, as always in eschenhagen2019vogn, or the prior's after the
    first."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero (120^-0.5 for split CIFAR)."""
    prediction_draws: Annotated[int, Ge(1)] = 100
    """Weight draws of a prediction (eschenhagen2019vogn)."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of the final ELBO, which decides between hypotheses."""


class _Prior(NamedTuple):
    mean: tf.Tensor
    precision: tf.Tensor


class _Step(NamedTuple):
    """What a step passes to the next, [S, H, P] each; touched: any gradient so far."""

    mean: tf.Tensor
    precision: tf.Tensor
    sd: tf.Tensor
    velocity: tf.Tensor
    touched: tf.Tensor


class _Rates(NamedTuple):
    alpha: float
    beta: float
    momentum: float
    gain: float


NOISE, STEPS, ELBO = range(3)
"""What the seeds of a task are folded with, for each use of them."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    fit = graph(partial(_fit, settings, model))

    @graph
    def moments(
        mean: tf.Tensor, precision: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor
    ) -> tf.Tensor:
        draw = sampling.gaussian(mean, inverse_sqrt(precision))
        return sampling.predictive_moments(model, draw, settings.prediction_draws, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        precision = np.full(shape, settings.prior_sd**-2, np.float32)
        tasks = np.zeros(shape[:2], np.int32)
        return {"mean": np.zeros(shape, np.float32), "precision": precision, "tasks": tasks}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        found = partial(moments, state["mean"], state["precision"], seeds)
        return sampling.predictive(model, found, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = _start(settings, model, state, batch, seeds)
        results = fit(state["mean"], state["precision"], *start, *batch, seeds)
        mean, precision = (a.numpy() for a in results[:2])
        learnt = {"mean": mean, "precision": precision, "tasks": state["tasks"] + 1}
        return learnt, sampling.info(*results[2:], 1 / settings.dataset_size_scale)

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"],
            1.0 / state["precision"].astype(np.float64),
            broadening,
            0.0,
            settings.prior_sd**2,
        )
        wide = {"mean": mean.astype(np.float32), "precision": (1 / variance).astype(np.float32)}
        return state | wide

    return Learner(init, predict, observe, broaden=broaden)


def _start(
    settings: Settings, model: Model, state: State, batch: Batch, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and precisions [S, H, P] that the task starts with."""
    tasks, mean = state["tasks"], state["mean"]
    count = settings.dataset_size_scale * batch.mask.sum(axis=1)
    initial = natural_gradient.first_precision(
        settings.initial_precision, settings.initial_precision_per, tasks, np.maximum(count, 1)
    )
    # The very first prior has mean zero everywhere, a saddle point of a network.
    anew = (tasks == 0)[..., None]
    redrawn = anew | (settings.start == "fresh")
    reset = anew | (settings.start_precision == "initial")
    return (
        np.where(redrawn, natural_gradient.fresh(model, seeds), mean),
        np.where(reset, initial[..., None], state["precision"]),
    )


def _fit(
    settings: Settings,
    model: Model,
    prior_mean: tf.Tensor,
    prior_precision: tf.Tensor,
    start_mean: tf.Tensor,
    start_precision: tf.Tensor,
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """The posterior's mean and precision, the ELBO's two terms, and the number of steps."""
    data, prior = (inputs, targets, mask), _Prior(prior_mean, prior_precision)
    size = settings.draws * model.size
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1) * settings.dataset_size_scale
    noise = sampling.table(fold_in(seeds, NOISE), size)
    gain = 1.0 - settings.momentum if settings.momentum_kind == "exponential" else 1.0
    rates = _Rates(settings.alpha, settings.beta, settings.momentum, gain)

    def step(now: _Step, rows: Minibatch, step_seeds: tf.Tensor) -> _Step:
        excerpt = sampling.excerpt(noise, step_seeds, size)
        sums = _sums(settings.draws, model, now.mean, now.sd, rows, excerpt)
        return _update(rates, now, prior, *sums, tf.reduce_sum(rows.mask, 1), count)

    still, none = tf.zeros_like(start_mean), tf.zeros_like(start_mean, tf.bool)
    first = _Step(start_mean, start_precision, inverse_sqrt(start_precision), still, none)
    last, steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    mean = tf.where(last.touched, last.mean, prior_mean)
    precision = tf.where(last.touched, last.precision, prior_precision)
    sd = inverse_sqrt(precision)
    draw = sampling.gaussian(mean, sd)
    log_lik = sampling.expected_log_likelihood(
        model, draw, data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    q, p = tfd.Normal(mean, sd), tfd.Normal(prior_mean, inverse_sqrt(prior_precision))
    return mean, precision, log_lik, tf.reduce_sum(tfd.kl_divergence(q, p), -1), steps


def _sums(
    draws: int,
    model: Model,
    mean: tf.Tensor,
    sd: tf.Tensor,
    rows: Minibatch,
    noise: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums over rows of the log likelihood's gradients and of their squares, means over draws.

    noise: [S, draws P]; both results [S, H, P].
    """
    # With positions an example's gradients are formed: one draw at a time, for memory.
    together = 1 if model.convolves else draws
    gradients, squares = tf.zeros_like(mean), tf.zeros_like(mean)
    for i in range(draws // together):
        here = slice(i * together * model.size, (i + 1) * together * model.size)
        linear = _drawn(model, together, mean, sd, noise[:, here])
        _, passed = example_gradients.signals(model, linear, rows)
        first, second = example_gradients.moments(passed, together)
        gradients, squares = gradients + first, squares + second
    return gradients / draws, squares / draws


def _drawn(model: Model, draws: int, mean: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor) -> Linear:
    """The network with several weight draws [S, H K, ...], which all rows share."""
    s, h = mean.shape[:2]
    weights, biases = _weights(model, draws, mean, sd, noise)

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        bias = per_example(biases[layer.name][:, :, tf.newaxis], x)
        if layer is not model.layers[0]:
            return product(x, weights[layer.name]) + bias
        # All draws see the same x: one product with their weights side by side.
        out = product(x, weights[layer.name])
        apart = tf.reshape(out, [s, h, -1, draws, layer.fan_out])
        out = tf.transpose(apart, [0, 1, 3, 2, 4])
        return tf.reshape(out, [s, h * draws, *x.shape[2:-1], layer.fan_out]) + bias

    return linear


# Fused: one pass over memory in place of four.
@fused
def _weights(
    model: Model, draws: int, mean: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Weights [S, H K, fan_in, fan_out], biases [S, H K, fan_out] of each layer by name.

    The first layer's weights are [S, H, fan_in, K fan_out].
    """
    (s, h), k = mean.shape[:2], draws
    weights, biases = {}, {}
    for layer in model.layers:
        fan_in, fan_out = layer.fan_in, layer.fan_out
        first = layer is model.layers[0]
        eps = tf.reshape(
            noise[:, k * layer.weights.start : k * layer.weights.stop],
            [s, 1, fan_in, k, fan_out] if first else [s, 1, k, fan_in, fan_out],
        )
        axis = 3 if first else 2
        m, spread = (tf.expand_dims(weights_of(layer, a), axis) for a in (mean, sd))
        merged = [s, h, fan_in, k * fan_out] if first else [s, h * k, fan_in, fan_out]
        weights[layer.name] = tf.reshape(m + spread * eps, merged)
        eps = noise[:, k * layer.biases.start : k * layer.biases.stop]
        m, spread = (biases_of(layer, a)[:, :, tf.newaxis] for a in (mean, sd))
        drawn = m + spread * tf.reshape(eps, [s, 1, k, fan_out])
        biases[layer.name] = tf.reshape(drawn, [s, h * k, fan_out])
    return weights, biases


@fused
def _update(
    rates: _Rates,
    now: _Step,
    prior: _Prior,
    gradient: tf.Tensor,
    squares: tf.Tensor,
    rows: tf.Tensor,
    count: tf.Tensor,
) -> _Step:
    """Eq. 52 and 53; a minibatch without rows [S] changes nothing."""
    scale = (count / tf.maximum(rows, 1.0))[:, None, None]
    precision = now.precision * (1 - rates.beta)
    precision += rates.beta * (scale * squares + prior.precision)
    pull = prior.precision * (now.mean - prior.mean) - scale * gradient
    velocity = rates.momentum * now.velocity + rates.gain * pull / precision
    new = _Step(
        now.mean - rates.alpha * velocity,
        precision,
        inverse_sqrt(precision),
        velocity,
        now.touched | (squares != 0),
    )
    some = (rows > 0)[:, None, None]
    return _Step(*(tf.where(some, a, b) for a, b in zip(new, now, strict=True)))
