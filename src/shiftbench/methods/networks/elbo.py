"""What the evidence lower bound of a posterior over weights needs of its draws.

The noise of a step, a drawn network, the likelihood's gradient, the divergence's value. Means and
standard deviations are [S, H, P].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shiftbench.methods.models._model import Linear
from shiftbench.methods.networks import mean_field, parameter_layout, sampling, weight_draws
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.mean_field import Prior
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.training import Minibatch
from shiftbench.methods.networks.weight_draws import Draws, Noise
from shiftbench.methods.posteriors import radial


def noise_of_steps(draws: Draws, rows: int, seeds: tf.Tensor) -> Callable[[tf.Tensor], Noise]:
    """Seeds of a step -> its noise; for several draws from a table, which costs less."""
    needed = weight_draws.numbers_needed(draws, rows)
    if draws.number == 1:
        return partial(noise, draws, rows)
    size = draws.number * needed
    table = sampling.table(seeds, size)

    def of_step(step_seeds: tf.Tensor) -> Noise:
        numbers = sampling.excerpt(table, step_seeds, size)
        return weight_draws.noise(draws, tf.reshape(numbers, [-1, draws.number, needed]), rows)

    return of_step


def noise(draws: Draws, rows: int, seeds: tf.Tensor) -> Noise:
    """The noise of one draw, not from a table."""
    numbers = normals(fold_in(seeds, 0), [1, weight_draws.numbers_needed(draws, rows)])
    return weight_draws.noise(draws, numbers, rows)


def drawn(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, seeds: tf.Tensor, rows: int) -> Linear:
    """The network under one draw of its weights."""
    one = draws._replace(number=1)
    return weight_draws.linear(one, mean, sd, noise(one, rows, seeds), rows)


def likelihood_gradient(
    draws: Draws, mean: tf.Tensor, sd: tf.Tensor, drawn: Noise, rows: Minibatch
) -> list[tf.Tensor]:
    """Of the mean negative log likelihood, averaged over the draws, in mean and sd."""
    with tf.GradientTape() as tape:
        tape.watch([mean, sd])
        linear = weight_draws.linear(draws, mean, sd, drawn, rows.inputs.shape[2])
        loss = parameter_layout.mean_nll(draws.model, linear, rows) / draws.number
    return tape.gradient(loss, [mean, sd])


def divergence(
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior: Prior,
    counted: tf.Tensor,
    density: radial.PriorDensity,
    number: int,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """KL(q || prior) [S, H] in nats, over the parameters that count; `number` draws if radial."""
    blocks = draws.blocks
    if blocks is None:
        return mean_field.gaussian_divergence(mean, sd, prior, counted)

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        eps = noise(draws._replace(number=1), 1, draw_seeds).eps
        return radial.divergence(mean, sd, *prior, eps, counted, blocks, density)

    return sampling.average(once, number, seeds)
