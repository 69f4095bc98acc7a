"""Gradient and diagonal curvature of a minibatch's loss, averaged over draws of the weights.

All rows share a draw (Osawa et al. 2019). With g the gradient of an example's negative log
likelihood, M rows in the minibatch and N in the task, the curvatures of the task are

- squares: N mean(g^2), the empirical Fisher (eschenhagen2019vogn, Eq. 50);
- hessian: N times the mean of the examples' Hessians (Eq. 49), of which this is the diagonal;
- minibatch: N mean(g)^2, as in Adam (Khan et al. 2018, section 4.1), equal to squares for M = 1;
- reparameterised: N mean(g) z / sd at the draw mean + sd z, an estimate of the mean Hessian under
  the posterior without second derivatives, which may be negative (IVON; Shen et al. 2024).

The second derivative in a single parameter is taken where the units have no kink. An output of a
network of rectified linear units is piecewise linear in each single parameter, so that there the
Hessian's diagonal is that of the generalised Gauss-Newton matrix, and so of the Fisher information:
one backward pass for each output, and never negative.
"""

from __future__ import annotations

from typing import Literal

from shiftbench.methods.networks import example_gradients
from shiftbench.methods.networks.backend import fused, tf
from shiftbench.methods.networks.fisher import squared_gradients
from shiftbench.methods.networks.model import (
    Layer,
    Linear,
    Model,
    biases_of,
    per_example,
    point,
    product,
    weights_of,
)
from shiftbench.methods.networks.training import Minibatch

Curvature = Literal["squares", "hessian", "minibatch", "reparameterised"]


