"""Mean-field variational inference for networks (variational continual learning).

The posterior of one task is the prior of the next. Source: seed 000, section 3.1, Eq. 4
and C.2, where with s = 0 always it is VCL. Knows: the likelihood. The methods, by settings:

- VCL (Nguyen et al. 2018; its code): biases `gaussian`, estimator `sample`, draws 10, start
  `maximum-likelihood`, start_sd e^-3, prediction_draws 100. Its start values of a new head
  are a truncated normal's, here a normal's.
- Improved VCL (Swaroop et al. 2019): the same with start `fresh`, estimator `local` and a
  learning rate of 0.005. Its code shares the noise of the outputs between the rows of a
  minibatch and draws it anew for each class; here each row has its own, for all classes.
- Radial posteriors (seed 003, 3 and 4.3): family `radial`, start_sd softplus(-6) or
  softplus(-4), start_rho_sd 0.5. The first prior is normal, those after it radial. The cross
  entropy is exact but for E log R (posteriors/radial.py); with several draws the public code
  adds up, by mistake, what it should average. No AMSGrad.

Where rows tell their head, the parameters of heads that a task has no rows of stay as they
are, and add nothing to the divergence. A prior mean of exactly zero marks a parameter that no
task has trained: a new head, or all.

State: mean, sd [S, H, P] of q; parameters that are points have sd 0 (biases, by default,
as in the code of seed 000: neither prior nor penalty).
Info, [S, H] in nats over the task: elbo = log_evidence, expected_log_likelihood, kl;
steps. No bound on the evidence with family `radial` and prior_density `published`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
import tensorflow_probability as tfp
from annotated_types import Ge, Gt

from shiftbench.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.learners import _layerwise, _natural, _weight_draws
from shiftbench.learners._backend import tf
from shiftbench.learners._random import fold_in, normals
from shiftbench.learners._tasks import head_of_each, heads_in
from shiftbench.learners._training import Adam, Rows, minimise, total
from shiftbench.learners._weight_draws import Draws, Noise
from shiftbench.models._model import Model, log_likelihood
from shiftbench.posteriors import mean_field_gaussian, radial
from shiftbench.seeds import generator

tfd = tfp.distributions

NEEDS: tuple[str, ...] = ()
MODEL = True

DENSE_ROWS = 10_000
CONVOLVED_ROWS = 500
"""Rows of a piece of the data in the ELBO, for memory."""

Data = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task (VCL: 100 permuted, 120 split; improved: 800, 600)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Rows of a minibatch (VCL: 256 permuted, all split; improved: 1024, 256)."""
    learning_rate: Annotated[float, Gt(0)] = 0.0005
    """Adam's step size (seed 000, Table 3; VCL 0.001, improved VCL 0.005)."""
    family: Literal["gaussian", "radial"] = "gaussian"
    """Of the posterior: independent normals, or the radial one of seed 003."""
    prior_density: Literal["full", "published"] = "full"
    """radial: of the carried prior; published: without its Jacobian, eq. 44 of seed 003."""
    estimator: Literal["flipout", "local", "sample"] = "flipout"
    """How weights are drawn: flipout; local reparameterisation (dense layers, gaussian only);
    sample: all rows of a minibatch share them (VCL)."""
    draws: Annotated[int, Ge(1)] = 1
    """Weight draws of a step, K (VCL, improved VCL: 10)."""
    start: Literal["fresh", "prior", "maximum-likelihood"] = "fresh"
    """fresh: means near zero for every task, as in seed 000; prior: from the prior, but for
    what no task has trained; maximum-likelihood: so, and the first task's means trained first,
    without prior and noise, for as many epochs (VCL)."""
    start_mean_sd: Annotated[float, Ge(0)] = 0.1
    """fresh: standard deviation of the means' start values; layers of few inputs need more."""
    start_sd: Annotated[float, Gt(0)] = 0.0486
    """fresh: start value of the posterior standard deviations (softplus(-3); VCL e^-3)."""
    start_rho_sd: Annotated[float, Ge(0)] = 0.0
    """fresh: standard deviation of the noise in softplus^-1 of that (code of seed 003: 0.5)."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero."""
    biases: Literal["point", "gaussian"] = "point"
    """point: trained without prior, penalty or noise; gaussian: treated like weights."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of a prediction (10 suffice, seed 000, C.2; VCL 100, improved VCL 20)."""
    elbo_draws: Annotated[int, Ge(1)] = 20
    """Weight draws per row of the final ELBO, which decides between hypotheses."""


