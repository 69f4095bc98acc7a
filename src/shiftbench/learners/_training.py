"""Minibatch training inside one graph: shuffling, masks, Adam.

Everything is vectorised over seeds and hypotheses, and one call is one task: no
Python runs between steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from shiftbench.learners._backend import tf
from shiftbench.learners._random import fold_in, uniforms


class Rows(NamedTuple):
    """A minibatch: inputs [S, 1, b, ...], targets [S, b, ...], mask [S, b] (0 or 1)."""

    inputs: tf.Tensor
    targets: tf.Tensor
    mask: tf.Tensor


Gradient = Callable[[tf.Tensor, Rows, tf.Tensor], tf.Tensor]
"""(parameters [S, H, P'], minibatch, seeds of the step [S, 2]) -> gradient [S, H, P']."""


class Adam(NamedTuple):
    """Adam's constants (Kingma and Ba 2014), the defaults of seed 000, C.2."""

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7


def take(inputs: tf.Tensor, targets: tf.Tensor, mask: tf.Tensor, index: tf.Tensor) -> Rows:
    """The rows `index` [S, b] of data [S, n, ...]."""
    gathered = tf.gather(inputs, index, batch_dims=1)
    return Rows(
        gathered[:, tf.newaxis],
        tf.gather(targets, index, batch_dims=1),
        tf.cast(tf.gather(mask, index, batch_dims=1), tf.float32),
    )


def shuffled(mask: tf.Tensor, length: int, seeds: tf.Tensor) -> tf.Tensor:
    """A permutation of the rows [S, length], masked rows last, cut or padded to length."""
    n = mask.shape[1]
    keys = uniforms(seeds, [n]) + tf.where(mask, 0.0, 1.0)
    order = tf.argsort(keys, axis=1, stable=True)
    # Padding repeats the last row of the order; `minimise` gives it no weight.
    return tf.gather(order, tf.minimum(tf.range(length), n - 1), axis=1)


def minimise(
    gradient: Gradient,
    start: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    epochs: int,
    batch_size: int,
    adam: Adam,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Adam from `start` [S, H, P'] over shuffled epochs; (parameters, number of steps).

    data: inputs [S, n, ...], targets [S, n, ...], mask [S, n]. The number of steps of an
    epoch follows from the unmasked rows, so padding costs nothing and changes nothing.
    """
    mask = data[2]
    batch = min(batch_size, mask.shape[1])
    batches = -(-mask.shape[1] // batch)
    filled = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    steps_per_epoch = (tf.reduce_max(filled) + batch - 1) // batch
    positions = tf.range(batches * batch)
    x, first, second = start, tf.zeros_like(start), tf.zeros_like(start)
    step = tf.constant(0)
    for epoch in tf.range(epochs):
        order = shuffled(mask, batches * batch, fold_in(seeds, 2 * epoch))
        epoch_seeds = fold_in(seeds, 2 * epoch + 1)
        for i in tf.range(steps_per_epoch):
            rows = take(*data, tf.reshape(order[:, i * batch : (i + 1) * batch], [-1, batch]))
            inside = positions[i * batch : (i + 1) * batch] < filled[:, tf.newaxis]
            rows = rows._replace(mask=rows.mask * tf.cast(inside, tf.float32))
            g = gradient(x, rows, fold_in(epoch_seeds, i))
            step += 1
            x, first, second = _adam_step(adam, x, first, second, g, tf.cast(step, tf.float32))
    return x, step


# Fused: as separate operations this is a third of a step, bound by memory traffic.
@tf.function(jit_compile=True)
def _adam_step(
    adam: Adam, x: tf.Tensor, first: tf.Tensor, second: tf.Tensor, g: tf.Tensor, step: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    first = adam.beta1 * first + (1 - adam.beta1) * g
    second = adam.beta2 * second + (1 - adam.beta2) * tf.square(g)
    rate = adam.learning_rate * tf.sqrt(1 - adam.beta2**step) / (1 - adam.beta1**step)
    return x - rate * first / (tf.sqrt(second) + adam.epsilon), first, second
