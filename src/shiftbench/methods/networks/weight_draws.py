"""Draws of the weights of a network from a mean-field posterior, K of them at once.

The K draws lie beside the hypotheses, on an axis of H K. A draw is a vector of parameters
mean + sd * eps, with eps standard normal, truncated (posteriors/truncated_gaussian.py) or radial
(posteriors/radial.py). Estimators:

- sample: all rows share the draw;
- flipout: each row flips its signs, eps_ij -> a_i b_j eps_ij, at random (Wen et al. 2018), so that
  rows are nearly independent; valid for any eps whose distribution the flips do not change, as in
  all three families;
- local: each row draws the outputs of the layers instead (Kingma et al. 2015), which are normal if
  the parameters are normal and independent: not for radial or truncated draws, nor convolutions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from shiftbench.core.interface import LearnerError
from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.backend import fused, tf
from shiftbench.methods.networks.model import Layer, Linear, Model, per_example, product
from shiftbench.methods.posteriors import radial, truncated_gaussian

Estimator = Literal["flipout", "local", "sample"]


class Draws(NamedTuple):
    """The way to draw weights.

    blocks: the tensors of radial draws; None for normal draws. number: K. truncation: the bound of
    truncated normal draws, in standard deviations; None for whole normals.
    """

    model: Model
    estimator: Estimator
    blocks: radial.Blocks | None
    number: int
    truncation: float | None = None


def check(draws: Draws, learner: str) -> None:
    """Raise LearnerError if the estimator does not suit the model or the posterior of a learner."""
    if draws.estimator != "local":
        return
    if draws.model.convolves:
        raise LearnerError(f"{learner}: local reparameterisation is for dense layers; use flipout")
    if draws.blocks is not None or draws.truncation is not None:
        raise LearnerError(
            f"{learner}: local reparameterisation is for independent weights that are normal, not"
            " for radial or truncated draws; use flipout or sample"
        )


def blocks_of(model: Model, heads: int) -> radial.Blocks:
    """Return the tensors of a model: weights and biases of each layer, of the last layer by head.

    A head's parameters are separate tensors, as if it were a layer, so that the noise and the
    divergence of a head do not depend on the number of others.
    """
    blocks = []
    for layer in model.layers:
        parts = heads if layer is model.layers[-1] else 1
        if layer.fan_in > 0:  # the layer of a learnt noise has only biases
            blocks.append(radial.Block(layer.fan_in, parts, layer.fan_out // parts))
        blocks.append(radial.Block(1, parts, layer.fan_out // parts))
    return tuple(blocks)


def numbers_needed(draws: Draws, n: int) -> int:
    """Return how many standard normal numbers a draw for n rows takes."""
    count = 0 if draws.estimator == "local" else draws.model.size
    if draws.blocks is not None:
        count += radial.n_tensors(draws.blocks)
    return count + sum(_row_sizes(draws, n))


def _row_sizes(draws: Draws, n: int) -> list[int]:
    """Return how many of these numbers belong to rows, for each layer."""
    layers = draws.model.layers
    if draws.estimator == "flipout":
        return [n * (layer.fan_in + layer.fan_out) for layer in layers]
    return [n * layer.fan_out if draws.estimator == "local" else 0 for layer in layers]


class Noise(NamedTuple):
    """The noise of K draws: eps [S, 1, K, P], None for local; rows [S, K, .] for each layer."""

    eps: tf.Tensor
    rows: list[tf.Tensor]


def noise(draws: Draws, numbers: tf.Tensor, n: int, signs: tf.Tensor | None = None) -> Noise:
    """Return the noise from standard normal numbers [S, K, numbers_needed].

    signs: of the rows, for flipout; the numbers then are those of the parameters only.
    """
    model, rows = draws.model, _row_sizes(draws, n)
    if draws.estimator == "local":
        return Noise(None, tf.split(numbers, rows, -1))
    if signs is not None:
        eps, rest = numbers, tf.split(signs, rows, -1)
    else:
        radii = [] if draws.blocks is None else [radial.n_tensors(draws.blocks)]
        eps, *rest = tf.split(numbers, [model.size, *rows, *radii], -1)
    if draws.blocks is not None:
        eps = radial.noise(eps, rest.pop(), draws.blocks)
    if draws.truncation is not None:
        eps = truncated_gaussian.noise(eps, draws.truncation)
    return Noise(eps[:, tf.newaxis], rest)


def linear(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, noise: Noise, n: int) -> Linear:
    """Return the linear maps under K draws, from [S, H K or 1, n, ...] to [S, H K, n, ...]."""
    if draws.estimator == "sample":
        return _sampled(draws, mean, sd, noise)
    return (_flipout if draws.estimator == "flipout" else _local)(draws, mean, sd, noise, n)


def _sampled(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, noise: Noise) -> Linear:
    model, (s, h), k = draws.model, mean.shape[:2], draws.number
    first, *rest = _drawn(model, mean, sd, noise.eps)
    later = parameter_layout.point(model, [first, *rest])

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        if layer is not model.layers[0]:
            return later(layer, x)
        # All draws have the same x: a single product with their weights side by side.
        out = tf.reshape(product(x, first), [s, h, -1, k, layer.fan_out])
        out = tf.reshape(tf.transpose(out, [0, 1, 3, 2, 4]), [s, h * k, *x.shape[2:-1], -1])
        return out + per_example(tf.expand_dims(rest[0], 2), out)

    return linear


# Fused: one pass over memory instead of four.
@fused
def _drawn(model: Model, mean: tf.Tensor, sd: tf.Tensor, eps: tf.Tensor) -> list[tf.Tensor]:
    """Return pieces [S, H K, ...] of mean + sd * eps; the first is [S, H, fan_in, K fan_out]."""
    drawn = tf.expand_dims(mean, 2) + tf.expand_dims(sd, 2) * eps
    (s, h, k), layer = drawn.shape[:3], model.layers[0]
    first, *rest = parameter_layout.pieces(model, drawn)
    first = tf.reshape(first, [s, h, k, layer.fan_in, layer.fan_out])
    first = tf.reshape(tf.transpose(first, [0, 1, 3, 2, 4]), [s, h, layer.fan_in, -1])
    return [first, *(tf.reshape(part, [s, h * k, -1]) for part in rest)]


def _flipout(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, noise: Noise, n: int) -> Linear:
    model, k = draws.model, draws.number
    (s, h), beside = mean.shape[:2], mean.shape[1] * draws.number
    signs = _by_layer(model, noise.rows)
    means = _by_layer(model, _pairs(parameter_layout.pieces(model, mean)))
    perturbation = tf.reshape(tf.expand_dims(sd, 2) * noise.eps, [s, beside, model.size])
    perturbations = _by_layer(model, _pairs(parameter_layout.pieces(model, perturbation)))

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        flips = tf.reshape(tf.sign(signs[layer]), [s, k, n, -1])
        # Hypotheses share the signs, but with several draws the axes do not broadcast.
        flips = tf.tile(flips, [1, h, 1, 1]) if k > 1 and h > 1 else flips
        left, right = tf.split(flips, [layer.fan_in, layer.fan_out], -1)
        (weights, bias), (noisy_weights, noisy_bias) = means[layer], perturbations[layer]
        noisy_weights = tf.reshape(noisy_weights, [s, beside, layer.fan_in, layer.fan_out])
        # A convolution has a sign for each channel.
        noisy = product(x * per_example(left[..., : x.shape[-1]], x), noisy_weights)
        noisy *= per_example(right, noisy)
        bias = tf.expand_dims(tf.repeat(bias, k, 1), 2) + tf.expand_dims(noisy_bias, 2) * right
        out = _shared(layer, x, weights, k) + tf.reshape(noisy, [s, h, k, *noisy.shape[2:]])
        return tf.reshape(out, noisy.shape) + per_example(bias, noisy)

    return linear


def _local(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, noise: Noise, n: int) -> Linear:
    model, (s, h) = draws.model, mean.shape[:2]
    numbers = _by_layer(model, noise.rows)
    means = _by_layer(model, _pairs(parameter_layout.pieces(model, mean)))
    variances = _by_layer(model, _pairs(parameter_layout.pieces(model, tf.square(sd))))

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        (weights, bias), (weight_variance, bias_variance) = means[layer], variances[layer]
        eps = tf.reshape(numbers[layer], [s, 1, draws.number, n, layer.fan_out])
        centre = _shared(layer, x, weights, draws.number)
        variance = _shared(layer, tf.square(x), weight_variance, draws.number)
        bias, bias_variance = (tf.reshape(b, [s, h, 1, 1, -1]) for b in (bias, bias_variance))
        # The floor keeps the gradient of the root finite if all inputs are zero.
        drawn = centre + tf.sqrt(variance + bias_variance + 1e-12) * eps + bias
        return tf.reshape(drawn, [s, h * draws.number, n, layer.fan_out])

    return linear


def _shared(layer: Layer, x: tf.Tensor, weights: tf.Tensor, draws: int) -> tf.Tensor:
    """Return x W [S, H, K or 1, n, ...] for weights [S, H, fan_in fan_out] that all draws share.

    In the first layer all draws also have the same x, and the product is computed once.
    """
    s, h = weights.shape[:2]
    weights = tf.reshape(weights, [s, h, layer.fan_in, layer.fan_out])
    if x.shape[1] == 1:
        return tf.expand_dims(product(x, weights), 2)
    n = x.shape[2]
    out = product(tf.reshape(x, [s, h, draws * n, *x.shape[3:]]), weights)
    return tf.reshape(out, [s, h, draws, n, *out.shape[3:]])


def _by_layer(model: Model, values: Iterable[Any]) -> dict[Layer, Any]:
    return dict(zip(model.layers, values, strict=True))


def _pairs(parts: Sequence[tf.Tensor]) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Return (weights, biases) of each layer, from pieces."""
    return list(zip(parts[::2], parts[1::2], strict=True))
