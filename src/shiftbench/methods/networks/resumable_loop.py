"""TensorFlow loops over steps that can be interrupted and resumed.

Every few seconds a loop passes its state to `core.loop_checkpoint`, which may save it or stop the
task, and which returns the number of steps until the next poll. (TensorFlow has no clock where
its operations are deterministic.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shiftbench.core import loop_checkpoint
from shiftbench.methods.networks.backend import tf


class LoopPosition(NamedTuple):
    """Integers: number of the loop in its task, next epoch and step, steps until a poll."""

    loop: tf.Tensor
    epoch: tf.Tensor
    step: tf.Tensor
    left: tf.Tensor


COUNTS = len(LoopPosition._fields)


def loop(
    goes_on: Callable[[tf.Tensor, Any], tf.Tensor],
    epoch: Callable[[LoopPosition, Any], tuple[LoopPosition, Any]],
    state: Any,
) -> tuple[tf.Tensor, Any]:
    """Run epochs while goes_on(epoch number, state); return their number and the last state.

    epoch(position, state) -> position and state after the epoch, from the step of the position on.
    state: a nest of tensors.
    """
    flat = tf.nest.flatten(state)
    expected = [tf.constant(0)] * COUNTS + flat
    first = tf.numpy_function(loop_checkpoint.begin, flat, [tensor.dtype for tensor in expected])
    for tensor, like in zip(first, expected, strict=True):
        tensor.set_shape(like.shape)
    position, state = LoopPosition(*first[:COUNTS]), tf.nest.pack_sequence_as(state, first[COUNTS:])
    position, state = tf.while_loop(
        lambda at, now: goes_on(at.epoch, now), epoch, (position, state)
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


def _arguments(position: LoopPosition, state: Any) -> list[tf.Tensor]:
    return [position.loop, position.epoch, position.step, *tf.nest.flatten(state)]
