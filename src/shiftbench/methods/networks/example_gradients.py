"""Sums and products of per-example gradients under several weight draws, without storing them.

The K weight draws of a step lie beside the hypotheses, on an axis of H K, so that a network runs on
all of them at once. A linear map y = x W + b has the gradient x' delta for one example, so the sums
over examples and draws of gradients and of their squares are x' delta and (x^2)' (delta^2), and the
inner product of two gradients is (x_i x_j + 1) (delta_i delta_j). In the first layer all draws have
the same x: there the deltas are added before the product, which then costs as much as for one draw.
Maps that act at several positions of an example (convolutions) need the sum over positions first;
for these the gradients of a minibatch are stored.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import (
    Layer,
    Linear,
    Model,
    log_likelihood,
    product,
    recorded,
    unfolded,
)
from shiftbench.methods.networks.training import Minibatch


class Signal(NamedTuple):
    """Inputs of a layer for K draws, and the gradient of the log likelihood in its outputs.

    x: [S, 1 or H K, n, (positions,) fan_in]; delta: [S, H K, n, (positions,) fan_out].
    """

    layer: Layer
    x: tf.Tensor
    delta: tf.Tensor


def signals(model: Model, linear: Linear, rows: Minibatch) -> tuple[tf.Tensor, list[Signal]]:
    """Return the log likelihood [S, H K], summed over rows; each layer's inputs and gradients."""
    with tf.GradientTape() as tape:
        outputs, passed = recorded(model, linear, rows.inputs, tape)
        per_row = log_likelihood(model, outputs, rows.targets) * rows.mask[:, None]
        total = tf.reduce_sum(per_row)
    deltas = tape.gradient(total, [out for _, out in passed.values()])
    layers = zip(passed.items(), deltas, strict=True)
    found = [Signal(layer, *unfolded(layer, x, delta)) for (layer, (x, _)), delta in layers]
    return tf.reduce_sum(per_row, -1), sorted(found, key=lambda signal: signal.layer.start)


def sums(passed: list[Signal], draws: int) -> tf.Tensor:
    """Return the sums over examples and draws of gradients, [S, H, P]."""
    return tf.concat([_layer_sums(signal.x, signal.delta, draws) for signal in passed], -1)


def _layer_sums(x: tf.Tensor, delta: tf.Tensor, draws: int) -> tf.Tensor:
    if delta.shape.rank == 5:
        x, delta = (tf.reshape(a, [*a.shape[:2], -1, a.shape[-1]]) for a in (x, delta))
    if x.shape[1] == delta.shape[1]:
        x, delta = (_merged(a, draws) for a in (x, delta))
    else:
        delta = tf.reduce_sum(_split(delta, draws), 2)
    return _flat(tf.matmul(x, delta, transpose_a=True), tf.reduce_sum(delta, 2))


