"""Stochastic gradient Langevin dynamics: draws from the posterior by noisy minibatch gradients.

Source: Welling and Teh 2011; farquhar2020radial, 1 and 2, names it for its discrete support. With U
the negative log posterior, estimated from a minibatch, a step of size epsilon is

    w <- w - epsilon / 2 grad U(w) + epsilon^1/2 noise.

The steps, their rates and what is kept of them are in `networks/langevin.py`. Draws are from the
posterior only if rates are small, the burn-in is long, and the chain is longer than it takes to
forget: with a constant rate and whole batches, a quadratic loss of curvature h (in nats of the
task) gets the variance 1 / (h (1 - epsilon h / 4)) in place of 1 / h. Knows: the likelihood.

On-line the posterior of a task must be the prior of the next. Choices, the setting `prior`:

- `moments`, the default: the normal with the weighted mean and variance of the draws, independent
  for each parameter. It has full support, so that learning goes on, but no correlations. A chain
  that is too short gives too narrow a prior.
- `draws`: the draws themselves. The first task is learnt by a chain; every later one multiplies the
  weights of its draws by their likelihoods, which is exact Bayes under that discrete prior. "Once a
  prior is exactly zero, no amount of data can update it" (farquhar2020radial, 1).

With several heads, parameters of heads without rows in the task stay unchanged. A prior mean of
exactly zero marks a parameter that no task has trained yet.

State: mean, sd [S, H, P], the weighted moments; draws [S, H, K, P]; log_weights [S, H, K].
Info, [S, H]: log_evidence in nats over the task, with prior `moments` and in the first task the
ELBO of the normal of the moments, a lower bound; with prior `draws`, later, exact. effective_draws,
one over the sum of squared weights; steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval, Le

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
from shiftbench.core.seeds import generator
from shiftbench.methods.networks import langevin, mean_field, sampling
from shiftbench.methods.networks.backend import graph, summed, tf, traced
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.networks.model import Model, glorot, point
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.task_schedule import head_of_each, heads_in
from shiftbench.methods.networks.training import Data
from shiftbench.methods.posteriors import mean_field_gaussian

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "number": "gaussian"},
    offers={"broaden": {"prior": ("moments",)}, "log_evidence": True},
    model=True,
)


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the data of a task, with the burn-in."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.2
    """Rate of the first step, for the mean loss of a minibatch: epsilon N / 2 of Welling and Teh,
    Eq. 4, for N rows in the task."""
    last_rate_share: Annotated[float, Gt(0), Le(1)] = 0.3
    """The last step's rate as a share of the first one's; 1: constant (Welling and Teh, 5.1: 0.01).
    Rates fall from the first again in every task."""
    power: Annotated[float, Interval(gt=0.5, le=1)] = 0.55
    """Power by which rates fall (Welling and Teh, 5.1: 0.55)."""
    burn_in_share: Annotated[float, Interval(ge=0, lt=1)] = 0.5
    """Share of a task's steps before the first draw that is kept."""
    draws: Annotated[int, Ge(2)] = 50
    """Number K of draws that are kept of a task, at even distances, and that a prediction averages
    over."""
    prior: Literal["moments", "draws"] = "moments"
    """Prior of the next task; moments: the normal with mean and variance of the draws; draws: the
    draws themselves, whose weights later tasks change."""
    start: Literal["fresh", "prior"] = "prior"
    """Start of a chain; fresh: Glorot's weights; prior: the last draw of the task before."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, which has mean zero."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of the ELBO, which decides between hypotheses."""


