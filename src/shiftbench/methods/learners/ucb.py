"""Uncertainty-guided continual learning with Bayesian networks (UCB): certain weights learn slowly.

Bayes by backprop on q = N(mean, softplus(rho)^2), with the scale mixture of Blundell et al. (2015)
as the prior of every task. Source: Ebrahimi et al. 2020, whose results eschenhagen2019vogn cites.
Only the uncertainty of a posterior is carried over: a mean that an earlier task has trained moves
at softplus(rho) times the learning rate, with rho as at the start of the task; all else moves at
the learning rate. Each minibatch is one step of plain stochastic gradient descent on

    kl_weight / minibatches (log q - log prior) - likelihood_weight sum log likelihood,

averaged over K weight draws, which all rows share. Parameters of other heads stay unchanged.

The public code differs from the paper by three mistakes, which are not reproduced: no gradient
passes its (log q - log prior), so that rho hardly moves; it never trains the heads of later tasks;
and after a plateau it trains no mean. It also divides the rate by 3 when the loss on validation
data (its training data) stalls; here the rate can decay by a fixed factor each epoch. Knows: the
likelihood.

State: mean, rho [S, H, P]; trained [S, H, P] bool, whether an earlier task trained it.
Info, [S, H], in nats over the task: elbo = log_evidence, elbo_se (Monte Carlo),
expected_log_likelihood, kl (of the parameters that the task trains, against the mixture); steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Le

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State
from shiftbench.core.seeds import generator
from shiftbench.methods.networks import parameter_layout, sampling
from shiftbench.methods.networks.backend import fused, graph, repeat, tf
from shiftbench.methods.networks.model import Model, log_likelihood_of
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.task_schedule import head_of_each, heads_in, steps_per_epoch
from shiftbench.methods.networks.training import Minibatch, epochs

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"}, offers=("log_evidence",), model=True
)

WIDE_WEIGHT = 0.25
"""Weight of N(0, 1) in the prior mixture; its other component is N(0, e^-12)."""
NARROW_PRECISION = math.exp(12)


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 200
    """Passes over the data of a task (public code: at most 200, with early stopping)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch (public code)."""
    learning_rate: Annotated[float, Gt(0)] = 0.01
    """Learning rate, which uncertainty multiplies (public code)."""
    decay: Annotated[float, Gt(0), Le(1)] = 1.0
    """Factor of the learning rate after each epoch (public code: 1/3 on plateaus)."""
    draws: Annotated[int, Ge(1)] = 10
    """Number K of weight draws of a step (public code)."""
    kl_weight: Annotated[float, Ge(0)] = 0.001
    """Factor of log q - log prior (public code, which calls it a hack; paper: 1)."""
    likelihood_weight: Annotated[float, Gt(0)] = 0.05
    """Factor of the log likelihood, summed over a minibatch (public code; paper: 1)."""
    start_mean_sd: Annotated[float, Gt(0)] = 0.1
    """Standard deviation of the means' start values (public code)."""
    start_rho: float = -3.0
    """Start value of rho, plus noise of standard deviation 0.1 (public code)."""
    predict_with: Literal["means", "draws"] = "means"
    """Predictions; means: the network at the means (public code); draws: average over draws."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """draws: number of weight draws of a prediction."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of the final ELBO."""


class _Iterate(NamedTuple):
    """Parameters after a number of steps."""

    mean: tf.Tensor
    rho: tf.Tensor
    count: tf.Tensor


