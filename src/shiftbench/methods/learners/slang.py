"""SLANG: a Gaussian with low-rank plus diagonal precision U U' + D, by natural gradients.

With F the empirical Fisher N mean(g g') over a minibatch and K weight draws, and the posterior of
the last task as the prior (mean m, precision V V' + E; eschenhagen2019vogn, Eq. 57), a step is

    U <- Q S^1/2 of the L largest eigenvalues S of (1 - beta) U U' + beta (F + V V')
    D <- (1 - beta) D + beta E + diag((1 - beta) U U' + beta (F + V V') - new U U')
    mean <- mean - alpha (U U' + D)^-1 (N mean(g) + (V V' + E) (mean - m))

(Eq. 58-63; Mishkin et al. 2018). The matrix of the first line is C C' with the columns C =
((1 - beta)^1/2 U, beta^1/2 V, the weighted gradients). Its eigenvectors are C W, with W those of
the small matrix C' C, so that U = C W is computed without forming an example's gradient. W comes
from a few power iterations, so the diagonal correction is clamped at 0. Parameters that neither the
task's rows nor V touch keep their prior. Knows: the likelihood.

State: mean, diagonal [S, H, P]; low_rank [S, H, P, L]; tasks [S, H], the number of tasks learnt.
Info, [S, H], in nats over the task: elbo = log_evidence = expected_log_likelihood - kl /
dataset_size_scale, and these two terms; elbo_se (Monte Carlo); steps.
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
from shiftbench.methods.decompositions import eigh
from shiftbench.methods.networks import example_gradients, natural_gradient, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.model import Linear, Model, point
from shiftbench.methods.networks.natural_gradient import NaturalGradientSettings
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.training import Minibatch, epochs
from shiftbench.methods.posteriors import low_rank_gaussian

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    offers=("broaden", "log_evidence"),
    model=True,
)
POWER_ITERATIONS, EXTRA = 4, 2
"""Power iterations, and eigenvectors beyond L that they run on, as in the authors' code."""


@dataclass(frozen=True)
class Settings(NaturalGradientSettings):
    rank: Annotated[int, Ge(1)] = 8
    """Rank L of the low-rank part (eschenhagen2019vogn: 64, which takes days here)."""
    draws: Annotated[int, Ge(1)] = 4
    """Number K of weight draws of a step (eschenhagen2019vogn: 10; authors' code: 4)."""
    alpha: Annotated[float, Gt(0)] = 0.001
    """Step size of the mean (eschenhagen2019vogn); short budgets need 0.01."""
    beta: Annotated[float, Gt(0), Lt(1)] = 0.0001
    """Step size of the precision (eschenhagen2019vogn, 4.3); short budgets need 0.01."""
    initial_precision: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (20.0,)
    """Start values of D, one a task, with U = 0; the last holds for all later tasks."""


class _Gaussian(NamedTuple):
    """Mean m, low-rank factor U and diagonal D of a posterior."""

    mean: tf.Tensor
    low_rank: tf.Tensor
    diagonal: tf.Tensor


class _Iterate(NamedTuple):
    """The posterior after a number of steps; touched [S, H, P]: whether any gradient was not 0."""

    posterior: _Gaussian
    touched: tf.Tensor


