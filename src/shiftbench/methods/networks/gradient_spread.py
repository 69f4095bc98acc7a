"""How far the draws of a gradient estimator lie apart (farquhar2020radial, 5, Fig. 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable

from shiftbench.methods.networks import elbo
from shiftbench.methods.networks.backend import repeat, tf
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Minibatch, shuffled, take
from shiftbench.methods.networks.weight_draws import Draws


def over_draws(
    gradient: Callable[[tf.Tensor], tf.Tensor], draws: int, seeds: tf.Tensor
) -> tf.Tensor:
    """Standard deviation [S, H] over draws of gradient(seeds of a draw) [S, H, P].

    The root of the mean variance over parameters; two draws at least, one at a time, for memory.
    """
    # About the first draw: squares of the sums themselves would drown their differences.
    first = gradient(fold_in(seeds, 0))

    def more(i: tf.Tensor, sums: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        away = gradient(fold_in(seeds, i)) - first
        return sums[0] + away, sums[1] + tf.reduce_sum(tf.square(away), -1)

    begun = tf.zeros_like(first), tf.zeros(first.shape[:2])
    away, squares = repeat(more, begun, draws, start=1)
    summed = squares - tf.reduce_sum(tf.square(away), -1) / draws
    return tf.sqrt(tf.maximum(summed, 0.0) / ((draws - 1) * first.shape[-1]))


def of_likelihood(
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    rows: Minibatch,
    number: int,
    seeds: tf.Tensor,
    part: slice = slice(None),
) -> tf.Tensor:
    """Of the mean negative log likelihood in (part of) the means, on the same rows each time."""

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        noise = elbo.noise(draws, rows.inputs.shape[2], draw_seeds)
        return elbo.likelihood_gradient(draws, mean, sd, noise, rows)[0][..., part]

    return over_draws(once, number, seeds)


def some_rows(
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor], size: int, seeds: tf.Tensor
) -> Minibatch:
    """At most `size` of a task's rows, drawn."""
    return take(*data, shuffled(data[2], min(size, data[2].shape[1]), seeds))
