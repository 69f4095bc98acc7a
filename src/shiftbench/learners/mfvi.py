"""Mean-field Gaussian variational inference for networks (variational continual learning).

The posterior of one task is the prior of the next. Source: seed 000, section 3.1, Eq. 4
and C.2; with s = 0 always this is VCL (Nguyen et al. 2018). The weight draws of a step
follow Flipout (Wen et al. 2018) or local reparameterisation (Kingma et al. 2015; dense
layers only). Knows: the likelihood.

State: mean, sd [S, H, P] of q; parameters that are points have sd 0 (biases, by default,
as in the authors' code: neither prior nor penalty).
Info, [S, H] in nats over the task: elbo = log_evidence, expected_log_likelihood, kl;
steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
import tensorflow_probability as tfp
from annotated_types import Ge, Gt

from shiftbench.interface import (
    Batch,
    Broadening,
    Categorical,
    Gaussian,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
)
from shiftbench.learners._backend import tf
from shiftbench.learners._random import fold_in, normals
from shiftbench.learners._training import Adam, Rows, minimise
from shiftbench.models._model import (
    Layer,
    Linear,
    Model,
    biases_of,
    log_likelihood,
    per_example,
    product,
    weights_of,
)
from shiftbench.posteriors import mean_field_gaussian
from shiftbench.seeds import generator

tfd = tfp.distributions

NEEDS: tuple[str, ...] = ()
MODEL = True


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.0005
    """Adam's step size (seed 000, Table 3)."""
    estimator: Literal["flipout", "local"] = "flipout"
    """How weights are drawn: flipout, or local reparameterisation (dense layers only)."""
    start: Literal["fresh", "prior"] = "fresh"
    """fresh: means near zero for every task, as in seed 000; prior: from the prior, warm."""
    start_mean_sd: Annotated[float, Ge(0)] = 0.1
    """fresh: standard deviation of the means' start values; layers of few inputs need more."""
    start_sd: Annotated[float, Gt(0)] = 0.0486
    """fresh: start value of the posterior standard deviations (softplus(-3))."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero."""
    biases: Literal["point", "gaussian"] = "point"
    """point: trained without prior, penalty or noise; gaussian: treated like weights."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of a prediction (10 suffice, seed 000, C.2)."""
    elbo_draws: Annotated[int, Ge(1)] = 20
    """Weight draws per row of the final ELBO, which decides between hypotheses."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    if settings.estimator == "local" and any(
        layer.name.startswith("conv") for layer in model.layers
    ):
        raise LearnerError("mfvi: local reparameterisation is for dense layers; use flipout")
    bayesian = np.ones(model.size, dtype=np.float32)
    if settings.biases == "point":
        bayesian[model.is_bias()] = 0.0
    fit = tf.function(partial(_fit, settings, model, bayesian), reduce_retracing=False)
    draw = tf.function(partial(_draw_predictions, settings, model))

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        sd = np.broadcast_to(settings.prior_sd * bayesian, shape)
        return {"mean": np.zeros(shape, np.float32), "sd": np.ascontiguousarray(sd, np.float32)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        s, h = state["mean"].shape[:2]
        log_weights = np.full((s, h), -np.log(h))
        first, second = (a.numpy() for a in draw(state["mean"], state["sd"], inputs, seeds))
        if model.likelihood == "categorical":
            return Categorical(log_weights, first)
        variance = np.maximum(second - first**2, 0.0) + model.noise_sd**2
        return Gaussian(log_weights, first, variance)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = _start(settings, state, bayesian, seeds)
        mean, sd, log_lik, kl, steps = fit(state["mean"], state["sd"], *start, *batch, seeds)
        elbo = (log_lik - kl).numpy()
        info = {
            "elbo": elbo,
            "log_evidence": elbo,
            "expected_log_likelihood": log_lik.numpy(),
            "kl": kl.numpy(),
            "steps": np.full(elbo.shape, steps.numpy()),
        }
        return {"mean": mean.numpy(), "sd": sd.numpy()}, info

    def broaden(state: State, broadening: Broadening) -> State:
        points = state["sd"] == 0
        variance = np.where(points, 1.0, state["sd"].astype(np.float64) ** 2)
        mean, variance = mean_field_gaussian.broaden(
            state["mean"], variance, broadening, 0.0, settings.prior_sd**2
        )
        return {
            "mean": np.where(points, state["mean"], mean).astype(np.float32),
            "sd": np.where(points, 0.0, np.sqrt(variance)).astype(np.float32),
        }

    return Learner(init, predict, observe, broaden=broaden)


def _start(
    settings: Settings, state: State, bayesian: np.ndarray, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Start values of mean and sd [S, H, P]; fresh ones are the same for all hypotheses."""
    mean, sd = state["mean"], state["sd"]
    # The very first prior has mean zero everywhere, a saddle point of a network.
    if settings.start == "prior" and mean.any():
        return mean, sd
    sd = np.full_like(sd, settings.start_sd) * bayesian
    draws = [generator(seed).standard_normal(mean.shape[-1]) for seed in seeds]
    fresh = settings.start_mean_sd * np.stack(draws)[:, None] * bayesian
    return np.broadcast_to(fresh, mean.shape).astype(np.float32), sd


