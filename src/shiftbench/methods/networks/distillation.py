"""Distillation of the last estimate on the rows of a new task: learning without forgetting (LwF).

Source: Li and Hoiem 2016, eq. 1 to 5. The loss of a minibatch is the mean negative log likelihood
plus weight times the cross entropy between the outputs of the network as it was at the start of the
task, softened by a temperature T, softmax(z / T), and those of the network now: mean over the rows,
and sum over the heads that earlier tasks have taught. With a single head that is all classes.
(Averaged over classes, or times T^2, as elsewhere, is another weight.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Layer, Linear, Model, log_likelihood, point
from shiftbench.methods.networks.task_schedule import heads_in
from shiftbench.methods.networks.training import Gradient, Minibatch


class Distillation(NamedTuple):
    """The weight of the old outputs, and their temperature."""

    weight: float
    temperature: float


def none_taught(problem: Problem, seeds: int) -> np.ndarray:
    """Return which heads have been taught before the first task, [S, 1, heads] bool."""
    return np.zeros((seeds, 1, problem.heads), bool)


def taught_after(taught: np.ndarray, batch: Batch, problem: Problem) -> np.ndarray:
    """Return which heads have been taught after a task, [S, H, heads] bool."""
    return taught | heads_in(batch, problem)[:, np.newaxis]


def gradient(how: Distillation, model: Model, teacher: tf.Tensor, taught: tf.Tensor) -> Gradient:
    """Return the gradient of the loss of a minibatch in the parameters.

    teacher: parameters [S, H, P] at the start of the task; taught: [S, H, heads] bool.
    """
    heads = tf.cast(taught, tf.float32)

    def of_minibatch(x: tf.Tensor, rows: Minibatch, _: tf.Tensor) -> tf.Tensor:
        _, old = outputs_of_all_heads(model, point(teacher), rows.inputs)
        parts = parameter_layout.pieces(model, x)
        with tf.GradientTape() as tape:
            tape.watch(parts)
            linear = parameter_layout.point(model, parts)
            outputs, now = outputs_of_all_heads(model, linear, rows.inputs)
            entropies = cross_entropy(old, now, heads, how.temperature)
            each = how.weight * entropies - log_likelihood(model, outputs, rows.targets)
            mask = rows.mask[:, tf.newaxis]
            loss = tf.reduce_sum(each * mask, -1) / tf.reduce_sum(mask, -1)
        return tf.concat(tape.gradient(loss, parts), -1)

    return of_minibatch


def cross_entropy(
    old: tf.Tensor, now: tf.Tensor, heads: tf.Tensor, temperature: float
) -> tf.Tensor:
    """Return the cross entropy [S, H, n] in nats of logits [S, H, n, C] under others of old.

    Summed over the heads [S, H, heads] that are 1 rather than 0, among which the logits are
    divided.
    """
    shape = [*now.shape[:3], heads.shape[-1], now.shape[-1] // heads.shape[-1]]
    p = tf.nn.softmax(tf.reshape(old / temperature, shape))
    log_q = tf.nn.log_softmax(tf.reshape(now / temperature, shape))
    return -tf.reduce_sum(tf.reduce_sum(p * log_q, -1) * heads[:, :, tf.newaxis], -1)


def outputs_of_all_heads(
    model: Model, linear: Linear, inputs: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return a network's outputs, and those of its last layer, of all heads, [S, H, n, C].

    A model leaves a row the outputs of its own head alone.
    """
    last: list[tf.Tensor] = []

    def recording(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        out = linear(layer, x)
        if layer == model.layers[-1]:
            last.append(out)
        return out

    return model.forward(recording, inputs), last[0]
