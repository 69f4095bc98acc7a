"""Averages over draws of the weights: expected log likelihood, ELBO, predictions; noise tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Categorical, Gaussian, Info, Predictive
from shiftbench.methods.networks.backend import repeat, summed, tf, traced
from shiftbench.methods.networks.model import Linear, Model, log_likelihood_of, mean_and_sd, point
from shiftbench.methods.networks.random import fold_in, integers, normals
from shiftbench.methods.networks.training import Data, Minibatch, total

TABLE = 2**20
"""The smallest number of normal draws in a table."""
ALIGNED = 16
"""Excerpts begin at multiples of it, so that TensorFlow does not copy them."""
DENSE_ROWS = 10_000
CONVOLVED_ROWS = 500
"""The most rows in a network at once, for memory: without and with convolutions."""


class LogLikelihood(NamedTuple):
    """An average over draws and its standard error [S, H], NaN for one draw."""

    mean: tf.Tensor
    se: tf.Tensor


Draw = Callable[["tf.Tensor", int], Linear]
"""(seeds of the draw [S, 2], rows) -> a network with drawn weights, for as many rows."""


def table(seeds: tf.Tensor, size: int) -> tf.Tensor:
    """Return normal draws [S, T], of which each step of a task takes `size` successive ones.

    New draws for each step would cost more than the step itself. A step begins at a random place
    (as in Salimans et al. 2017, 2.1), so that a parameter gets new noise.
    """
    return normals(seeds, [max(TABLE, 5 * size)])


def excerpt(numbers: tf.Tensor, seeds: tf.Tensor, size: int) -> tf.Tensor:
    """Return `size` successive numbers [S, size] from a random place of each table [S, T]."""
    places = ALIGNED * integers(seeds, (numbers.shape[1] - size) // ALIGNED + 1)
    rows, begins = tf.unstack(numbers), tf.unstack(places[:, tf.newaxis])
    length = tf.constant([size])
    return tf.stack([tf.slice(*row, length) for row in zip(rows, begins, strict=True)])


def gaussian(mean: tf.Tensor, sd: tf.Tensor) -> Draw:
    """Return draws of independent normal weights with mean and sd [S, H, P]."""

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        return point(mean + sd * normals(seeds, [1, mean.shape[-1]]))

    return draw


def average(function: Callable[[tf.Tensor], tf.Tensor], draws: int, seeds: tf.Tensor) -> tf.Tensor:
    """Return the mean over draws of function(seeds of a draw); one draw at a time, for memory."""
    return summed(lambda i: function(fold_in(seeds, i)), draws) / draws


def log_likelihood(model: Model, estimate: tf.Tensor, data: Data) -> tf.Tensor:
    """Return log p(data) [S, H] under a point estimate [S, H, P], summed over the rows."""
    return total(lambda rows: log_likelihood_of(model, point(estimate), *rows), data)


def expected_log_likelihood(
    model: Model,
    draw: Draw,
    data: Data,
    draws: int,
    seeds: tf.Tensor,
) -> LogLikelihood:
    """Return the mean over draws of log p(data), summed over the rows."""
    size = min(_rows_at_once(model), data[2].shape[1])

    def of_draw(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = draw(draw_seeds, size)  # all pieces of the data share the noise

        def piece(rows: Minibatch) -> tf.Tensor:
            return log_likelihood_of(model, linear, *rows)

        return total(piece, data, size)

    first, offsets, squares = from_first(of_draw, tf.square, draws, seeds)
    variance = (squares - tf.square(offsets) / draws) / (draws - 1 if draws > 1 else np.nan)
    return LogLikelihood(first + offsets / draws, tf.sqrt(tf.maximum(variance, 0.0) / draws))


def from_first(
    function: Callable[[tf.Tensor], tf.Tensor],
    square: Callable[[tf.Tensor], tf.Tensor],
    draws: int,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return function(seeds of the first draw), and two sums over all draws.

    The sums are of the offsets from the first draw, and of square(offset): squares of the values
    themselves would lose the differences.
    """
    once = traced(lambda i: function(fold_in(seeds, i)))
    value = tf.zeros(once.output_shapes)

    def add(i: tf.Tensor, now: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, ...]:
        value = once(i)
        first = tf.where(i > 0, now[0], value)
        offset = value - first
        return first, now[1] + offset, now[2] + square(offset)

    return repeat(add, (value, value, square(value)), draws)


def info(
    log_likelihood: LogLikelihood, kl: tf.Tensor, steps: tf.Tensor, *, kl_weight: float = 1.0
) -> Info:
    """Return the Info of a variational learner, from the ELBO's terms and the number of steps.

    kl_weight: the weight of the divergence [S, H] in a tempered posterior.
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
    """Return moments [2 or 3, S, H, n, n_outputs] of the outputs of a draw.

    Classes: p and p log p. Real targets: means, their squares and, if the noise is learnt, its
    variance; in float64, since the variance of draws is the small difference of large squares.
    """
    if model.likelihood == "categorical":
        p = tf.nn.softmax(outputs)
        return tf.stack([p, tf.math.xlogy(p, p)])
    if model.noise == "learnt":
        mean, sd = (tf.cast(a, tf.float64) for a in mean_and_sd(model, outputs))
        return tf.stack([mean, tf.square(mean), tf.square(sd)])
    mean = tf.cast(outputs, tf.float64)
    return tf.stack([mean, tf.square(mean)])


def predictive_moments(
    model: Model, draw: Draw, draws: int, seeds: tf.Tensor, inputs: tf.Tensor
) -> tf.Tensor:
    """Return the means of `moments` over draws."""

    def of_draw(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = draw(draw_seeds, inputs.shape[1])
        return moments(model, model.forward(linear, inputs[:, tf.newaxis]))

    return average(of_draw, draws, seeds)


def point_moments(model: Model, estimate: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
    """Return `moments` of the outputs under a point estimate [S, H, P], for inputs [S, n, ...]."""
    return moments(model, model.forward(point(estimate), inputs[:, tf.newaxis]))


def predictive(
    model: Model, mean_moments: Callable[[np.ndarray], tf.Tensor], inputs: np.ndarray
) -> Predictive:
    """Return the predictive for inputs [S, n, ...]; mean_moments: inputs -> means of `moments`."""
    first, second, *noise = in_pieces(model, mean_moments, inputs)
    s, h = first.shape[:2]
    log_weights = np.full((s, h), -np.log(h))
    if model.likelihood == "categorical":
        return Categorical(log_weights, first, -second.sum(axis=-1))
    variance = noise[0] if noise else model.noise_sd**2
    return Gaussian(log_weights, first, np.maximum(second - first**2, 0.0) + variance)


def in_pieces(
    model: Model, function: Callable[[np.ndarray], tf.Tensor], inputs: np.ndarray
) -> np.ndarray:
    """Return function(inputs [S, n, ...]), [..., n, C], on as many rows at once as fit memory."""
    size = _rows_at_once(model)
    starts = range(0, inputs.shape[1], size)
    pieces = [function(inputs[:, i : i + size]).numpy() for i in starts]
    return np.concatenate(pieces, axis=-2)


def _rows_at_once(model: Model) -> int:
    return CONVOLVED_ROWS if model.convolves else DENSE_ROWS