NOISE, STEPS, ELBO, DIVERGENCE = range(4)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build UCB for a model; TensorFlow traces one graph for each size of task."""
    fit = graph(partial(_fit, settings, model))
    owners = head_of_each(model, problem)

    @graph
    def moments(mean: tf.Tensor, rho: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        at_means = settings.predict_with == "means"
        draw = sampling.gaussian(mean, tf.zeros_like(rho) if at_means else tf.nn.softplus(rho))
        count = 1 if at_means else settings.prediction_draws
        return sampling.predictive_moments(model, draw, count, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        noise = np.stack([generator(seed).standard_normal((2, 1, model.size)) for seed in seeds])
        return {
            "mean": (settings.start_mean_sd * noise[:, 0]).astype(np.float32),
            "rho": (settings.start_rho + 0.1 * noise[:, 1]).astype(np.float32),
            "trained": np.zeros((len(seeds), 1, model.size), bool),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        of_state = partial(moments, state["mean"], state["rho"], seeds)
        return sampling.predictive(model, of_state, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        present = heads_in(batch, problem)
        active = (present[:, owners] | (owners < 0))[:, np.newaxis]
        results = fit(state["mean"], state["rho"], state["trained"], active, batch, seeds)
        mean, rho = (a.numpy() for a in results[:2])
        posterior = {"mean": mean, "rho": rho, "trained": state["trained"] | active}
        return posterior, sampling.info(*results[2:])

    return Learner(init, predict, observe)


def _fit(
    settings: Settings,
    model: Model,
    mean: tf.Tensor,
    rho: tf.Tensor,
    trained: tf.Tensor,
    active: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Train on a task; return mean, rho, the ELBO's two terms, and the number of steps."""
    size = settings.draws * model.size
    noise = sampling.table(fold_in(seeds, NOISE), size)
    moving = tf.cast(active, tf.float32)
    uncertainty = tf.where(trained, tf.nn.softplus(rho), 1.0)
    minibatches = steps_per_epoch(data.mask, settings.batch_size)
    kl_weight = settings.kl_weight / tf.cast(tf.maximum(minibatches, 1), tf.float32)
    longest = tf.maximum(tf.reduce_max(minibatches), 1)

    def step(now: _Iterate, rows: Minibatch, step_seeds: tf.Tensor) -> _Iterate:
        eps = sampling.excerpt(noise, step_seeds, size)
        eps = tf.reshape(eps, [-1, 1, settings.draws, model.size])
        gradient = _likelihood_gradient(model, now.mean, now.rho, eps, rows)
        weights = kl_weight[:, None, None], settings.likelihood_weight
        in_mean, in_rho = loss_gradient(now.mean, now.rho, eps, gradient, *weights)
        rate = settings.learning_rate * settings.decay ** tf.cast(now.count // longest, tf.float32)
        # Repetitions whose minibatch is empty do not move.
        has_rows = tf.cast(tf.reduce_any(rows.mask > 0, -1), tf.float32)[:, None, None]
        rate *= moving * has_rows
        return _Iterate(
            now.mean - rate * uncertainty * in_mean, now.rho - rate * in_rho, now.count + 1
        )

    last, steps = epochs(
        step,
        _Iterate(mean, rho, tf.constant(0)),
        data,
        fold_in(seeds, STEPS),
        settings.epochs,
        settings.batch_size,
    )
    draw = sampling.gaussian(last.mean, tf.nn.softplus(last.rho))
    log_lik = sampling.expected_log_likelihood(
        model, draw, data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    kl = divergence(last.mean, last.rho, moving, settings.elbo_draws, fold_in(seeds, DIVERGENCE))
    return last.mean, last.rho, log_lik, kl, steps


def _likelihood_gradient(
    model: Model, mean: tf.Tensor, rho: tf.Tensor, eps: tf.Tensor, rows: Minibatch
) -> tf.Tensor:
    """Return the gradient [S, H, K, P] of the rows' log likelihood at each weight draw."""
    (s, h), (draws, size) = mean.shape[:2], eps.shape[2:]
    # Draws stand in for hypotheses, so that the network runs on all of them at once.
    flat = tf.reshape(_drawn_weights(mean, rho, eps), [s, h * draws, size])
    pieces = parameter_layout.pieces(model, flat)
    with tf.GradientTape() as tape:
        tape.watch(pieces)
        log_lik = log_likelihood_of(model, parameter_layout.point(model, pieces), *rows)
    gradient = tf.concat(tape.gradient(log_lik, pieces), -1)
    return tf.reshape(gradient, [s, h, draws, size])


@fused
def _drawn_weights(mean: tf.Tensor, rho: tf.Tensor, eps: tf.Tensor) -> tf.Tensor:
    """Draw weights [S, H, K, P] with noise eps [S, 1, K, P]."""
    return mean[:, :, None] + tf.nn.softplus(rho)[:, :, None] * eps


# Fused: one pass over the draws instead of a dozen.
@fused
def loss_gradient(
    mean: tf.Tensor,
    rho: tf.Tensor,
    eps: tf.Tensor,
    gradient: tf.Tensor,
    kl_weight: tf.Tensor,
    likelihood_weight: float,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the loss's gradients in mean and rho [S, H, P] from log p's gradients at the draws.

    eps [S, 1, K, P]; gradient [S, H, K, P]. log q(w) at w = mean + sd eps depends on sd alone, as
    -log sd.
    """
    sd = tf.nn.softplus(rho)
    score = prior_score(_drawn_weights(mean, rho, eps))
    each = -kl_weight[..., None] * score - likelihood_weight * gradient
    in_sd = tf.reduce_mean(each * eps, 2) - kl_weight / sd
    return tf.reduce_mean(each, 2), in_sd * tf.sigmoid(rho)


def _log_components(w: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return log(weight x density) of both components of the prior, plus log(2 pi) / 2."""
    wide = math.log(WIDE_WEIGHT) - 0.5 * tf.square(w)
    narrow = math.log(
        (1 - WIDE_WEIGHT) * NARROW_PRECISION**0.5
    ) - 0.5 * NARROW_PRECISION * tf.square(w)
    return wide, narrow


def prior_score(w: tf.Tensor) -> tf.Tensor:
    """Return the derivative of the prior's log density at w."""
    wide, narrow = _log_components(w)
    share = tf.sigmoid(narrow - wide)
    return -w * (1 - share + share * NARROW_PRECISION)


def log_prior(w: tf.Tensor) -> tf.Tensor:
    """Return the log density of the prior, 0.25 N(0, 1) + 0.75 N(0, e^-12), at w."""
    wide, narrow = _log_components(w)
    return wide + tf.nn.softplus(narrow - wide) - 0.5 * math.log(2 * math.pi)


def divergence(
    mean: tf.Tensor, rho: tf.Tensor, moving: tf.Tensor, draws: int, seeds: tf.Tensor
) -> tf.Tensor:
    """Return KL(q || prior) [S, H] in nats over the parameters where moving is 1 rather than 0.

    The entropy of q is exact, the cross entropy an average over draws.
    """
    sd = tf.nn.softplus(rho)

    def add_draw(i: tf.Tensor, cross: tf.Tensor) -> tf.Tensor:
        return cross - log_prior(mean + sd * normals(fold_in(seeds, i), [1, mean.shape[-1]]))

    cross = repeat(add_draw, tf.zeros_like(mean), draws)
    entropy = 0.5 * math.log(2 * math.pi * math.e) + tf.math.log(sd)
    return tf.reduce_sum((cross / draws - entropy) * moving, -1)