CHAIN, ELBO = range(2)
"""Purposes that a task's seeds are folded with."""
LEAST = 1e-12
"""Lower bound of variances, for a chain that has taken a single step."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build SGLD for a model; TensorFlow traces one graph for each size of task."""
    owners = head_of_each(model, problem)
    sample, reweigh = graph(partial(_sample, settings, model)), graph(partial(_reweigh, model))

    @graph
    def moments(draws: tf.Tensor, weights: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        def of_draw(k: tf.Tensor) -> tf.Tensor:
            outputs = model.forward(point(draws[:, :, k]), inputs[:, tf.newaxis])
            of_k = sampling.moments(model, outputs)
            return tf.cast(weights[:, :, k, tf.newaxis, tf.newaxis], of_k.dtype) * of_k

        return summed(of_draw, settings.draws)

    def init(seeds: np.ndarray) -> State:
        shape, k = (len(seeds), 1, model.size), settings.draws
        noise = [generator(seed).standard_normal((1, k, model.size), np.float32) for seed in seeds]
        return {
            "mean": np.zeros(shape, np.float32),
            "sd": np.full(shape, settings.prior_sd, np.float32),
            "draws": np.float32(settings.prior_sd) * np.stack(noise),
            "log_weights": np.full((*shape[:2], k), -np.log(k), np.float32),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        weights = np.exp(state["log_weights"])
        if model.likelihood != "categorical":  # moments in float64 need weights whose sum is 1
            weights = weights / weights.sum(axis=-1, keepdims=True, dtype=float)
        weighted = partial(moments, state["draws"], weights)
        return sampling.predictive(model, weighted, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        learnt = np.asarray(state["mean"].any(axis=-1)) & (settings.prior == "draws")
        parts = []
        if not learnt.all():
            active = heads_in(batch, problem)[:, owners] | (owners < 0)
            active &= np.any(batch.mask, axis=1, keepdims=True)
            start = _start(settings, model, state, seeds)
            parts.append(sample(state, start, active[:, np.newaxis], tuple(batch), seeds))
        if learnt.any():
            parts.append(reweigh(state, tuple(batch)))
        # The last part is that of the repetitions that have learnt, if there are two.
        arrays = [{name: a.numpy() for name, a in part.items()} for part in parts]
        both = {name: _where(learnt, a, arrays[0][name]) for name, a in arrays[-1].items()}
        return {name: both.pop(name) for name in state}, both

    broaden = partial(_broadened, settings.prior_sd) if settings.prior == "moments" else None
    return Learner(init, predict, observe, broaden=broaden)


def _where(learnt: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Select from arrays [S, H, ...] by learnt [S, H]."""
    return np.where(learnt.reshape(*learnt.shape, *[1] * (one.ndim - 2)), one, other)


def _start(settings: Settings, model: Model, state: State, seeds: np.ndarray) -> np.ndarray:
    """Return the start of a chain [S, H, P]."""
    fresh = (state["mean"] == 0) | (settings.start == "fresh")
    return np.where(fresh, glorot(model, seeds), state["draws"][:, :, -1])


def _sample(
    settings: Settings,
    model: Model,
    state: dict[str, tf.Tensor],
    start: tf.Tensor,
    active: tf.Tensor,
    data: Data,
    seeds: tf.Tensor,
) -> dict[str, tf.Tensor]:
    """Return state and Info after a chain; only active parameters [S, 1, P] change."""
    rates = langevin.Rates(settings.learning_rate, settings.last_rate_share, settings.power)
    plan = langevin.Plan(settings.epochs, settings.batch_size, rates, settings.burn_in_share)
    prior = MeanField(state["mean"], state["sd"])
    chain, _ = langevin.run(plan, model, start, state["draws"], prior, data, fold_in(seeds, CHAIN))
    draws = tf.where(active[:, :, tf.newaxis], chain.draws, state["draws"])
    weights = tf.nn.log_softmax(tf.math.log(chain.rates))[:, tf.newaxis]
    log_weights = tf.where(chain.steps[:, None, None] > 0, weights, state["log_weights"])
    fitted = weighted_moments(draws, log_weights)
    q = MeanField(*(tf.where(active, *pair) for pair in zip(fitted, prior, strict=True)))
    draw, number = sampling.gaussian(*q), settings.elbo_draws
    log_lik = sampling.expected_log_likelihood(model, draw, data, number, fold_in(seeds, ELBO))
    evidence = log_lik.mean - mean_field.gaussian_divergence(q, prior, np.float32(1))
    steps = tf.broadcast_to(chain.steps[:, tf.newaxis], evidence.shape)
    return _results(draws, log_weights, q, evidence, steps)


def _reweigh(model: Model, state: dict[str, tf.Tensor], data: Data) -> dict[str, tf.Tensor]:
    """Return state and Info after exact Bayes, with the weighted draws as the prior."""
    draws = state["draws"]
    of_draw = traced(lambda k: sampling.log_likelihood(model, draws[:, :, k], data))
    log_lik = tf.map_fn(of_draw, tf.range(draws.shape[2]), fn_output_signature=tf.float32)
    joint = state["log_weights"] + tf.transpose(log_lik, [1, 2, 0])
    evidence = tf.reduce_logsumexp(joint, -1)
    log_weights = joint - evidence[..., tf.newaxis]
    q = weighted_moments(draws, log_weights)
    return _results(draws, log_weights, q, evidence, tf.zeros_like(evidence, tf.int32))


def _results(
    draws: tf.Tensor, log_weights: tf.Tensor, q: MeanField, evidence: tf.Tensor, steps: tf.Tensor
) -> dict[str, tf.Tensor]:
    """Return the arrays of a state and of an Info, by name."""
    return {
        "mean": q.mean,
        "sd": q.sd,
        "draws": draws,
        "log_weights": log_weights,
        "log_evidence": evidence,
        "effective_draws": tf.exp(-tf.reduce_logsumexp(2 * log_weights, -1)),
        "steps": steps,
    }


def weighted_moments(draws: tf.Tensor, log_weights: tf.Tensor) -> MeanField:
    """Return mean and sd [S, H, P] of draws [S, H, K, P] with log weights [S, H, K].

    The variance is divided by one minus the sum of squared weights, (K - 1) / K for equal ones.
    """
    weights = tf.exp(log_weights)[..., tf.newaxis]
    mean = tf.reduce_sum(weights * draws, 2)
    squares = tf.reduce_sum(weights * tf.square(draws - mean[:, :, tf.newaxis]), 2)
    variance = squares / tf.maximum(1 - tf.reduce_sum(tf.square(weights), 2), LEAST)
    return MeanField(mean, tf.sqrt(tf.maximum(variance, LEAST)))


def _broadened(prior_sd: float, state: State, broadening: Broadening) -> State:
    """Widen the normal of the moments, and move the draws so that they have the new ones."""
    mean, sd = (state[name].astype(np.float64) for name in ("mean", "sd"))
    wide_mean, variance = mean_field_gaussian.broaden(mean, sd**2, broadening, 0.0, prior_sd**2)
    wide = np.sqrt(variance)
    offsets = (state["draws"] - mean[:, :, np.newaxis]) * (wide / sd)[:, :, np.newaxis]
    new = {"mean": wide_mean, "sd": wide, "draws": wide_mean[:, :, np.newaxis] + offsets}
    return state | {name: array.astype(np.float32) for name, array in new.items()}
