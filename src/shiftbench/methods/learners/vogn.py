"""Variational online Gauss-Newton (VOGN): a mean-field Gaussian by natural gradients.

With g the gradient of an example's negative log likelihood at one of K weight draws, N rows in the
task, and the posterior of the last task as the prior (mean m, precision p), a step is

    precision <- (1 - beta) precision + beta (N mean(g^2) + p)
    mean      <- mean - alpha (N mean(g) + p (mean - m)) / precision

(eschenhagen2019vogn, Eq. 50-53; the mean step uses the new precision, as Eq. 52 and the public code
do). The means run over the rows of the minibatch and over the draws, each shared by all rows (Osawa
et al. 2019). Parameters for which no row of the task has a gradient, such as those of other heads,
keep their prior. Knows: the likelihood.

State: mean, precision [S, H, P]; tasks [S, H], the number of tasks learnt.
Info, [S, H], in nats over the task: elbo = log_evidence = expected_log_likelihood - kl /
dataset_size_scale, and these two terms; elbo_se (Monte Carlo); steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt, MinLen

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Broadening, Info, Learner, Predictive, Problem, State
from shiftbench.methods.lazy_probability import tfd
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

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    offers=("broaden", "log_evidence"),
    model=True,
)


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the data of a task (eschenhagen2019vogn, 4.3; 60, then 600, for split CIFAR)."""
    batch_size: Annotated[int, Ge(1)] = 256
    """Number of rows of a minibatch (eschenhagen2019vogn)."""
    draws: Annotated[int, Ge(1)] = 10
    """Number K of weight draws of a step (eschenhagen2019vogn)."""
    alpha: Annotated[float, Gt(0)] = 0.001
    """Step size of the mean (eschenhagen2019vogn); ten epochs of 60,000 rows need 0.01."""
    beta: Annotated[float, Gt(0), Lt(1)] = 0.001
    """Step size of the precision (eschenhagen2019vogn; 0.0001 for split CIFAR); a shorter training
    needs a larger one, as for alpha."""
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Momentum of the mean's steps (0.9 for split CIFAR, eschenhagen2019vogn, 4.5)."""
    momentum_kind: Literal["exponential", "heavy-ball"] = "heavy-ball"
    """Weight of a new step; exponential: 1 - momentum; heavy-ball: 1, as in the public code."""
    dataset_size_scale: Annotated[float, Gt(0)] = 1.0
    """Factor of N, for augmented data (rho; eschenhagen2019vogn, 3.4) or a cold posterior."""
    initial_precision: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (20.0,)
    """Start precisions, one a task; the last holds for all later tasks (split CIFAR: 4e3, 4e4)."""
    initial_precision_per: Literal["example", "task"] = "example"
    """Unit of initial_precision; example: times N (public code; 20 N is the paper's 1e6)."""
    start: Literal["fresh", "prior"] = "fresh"
    """Start means of a task; fresh: drawn again (4.3); prior: the prior's (split CIFAR)."""
    start_precision: Literal["initial", "prior"] = "initial"
    """Start precision of a task; initial: initial_precision, as always in eschenhagen2019vogn;
    prior: the prior's, from the second task on."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, which has mean zero (split CIFAR: 120^-0.5)."""
    prediction_draws: Annotated[int, Ge(1)] = 100
    """Number of weight draws of a prediction (eschenhagen2019vogn)."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of the final ELBO, which decides between hypotheses."""


class _Gaussian(NamedTuple):
    """Mean and precision [S, H, P] of independent normals."""

    mean: tf.Tensor
    precision: tf.Tensor


class _Iterate(NamedTuple):
    """q after a number of steps, [S, H, P] each; touched: whether any gradient was not 0."""

    mean: tf.Tensor
    precision: tf.Tensor
    sd: tf.Tensor
    velocity: tf.Tensor
    touched: tf.Tensor


class _Rates(NamedTuple):
    """Step sizes, momentum, and the weight `gain` of a new step."""

    alpha: float
    beta: float
    momentum: float
    gain: float