def _fit(
    settings: Settings,
    model: Model,
    bayesian: np.ndarray,
    prior_mean: tf.Tensor,
    prior_sd: tf.Tensor,
    start_mean: tf.Tensor,
    start_sd: tf.Tensor,
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Adam on the negative ELBO over (mean, softplus^-1 sd), then the ELBO's two terms."""
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None]
    prior = prior_mean, prior_sd

    def gradient(parameters: tf.Tensor, rows: Rows, step_seeds: tf.Tensor) -> tf.Tensor:
        mean, sd = _unpack(parameters, bayesian)
        with tf.GradientTape() as tape:
            tape.watch([mean, sd])
            outputs = _forward(settings, model, mean, sd, rows.inputs, step_seeds)
            per_row = log_likelihood(model, outputs, rows.targets) * rows.mask[:, None]
            mean_nll = -tf.reduce_sum(per_row, -1) / tf.reduce_sum(rows.mask, -1)[:, None]
        likelihood = tape.gradient(mean_nll, [mean, sd])
        return _posterior_gradient(*likelihood, mean, sd, *prior, bayesian, count[..., None])

    start = tf.concat([start_mean, tfp.math.softplus_inverse(tf.maximum(start_sd, 1e-12))], -1)
    adam = Adam(settings.learning_rate)
    fitted, steps = minimise(
        gradient,
        start,
        (inputs, targets, mask),
        fold_in(seeds, 0),
        settings.epochs,
        settings.batch_size,
        adam,
    )
    mean, sd = _unpack(fitted, bayesian)
    log_lik = _expected_log_likelihood(
        settings, model, mean, sd, (inputs, targets, mask), fold_in(seeds, 1)
    )
    return mean, sd, log_lik, divergence(mean, sd, *prior, bayesian), steps


@tf.function(jit_compile=True)
def _unpack(parameters: tf.Tensor, bayesian: np.ndarray) -> tuple[tf.Tensor, tf.Tensor]:
    mean, rho = tf.split(parameters, 2, -1)
    return mean, tf.nn.softplus(rho) * bayesian


@tf.function(jit_compile=True)
def _posterior_gradient(
    mean_gradient: tf.Tensor,
    sd_gradient: tf.Tensor,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior_mean: tf.Tensor,
    prior_sd: tf.Tensor,
    bayesian: np.ndarray,
    count: tf.Tensor,
) -> tf.Tensor:
    """Gradient of (nll + KL / count) in (mean, rho), sd = softplus(rho), from the nll's.

    The divergence's gradient in closed form, fused: with automatic differentiation it
    costs more than the network.
    """
    points = 1.0 - bayesian
    precision = bayesian / tf.square(prior_sd + points)
    mean_gradient += (mean - prior_mean) * precision / count
    sd_gradient += (sd * precision - bayesian / (sd + points)) / count
    return tf.concat([mean_gradient, sd_gradient * -tf.math.expm1(-sd)], -1)


def divergence(
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior_mean: tf.Tensor,
    prior_sd: tf.Tensor,
    bayesian: np.ndarray,
) -> tf.Tensor:
    """KL(q || prior) [S, H] in nats, over the parameters that are not points."""
    points = 1.0 - bayesian
    each = tfd.kl_divergence(
        tfd.Normal(mean, sd + points), tfd.Normal(prior_mean, prior_sd + points)
    )
    return tf.reduce_sum(each * bayesian, -1)


