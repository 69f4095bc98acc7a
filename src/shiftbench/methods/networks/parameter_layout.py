"""Splitting of a flat vector of parameters into weights and biases, for gradients.

The gradient of a slice is a vector of zeros with the slice filled in. A network of L layers, as
written in networks/model.py, needs 2 L such vectors and their sum, which cost as much as the
network. The gradient of a split is a single concatenation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import (
    Layer,
    Linear,
    Model,
    log_likelihood_of,
    per_example,
    product,
)
from shiftbench.methods.networks.training import Minibatch


def pieces(model: Model, parameters: tf.Tensor) -> list[tf.Tensor]:
    """Return weights and biases of each layer [S, H, ...], flat, in the order of the vector."""
    sizes = [
        size for layer in model.layers for size in (layer.fan_in * layer.fan_out, layer.fan_out)
    ]
    return tf.split(parameters, sizes, -1)


def point(model: Model, parts: Sequence[tf.Tensor]) -> Linear:
    """Return the deterministic linear map x W + b, from pieces."""
    of_layer = dict(zip(model.layers, zip(parts[::2], parts[1::2], strict=True), strict=True))

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        weights, biases = of_layer[layer]
        shape = [*weights.shape[:2], layer.fan_in, layer.fan_out]
        out = product(x, tf.reshape(weights, shape))
        return out + per_example(tf.expand_dims(biases, 2), out)

    return linear


def mean_nll(model: Model, linear: Linear, rows: Minibatch) -> tf.Tensor:
    """Return the mean negative log likelihood of a minibatch, [S, H]."""
    return -log_likelihood_of(model, linear, *rows) / tf.reduce_sum(rows.mask, -1)[:, None]


def mean_nll_gradient(
    model: Model,
    parameters: tf.Tensor,
    rows: Minibatch,
    step_seeds: tf.Tensor,
    transform: Callable[[Linear, tf.Tensor], Linear] = lambda linear, _: linear,
) -> tf.Tensor:
    """Return the gradient [S, H, P] of `mean_nll` in the parameters of the deterministic network.

    transform: (linear maps, seeds of the step [S, 2]) -> linear maps, such as dropout.
    """
    parts = pieces(model, parameters)
    with tf.GradientTape() as tape:
        tape.watch(parts)
        loss = mean_nll(model, transform(point(model, parts), step_seeds), rows)
    return tf.concat(tape.gradient(loss, parts), -1)