NOISE, STEPS, ELBO = range(3)
"""Purposes that a task's seeds are folded with."""
DRAWS, SKETCH = range(2)
"""Purposes that a step's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build SLANG for a model; TensorFlow traces one graph for each size of task."""
    fit = graph(partial(_fit, settings, model))

    @graph
    def moments(posterior: _Gaussian, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        draw, count = partial(_draw, posterior), settings.prediction_draws
        return sampling.predictive_moments(model, draw, count, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        return {
            "mean": np.zeros(shape, np.float32),
            "low_rank": np.zeros((*shape, settings.rank), np.float32),
            "diagonal": np.full(shape, settings.prior_sd**-2, np.float32),
            "tasks": np.zeros(shape[:2], np.int32),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return sampling.predictive(model, partial(moments, _posterior(state), seeds), inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = _start(settings, model, state, batch, seeds)
        results = fit(_posterior(state), start, batch, seeds)
        new = {name: array.numpy() for name, array in results[0]._asdict().items()}
        return new | {"tasks": state["tasks"] + 1}, sampling.info(
            *results[1:], kl_weight=1 / settings.dataset_size_scale
        )

    def broaden(state: State, broadening: Broadening) -> State:
        mean, low_rank, diagonal = (a.astype(np.float64) for a in _posterior(state))
        prior = 0.0, settings.prior_sd**2
        broad = _Gaussian(*low_rank_gaussian.broaden(mean, low_rank, diagonal, broadening, *prior))
        return state | {name: a.astype(np.float32) for name, a in broad._asdict().items()}

    return Learner(init, predict, observe, broaden=broaden)


def _posterior(state: State) -> _Gaussian:
    """Return the posterior that a state holds."""
    return _Gaussian(*(state[name] for name in _Gaussian._fields))


def _start(
    settings: Settings, model: Model, state: State, batch: Batch, seeds: np.ndarray
) -> _Gaussian:
    """Return the start of a task: means by PyTorch's default or the prior's, U = 0, D as set."""
    tasks, mean = state["tasks"], state["mean"]
    count = np.maximum(settings.dataset_size_scale * batch.mask.sum(axis=1), 1)
    initial = natural_gradient.first_precision(
        settings.initial_precision, settings.initial_precision_per, tasks, count
    )
    redrawn = (tasks == 0)[..., None] | (settings.start == "fresh")
    return _Gaussian(
        np.where(redrawn, natural_gradient.fresh(model, seeds), mean),
        np.zeros_like(state["low_rank"]),
        np.ascontiguousarray(np.broadcast_to(initial[..., None], mean.shape)),
    )


def _fit(
    settings: Settings,
    model: Model,
    prior: _Gaussian,
    start: _Gaussian,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[_Gaussian, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Fit q to a task; return it, the ELBO's two terms, and the number of steps."""
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1) * settings.dataset_size_scale
    noise = sampling.table(fold_in(seeds, NOISE), settings.draws * model.size)

    def step(now: _Iterate, rows: Minibatch, step_seeds: tf.Tensor) -> _Iterate:
        return _update(settings, model, now, prior, rows, count, noise, step_seeds)

    first = _Iterate(start, tf.reduce_any(prior.low_rank != 0, -1))
    (last, touched), steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    posterior = _where(touched, last, prior)
    log_lik = sampling.expected_log_likelihood(
        model, partial(_draw, posterior), data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    return posterior, log_lik, low_rank_gaussian.kl(*posterior, *prior), steps


def _where(condition: tf.Tensor, a: _Gaussian, b: _Gaussian) -> _Gaussian:
    """Select each parameter from a or b, as `tf.where`; condition [S, H, P or 1]."""
    return _Gaussian(
        tf.where(condition, a.mean, b.mean),
        tf.where(condition[..., None], a.low_rank, b.low_rank),
        tf.where(condition, a.diagonal, b.diagonal),
    )


def _draw(posterior: _Gaussian, seeds: tf.Tensor, rows: int) -> Linear:
    """Return the network under one draw of its weights, for any number of rows."""
    noise = normals(seeds, [1, 1, posterior.mean.shape[-1]])
    return point(low_rank_gaussian.sample(*posterior, noise)[:, :, 0])


def _update(
    settings: Settings,
    model: Model,
    now: _Iterate,
    prior: _Gaussian,
    rows: Minibatch,
    count: tf.Tensor,
    noise: tf.Tensor,
    seeds: tf.Tensor,
) -> _Iterate:
    """Return the next iterate by Eq. 58-63; repetitions with an empty minibatch do not move."""
    q, beta, draws = now.posterior, settings.beta, settings.draws
    drawn = _draws(q, draws, noise, fold_in(seeds, DRAWS))
    _, signals = example_gradients.signals(model, point(drawn), rows)
    gradients, squares = example_gradients.moments(signals, draws)
    filled = tf.reduce_sum(rows.mask, 1)
    scale = (count / tf.maximum(filled, 1.0) / draws)[:, None, None]
    columns = tf.concat([(1 - beta) ** 0.5 * q.low_rank, beta**0.5 * prior.low_rank], -1)
    weight, sketch_seeds = tf.sqrt(beta * scale)[..., None], fold_in(seeds, SKETCH)
    low_rank = _truncated_factor(columns, signals, weight, draws, settings.rank, sketch_seeds)
    # The diagonal of the truncated part, which the new D takes over.
    whole = tf.reduce_sum(tf.square(columns), -1) + beta * scale * squares
    correction = tf.maximum(whole - tf.reduce_sum(tf.square(low_rank), -1), 0.0)
    diagonal = (1 - beta) * q.diagonal + beta * prior.diagonal + correction
    deviation = (q.mean - prior.mean)[..., None]
    prior_gradient = low_rank_gaussian.precision_times(prior.low_rank, prior.diagonal, deviation)
    gradient = prior_gradient - (scale * gradients)[..., None]
    direction = low_rank_gaussian.covariance_times(low_rank, diagonal, gradient)[..., 0]
    new = _Gaussian(q.mean - settings.alpha * direction, low_rank, diagonal)
    has_rows = (filled > 0)[:, None, None]
    return _Iterate(_where(has_rows, new, q), now.touched | (squares != 0))


def _draws(posterior: _Gaussian, draws: int, noise: tf.Tensor, seeds: tf.Tensor) -> tf.Tensor:
    """Draw parameters [S, H K, P], with noise from a random place of each table."""
    s, h, p = posterior.mean.shape
    excerpt = sampling.excerpt(noise, seeds, draws * p)
    drawn = low_rank_gaussian.sample(*posterior, tf.reshape(excerpt, [s, 1, draws, p]))
    return tf.reshape(drawn, [s, h * draws, p])


def _truncated_factor(
    columns: tf.Tensor,
    signals: list[example_gradients.Signal],
    weight: tf.Tensor,
    draws: int,
    rank: int,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Return U [S, H, P, L] with U U' the best approximation of rank L of C C'.

    C: the columns [S, H, P, r], then the examples' gradients times weight [S, 1, 1, 1].
    """
    cross = weight * example_gradients.inner_products(signals, columns, draws)
    corner = tf.matmul(columns, columns, transpose_a=True)
    inner = tf.square(weight) * example_gradients.gram(signals, draws)
    upper = tf.concat([corner, tf.linalg.matrix_transpose(cross)], -1)
    gram = tf.concat([upper, tf.concat([cross, inner], -1)], -2)
    vectors = leading_eigenvectors(gram, rank, seeds)
    first, second = tf.split(vectors, [columns.shape[-1], -1], -2)
    of_gradients = example_gradients.combinations(signals, weight * second, draws)
    return tf.matmul(columns, first) + of_gradients


def leading_eigenvectors(matrix: tf.Tensor, rank: int, seeds: tf.Tensor) -> tf.Tensor:
    """Return leading eigenvectors [S, H, m, rank] of symmetric matrices [S, H, m, m] >= 0.

    By a few power iterations; always orthonormal (Halko et al. 2011, algorithm 4.4).
    """
    s, h, m = matrix.shape[:3]
    width = min(rank + EXTRA, m)
    start = tf.broadcast_to(normals(seeds, [1, m, width]), [s, h, m, width])
    basis = tf.linalg.qr(tf.matmul(matrix, start)).q
    for _ in range(POWER_ITERATIONS):
        basis = tf.linalg.qr(tf.matmul(matrix, basis)).q
    small = tf.matmul(basis, tf.matmul(matrix, basis), transpose_a=True)
    _, vectors = eigh(small)
    leading = tf.matmul(basis, vectors[..., -rank:])
    # The sign with a sum >= 0, so that it does not depend on rounding.
    return leading * tf.where(tf.reduce_sum(leading, -2, keepdims=True) < 0, -1.0, 1.0)
