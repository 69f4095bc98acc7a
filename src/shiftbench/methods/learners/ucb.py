"""Uncertainty-guided continual learning: certain weights learn slowly (UCB).

Bayes by backprop on q = N(mean, softplus(rho)^2) with the scale mixture of Blundell et al.
(2015) as the prior of every task; nothing of a posterior is carried over but its uncertainty:
a mean that an earlier task has trained moves at softplus(rho) times the learning rate, rho as
it was when the task began, all else at the learning rate itself (Ebrahimi et al. 2020;
eschenhagen2019vogn cites its results). Plain stochastic gradient descent on, for each minibatch,

    kl_weight / minibatches (log q - log prior) - likelihood_weight sum log likelihood

averaged over K weight draws, which all rows share. Parameters of other heads stay as they
are. The public code differs from its paper, by mistake: no gradient passes its (log q - log
prior), so that rho hardly moves, it never trains the heads of later tasks, and after a plateau
no mean. None of this is done here. It divides the rate by 3 when the loss on validation data
(its training data) stalls; here the rate decays by a fixed factor each epoch, or stays.
Knows: the likelihood.

State: mean, rho [S, H, P]; trained [S, H, P] bool, whether an earlier task trained it.
Info, [S, H] in nats over the task: elbo = log_evidence, elbo_se (Monte Carlo),
expected_log_likelihood, kl (of what the task trains, against the mixture); steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Le

from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State
from shiftbench.core.seeds import generator
from shiftbench.methods.models._model import Model, log_likelihood_of
from shiftbench.methods.networks import parameter_layout, sampling
from shiftbench.methods.networks.backend import fused, graph, repeat, tf
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.task_schedule import head_of_each, heads_in, steps_per_epoch
from shiftbench.methods.networks.training import Minibatch, epochs

NEEDS: tuple[str, ...] = ()
MODEL = True
TAKES = {"image": "categorical", "classes": "categorical"}
OFFERS = ("log_evidence",)

WIDE = 0.25
"""Weight of N(0, 1) in the prior; the rest is N(0, e^-12)."""
NARROW_PRECISION = math.exp(12)


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 200
    """Passes over the data of a task (200 at most in the public code, which stops early)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Rows of a minibatch (public code)."""
    learning_rate: Annotated[float, Gt(0)] = 0.01
    """Step size, before it is multiplied by the uncertainty (public code)."""
    decay: Annotated[float, Gt(0), Le(1)] = 1.0
    """Factor of the rate after each epoch; the public code divides by 3 on plateaus."""
    draws: Annotated[int, Ge(1)] = 10
    """Weight draws of a step, K (public code)."""
    kl_weight: Annotated[float, Ge(0)] = 0.001
    """Factor of log q - log prior (public code, where it is called a hack; 1 is the paper's)."""
    likelihood_weight: Annotated[float, Gt(0)] = 0.05
    """Factor of the log likelihood, summed over a minibatch (public code; 1 is the paper's)."""
    start_mean_sd: Annotated[float, Gt(0)] = 0.1
    """Standard deviation of the means' start values (public code)."""
    start_rho: float = -3.0
    """Start value of rho, with noise of sd 0.1 (public code)."""
    predict_with: Literal["means", "draws"] = "means"
    """means: a single network, as the public code; draws: the average over weight draws."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of a prediction, with draws."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of the final ELBO."""


class _Step(NamedTuple):
    mean: tf.Tensor
    rho: tf.Tensor
    count: tf.Tensor


NOISE, STEPS, ELBO, DIVERGENCE = range(4)
"""What the seeds of a task are folded with, for each use of them."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    fit = graph(partial(_fit, settings, model))
    owners = head_of_each(model, problem)

    @graph
    def moments(mean: tf.Tensor, rho: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        certain = settings.predict_with == "means"
        draw = sampling.gaussian(mean, tf.zeros_like(rho) if certain else tf.nn.softplus(rho))
        count = 1 if certain else settings.prediction_draws
        return sampling.predictive_moments(model, draw, count, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        noise = np.stack([generator(seed).standard_normal((2, 1, model.size)) for seed in seeds])
        return {
            "mean": (settings.start_mean_sd * noise[:, 0]).astype(np.float32),
            "rho": (settings.start_rho + 0.1 * noise[:, 1]).astype(np.float32),
            "trained": np.zeros((len(seeds), 1, model.size), bool),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        found = partial(moments, state["mean"], state["rho"], seeds)
        return sampling.predictive(model, found, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        present = heads_in(batch, problem)
        active = (present[:, owners] | (owners < 0))[:, np.newaxis]
        results = fit(state["mean"], state["rho"], state["trained"], active, *batch, seeds)
        mean, rho = (a.numpy() for a in results[:2])
        learnt = {"mean": mean, "rho": rho, "trained": state["trained"] | active}
        return learnt, sampling.info(*results[2:])

    return Learner(init, predict, observe)


def _fit(
    settings: Settings,
    model: Model,
    mean: tf.Tensor,
    rho: tf.Tensor,
    trained: tf.Tensor,
    active: tf.Tensor,
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Mean and rho after the task, the ELBO's two terms, and the number of steps."""
    data, size = (inputs, targets, mask), settings.draws * model.size
    noise = sampling.table(fold_in(seeds, NOISE), size)
    moving = tf.cast(active, tf.float32)
    uncertainty = tf.where(trained, tf.nn.softplus(rho), 1.0)
    minibatches = steps_per_epoch(mask, settings.batch_size)
    kl_weight = settings.kl_weight / tf.cast(tf.maximum(minibatches, 1), tf.float32)
    longest = tf.maximum(tf.reduce_max(minibatches), 1)

    def step(now: _Step, rows: Minibatch, step_seeds: tf.Tensor) -> _Step:
        eps = sampling.excerpt(noise, step_seeds, size)
        eps = tf.reshape(eps, [-1, 1, settings.draws, model.size])
        gradient = _likelihood_gradient(model, now.mean, now.rho, eps, rows)
        weights = kl_weight[:, None, None], settings.likelihood_weight
        in_mean, in_rho = loss_gradient(now.mean, now.rho, eps, gradient, *weights)
        rate = settings.learning_rate * settings.decay ** tf.cast(now.count // longest, tf.float32)
        # A minibatch without rows [S] changes nothing.
        some = tf.cast(tf.reduce_any(rows.mask > 0, -1), tf.float32)[:, None, None]
        rate *= moving * some
        return _Step(
            now.mean - rate * uncertainty * in_mean, now.rho - rate * in_rho, now.count + 1
        )

    last, steps = epochs(
        step,
        _Step(mean, rho, tf.constant(0)),
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
    """Gradient [S, H, K, P] of the rows' log likelihood in each weight draw."""
    (s, h), (draws, size) = mean.shape[:2], eps.shape[2:]
    # The draws lie beside the hypotheses: the network runs on all of them at once.
    flat = tf.reshape(_drawn(mean, rho, eps), [s, h * draws, size])
    parts = parameter_layout.pieces(model, flat)
    with tf.GradientTape() as tape:
        tape.watch(parts)
        log_lik = log_likelihood_of(model, parameter_layout.point(model, parts), *rows)
    gradient = tf.concat(tape.gradient(log_lik, parts), -1)
    return tf.reshape(gradient, [s, h, draws, size])


@fused
def _drawn(mean: tf.Tensor, rho: tf.Tensor, eps: tf.Tensor) -> tf.Tensor:
    return mean[:, :, None] + tf.nn.softplus(rho)[:, :, None] * eps


# Fused: one pass over the draws in place of a dozen.
@fused
def loss_gradient(
    mean: tf.Tensor,
    rho: tf.Tensor,
    eps: tf.Tensor,
    gradient: tf.Tensor,
    kl_weight: tf.Tensor,
    likelihood_weight: float,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Gradient of the loss in mean and rho [S, H, P], from the log likelihood's in the draws.

    eps [S, 1, K, P]; gradient [S, H, K, P]. log q(w) of w = mean + sd eps changes with sd
    alone, as -log sd.
    """
    sd = tf.nn.softplus(rho)
    score = prior_score(_drawn(mean, rho, eps))
    each = -kl_weight[..., None] * score - likelihood_weight * gradient
    in_sd = tf.reduce_mean(each * eps, 2) - kl_weight / sd
    return tf.reduce_mean(each, 2), in_sd * tf.sigmoid(rho)


def _log_components(w: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Log of weight times density of the two parts of the prior, both plus log(2 pi) / 2."""
    wide = math.log(WIDE) - 0.5 * tf.square(w)
    narrow = math.log((1 - WIDE) * NARROW_PRECISION**0.5) - 0.5 * NARROW_PRECISION * tf.square(w)
    return wide, narrow


def prior_score(w: tf.Tensor) -> tf.Tensor:
    """Derivative of the log density of the prior."""
    wide, narrow = _log_components(w)
    share = tf.sigmoid(narrow - wide)
    return -w * (1 - share + share * NARROW_PRECISION)


def log_prior(w: tf.Tensor) -> tf.Tensor:
    """Log density of .25 N(0, 1) + .75 N(0, e^-12)."""
    wide, narrow = _log_components(w)
    return wide + tf.nn.softplus(narrow - wide) - 0.5 * math.log(2 * math.pi)


def divergence(
    mean: tf.Tensor, rho: tf.Tensor, moving: tf.Tensor, draws: int, seeds: tf.Tensor
) -> tf.Tensor:
    """KL(q || prior) [S, H] in nats over the moving (0 or 1) parameters.

    The entropy of q is exact, the cross entropy an average over draws.
    """
    sd = tf.nn.softplus(rho)

    def more(i: tf.Tensor, cross: tf.Tensor) -> tf.Tensor:
        return cross - log_prior(mean + sd * normals(fold_in(seeds, i), [1, mean.shape[-1]]))

    cross = repeat(more, tf.zeros_like(mean), draws)
    entropy = 0.5 * math.log(2 * math.pi * math.e) + tf.math.log(sd)
    return tf.reduce_sum((cross / draws - entropy) * moving, -1)
