"""Minibatch training inside one graph: shuffling, masks, epochs.

Everything is vectorised over seeds and hypotheses. One call trains on one task, so no Python runs
between steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shiftbench.methods.networks.backend import summed, tf
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
from shiftbench.methods.networks.resumable_loop import (
    LoopPosition,
    after_epoch,
    after_step,
    end_of_epoch,
    loop,
)


class Schedule(NamedTuple):
    """The passes over the data, the rows of a minibatch and the optimiser of the steps."""

    passes: int
    batch_size: int
    optimiser: Optimiser


class Minibatch(NamedTuple):
    """A minibatch: inputs [S, 1, b, ...], targets [S, b, ...], mask [S, b] (0 or 1)."""

    inputs: tf.Tensor
    targets: tf.Tensor
    mask: tf.Tensor


Data = tuple["tf.Tensor", "tf.Tensor", "tf.Tensor"]
"""Inputs [S, n, ...], targets [S, n, ...] and mask [S, n] of a task."""
Gradient = Callable[["tf.Tensor", Minibatch, "tf.Tensor"], "tf.Tensor"]
"""(parameters [S, H, P'], minibatch, seeds of the step [S, 2]) -> gradient [S, H, P']."""
Epoch = Callable[..., tuple[LoopPosition, Any]]
"""(position, state, further state to save) -> position and state after the rest of an epoch."""


def take(inputs: tf.Tensor, targets: tf.Tensor, mask: tf.Tensor, index: tf.Tensor) -> Minibatch:
    """Return the rows `index` [S, b] of data [S, n, ...]."""
    gathered = tf.gather(inputs, index, batch_dims=1)
    return Minibatch(
        gathered[:, tf.newaxis],
        tf.gather(targets, index, batch_dims=1),
        tf.cast(tf.gather(mask, index, batch_dims=1), tf.float32),
    )


def shuffled(mask: tf.Tensor, length: int, seeds: tf.Tensor) -> tf.Tensor:
    """Return a permutation of the rows [S, length], masked rows last, cut or padded to length."""
    n = mask.shape[1]
    keys = uniforms(seeds, [n]) + tf.where(mask, 0.0, 1.0)
    order = tf.argsort(keys, axis=1, stable=True)
    # Padding repeats the last row of the order, which callers mask.
    return tf.gather(order, tf.minimum(tf.range(length), n - 1), axis=1)


def epochs(
    step: Callable[[Any, Minibatch, tf.Tensor], Any],
    state: Any,
    data: Data,
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
) -> tuple[Any, tf.Tensor]:
    """Apply step(state, minibatch, seeds of the step) over shuffled epochs.

    Returns the last state, a nest of tensors, and the number of steps. That follows from the
    unmasked rows, so padding costs nothing and changes nothing; rows that fill up the last
    minibatch have mask 0.
    """
    epoch, steps_per_epoch = one_epoch(step, data, seeds, batch_size)
    return _all_passes(epoch, state, passes, steps_per_epoch), passes * steps_per_epoch


def one_epoch(
    step: Callable[[Any, Minibatch, tf.Tensor], Any],
    data: Data,
    seeds: tf.Tensor,
    batch_size: int,
) -> tuple[Epoch, tf.Tensor]:
    """Return an epoch of `epochs` as a function, and its number of steps."""
    mask = data[2]
    batch = min(batch_size, mask.shape[1])
    batches = -(-mask.shape[1] // batch)
    filled = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    steps_per_epoch = (tf.reduce_max(filled) + batch - 1) // batch
    positions = tf.range(batches * batch)

    def epoch(position: LoopPosition, state: Any, saved: Any = ()) -> tuple[LoopPosition, Any]:
        order = shuffled(mask, batches * batch, fold_in(seeds, 2 * position.epoch))
        epoch_seeds = fold_in(seeds, 2 * position.epoch + 1)

        def minibatch(at: LoopPosition, now: Any) -> tuple[LoopPosition, Any]:
            i = at.step
            rows = take(*data, tf.reshape(order[:, i * batch : (i + 1) * batch], [-1, batch]))
            inside = positions[i * batch : (i + 1) * batch] < filled[:, tf.newaxis]
            rows = rows._replace(mask=rows.mask * tf.cast(inside, tf.float32))
            now = _where_rows(rows, step(now, rows, fold_in(epoch_seeds, i)), now)
            return after_step(at, (now, saved)), now

        last = end_of_epoch(position, steps_per_epoch)
        position, state = tf.while_loop(lambda at, _: at.step < last, minibatch, (position, state))
        return after_epoch(position, steps_per_epoch), state

    return epoch, steps_per_epoch


def _where_rows(rows: Minibatch, after: Any, before: Any) -> Any:
    """Return the state after a step, or before it for repetitions whose minibatch is empty.

    A minibatch is empty where a repetition has fewer rows than another. Tensors without an axis
    of repetitions are those after the step.
    """
    filled = tf.reduce_any(rows.mask > 0, axis=1)
    return tf.cond(
        tf.reduce_all(filled), lambda: after, lambda: where_repetitions(filled, after, before)
    )


def where_repetitions(condition: tf.Tensor, one: Any, other: Any) -> Any:
    """Return the tensors [S, ...] of one nest where a condition [S] holds, else of the other.

    Tensors without an axis of repetitions are those of `one`.
    """

    def chosen(new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
        if new.shape.rank == 0:
            return new
        return tf.where(tf.reshape(condition, [-1] + [1] * (new.shape.rank - 1)), new, old)

    return tf.nest.map_structure(chosen, one, other)


def total(function: Callable[[Minibatch], tf.Tensor], data: Data, size: int = 500) -> tf.Tensor:
    """Return the sum [S, H] of function(rows) over pieces of the data, of at most `size` rows.

    In pieces for memory: on all rows of a task at once a convolution would need gigabytes.
    """
    s, n = data[2].shape
    size = min(size, n)

    def piece(first: tf.Tensor) -> tf.Tensor:
        index = first + tf.range(size)
        rows = take(*data, tf.tile(tf.minimum(index, n - 1)[tf.newaxis], [s, 1]))
        return function(rows._replace(mask=rows.mask * tf.cast(index < n, tf.float32)))

    return summed(piece, n, size)


def minimise(
    gradient: Gradient, start: tf.Tensor, data: Data, seeds: tf.Tensor, schedule: Schedule
) -> tuple[tf.Tensor, tf.Tensor]:
    """Descend from `start` [S, H, P'] over shuffled epochs; return parameters and steps taken."""
    epoch, steps_per_epoch = one_descent(gradient, data, seeds, schedule)
    first = begin(schedule.optimiser, start)
    end = _all_passes(epoch, first, schedule.passes, steps_per_epoch)
    return end.x, schedule.passes * steps_per_epoch


def one_descent(
    gradient: Gradient, data: Data, seeds: tf.Tensor, schedule: Schedule
) -> tuple[Epoch, tf.Tensor]:
    """Return an epoch of a `Descent` as a function, and its number of steps.

    The Descent must have done whole epochs before: its steps give the number of the epoch.
    """

    def step(at: Descent, rows: Minibatch, step_seeds: tf.Tensor) -> Descent:
        g = gradient(at.x, rows, step_seeds)
        # The repetition with most rows takes all steps.
        return advance(schedule.optimiser, at, g, tf.reduce_max(at.steps) // per_epoch)

    epoch, per_epoch = one_epoch(step, data, seeds, schedule.batch_size)
    return epoch, per_epoch


def _all_passes(epoch: Epoch, state: Any, passes: int, steps: tf.Tensor) -> Any:
    """Return the state after all passes."""

    def one_pass(position: LoopPosition, now: Any) -> tuple[LoopPosition, Any]:
        # The empty nest is the further state that `early_stopping` saves here.
        position, after = epoch(position, now[0])
        return position, (after, ())

    _, (end, _) = loop(lambda number, _: number < passes, one_pass, (state, ()), passes, steps)
    return end


def descend(
    gradient: Gradient,
    start: Descent,
    data: Data,
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
    adam: Adam,
    penalty: Penalty | None = None,
) -> tuple[Descent, tf.Tensor]:
    """Minimise a loss, given by its gradient, plus a penalty, by Adam; return state and steps."""
    step = adam_steps(gradient, adam, penalty)
    return epochs(step, start, data, seeds, passes, batch_size)


def adam_steps(
    gradient: Gradient, adam: Adam, penalty: Penalty | None = None
) -> Callable[[Descent, Minibatch, tf.Tensor], Descent]:
    """Return a step of `epochs` down a gradient and a penalty, by Adam."""

    def step(at: Descent, rows: Minibatch, step_seeds: tf.Tensor) -> Descent:
        g = gradient(at.x, rows, step_seeds)
        steps = at.steps + 1
        step_number = tf.cast(steps, tf.float32)
        x, first, second, path = adam_step(adam, at, g, step_number, penalty)
        return Descent(x, first, second, steps, path)

    return step
