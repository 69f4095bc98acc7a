"""Terms of the evidence lower bound (ELBO) of a posterior over weights, from its draws.

The noise of a step, a drawn network, the gradient of the likelihood, the value of the divergence.
Means and standard deviations are [S, H, P].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shiftbench.methods.networks import mean_field, parameter_layout, sampling, weight_draws
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.mean_field import Anchor, MeanField
from shiftbench.methods.networks.model import Linear
from shiftbench.methods.networks.random import fold_in, normals, normals_and_signs
from shiftbench.methods.networks.training import Minibatch
from shiftbench.methods.networks.weight_draws import Draws, Noise
from shiftbench.methods.posteriors import radial


def noise_of_steps(draws: Draws, rows: int, seeds: tf.Tensor) -> Callable[[tf.Tensor], Noise]:
    """Return a function from the seeds of a step to its noise.

    Several draws take their numbers from one table, which costs less.
    """
    count = weight_draws.numbers_needed(draws, rows)
    if draws.number == 1:
        return partial(noise, draws, rows)
    size = draws.number * count
    table = sampling.table(seeds, size)

    def of_step(step_seeds: tf.Tensor) -> Noise:
        numbers = sampling.excerpt(table, step_seeds, size)
        return weight_draws.noise(draws, tf.reshape(numbers, [-1, draws.number, count]), rows)

    return of_step


def noise(draws: Draws, rows: int, seeds: tf.Tensor) -> Noise:
    """Return the noise of one draw, not from a table."""
    count, keys = weight_draws.numbers_needed(draws, rows), fold_in(seeds, 0)
    if draws.estimator == "flipout" and draws.blocks is None:
        size = draws.model.size
        numbers, signs = normals_and_signs(keys, size, count - size)
        return weight_draws.noise(draws, numbers[:, tf.newaxis], rows, signs[:, tf.newaxis])
    return weight_draws.noise(draws, normals(keys, [1, count]), rows)


def drawn(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, seeds: tf.Tensor, rows: int) -> Linear:
    """Return the network under one draw of its weights."""
    single = draws._replace(number=1)
    return weight_draws.linear(single, mean, sd, noise(single, rows, seeds), rows)


def likelihood_gradient(
    draws: Draws, mean: tf.Tensor, sd: tf.Tensor, drawn: Noise, rows: Minibatch
) -> MeanField:
    """Return the gradient in mean and sd of the mean negative log likelihood over the draws."""
    with tf.GradientTape() as tape:
        tape.watch([mean, sd])
        linear = weight_draws.linear(draws, mean, sd, drawn, rows.inputs.shape[2])
        loss = parameter_layout.mean_nll(draws.model, linear, rows) / draws.number
    return MeanField(*tape.gradient(loss, [mean, sd]))


def divergence(
    draws: Draws,
    q: MeanField,
    prior: MeanField,
    counted: tf.Tensor,
    density: radial.PriorDensity,
    number: int,
    seeds: tf.Tensor,
    anchor: Anchor | None = None,
) -> tf.Tensor:
    """Return KL(q || prior) [S, H] in nats, over the counted parameters.

    Exact for normal posteriors; for radial ones, which have no anchor, an average over `number`
    draws.
    """
    blocks = draws.blocks
    if blocks is None:
        return mean_field.gaussian_divergence(q, prior, counted, anchor)

    def of_draw(draw_seeds: tf.Tensor) -> tf.Tensor:
        eps = noise(draws._replace(number=1), 1, draw_seeds).eps
        return radial.divergence(*q, *prior, eps, counted, blocks, density)

    return sampling.average(of_draw, number, seeds)