def moments(passed: list[Signal], draws: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sums over examples and draws of gradients and of their squares, [S, H, P]."""
    parts = [_layer_moments(signal.x, signal.delta, draws) for signal in passed]
    gradients, squares = zip(*parts, strict=True)
    return tf.concat(gradients, -1), tf.concat(squares, -1)


def _layer_moments(x: tf.Tensor, delta: tf.Tensor, draws: int) -> tuple[tf.Tensor, tf.Tensor]:
    if delta.shape.rank == 5:
        return _convolution_moments(x, delta, draws)
    squares = tf.square(delta)
    if x.shape[1] == delta.shape[1]:
        x, delta, squares = (_merged(a, draws) for a in (x, delta, squares))
    else:
        delta, squares = (tf.reduce_sum(_split(a, draws), 2) for a in (delta, squares))
    weights = (
        tf.matmul(x, delta, transpose_a=True),
        tf.matmul(tf.square(x), squares, transpose_a=True),
    )
    biases = tf.reduce_sum(delta, 2), tf.reduce_sum(squares, 2)
    first, second = (_flat(w, b) for w, b in zip(weights, biases, strict=True))
    return first, second


def _convolution_moments(x: tf.Tensor, delta: tf.Tensor, draws: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Store the gradients of examples, since each is a sum over positions."""
    weights, biases = tf.matmul(x, delta, transpose_a=True), tf.reduce_sum(delta, 3)
    first, second = (
        _flat(*(tf.reduce_sum(_split(function(a), draws), (2, 3)) for a in (weights, biases)))
        for function in (tf.identity, tf.square)
    )
    return first, second


def gram(passed: list[Signal], draws: int) -> tf.Tensor:
    """Return inner products G' G [S, H, K n, K n] of the examples' gradients, draws outermost."""
    return tf.add_n([_layer_gram(signal.x, signal.delta, draws) for signal in passed])


def _layer_gram(x: tf.Tensor, delta: tf.Tensor, draws: int) -> tf.Tensor:
    if delta.shape.rank == 5:
        gradients = _gradients(x, delta, draws)
        return tf.matmul(gradients, gradients, transpose_b=True)
    shared = x.shape[1] != delta.shape[1]
    x, delta = x if shared else _merged(x, draws), _merged(delta, draws)
    left = tf.matmul(x, x, transpose_b=True) + 1.0
    if shared:
        left = tf.tile(left, [1, 1, draws, draws])
    return left * tf.matmul(delta, delta, transpose_b=True)


def inner_products(passed: list[Signal], vectors: tf.Tensor, draws: int) -> tf.Tensor:
    """Return G' V [S, H, K n, r], for the examples' gradients G and vectors V [S, H, P, r]."""
    return tf.add_n([_layer_inner(signal, vectors, draws) for signal in passed])


def _layer_inner(signal: Signal, vectors: tf.Tensor, draws: int) -> tf.Tensor:
    layer, x, delta = signal
    if delta.shape.rank == 5:
        own = vectors[:, :, layer.start : layer.biases.stop]
        return tf.matmul(_gradients(x, delta, draws), own)
    s, h, _, r = vectors.shape
    fan_in, fan_out = layer.fan_in, layer.fan_out
    weights = tf.reshape(vectors[:, :, layer.weights], [s, h, fan_in, fan_out * r])
    if x.shape[1] == delta.shape[1]:
        x = _merged(x, draws)
    out = tf.reshape(product(x, weights), [s, h, -1, fan_out, r])
    if out.shape[2] != draws * delta.shape[2]:
        out = tf.tile(out, [1, 1, draws, 1, 1])
    out += vectors[:, :, None, layer.biases]
    merged = _merged(delta, draws)[:, :, :, None]
    return tf.matmul(merged, out)[:, :, :, 0]


def combinations(passed: list[Signal], weights: tf.Tensor, draws: int) -> tf.Tensor:
    """Return G V [S, H, P, r]: sums of the examples' gradients with weights V [S, H, K n, r]."""
    return tf.concat([_layer_combinations(signal, weights, draws) for signal in passed], 2)


def _layer_combinations(signal: Signal, weights: tf.Tensor, draws: int) -> tf.Tensor:
    layer, x, delta = signal
    s, h, _, r = weights.shape
    if delta.shape.rank == 5:
        return tf.matmul(_gradients(x, delta, draws), weights, transpose_a=True)
    weighted = _merged(delta, draws)[..., None] * weights[..., None, :]
    if x.shape[1] == delta.shape[1]:
        x = _merged(x, draws)
    else:
        by_draw = tf.reshape(weighted, [s, h, draws, x.shape[2], layer.fan_out, r])
        weighted = tf.reduce_sum(by_draw, 2)
    rows = tf.reshape(weighted, [s, h, -1, layer.fan_out * r])
    of_weights = tf.reshape(tf.matmul(x, rows, transpose_a=True), [s, h, -1, r])
    return tf.concat([of_weights, tf.reduce_sum(weighted, 2)], 2)


def _gradients(x: tf.Tensor, delta: tf.Tensor, draws: int) -> tf.Tensor:
    """Return the gradients of a layer themselves, [S, H, K n, fan_in fan_out + fan_out]."""
    weights = tf.matmul(x, delta, transpose_a=True)
    s, hk, n = weights.shape[:3]
    both = [tf.reshape(weights, [s, hk, n, -1]), tf.reduce_sum(delta, 3)]
    return _merged(tf.concat(both, -1), draws)


def _split(values: tf.Tensor, draws: int) -> tf.Tensor:
    """Reshape [S, H K, ...] to [S, H, K, ...]."""
    shape = values.shape
    return tf.reshape(values, [shape[0], shape[1] // draws, draws, *shape[2:]])


def _merged(values: tf.Tensor, draws: int) -> tf.Tensor:
    """Reshape [S, H K, n, c] to [S, H, K n, c]."""
    s, hk, n, c = values.shape
    return tf.reshape(values, [s, hk // draws, draws * n, c])


def _flat(weights: tf.Tensor, biases: tf.Tensor) -> tf.Tensor:
    return tf.concat([tf.reshape(weights, [*weights.shape[:2], -1]), biases], -1)
