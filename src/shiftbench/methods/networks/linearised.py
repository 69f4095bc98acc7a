"""A network linearised in its parameters: its Jacobian, and products with it.

For a linear map y = x W + b, output c of a row has the gradient x' delta_c, with delta_c the
gradient of the output in y. So products with the Jacobian need no matrix of P columns: x is the
same for all outputs of a row, and each output has only a small delta of its own. They come from one
pass over as many copies of each row as there are outputs.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Layer, Model, point, recorded, unfolded


class Slope(NamedTuple):
    """Inputs x [S, H or 1, n, positions, fan_in] of a layer, and the gradients of the outputs.

    delta: [S, H, n, C, positions, fan_out]. A layer that is not a convolution has one position.
    """

    layer: Layer
    x: tf.Tensor
    delta: tf.Tensor


def linearise(
    model: Model, parameters: tf.Tensor, inputs: tf.Tensor
) -> tuple[tf.Tensor, list[Slope]]:
    """Return the outputs [S, H, n, C] for inputs [S, 1, n, ...], and their slopes by layer.

    parameters: [S, H, P], of any type of float; the network itself computes in float32.
    """
    linear = point(tf.cast(parameters, tf.float32))
    n, count = inputs.shape[2], model.forward(linear, inputs).shape[-1]
    with tf.GradientTape() as tape:
        copies, passed = recorded(model, linear, tf.repeat(inputs, count, axis=2), tape)
        own = tf.reshape(copies, [*copies.shape[:2], n, count, count])
        total = tf.reduce_sum(tf.linalg.diag_part(own))
    deltas = tape.gradient(total, [out for _, out in passed.values()])
    slopes = [
        _slope(layer, x, delta, count)
        for (layer, (x, _)), delta in zip(passed.items(), deltas, strict=True)
    ]
    return own[:, :, :, 0], sorted(slopes, key=lambda slope: slope.layer.start)


def _slope(layer: Layer, x: tf.Tensor, delta: tf.Tensor, count: int) -> Slope:
    """Return the slope of a layer from its inputs and gradients for copies of rows."""
    x, delta = unfolded(layer, x, delta)
    if x.shape.rank == 4:
        x, delta = x[:, :, :, tf.newaxis], delta[:, :, :, tf.newaxis]
    s, h, copies, positions, fan_out = delta.shape
    shape = [s, h, copies // count, count, positions, fan_out]
    return Slope(layer, x[:, :, ::count], tf.reshape(delta, shape))


def jacobian(slopes: list[Slope]) -> tf.Tensor:
    """Return the Jacobian [S, H, n, C, P] itself."""
    return tf.concat([_gradients(slope) for slope in slopes], -1)


def _gradients(slope: Slope) -> tf.Tensor:
    """Return a layer's part of the Jacobian, [S, H, n, C, (fan_in + 1) fan_out]."""
    x, delta = slope.x[:, :, :, tf.newaxis], slope.delta
    weights = tf.matmul(x, delta, transpose_a=True)
    flat = tf.reshape(weights, [*delta.shape[:4], -1])
    return tf.concat([flat, tf.reduce_sum(delta, -2)], -1)


def times(slopes: list[Slope], vectors: tf.Tensor) -> tf.Tensor:
    """Return the Jacobian times vectors [S, H, P, r], [S, H, n, C, r]."""
    return tf.add_n([_layer_times(slope, vectors) for slope in slopes])


def _layer_times(slope: Slope, vectors: tf.Tensor) -> tf.Tensor:
    layer = slope.layer
    s, h, _, r = vectors.shape
    x, delta = (tf.cast(a, vectors.dtype) for a in slope[1:])
    n, count, positions, fan_out = delta.shape[2:]
    own = tf.reshape(vectors[:, :, layer.weights], [s, h, layer.fan_in, fan_out * r])
    rows = tf.reshape(x, [*x.shape[:2], n * positions, layer.fan_in])
    out = tf.reshape(tf.matmul(rows, own), [s, h, n, positions, fan_out, r])
    out += vectors[:, :, tf.newaxis, tf.newaxis, layer.biases]
    flat = tf.reshape(delta, [s, h, n, count, positions * fan_out])
    return tf.matmul(flat, tf.reshape(out, [s, h, n, positions * fan_out, r]))


def squares_times(slopes: list[Slope], weights: tf.Tensor) -> tf.Tensor:
    """Return the squares of the Jacobian times weights [S, H, P], [S, H, n, C]."""
    return tf.add_n([_layer_squares_times(slope, weights) for slope in slopes])


def _layer_squares_times(slope: Slope, weights: tf.Tensor) -> tf.Tensor:
    own = weights[:, :, slope.layer.start : slope.layer.biases.stop]
    if slope.x.shape[3] == 1:
        squared = slope._replace(x=tf.square(slope.x), delta=tf.square(slope.delta))
        return _layer_times(squared, weights[..., tf.newaxis])[..., 0]
    # A gradient is a sum over positions, which comes before the square.
    gradients = tf.cast(_gradients(slope), weights.dtype)
    return tf.linalg.matvec(tf.square(gradients), own[:, :, tf.newaxis])
