"""Standard deviation of a gradient estimator over its draws (farquhar2020radial, 5, Fig. 6, 7)."""

from __future__ import annotations

from collections.abc import Callable

from shiftbench.methods.networks import elbo, sampling
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.training import Data, Minibatch, shuffled, take
from shiftbench.methods.networks.weight_draws import Draws


def over_draws(
    gradient: Callable[[tf.Tensor], tf.Tensor], draws: int, seeds: tf.Tensor
) -> tf.Tensor:
    """Return the standard deviation [S, H] over draws of gradient(seeds of a draw) [S, H, P].

    It is the root of the mean variance over parameters. Needs two draws or more; they are computed
    one at a time, for memory.
    """

    def squared(offset: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(offset), -1)

    first, offsets, squares = sampling.from_first(gradient, squared, draws, seeds)
    total = squares - squared(offsets) / draws
    return tf.sqrt(tf.maximum(total, 0.0) / ((draws - 1) * first.shape[-1]))


def of_likelihood(
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    rows: Minibatch,
    number: int,
    seeds: tf.Tensor,
    part: slice = slice(None),
) -> tf.Tensor:
    """Return the standard deviation of the gradient of the mean negative log likelihood, [S, H].

    The gradient is that in (part of) the means, on the same rows in each of `number` draws.
    """

    def gradient(draw_seeds: tf.Tensor) -> tf.Tensor:
        noise = elbo.noise(draws, rows.inputs.shape[2], draw_seeds)
        return elbo.likelihood_gradient(draws, mean, sd, noise, rows).mean[..., part]

    return over_draws(gradient, number, seeds)


def some_rows(data: Data, size: int, seeds: tf.Tensor) -> Minibatch:
    """Draw at most `size` of a task's rows."""
    return take(*data, shuffled(data[2], min(size, data[2].shape[1]), seeds))