class _Prior(NamedTuple):
    mean: tf.Tensor
    sd: tf.Tensor


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    blocks = _weight_draws.blocks_of(model, problem.heads) if settings.family == "radial" else None
    draws = Draws(model, settings.estimator, blocks, settings.draws)
    _weight_draws.check(draws)
    bayesian = np.ones(model.size, dtype=np.float32)
    if settings.biases == "point":
        bayesian[model.is_bias()] = 0.0
    owners = head_of_each(model, problem)
    fit = tf.function(partial(_fit, settings, draws, bayesian), reduce_retracing=False)
    pretrain = tf.function(partial(_pretrain, settings, model), reduce_retracing=False)
    moments = tf.function(partial(_moments, settings, draws))

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        sd = np.broadcast_to(settings.prior_sd * bayesian, shape)
        return {"mean": np.zeros(shape, np.float32), "sd": np.ascontiguousarray(sd, np.float32)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return _natural.predictive(model, moments(state["mean"], state["sd"], inputs, seeds))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        mean, sd = _start(settings, state, bayesian, seeds)
        if settings.start == "maximum-likelihood" and not state["mean"].any():
            mean = pretrain(mean, *batch, seeds).numpy()
        present = heads_in(batch, problem)
        active = (present[:, owners] | (owners < 0))[:, np.newaxis] if problem.heads > 1 else None
        results = fit(state["mean"], state["sd"], mean, sd, active, *batch, seeds)
        mean, sd, log_lik, kl, steps = (a.numpy() for a in results)
        info = {
            "elbo": log_lik - kl,
            "log_evidence": log_lik - kl,
            "expected_log_likelihood": log_lik,
            "kl": kl,
            "steps": np.full(kl.shape, steps),
        }
        return {"mean": mean, "sd": sd}, info

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

    # No radial density is a power of another one, nor its product with a normal one.
    wide = broaden if settings.family == "gaussian" else None
    return Learner(init, predict, observe, broaden=wide)


def _start(
    settings: Settings, state: State, bayesian: np.ndarray, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Start values of mean and sd [S, H, P]; fresh ones are the same for all hypotheses."""
    mean, sd = state["mean"], state["sd"]
    # A prior mean of zero throughout would also be a saddle point of a network.
    anew = (mean == 0) | (settings.start == "fresh")
    draws = [generator(seed).standard_normal((2, mean.shape[-1])) for seed in seeds]
    noise = np.stack(draws)[:, :, np.newaxis] * bayesian
    spread = np.full_like(sd, settings.start_sd)
    if settings.start_rho_sd > 0:
        rho = np.log(np.expm1(settings.start_sd)) + settings.start_rho_sd * noise[:, 1]
        spread = np.broadcast_to(np.logaddexp(0, rho), sd.shape)
    return (
        np.where(anew, settings.start_mean_sd * noise[:, 0], mean).astype(np.float32),
        np.where(anew, spread * bayesian, sd).astype(np.float32),
    )


def _pretrain(
    settings: Settings,
    model: Model,
    start: tf.Tensor,
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Parameters [S, H, P] of maximum likelihood, by as many epochs as the posterior takes."""

    def gradient(parameters: tf.Tensor, rows: Rows, step_seeds: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(parameters)
            linear = _layerwise.point(model, _layerwise.pieces(model, parameters))
            loss = _mean_nll(model.forward(linear, rows.inputs), model, rows)
        return tape.gradient(loss, parameters)

    data, adam = (inputs, targets, mask), Adam(settings.learning_rate)
    seeds = fold_in(seeds, 2)
    return minimise(gradient, start, data, seeds, settings.epochs, settings.batch_size, adam)[0]


def _mean_nll(outputs: tf.Tensor, model: Model, rows: Rows) -> tf.Tensor:
    """Mean negative log likelihood of a minibatch, [S, H]."""
    per_row = log_likelihood(model, outputs, rows.targets) * rows.mask[:, None]
    return -tf.reduce_sum(per_row, -1) / tf.reduce_sum(rows.mask, -1)[:, None]


def _fit(
    settings: Settings,
    draws: Draws,
    bayesian: np.ndarray,
    prior_mean: tf.Tensor,
    prior_sd: tf.Tensor,
    start_mean: tf.Tensor,
    start_sd: tf.Tensor,
    active: tf.Tensor | None,
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Adam on the negative ELBO over (mean, softplus^-1 sd), then the ELBO's two terms."""
    data, prior = (inputs, targets, mask), _Prior(prior_mean, prior_sd)
    counted = bayesian if active is None else bayesian * tf.cast(active, tf.float32)
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None, None]
    noise = _noise_of_steps(draws, min(settings.batch_size, mask.shape[1]), fold_in(seeds, 3))

    def gradient(parameters: tf.Tensor, rows: Rows, step_seeds: tf.Tensor) -> tf.Tensor:
        mean, sd = _unpack(parameters, bayesian)
        drawn = noise(step_seeds)
        with tf.GradientTape() as tape:
            tape.watch([mean, sd])
            linear = _weight_draws.linear(draws, mean, sd, drawn, rows.inputs.shape[2])
            loss = _mean_nll(draws.model.forward(linear, rows.inputs), draws.model, rows)
            loss /= draws.number
        likelihood = tape.gradient(loss, [mean, sd])
        if draws.blocks is None:
            return _posterior_gradient(*likelihood, mean, sd, *prior, counted, count)
        density = settings.prior_density
        return _radial_gradient(
            *likelihood, mean, sd, prior, drawn.eps, counted, count, draws.blocks, density
        )

    start = tf.concat([start_mean, tfp.math.softplus_inverse(tf.maximum(start_sd, 1e-12))], -1)
    fitted, steps = minimise(
        gradient,
        start,
        data,
        fold_in(seeds, 0),
        settings.epochs,
        settings.batch_size,
        Adam(settings.learning_rate),
    )
    mean, sd = _unpack(fitted, bayesian)
    if active is not None:
        mean, sd = tf.where(active, mean, prior_mean), tf.where(active, sd, prior_sd)
    seeds = fold_in(seeds, 1)
    log_lik = _expected_log_likelihood(settings, draws, mean, sd, data, seeds)
    kl = _kl(settings, draws, mean, sd, prior, counted, seeds)
    return mean, sd, log_lik, kl, steps


def _noise_of_steps(draws: Draws, rows: int, seeds: tf.Tensor) -> Callable[[tf.Tensor], Noise]:
    """Seeds of a step -> its noise; for several draws from a table, which costs less."""
    needed = _weight_draws.numbers_needed(draws, rows)
    if draws.number == 1:
        return partial(_noise, draws, rows)
    size = draws.number * needed
    table = _natural.table(seeds, size)

    def noise(step_seeds: tf.Tensor) -> Noise:
        numbers = _natural.excerpt(table, step_seeds, size)
        return _weight_draws.noise(draws, tf.reshape(numbers, [-1, draws.number, needed]), rows)

    return noise


def _noise(draws: Draws, rows: int, seeds: tf.Tensor) -> Noise:
    """The noise of one draw, not from a table."""
    numbers = normals(fold_in(seeds, 0), [1, _weight_draws.numbers_needed(draws, rows)])
    return _weight_draws.noise(draws, numbers, rows)


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


@tf.function(jit_compile=True)
def _radial_gradient(
    mean_gradient: tf.Tensor,
    sd_gradient: tf.Tensor,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior: _Prior,
    eps: tf.Tensor,
    counted: tf.Tensor,
    count: tf.Tensor,
    blocks: radial.Blocks,
    density: radial.PriorDensity,
) -> tf.Tensor:
    """As `_posterior_gradient`, for a radial posterior."""
    with tf.GradientTape() as tape:
        tape.watch([mean, sd])
        kl = radial.divergence(mean, sd, *prior, eps, counted, blocks, density)
    in_mean, in_sd = tape.gradient(kl, [mean, sd])
    sd_gradient += in_sd / count
    return tf.concat([mean_gradient + in_mean / count, sd_gradient * -tf.math.expm1(-sd)], -1)


def _kl(
    settings: Settings,
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior: _Prior,
    counted: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """KL(q || prior) [S, H] in nats, over the parameters that count."""
    blocks = draws.blocks
    if blocks is None:
        return divergence(mean, sd, *prior, counted)

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        eps = _noise(draws._replace(number=1), 1, draw_seeds).eps
        return radial.divergence(mean, sd, *prior, eps, counted, blocks, settings.prior_density)

    return _average(settings.elbo_draws, seeds, once)


def _average(draws: int, seeds: tf.Tensor, function: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Mean of function(seeds of a draw) over draws."""
    total = function(fold_in(seeds, 0))
    for i in tf.range(1, draws):
        total += function(fold_in(seeds, i))
    return total / draws


def _expected_log_likelihood(
    settings: Settings,
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    data: Data,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """E_q[log p(data)] [S, H], summed over the rows; pieces of the data share their noise."""
    one, model = draws._replace(number=1), draws.model
    convolves = any(layer.name.startswith("conv") for layer in model.layers)
    size = min(CONVOLVED_ROWS if convolves else DENSE_ROWS, data[2].shape[1])

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = _weight_draws.linear(one, mean, sd, _noise(one, size, draw_seeds), size)

        def piece(rows: Rows) -> tf.Tensor:
            outputs = model.forward(linear, rows.inputs)
            return tf.reduce_sum(
                log_likelihood(model, outputs, rows.targets) * rows.mask[:, None], -1
            )

        return total(piece, data, size)

    return _average(settings.elbo_draws, seeds, once)


def _moments(
    settings: Settings,
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    inputs: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Means over draws of (probabilities or means, their squares), [2, S, H, n, n_outputs]."""
    one, model, n = draws._replace(number=1), draws.model, inputs.shape[1]

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = _weight_draws.linear(one, mean, sd, _noise(one, n, draw_seeds), n)
        outputs = model.forward(linear, inputs[:, tf.newaxis])
        if model.likelihood == "categorical":
            outputs = tf.nn.softmax(outputs)
        return tf.stack([outputs, tf.square(outputs)])

    return _average(settings.prediction_draws, seeds, once)
