"""SLANG: a Gaussian with precision U U' + D, U of rank L, by natural gradients.

With F the empirical Fisher N mean(g g') over a minibatch and K weight draws, and the posterior
of the last task as the prior (mean m, precision V V' + E; eschenhagen2019vogn, eq. 57), a step is

    U <- Q S^1/2 of the L largest eigenvalues S of (1 - beta) U U' + beta (F + V V')
    D <- (1 - beta) D + beta E + diag((1 - beta) U U' + beta (F + V V') - new U U')
    mean <- mean - alpha (U U' + D)^-1 (N mean(g) + (V V' + E) (mean - m))

(eq. 58-63; Mishkin et al. 2018). The matrix of the first line is C C' with the columns C =
((1 - beta)^1/2 U, beta^1/2 V, the weighted gradients); its eigenvectors are C W for those W of
the small C' C, so that U = C W, and no gradient of an example is formed. As they are found by a
few power iterations, the diagonal correction is clamped at 0. Parameters that neither a row
of the task nor V touches keep their prior. Knows: the likelihood.

State: mean, diagonal [S, H, P]; low_rank [S, H, P, L]; tasks [S, H], how many were learnt.
Info, [S, H] in nats over the task: elbo = log_evidence = expected_log_likelihood - kl /
dataset_size_scale, these two, elbo_se (Monte Carlo); steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt, MinLen

from shiftbench.core.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.models._model import Linear, Model, point
from shiftbench.methods.networks import example_gradients, natural_gradient, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.training import Minibatch, epochs
from shiftbench.methods.posteriors import low_rank_gaussian

NEEDS: tuple[str, ...] = ()
MODEL = True
TAKES = {"image": "categorical", "classes": "categorical"}
OFFERS = ("broaden", "log_evidence")
POWER_ITERATIONS, EXTRA = 4, 2
"""Of the eigen-decomposition, as in the authors' code: rounds, and vectors beyond L."""


