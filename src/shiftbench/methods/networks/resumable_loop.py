"""Loops over steps that can be left and gone on with: the side of the graph.

Every few seconds a loop shows where it stands to `within_task`, which may keep it or end the
task, and says after how many steps to look again. (TensorFlow has no clock where its operations
are deterministic.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shiftbench.core import loop_checkpoint
from shiftbench.methods.networks.backend import tf


class Place(NamedTuple):
    """Integers: number of the loop in its task, epoch and step to come, steps until a look."""

    loop: tf.Tensor
    epoch: tf.Tensor
    step: tf.Tensor
    left: tf.Tensor


COUNTS = len(Place._fields)


def loop(
    goes_on: Callable[[tf.Tensor, Any], tf.Tensor],
    epoch: Callable[[Place, Any], tuple[Place, Any]],
    state: Any,
) -> tuple[tf.Tensor, Any]:
    """The number of epochs, and the nest of tensors after them, while goes_on(number, state).

    epoch(place, state) -> place and state after it; from the step of the place on.
    """
    flat = tf.nest.flatten(state)
    like = [tf.constant(0)] * COUNTS + flat
    found = tf.numpy_function(loop_checkpoint.begin, flat, [one.dtype for one in like])
    for known, one in zip(like, found, strict=True):
        one.set_shape(known.shape)
    place, state = Place(*found[:COUNTS]), tf.nest.pack_sequence_as(state, found[COUNTS:])
    place, state = tf.while_loop(lambda at, now: goes_on(at.epoch, now), epoch, (place, state))
    tf.numpy_function(loop_checkpoint.end, _shown(place, state), tf.int32)
    return place.epoch, state


def after_step(place: Place, state: Any) -> Place:
    """The place after a step, looked at if it is time to; state: all that the loop goes on with."""
    here = place._replace(step=place.step + 1)

    def look() -> tf.Tensor:
        left = tf.numpy_function(loop_checkpoint.look, _shown(here, state), tf.int32)
        left.set_shape([])
        return left

    return here._replace(left=tf.cond(place.left > 1, lambda: place.left - 1, look))


def _shown(place: Place, state: Any) -> list[tf.Tensor]:
    return [place.loop, place.epoch, place.step, *tf.nest.flatten(state)]
