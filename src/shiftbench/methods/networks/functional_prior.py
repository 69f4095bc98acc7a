"""A penalty on a network's class probabilities for rows of a memory, weighted by their kernel.

With p_tc the probabilities of class c for the rows of task t in the memory, D_tc = p_tc(w) -
p_tc(w_old), and J_tc their Jacobian at w_old, the penalty is

    1/2 sum over tasks t and classes c of D_tc' K_tc^-1 D_tc,
    K_tc = J_tc diag(1 / precision) J_tc' + JITTER I,

(Pan et al. 2020, eq. 10; classes and tasks are independent of each other). It is the quadratic
penalty of the weights' precision, as far as the rows can tell it. Kernels stay as they are within
a task, so that a step has a single further pass over the memory.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftbench.methods.decompositions import cholesky
from shiftbench.methods.networks import linearised, parameter_layout
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Model
from shiftbench.methods.networks.training import Data

JITTER = 1e-5
"""Added to the diagonal of a kernel, as in the public code of Pan et al. 2020."""


class FunctionalPrior(NamedTuple):
    """Probabilities of the network after T tasks, for m rows of each, and their certainty.

    inputs: [S, 1, T m, ...]. probabilities: [S, H, T, m, C], 0 where there is no row. inverse:
    K^-1 [S, H, T, C, m, m]. mask: [S, 1, T, m, 1], 0 or 1.
    """

    inputs: tf.Tensor
    probabilities: tf.Tensor
    inverse: tf.Tensor
    mask: tf.Tensor


def functional_prior(
    model: Model, mean: tf.Tensor, precision: tf.Tensor, memory: Data, tasks: int
) -> FunctionalPrior:
    """Return the prior from mean and precision [S, H, P], and a memory [S, T m, ...]."""
    of_classes = _with_probabilities(model)
    mask = tf.cast(memory[2], tf.float32)
    s, capacity = mask.shape
    m = capacity // tasks
    sd = tf.sqrt(1 / tf.cast(precision, tf.float64))

    def of_task(t: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        inputs = memory[0][:, tf.newaxis, t * m : (t + 1) * m]
        inputs = tf.ensure_shape(inputs, [s, 1, m, *memory[0].shape[2:]])
        filled = tf.ensure_shape(mask[:, t * m : (t + 1) * m], [s, m])
        probabilities, slopes = linearised.linearise(of_classes, mean, inputs)

        # One class at a time, for memory.
        def of_class(c: tf.Tensor) -> tf.Tensor:
            own = [slope._replace(delta=slope.delta[:, :, :, c : c + 1]) for slope in slopes]
            own = [o._replace(delta=tf.ensure_shape(o.delta, _one_class(o.delta))) for o in own]
            rows = tf.cast(linearised.jacobian(own)[:, :, :, 0], tf.float64)
            return _inverse(rows * sd[:, :, tf.newaxis], filled)

        classes = tf.range(probabilities.shape[-1])
        inverse = tf.map_fn(of_class, classes, fn_output_signature=tf.float32)
        return probabilities, tf.transpose(inverse, [1, 2, 0, 3, 4])

    types = tf.float32, tf.float32
    old, inverse = tf.map_fn(
        of_task, tf.range(tasks), fn_output_signature=types, parallel_iterations=1
    )
    kept = tf.reshape(mask, [s, 1, tasks, m, 1])
    old, inverse = tf.transpose(old, [1, 2, 0, 3, 4]), tf.transpose(inverse, [1, 2, 0, 3, 4, 5])
    return FunctionalPrior(memory[0][:, tf.newaxis], old * kept, inverse, kept)


def _with_probabilities(model: Model) -> Model:
    """Return the model with class probabilities as its outputs."""

    def forward(linear, inputs: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(model.forward(linear, inputs))

    return model._replace(forward=forward)


def _one_class(delta: tf.Tensor) -> list[int | None]:
    return [*delta.shape[:3], 1, *delta.shape[4:]]


def _inverse(rows: tf.Tensor, filled: tf.Tensor) -> tf.Tensor:
    """Return K^-1 [S, H, m, m] from the rows of J diag(precision)^-1/2 [S, H, m, P]."""
    rows *= tf.cast(filled, tf.float64)[:, tf.newaxis, :, tf.newaxis]
    kernel = tf.matmul(rows, rows, transpose_b=True)
    unit = tf.eye(kernel.shape[-1], dtype=tf.float64)
    factor = cholesky(kernel + JITTER * unit)
    return tf.cast(tf.linalg.cholesky_solve(factor, unit + 0 * kernel), tf.float32)


def gradient(model: Model, x: tf.Tensor, prior: FunctionalPrior) -> tf.Tensor:
    """Return the gradient [S, H, P] of the penalty at parameters x [S, H, P]."""
    parts = parameter_layout.pieces(model, x)
    with tf.GradientTape() as tape:
        tape.watch(parts)
        linear = parameter_layout.point(model, parts)
        now = tf.nn.softmax(model.forward(linear, prior.inputs))
        moved = tf.reshape(now, prior.probabilities.shape) * prior.mask - prior.probabilities
        # The kernels are constant, so that half of the square's gradient is that of D alone.
        by_class = tf.transpose(moved, [0, 1, 2, 4, 3])
        pull = tf.stop_gradient(tf.linalg.matvec(prior.inverse, by_class))
        loss = tf.reduce_sum(by_class * pull)
    return tf.concat(tape.gradient(loss, parts), -1)
