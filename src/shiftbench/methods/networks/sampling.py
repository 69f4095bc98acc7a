"""Averages over draws of the weights: expected log likelihood, ELBO, predictions; noise tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Categorical, Gaussian, Info, Predictive
from shiftbench.methods.models._model import Linear, Model, log_likelihood_of, mean_and_sd, point
from shiftbench.methods.networks.backend import repeat, tf
from shiftbench.methods.networks.random import fold_in, normals
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
    parts = []
    for row, seed in zip(tf.unstack(numbers), tf.unstack(seeds), strict=True):
        last = (numbers.shape[1] - size) // ALIGNED + 1
        place = ALIGNED * tf.random.stateless_uniform([], seed, 0, last, tf.int32)
        parts.append(tf.slice(row, [place], [size]))
    return tf.stack(parts)


def gaussian(mean: tf.Tensor, sd: tf.Tensor) -> Draw:
    """Return draws of independent normal weights with mean and sd [S, H, P]."""

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        return point(mean + sd * normals(seeds, [1, mean.shape[-1]]))

    return draw


def average(function: Callable[[tf.Tensor], tf.Tensor], draws: int, seeds: tf.Tensor) -> tf.Tensor:
    """Return the mean over draws of function(seeds of a draw); one draw at a time, for memory."""
    first = function(fold_in(seeds, 0))
    return repeat(lambda i, sums: sums + function(fold_in(seeds, i)), first, draws, start=1) / draws


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

    first = of_draw(fold_in(seeds, 0))

    def add(i: tf.Tensor, sums: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        # Relative to the first draw: squares of the sums themselves would lose the differences.
        offset = of_draw(fold_in(seeds, i)) - first
        return sums[0] + offset, sums[1] + tf.square(offset)

    zero = tf.zeros_like(first)
    offsets, squares = repeat(add, (zero, zero), draws, start=1)
    variance = (squares - tf.square(offsets) / draws) / (draws - 1 if draws > 1 else np.nan)
    return LogLikelihood(first + offsets / draws, tf.sqrt(tf.maximum(variance, 0.0) / draws))


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
    variance.
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
    """Return the means of `moments` over draws."""

    def of_draw(draw_seeds: tf.Tensor) -> tf.Tensor:
        linear = draw(draw_seeds, inputs.shape[1])
        return moments(model, model.forward(linear, inputs[:, tf.newaxis]))

    return average(of_draw, draws, seeds)


def predictive(
    model: Model, mean_moments: Callable[[np.ndarray], tf.Tensor], inputs: np.ndarray
) -> Predictive:
    """Return the predictive for inputs [S, n, ...]; mean_moments: inputs -> means of `moments`."""
    size = _rows_at_once(model)
    starts = range(0, inputs.shape[1], size)
    pieces = [mean_moments(inputs[:, i : i + size]).numpy() for i in starts]
    first, second, *noise = np.concatenate(pieces, axis=-2)
    s, h = first.shape[:2]
    log_weights = np.full((s, h), -np.log(h))
    if model.likelihood == "categorical":
        return Categorical(log_weights, first, -second.sum(axis=-1))
    variance = noise[0] if noise else model.noise_sd**2
    return Gaussian(log_weights, first, np.maximum(second - first**2, 0.0) + variance)


def _rows_at_once(model: Model) -> int:
    return CONVOLVED_ROWS if model.convolves else DENSE_ROWS
