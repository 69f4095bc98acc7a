"""Minibatch training inside one graph: shuffling, masks, epochs.

Everything is vectorised over seeds and hypotheses, and one call is one task: no
Python runs between steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shiftbench.methods.networks.backend import repeat, tf
from shiftbench.methods.networks.optimisers import (
    Adam,
    Descent,
    Optimiser,
    Penalty,
    adam_step,
    advance,
    begin,
)
from shiftbench.methods.networks.random import fold_in, uniforms
from shiftbench.methods.networks.resumable_loop import Place, after_step, loop


class Minibatch(NamedTuple):
    """A minibatch: inputs [S, 1, b, ...], targets [S, b, ...], mask [S, b] (0 or 1)."""

    inputs: tf.Tensor
    targets: tf.Tensor
    mask: tf.Tensor


Gradient = Callable[[tf.Tensor, Minibatch, tf.Tensor], tf.Tensor]
"""(parameters [S, H, P'], minibatch, seeds of the step [S, 2]) -> gradient [S, H, P']."""
Epoch = Callable[..., tuple[Place, Any]]
"""(place, state, what is kept beside it) -> place and state after the rest of an epoch."""


def take(inputs: tf.Tensor, targets: tf.Tensor, mask: tf.Tensor, index: tf.Tensor) -> Minibatch:
    """The rows `index` [S, b] of data [S, n, ...]."""
    gathered = tf.gather(inputs, index, batch_dims=1)
    return Minibatch(
        gathered[:, tf.newaxis],
        tf.gather(targets, index, batch_dims=1),
        tf.cast(tf.gather(mask, index, batch_dims=1), tf.float32),
    )


def shuffled(mask: tf.Tensor, length: int, seeds: tf.Tensor) -> tf.Tensor:
    """A permutation of the rows [S, length], masked rows last, cut or padded to length."""
    n = mask.shape[1]
    keys = uniforms(seeds, [n]) + tf.where(mask, 0.0, 1.0)
    order = tf.argsort(keys, axis=1, stable=True)
    # Padding repeats the last row of the order; `epochs` gives it no weight.
    return tf.gather(order, tf.minimum(tf.range(length), n - 1), axis=1)


def epochs(
    step: Callable[[Any, Minibatch, tf.Tensor], Any],
    state: Any,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
) -> tuple[Any, tf.Tensor]:
    """A nest of tensors after step(state, minibatch, seeds of the step) over shuffled epochs.

    data: inputs [S, n, ...], targets [S, n, ...], mask [S, n]. The number of steps, which
    comes second, follows from the unmasked rows, so padding costs nothing and changes
    nothing: rows that fill the last minibatch up have mask 0.
    """
    epoch, steps_per_epoch = one_epoch(step, data, seeds, batch_size)
    return _through(epoch, state, passes), passes * steps_per_epoch


def one_epoch(
    step: Callable[[Any, Minibatch, tf.Tensor], Any],
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    batch_size: int,
) -> tuple[Epoch, tf.Tensor]:
    """An epoch as in `epochs`, and the steps that it has."""
    mask = data[2]
    batch = min(batch_size, mask.shape[1])
    batches = -(-mask.shape[1] // batch)
    filled = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    steps_per_epoch = (tf.reduce_max(filled) + batch - 1) // batch
    positions = tf.range(batches * batch)

    def epoch(place: Place, before: Any, beside: Any = ()) -> tuple[Place, Any]:
        order = shuffled(mask, batches * batch, fold_in(seeds, 2 * place.epoch))
        epoch_seeds = fold_in(seeds, 2 * place.epoch + 1)

        def minibatch(at: Place, now: Any) -> tuple[Place, Any]:
            i = at.step
            rows = take(*data, tf.reshape(order[:, i * batch : (i + 1) * batch], [-1, batch]))
            inside = positions[i * batch : (i + 1) * batch] < filled[:, tf.newaxis]
            rows = rows._replace(mask=rows.mask * tf.cast(inside, tf.float32))
            now = step(now, rows, fold_in(epoch_seeds, i))
            return after_step(at, (now, beside)), now

        place, after = tf.while_loop(
            lambda at, _: at.step < steps_per_epoch, minibatch, (place, before)
        )
        return place._replace(epoch=place.epoch + 1, step=tf.constant(0)), after

    return epoch, steps_per_epoch


def total(
    function: Callable[[Minibatch], tf.Tensor],
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    size: int = 500,
) -> tf.Tensor:
    """The sum [S, H] of function(rows) over pieces of the data, at most `size` rows at once.

    For memory: on all rows of a task at once a convolution would need gigabytes.
    """
    s, n = data[2].shape
    size = min(size, n)

    def piece(first: tf.Tensor | int) -> tf.Tensor:
        index = first + tf.range(size)
        rows = take(*data, tf.tile(tf.minimum(index, n - 1)[tf.newaxis], [s, 1]))
        return function(rows._replace(mask=rows.mask * tf.cast(index < n, tf.float32)))

    return repeat(lambda first, found: found + piece(first), piece(0), n, start=size, step=size)


def minimise(
    gradient: Gradient,
    start: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
    optimiser: Optimiser,
) -> tuple[tf.Tensor, tf.Tensor]:
    """From `start` [S, H, P'] down over shuffled epochs; (parameters, number of steps)."""
    epoch, steps_per_epoch = one_descent(gradient, data, seeds, batch_size, optimiser)
    end = _through(epoch, begin(optimiser, start), passes)
    return end.x, passes * steps_per_epoch


def one_descent(
    gradient: Gradient,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    batch_size: int,
    optimiser: Optimiser,
) -> tuple[Epoch, tf.Tensor]:
    """An epoch of a Descent, and the steps that it has; a multiple of these is behind it."""

    def step(at: Descent, rows: Minibatch, step_seeds: tf.Tensor) -> Descent:
        return advance(optimiser, at, gradient(at.x, rows, step_seeds), at.steps // per_epoch)

    epoch, per_epoch = one_epoch(step, data, seeds, batch_size)
    return epoch, per_epoch


def _through(epoch: Epoch, state: Any, passes: int) -> Any:
    """The state after all passes."""

    def once(place: Place, now: tuple[Any, tuple[()]]) -> tuple[Place, tuple[Any, tuple[()]]]:
        place, after = epoch(place, now[0])
        return place, (after, ())

    _, (end, _) = loop(lambda number, _: number < passes, once, (state, ()))
    return end


def descend(
    gradient: Gradient,
    start: Descent,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
    adam: Adam,
    penalty: Penalty | None = None,
) -> tuple[Descent, tf.Tensor]:
    """Adam on a loss, known by its gradient, plus a penalty; where it ends, number of steps."""

    def step(at: Descent, rows: Minibatch, step_seeds: tf.Tensor) -> Descent:
        g = gradient(at.x, rows, step_seeds)
        steps = at.steps + 1
        step_number = tf.cast(steps, tf.float32)
        x, first, second, path = adam_step(adam, at, g, step_number, penalty)
        return Descent(x, first, second, steps, path)

    return epochs(step, start, data, seeds, passes, batch_size)