NOISE, STEPS, ELBO = range(3)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build VOGN for a model; TensorFlow traces one graph for each size of task."""
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
        of_state = partial(moments, state["mean"], state["precision"], seeds)
        return sampling.predictive(model, of_state, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = _start(settings, model, state, batch, seeds)
        results = fit(_Gaussian(state["mean"], state["precision"]), start, batch, seeds)
        mean, precision = (a.numpy() for a in results[:2])
        posterior = {"mean": mean, "precision": precision, "tasks": state["tasks"] + 1}
        return posterior, sampling.info(*results[2:], kl_weight=1 / settings.dataset_size_scale)

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"],
            1.0 / state["precision"].astype(np.float64),
            broadening,
            0.0,
            settings.prior_sd**2,
        )
        broad = {"mean": mean.astype(np.float32), "precision": (1 / variance).astype(np.float32)}
        return state | broad

    return Learner(init, predict, observe, broaden=broaden)


def _start(
    settings: Settings, model: Model, state: State, batch: Batch, seeds: np.ndarray
) -> _Gaussian:
    """Return the means and precisions that a task starts with."""
    tasks, mean = state["tasks"], state["mean"]
    count = settings.dataset_size_scale * batch.mask.sum(axis=1)
    initial = natural_gradient.first_precision(
        settings.initial_precision, settings.initial_precision_per, tasks, np.maximum(count, 1)
    )
    # The mean of the first prior is zero, a saddle point of a network.
    first = (tasks == 0)[..., None]
    redrawn = first | (settings.start == "fresh")
    reset = first | (settings.start_precision == "initial")
    return _Gaussian(
        np.where(redrawn, natural_gradient.fresh(model, seeds), mean),
        np.where(reset, initial[..., None], state["precision"]),
    )


def _fit(
    settings: Settings,
    model: Model,
    prior: _Gaussian,
    start: _Gaussian,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Fit q to a task; return mean, precision, the ELBO's two terms, and the number of steps."""
    size = settings.draws * model.size
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1) * settings.dataset_size_scale
    noise = sampling.table(fold_in(seeds, NOISE), size)
    gain = 1.0 - settings.momentum if settings.momentum_kind == "exponential" else 1.0
    rates = _Rates(settings.alpha, settings.beta, settings.momentum, gain)

    def step(now: _Iterate, rows: Minibatch, step_seeds: tf.Tensor) -> _Iterate:
        excerpt = sampling.excerpt(noise, step_seeds, size)
        means = _gradient_moments(settings.draws, model, now.mean, now.sd, rows, excerpt)
        return _update(rates, now, prior, *means, tf.reduce_sum(rows.mask, 1), count)

    velocity, touched = tf.zeros_like(start.mean), tf.zeros_like(start.mean, tf.bool)
    first = _Iterate(*start, inverse_sqrt(start.precision), velocity, touched)
    last, steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    mean = tf.where(last.touched, last.mean, prior.mean)
    precision = tf.where(last.touched, last.precision, prior.precision)
    sd = inverse_sqrt(precision)
    draw = sampling.gaussian(mean, sd)
    log_lik = sampling.expected_log_likelihood(
        model, draw, data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    q, p = tfd.Normal(mean, sd), tfd.Normal(prior.mean, inverse_sqrt(prior.precision))
    return mean, precision, log_lik, tf.reduce_sum(tfd.kl_divergence(q, p), -1), steps


def _gradient_moments(
    draws: int,
    model: Model,
    mean: tf.Tensor,
    sd: tf.Tensor,
    rows: Minibatch,
    noise: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sums over rows of the gradients of log p and of their squares, [S, H, P] each.

    Averaged over weight draws. noise: [S, draws P].
    """
    # Convolutions form each example's gradient, so one draw at a time, for memory.
    together = 1 if model.convolves else draws
    gradients, squares = tf.zeros_like(mean), tf.zeros_like(mean)
    for i in range(draws // together):
        excerpt = slice(i * together * model.size, (i + 1) * together * model.size)
        linear = _drawn_network(model, together, mean, sd, noise[:, excerpt])
        _, signals = example_gradients.signals(model, linear, rows)
        first, second = example_gradients.moments(signals, together)
        gradients, squares = gradients + first, squares + second
    return gradients / draws, squares / draws


def _drawn_network(
    model: Model, draws: int, mean: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor
) -> Linear:
    """Return the network under several weight draws [S, H K, ...], which all rows share."""
    s, h = mean.shape[:2]
    weights, biases = _drawn_weights(model, draws, mean, sd, noise)

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        bias = per_example(biases[layer.name][:, :, tf.newaxis], x)
        if layer is not model.layers[0]:
            return product(x, weights[layer.name]) + bias
        # All draws see the same x: one product with their weights side by side.
        out = product(x, weights[layer.name])
        by_draw = tf.reshape(out, [s, h, -1, draws, layer.fan_out])
        out = tf.transpose(by_draw, [0, 1, 3, 2, 4])
        return tf.reshape(out, [s, h * draws, *x.shape[2:-1], layer.fan_out]) + bias

    return linear


# Fused: one pass over memory in place of four.
@fused
def _drawn_weights(
    model: Model, draws: int, mean: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Draw weights [S, H K, fan_in, fan_out] and biases [S, H K, fan_out] of each layer, by name.

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
    now: _Iterate,
    prior: _Gaussian,
    gradient: tf.Tensor,
    squares: tf.Tensor,
    rows: tf.Tensor,
    count: tf.Tensor,
) -> _Iterate:
    """Return the next iterate by Eq. 52 and 53; repetitions with an empty minibatch do not move."""
    scale = (count / tf.maximum(rows, 1.0))[:, None, None]
    precision = now.precision * (1 - rates.beta)
    precision += rates.beta * (scale * squares + prior.precision)
    loss_gradient = prior.precision * (now.mean - prior.mean) - scale * gradient
    velocity = rates.momentum * now.velocity + rates.gain * loss_gradient / precision
    new = _Iterate(
        now.mean - rates.alpha * velocity,
        precision,
        inverse_sqrt(precision),
        velocity,
        now.touched | (squares != 0),
    )
    has_rows = (rows > 0)[:, None, None]
    return _Iterate(*(tf.where(has_rows, a, b) for a, b in zip(new, now, strict=True)))