def _forward(
    settings: Settings,
    model: Model,
    mean: tf.Tensor,
    sd: tf.Tensor,
    inputs: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Outputs [S, H, n, n_outputs] with weights drawn anew for every row."""
    draw = _flipout if settings.estimator == "flipout" else _local
    linear = draw(model, mean, sd, inputs.shape[2], fold_in(seeds, 0))
    bias = _biases(settings, model, mean, sd, inputs.shape[2], fold_in(seeds, 1))
    return model.forward(lambda layer, x: bias(layer, linear(layer, x)), inputs)


def _flipout(model: Model, mean: tf.Tensor, sd: tf.Tensor, n: int, seeds: tf.Tensor) -> Linear:
    """One weight draw for the step, made nearly independent between rows by random signs."""
    sizes = [n * (layer.fan_in + layer.fan_out) for layer in model.layers]
    noise, *flips = tf.split(normals(seeds, [1, model.size + sum(sizes)]), [model.size, *sizes], -1)
    signs = dict(zip(model.layers, flips, strict=True))
    perturbation = sd * noise

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        flips = tf.reshape(tf.sign(signs[layer]), [x.shape[0], 1, n, -1])
        left, right = tf.split(flips, [layer.fan_in, layer.fan_out], -1)
        noisy = product(x * per_example(left, x), weights_of(layer, perturbation))
        return product(x, weights_of(layer, mean)) + noisy * per_example(right, noisy)

    return linear


def _local(model: Model, mean: tf.Tensor, sd: tf.Tensor, n: int, seeds: tf.Tensor) -> Linear:
    """Draws of the layers' outputs instead of their weights; independent between rows."""
    sizes = [n * layer.fan_out for layer in model.layers]
    drawn = tf.split(normals(seeds, [1, sum(sizes)]), sizes, -1)
    noises = dict(zip(model.layers, drawn, strict=True))
    variance = tf.square(sd)

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        spread = product(tf.square(x), weights_of(layer, variance))
        noise = tf.reshape(noises[layer], [x.shape[0], 1, n, layer.fan_out])
        # The floor keeps the gradient of the root finite where all inputs are zero.
        return product(x, weights_of(layer, mean)) + tf.sqrt(spread + 1e-12) * noise

    return linear


def _biases(
    settings: Settings, model: Model, mean: tf.Tensor, sd: tf.Tensor, n: int, seeds: tf.Tensor
) -> Callable[[Layer, tf.Tensor], tf.Tensor]:
    """Adds the biases of a layer to its output, drawn for every row if they are Gaussian."""
    sizes = [n * layer.fan_out for layer in model.layers]
    gaussian = settings.biases == "gaussian"
    drawn = tf.split(normals(seeds, [1, sum(sizes)]), sizes, -1) if gaussian else sizes
    noises = dict(zip(model.layers, drawn, strict=True))

    def add(layer: Layer, out: tf.Tensor) -> tf.Tensor:
        bias = biases_of(layer, mean)[:, :, tf.newaxis]
        if gaussian:
            noise = tf.reshape(noises[layer], [out.shape[0], 1, n, layer.fan_out])
            bias += biases_of(layer, sd)[:, :, tf.newaxis] * noise
        return out + per_example(bias, out)

    return add


def _average(draws: int, seeds: tf.Tensor, function: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Mean of function(seeds of a draw) over draws."""
    total = function(fold_in(seeds, 0))
    for i in tf.range(1, draws):
        total += function(fold_in(seeds, i))
    return total / draws


def _expected_log_likelihood(
    settings: Settings,
    model: Model,
    mean: tf.Tensor,
    sd: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
) -> tf.Tensor:
    """E_q[log p(data)] [S, H], summed over the rows."""
    inputs, targets, mask = data
    weight = tf.cast(mask, tf.float32)[:, tf.newaxis]

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        outputs = _forward(settings, model, mean, sd, inputs[:, tf.newaxis], draw_seeds)
        return tf.reduce_sum(log_likelihood(model, outputs, targets) * weight, -1)

    return _average(settings.elbo_draws, seeds, once)


def _draw_predictions(
    settings: Settings,
    model: Model,
    mean: tf.Tensor,
    sd: tf.Tensor,
    inputs: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Means over draws of (probabilities or means, their squares), [S, H, n, n_outputs]."""

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        outputs = _forward(settings, model, mean, sd, inputs[:, tf.newaxis], draw_seeds)
        if model.likelihood == "categorical":
            outputs = tf.nn.softmax(outputs)
        return tf.stack([outputs, tf.square(outputs)])

    first, second = tf.unstack(_average(settings.prediction_draws, seeds, once))
    return first, second
