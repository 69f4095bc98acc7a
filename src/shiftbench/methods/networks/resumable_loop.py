"""TensorFlow loops over steps that can be interrupted and resumed.

Every few seconds a loop passes its state to `core.loop_checkpoint`, which may save it or stop the
task, and which returns the number of steps until the next poll. (TensorFlow has no clock where
its operations are deterministic.) A look within the task ends a loop early, and it goes on later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shiftbench.core import loop_checkpoint
from shiftbench.methods.networks.backend import tf


class LoopPosition(NamedTuple):
    """The position of a loop in its task, integers.

    loop: its number. epoch, step: the next epoch, and the next step in it. left: steps until a
    poll. last_epoch, last_step: the epoch, and the step in it, at which a look ends the loop.
    """

    loop: tf.Tensor
    epoch: tf.Tensor
    step: tf.Tensor
    left: tf.Tensor
    last_epoch: tf.Tensor
    last_step: tf.Tensor


COUNTS = len(LoopPosition._fields)


def loop(
    goes_on: Callable[[tf.Tensor, Any], tf.Tensor],
    epoch: Callable[[LoopPosition, Any], tuple[LoopPosition, Any]],
    state: Any,
    epochs: int,
    steps: tf.Tensor,
) -> tuple[tf.Tensor, Any]:
    """Run epochs while goes_on(epoch number, state); return their number and the last state.

    epoch(position, state) -> position and state after the epoch, from the step of the position on.
    state: a nest of tensors. epochs: the most that there may be. steps: those of an epoch.
    """
    flat = tf.nest.flatten(state)
    expected = [tf.constant(0)] * COUNTS + flat
    types = [tensor.dtype for tensor in expected]
    first = tf.numpy_function(loop_checkpoint.begin, [epochs, steps, *flat], types)
    for tensor, like in zip(first, expected, strict=True):
        tensor.set_shape(like.shape)
    position, state = LoopPosition(*first[:COUNTS]), tf.nest.pack_sequence_as(state, first[COUNTS:])
    position, state = tf.while_loop(
        lambda at, now: _no_look(at) & goes_on(at.epoch, now), epoch, (position, state)
    )
    tf.numpy_function(loop_checkpoint.end, _arguments(position, state), tf.int32)
    return position.epoch, state


def after_step(position: LoopPosition, state: Any) -> LoopPosition:
    """Return the position after a step, polled if it is time to; state: all that the loop needs."""
    after = position._replace(step=position.step + 1)

    def poll() -> tf.Tensor:
        left = tf.numpy_function(loop_checkpoint.poll, _arguments(after, state), tf.int32)
        left.set_shape([])
        return left

    return after._replace(left=tf.cond(position.left > 1, lambda: position.left - 1, poll))


def end_of_epoch(position: LoopPosition, steps: tf.Tensor) -> tf.Tensor:
    """Return the step before which an epoch of `steps` steps ends, or a look ends the loop."""
    last = tf.minimum(position.last_step, steps)
    return tf.where(position.epoch == position.last_epoch, last, steps)


def after_epoch(position: LoopPosition, steps: tf.Tensor) -> LoopPosition:
    """Return the position in the next epoch, if all steps of this one are done."""
    done = position.step >= steps
    step = tf.where(done, 0, position.step)
    return position._replace(epoch=position.epoch + tf.cast(done, tf.int32), step=step)


def _no_look(at: LoopPosition) -> tf.Tensor:
    """Return whether no look ends the loop here."""
    return (at.epoch < at.last_epoch) | ((at.epoch == at.last_epoch) & (at.step < at.last_step))


def _arguments(position: LoopPosition, state: Any) -> list[tf.Tensor]:
    return [position.loop, position.epoch, position.step, *tf.nest.flatten(state)]