def estimate(
    curvature: Curvature,
    draws: int,
    model: Model,
    mean: tf.Tensor,
    sd: tf.Tensor,
    rows: Minibatch,
    noise: tf.Tensor | None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sum over rows of the gradients of log p, and M / N times the curvature.

    Both are [S, H, P], and averages over draws, or those at the mean.
    mean, sd: [S, H, P]. noise: [S, draws P], standard normal; None: at the mean.
    """
    if noise is None:
        return _sums(curvature, 1, model, point(mean), mean, rows)
    # Convolutions form each example's gradient, so one draw at a time, for memory.
    together = 1 if model.convolves else draws
    gradients, curvatures = tf.zeros_like(mean), tf.zeros_like(mean)
    for i in range(draws // together):
        excerpt = noise[:, i * together * model.size : (i + 1) * together * model.size]
        drawn = _drawn(curvature, model, together, mean, sd, excerpt)
        if curvature == "reparameterised":
            first, second = _reparameterised(model, *drawn, sd, excerpt, rows)
        else:
            first, second = _sums(curvature, together, model, *drawn, rows)
        gradients, curvatures = gradients + first, curvatures + second
    return gradients / draws, curvatures / draws


def _drawn(
    curvature: Curvature,
    model: Model,
    draws: int,
    mean: tf.Tensor,
    sd: tf.Tensor,
    noise: tf.Tensor,
) -> tuple[Linear, tf.Tensor]:
    """Return the network under several draws, and their parameters where the curvature needs them.

    Where it does not, all draws share the product of the first layer.
    """
    if curvature not in ("hessian", "reparameterised"):
        return _drawn_network(model, draws, mean, sd, noise), mean
    s, h, p = mean.shape
    drawn = mean[:, :, None] + sd[:, :, None] * tf.reshape(noise, [s, 1, draws, p])
    parameters = tf.reshape(drawn, [s, h * draws, p])
    return point(parameters), parameters


def _sums(
    curvature: Curvature,
    draws: int,
    model: Model,
    linear: Linear,
    parameters: tf.Tensor,
    rows: Minibatch,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sums of `estimate` over rows and draws; linear: the network under all draws.

    parameters [S, H K, P]: those of the draws, for a Hessian.
    """
    _, passed = example_gradients.signals(model, linear, rows)
    if curvature == "minibatch":
        by_draw = _by_draw(example_gradients.moments(passed, 1)[0], draws)
        filled = tf.maximum(tf.reduce_sum(rows.mask, 1), 1.0)[:, None, None]
        return tf.reduce_sum(by_draw, 2), tf.reduce_sum(tf.square(by_draw), 2) / filled
    gradients, squares = example_gradients.moments(passed, draws)
    if curvature == "hessian":
        unused = tf.zeros([parameters.shape[0], 2], tf.int32)
        hessians = squared_gradients(model, parameters, rows, "expected", False, unused)
        squares = tf.reduce_sum(_by_draw(hessians, draws), 2)
    return gradients, squares


def _reparameterised(
    model: Model,
    linear: Linear,
    parameters: tf.Tensor,
    sd: tf.Tensor,
    noise: tf.Tensor,
    rows: Minibatch,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sums of `estimate` over rows and draws at parameters [S, H K, P]."""
    s, h, p = sd.shape
    _, passed = example_gradients.signals(model, linear, rows)
    by_draw = _by_draw(example_gradients.sums(passed, 1), parameters.shape[1] // h)
    return tf.reduce_sum(by_draw, 2), products_with_noise(
        by_draw, sd, tf.reshape(noise, [s, 1, -1, p])
    )


@fused
def products_with_noise(gradients: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    """Return the sum [S, H, P] over draws of -g z / sd, for gradients g of log p and noise z.

    gradients: [S, H, K, P], at mean + sd z; noise: [S, 1, K, P].
    """
    return -tf.reduce_sum(gradients * noise, 2) / sd


def _by_draw(values: tf.Tensor, draws: int) -> tf.Tensor:
    """Reshape [S, H K, P] to [S, H, K, P]."""
    s, hk, p = values.shape
    return tf.reshape(values, [s, hk // draws, draws, p])


def _drawn_network(
    model: Model, draws: int, mean: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor
) -> Linear:
    """Return the network under several weight draws [S, H K, ...], which all rows share."""
    s, h = mean.shape[:2]
    weights, biases = _drawn_weights(model, draws, mean, sd, noise)

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        bias = per_example(biases[layer.name][:, :, tf.newaxis], x)
        if layer is not model.layers[0]:
            return product(x, weights[layer.name]) + bias
        # All draws see the same x: one product with their weights side by side.
        out = product(x, weights[layer.name])
        by_draw = tf.reshape(out, [s, h, -1, draws, layer.fan_out])
        out = tf.transpose(by_draw, [0, 1, 3, 2, 4])
        return tf.reshape(out, [s, h * draws, *x.shape[2:-1], layer.fan_out]) + bias

    return linear


# Fused: one pass over memory in place of four.
@fused
def _drawn_weights(
    model: Model, draws: int, mean: tf.Tensor, sd: tf.Tensor, noise: tf.Tensor
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Draw weights [S, H K, fan_in, fan_out] and biases [S, H K, fan_out] of each layer, by name.

    The first layer's weights are [S, H, fan_in, K fan_out].
    """
    (s, h), k = mean.shape[:2], draws
    weights, biases = {}, {}
    for layer in model.layers:
        fan_in, fan_out = layer.fan_in, layer.fan_out
        first = layer is model.layers[0]
        eps = tf.reshape(
            noise[:, k * layer.weights.start : k * layer.weights.stop],
            [s, 1, fan_in, k, fan_out] if first else [s, 1, k, fan_in, fan_out],
        )
        axis = 3 if first else 2
        m, spread = (tf.expand_dims(weights_of(layer, a), axis) for a in (mean, sd))
        merged = [s, h, fan_in, k * fan_out] if first else [s, h * k, fan_in, fan_out]
        weights[layer.name] = tf.reshape(m + spread * eps, merged)
        eps = noise[:, k * layer.biases.start : k * layer.biases.stop]
        m, spread = (biases_of(layer, a)[:, :, tf.newaxis] for a in (mean, sd))
        drawn = m + spread * tf.reshape(eps, [s, 1, k, fan_out])
        biases[layer.name] = tf.reshape(drawn, [s, h * k, fan_out])
    return weights, biases
