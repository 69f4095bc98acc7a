"""What a posterior over weights gives through draws of them: noise, ELBO, predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Categorical, Gaussian, Info, Predictive
from shiftbench.methods.models._model import Linear, Model, log_likelihood_of, mean_and_sd, point
from shiftbench.methods.networks.backend import repeat, tf
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.training import Minibatch, total

TABLE = 2**20
"""Least number of normal draws in a table."""
ALIGNED = 16
"""Places are multiples of it: TensorFlow then does not copy the excerpt."""
DENSE_ROWS = 10_000
CONVOLVED_ROWS = 500
"""Most rows through a network at once, for memory."""


class LogLikelihood(NamedTuple):
    """An average over draws and its standard error [S, H], NaN for one draw."""

    mean: tf.Tensor
    se: tf.Tensor


Draw = Callable[[tf.Tensor, int], Linear]
"""(seeds of the draw [S, 2], rows) -> a network with drawn weights, for as many rows."""


def table(seeds: tf.Tensor, size: int) -> tf.Tensor:
    """Normal draws [S, T] from which each step of a task takes `size` in a row.

    Fresh draws for each step would cost more than the step of a network itself. A step
    starts at a random place (as in Salimans et al. 2017, 2.1), so a parameter meets new noise.
    """
    return normals(seeds, [max(TABLE, 5 * size)])


def excerpt(numbers: tf.Tensor, seeds: tf.Tensor, size: int) -> tf.Tensor:
    """`size` numbers in a row [S, size] from a random place of each table [S, T]."""
    parts = []
    for row, seed in zip(tf.unstack(numbers), tf.unstack(seeds), strict=True):
        last = (numbers.shape[1] - size) // ALIGNED + 1
        place = ALIGNED * tf.random.stateless_uniform([], seed, 0, last, tf.int32)
        parts.append(tf.slice(row, [place], [size]))
    return tf.stack(parts)


def gaussian(mean: tf.Tensor, sd: tf.Tensor) -> Draw:
    """Draws of independent normal weights, mean and sd [S, H, P]."""

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        return point(mean + sd * normals(seeds, [1, mean.shape[-1]]))

    return draw


def average(function: Callable[[tf.Tensor], tf.Tensor], draws: int, seeds: tf.Tensor) -> tf.Tensor:
    """Mean over draws of function(seeds of a draw); one draw at a time, for memory."""
    first = function(fold_in(seeds, 0))
    return repeat(lambda i, sums: sums + function(fold_in(seeds, i)), first, draws, start=1) / draws


def expected_log_likelihood(
    model: Model,
    draw: Draw,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    draws: int,
    seeds: tf.Tensor,
) -> LogLikelihood:
    """Mean over draws of log p(data), summed over the rows; pieces share their noise."""
    size = min(_rows_at_once(model), data[2].shape[1])

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = draw(draw_seeds, size)

        def piece(rows: Minibatch) -> tf.Tensor:
            return log_likelihood_of(model, linear, *rows)

        return total(piece, data, size)

    first = once(fold_in(seeds, 0))

    def more(i: tf.Tensor, sums: LogLikelihood) -> LogLikelihood:
        # About the first draw: squares of the sums themselves would drown their differences.
        away = once(fold_in(seeds, i)) - first
        return LogLikelihood(sums.mean + away, sums.se + tf.square(away))

    zero = tf.zeros_like(first)
    away, square = repeat(more, LogLikelihood(zero, zero), draws, start=1)
    variance = (square - tf.square(away) / draws) / (draws - 1 if draws > 1 else np.nan)
    return LogLikelihood(first + away / draws, tf.sqrt(tf.maximum(variance, 0.0) / draws))


def info(
    log_likelihood: LogLikelihood, kl: tf.Tensor, steps: tf.Tensor, kl_weight: float = 1.0
) -> Info:
    """The Info of a variational learner, from the ELBO's terms and the number of steps.

    kl_weight: that of the divergence [S, H], where the posterior is tempered.
    """
    log_lik, kl = log_likelihood.mean.numpy(), kl.numpy()
    elbo = log_lik - np.float32(kl_weight) * kl
    return {
        "elbo": elbo,
        "log_evidence": elbo,
        "elbo_se": log_likelihood.se.numpy(),
        "expected_log_likelihood": log_lik,
        "kl": kl,
        "steps": np.full(kl.shape, steps.numpy()),
    }


def moments(model: Model, outputs: tf.Tensor) -> tf.Tensor:
    """Of one draw's outputs [2, S, H, n, n_outputs]: (means, their squares), or (p, p log p).

    With learnt noise its variance is the third.
    """
    if model.likelihood == "categorical":
        p = tf.nn.softmax(outputs)
        return tf.stack([p, tf.math.xlogy(p, p)])
    if model.noise == "learnt":
        mean, sd = mean_and_sd(model, outputs)
        return tf.stack([mean, tf.square(mean), tf.square(sd)])
    return tf.stack([outputs, tf.square(outputs)])


def predictive_moments(
    model: Model, draw: Draw, draws: int, seeds: tf.Tensor, inputs: tf.Tensor
) -> tf.Tensor:
    """Means of `moments` over draws."""

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = draw(draw_seeds, inputs.shape[1])
        return moments(model, model.forward(linear, inputs[:, tf.newaxis]))

    return average(once, draws, seeds)


def predictive(
    model: Model, found: Callable[[np.ndarray], tf.Tensor], inputs: np.ndarray
) -> Predictive:
    """The predictive distribution for inputs [S, n, ...], from their (mean) `moments`."""
    size = _rows_at_once(model)
    pieces = [found(inputs[:, i : i + size]).numpy() for i in range(0, inputs.shape[1], size)]
    first, second, *noise = np.concatenate(pieces, axis=-2)
    s, h = first.shape[:2]
    log_weights = np.full((s, h), -np.log(h))
    if model.likelihood == "categorical":
        return Categorical(log_weights, first, -second.sum(axis=-1))
    variance = noise[0] if noise else model.noise_sd**2
    return Gaussian(log_weights, first, np.maximum(second - first**2, 0.0) + variance)


def _rows_at_once(model: Model) -> int:
    return CONVOLVED_ROWS if model.convolves else DENSE_ROWS