@dataclass(frozen=True)
class Settings:
    rank: Annotated[int, Ge(1)] = 8
    """Columns L of the low-rank part (64 in eschenhagen2019vogn, which takes days here)."""
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the data of a task (eschenhagen2019vogn, 4.3)."""
    batch_size: Annotated[int, Ge(1)] = 256
    """Rows of a minibatch (eschenhagen2019vogn)."""
    draws: Annotated[int, Ge(1)] = 4
    """Weight draws of a step, K (10 in eschenhagen2019vogn, 4 in the authors' code)."""
    alpha: Annotated[float, Gt(0)] = 0.001
    """Step size of the mean (eschenhagen2019vogn); short budgets need 0.01."""
    beta: Annotated[float, Gt(0), Lt(1)] = 0.0001
    """Step size of the precision (eschenhagen2019vogn, 4.3); short budgets need 0.01."""
    dataset_size_scale: Annotated[float, Gt(0)] = 1.0
    """Factor of N, for a cold posterior."""
    initial_precision: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (20.0,)
    """Of D at the start of each task, where U is 0; the last holds for all later ones."""
    initial_precision_per: Literal["example", "task"] = "example"
    """example: times N, as VOGN's public code."""
    start: Literal["fresh", "prior"] = "fresh"
    """Means of a task: drawn anew (eschenhagen2019vogn, 4.3), or the prior's."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero."""
    prediction_draws: Annotated[int, Ge(1)] = 100
    """Weight draws of a prediction (eschenhagen2019vogn)."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of the final ELBO, which decides between hypotheses."""


class _Gaussian(NamedTuple):
    mean: tf.Tensor
    low_rank: tf.Tensor
    diagonal: tf.Tensor


class _Step(NamedTuple):
    """What a step passes to the next; touched [S, H, P]: any gradient so far."""

    posterior: _Gaussian
    touched: tf.Tensor


NOISE, STEPS, ELBO = range(3)
"""What the seeds of a task are folded with, for each use of them."""
DRAWS, SKETCH = range(2)
"""The same of a step."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
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
        found = partial(moments, _posterior(state), seeds)
        return sampling.predictive(model, found, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = _start(settings, model, state, batch, seeds)
        try:
            results = fit(_posterior(state), start, *batch, seeds)
        except tf.errors.InvalidArgumentError as error:  # eigenvalues of what is not finite
            raise LearnerError("slang: diverged; take a smaller alpha") from error
        new = {name: array.numpy() for name, array in results[0]._asdict().items()}
        return new | {"tasks": state["tasks"] + 1}, sampling.info(
            *results[1:], 1 / settings.dataset_size_scale
        )

    def broaden(state: State, broadening: Broadening) -> State:
        exact = (a.astype(np.float64) for a in _posterior(state))
        prior = 0.0, settings.prior_sd**2
        wide = _Gaussian(*low_rank_gaussian.broaden(*exact, broadening, *prior))
        return state | {name: a.astype(np.float32) for name, a in wide._asdict().items()}

    return Learner(init, predict, observe, broaden=broaden)


def _posterior(state: State) -> _Gaussian:
    return _Gaussian(*(state[name] for name in _Gaussian._fields))


def _start(
    settings: Settings, model: Model, state: State, batch: Batch, seeds: np.ndarray
) -> _Gaussian:
    """What the task starts with: means of PyTorch's default or the prior's, U = 0."""
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
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[_Gaussian, tf.Tensor, tf.Tensor, tf.Tensor]:
    """The posterior, the ELBO's two terms, and the number of steps."""
    data = inputs, targets, mask
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1) * settings.dataset_size_scale
    noise = sampling.table(fold_in(seeds, NOISE), settings.draws * model.size)

    def step(now: _Step, rows: Minibatch, step_seeds: tf.Tensor) -> _Step:
        return _update(settings, model, now, prior, rows, count, noise, step_seeds)

    first = _Step(start, tf.reduce_any(prior.low_rank != 0, -1))
    (last, touched), steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    posterior = _chosen(touched, last, prior)
    log_lik = sampling.expected_log_likelihood(
        model, partial(_draw, posterior), data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    return posterior, log_lik, low_rank_gaussian.kl(*posterior, *prior), steps


def _chosen(where: tf.Tensor, one: _Gaussian, other: _Gaussian) -> _Gaussian:
    """Per parameter one or the other, where [S, H, P or 1]."""
    return _Gaussian(
        tf.where(where, one.mean, other.mean),
        tf.where(where[..., None], one.low_rank, other.low_rank),
        tf.where(where, one.diagonal, other.diagonal),
    )


def _draw(posterior: _Gaussian, seeds: tf.Tensor, rows: int) -> Linear:
    """The network under one draw of its weights, for any number of rows."""
    noise = normals(seeds, [1, 1, posterior.mean.shape[-1]])
    return point(low_rank_gaussian.sample(*posterior, noise)[:, :, 0])


def _update(
    settings: Settings,
    model: Model,
    now: _Step,
    prior: _Gaussian,
    rows: Minibatch,
    count: tf.Tensor,
    noise: tf.Tensor,
    seeds: tf.Tensor,
) -> _Step:
    """Eq. 58-63; a minibatch without rows [S] changes nothing."""
    q, beta, draws = now.posterior, settings.beta, settings.draws
    drawn = _draws(q, draws, noise, fold_in(seeds, DRAWS))
    _, passed = example_gradients.signals(model, point(drawn), rows)
    gradients, squares = example_gradients.moments(passed, draws)
    filled = tf.reduce_sum(rows.mask, 1)
    scale = (count / tf.maximum(filled, 1.0) / draws)[:, None, None]
    kept = tf.concat([(1 - beta) ** 0.5 * q.low_rank, beta**0.5 * prior.low_rank], -1)
    low_rank = _largest(
        kept, passed, tf.sqrt(beta * scale)[..., None], draws, settings.rank, fold_in(seeds, SKETCH)
    )
    # Before and after the truncation; equal but for rounding where nothing is cut off.
    whole = tf.reduce_sum(tf.square(kept), -1) + beta * scale * squares
    correction = tf.maximum(whole - tf.reduce_sum(tf.square(low_rank), -1), 0.0)
    diagonal = (1 - beta) * q.diagonal + beta * prior.diagonal + correction
    away = (q.mean - prior.mean)[..., None]
    pull = low_rank_gaussian.precision_times(prior.low_rank, prior.diagonal, away)
    direction = pull - (scale * gradients)[..., None]
    move = low_rank_gaussian.covariance_times(low_rank, diagonal, direction)[..., 0]
    new = _Gaussian(q.mean - settings.alpha * move, low_rank, diagonal)
    some = (filled > 0)[:, None, None]
    return _Step(_chosen(some, new, q), now.touched | (squares != 0))


def _draws(posterior: _Gaussian, draws: int, noise: tf.Tensor, seeds: tf.Tensor) -> tf.Tensor:
    """Parameters [S, H K, P] from the noise at a random place of each table."""
    s, h, p = posterior.mean.shape
    excerpt = sampling.excerpt(noise, seeds, draws * p)
    drawn = low_rank_gaussian.sample(*posterior, tf.reshape(excerpt, [s, 1, draws, p]))
    return tf.reshape(drawn, [s, h * draws, p])


def _largest(
    kept: tf.Tensor,
    passed: list[example_gradients.Signal],
    weight: tf.Tensor,
    draws: int,
    rank: int,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """U [S, H, P, L] with U U' the L largest terms of C C'.

    C: columns kept [S, H, P, r] and the examples' gradients times weight [S, 1, 1, 1].
    """
    cross = weight * example_gradients.inner_products(passed, kept, draws)
    corner = tf.matmul(kept, kept, transpose_a=True)
    inner = tf.square(weight) * example_gradients.gram(passed, draws)
    upper = tf.concat([corner, tf.linalg.matrix_transpose(cross)], -1)
    gram = tf.concat([upper, tf.concat([cross, inner], -1)], -2)
    vectors = leading_eigenvectors(gram, rank, seeds)
    first, second = tf.split(vectors, [kept.shape[-1], -1], -2)
    return tf.matmul(kept, first) + example_gradients.combinations(passed, weight * second, draws)


def leading_eigenvectors(matrix: tf.Tensor, rank: int, seeds: tf.Tensor) -> tf.Tensor:
    """Of symmetric matrices [S, H, m, m] >= 0, by power iterations, [S, H, m, rank].

    Orthonormal however few the iterations (Halko et al. 2011, algorithm 4.4).
    """
    s, h, m = matrix.shape[:3]
    width = min(rank + EXTRA, m)
    start = tf.broadcast_to(normals(seeds, [1, m, width]), [s, h, m, width])
    basis = tf.linalg.qr(tf.matmul(matrix, start)).q
    for _ in range(POWER_ITERATIONS):
        basis = tf.linalg.qr(tf.matmul(matrix, basis)).q
    small = tf.matmul(basis, tf.matmul(matrix, basis), transpose_a=True)
    _, vectors = tf.linalg.eigh(small)
    leading = tf.matmul(basis, vectors[..., -rank:])
    # Of the two signs the one with a sum >= 0, so that rounding does not choose.
    return leading * tf.where(tf.reduce_sum(leading, -2, keepdims=True) < 0, -1.0, 1.0)
