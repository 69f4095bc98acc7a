"""Laplace approximation of a network's last layer alone, around an estimate of all layers.

With the features (phi, 1) [a] of a row before the last layer, the negative log likelihood has the
Gauss-Newton matrix H = sum over rows of (phi, 1)(phi, 1)' (x) L in the weights and biases of that
layer, L [C, C] being the curvature in the outputs: diag(p) - p p' for classes, I / noise_sd^2 for
real values. With a prior N(0, I / delta) the posterior is N(estimate, (H + delta I)^-1), and the
log marginal likelihood is

    log likelihood - delta / 2 |w|^2 + P / 2 log delta - 1/2 log det (H + delta I).

It is concave in log delta, so the best delta is where delta |w|^2 = sum_i l_i / (l_i + delta), l
being the eigenvalues of H. Predictions of classes have the probit approximation softmax(f_c /
sqrt(1 + pi v_c / 8)), v the variances of the outputs f, or are averages over draws of the layer.
Sources: Kristiadi et al. 2020 (last layer); Daxberger et al. 2021 (marginal likelihood);
MacKay 1992 (probit, delta).

State: root [S, H, P', P'], R with R R' the covariance of the P' parameters of the layer.
Info, [S, H]: prior_precision, delta; log_marginal in nats, over the layer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from shiftbench.methods.decompositions import eigh
from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.networks import sampling
from shiftbench.methods.networks.backend import repeat, tf
from shiftbench.methods.networks.model import Layer, Linear, Model, point
from shiftbench.methods.networks.random import normals
from shiftbench.methods.networks.sampling import Draw
from shiftbench.methods.networks.training import Data, Minibatch, total

LOG_PRECISIONS = (-14.0, 14.0)
"""The range in which the logarithm of the best prior precision is looked for."""
HALVINGS = 60
"""Halvings of that range, which leave less than a double can tell apart."""


class LastLayer(NamedTuple):
    """The posterior of the last layer: root [S, H, P', P'], and delta and evidence [S, H]."""

    root: tf.Tensor
    prior_precision: tf.Tensor
    log_marginal: tf.Tensor


def size(model: Model) -> int:
    """Return the number P' of parameters of the last layer, which are the last of the network."""
    layer = model.layers[-1]
    return (layer.fan_in + 1) * layer.fan_out


def fitted(model: Model, estimate: tf.Tensor, data: Data, precision: float | None) -> LastLayer:
    """Return the posterior around an estimate [S, H, P] of a task's rows, delta being `precision`.

    With None, delta is the one with the largest marginal likelihood.
    """
    curvature = total(lambda rows: gauss_newton(model, estimate, rows), data)
    log_lik = sampling.log_likelihood(model, estimate, data)
    values, vectors = eigh(tf.cast(curvature, tf.float64))
    values = tf.maximum(values, 0.0)
    weights = tf.cast(estimate[..., -size(model) :], tf.float64)
    square = tf.reduce_sum(tf.square(weights), -1)
    if precision is None:
        delta = best_precision(values, square)
    else:
        delta = tf.fill(square.shape, tf.constant(precision, tf.float64))
    whole = values + delta[..., tf.newaxis]
    ratio = tf.reduce_sum(tf.math.log(whole) - tf.math.log(delta[..., tf.newaxis]), -1)
    evidence = tf.cast(log_lik, tf.float64) - 0.5 * (ratio + delta * square)
    root = vectors * inverse_sqrt(whole)[..., tf.newaxis, :]
    return LastLayer(*(tf.cast(one, tf.float32) for one in (root, delta, evidence)))


def gauss_newton(model: Model, estimate: tf.Tensor, rows: Minibatch) -> tf.Tensor:
    """Return the sum over a minibatch's rows of the Gauss-Newton matrix, [S, H, P', P']."""
    features, outputs = _features(model, estimate, rows.inputs)
    s, h, n, a = features.shape
    c = outputs.shape[-1]
    if model.likelihood == "categorical":
        p = tf.nn.softmax(outputs)
        curvature = tf.linalg.diag(p) - p[..., :, tf.newaxis] * p[..., tf.newaxis, :]
    else:
        curvature = tf.eye(c, batch_shape=[s, h, n]) / model.noise_sd**2
    weighted = features * rows.mask[:, tf.newaxis, :, tf.newaxis]
    # `right` has a block (c, d, b) for each row; the product sums over rows.
    right = curvature[..., tf.newaxis] * weighted[..., tf.newaxis, tf.newaxis, :]
    product = tf.matmul(features, tf.reshape(right, [s, h, n, c * c * a]), transpose_a=True)
    matrix = tf.transpose(tf.reshape(product, [s, h, a, c, c, a]), [0, 1, 2, 3, 5, 4])
    return tf.reshape(matrix, [s, h, a * c, a * c])


def best_precision(values: tf.Tensor, square: tf.Tensor) -> tf.Tensor:
    """Return the delta [...] of the largest marginal likelihood, by halving a range.

    values: eigenvalues [..., P'] of H, at least 0; square: |w|^2 [...]; both float64.
    """
    low, high = (tf.fill(square.shape, tf.constant(end, tf.float64)) for end in LOG_PRECISIONS)

    def halved(_: tf.Tensor, ends: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        middle = 0.5 * (ends[0] + ends[1])
        delta = tf.exp(middle)
        determined = tf.reduce_sum(values / (values + delta[..., tf.newaxis]), -1)
        rises = determined > delta * square
        return tf.where(rises, middle, ends[0]), tf.where(rises, ends[1], middle)

    low, high = repeat(halved, (low, high), HALVINGS)
    return tf.exp(0.5 * (low + high))


def draws(model: Model, mean: tf.Tensor, root: tf.Tensor) -> Draw:
    """Return networks whose last layer is drawn; mean [S, H, P], root [S, H, P', P']."""
    number = size(model)

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        noise = normals(seeds, [1, number, 1])
        last = mean[..., -number:] + tf.matmul(root, noise)[..., 0]
        return point(tf.concat([mean[..., :-number], last], -1))

    return draw


def moments(
    model: Model, number: int, mean: tf.Tensor, root: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor
) -> tf.Tensor:
    """Return `sampling.moments` of a prediction: of `number` draws, or in closed form for 0.

    The closed form is exact for real values, and the probit approximation for classes.
    """
    if number:
        return sampling.predictive_moments(model, draws(model, mean, root), number, seeds, inputs)
    features, outputs = _features(model, mean, inputs[:, tf.newaxis])
    variance = _variance(features, root, outputs.shape[-1])
    if model.likelihood == "categorical":
        return sampling.moments(model, outputs / tf.sqrt(1.0 + math.pi / 8 * variance))
    mean, square = tf.unstack(sampling.moments(model, outputs))
    return tf.stack([mean, square + tf.cast(variance, square.dtype)])


def _features(model: Model, parameters: tf.Tensor, inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Return (phi, 1) [S, H, n, a] before the last layer, and the outputs [S, H, n, C]."""
    exact, last = point(parameters), []

    def recording(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        if layer == model.layers[-1]:
            last.append(x)
        return exact(layer, x)

    outputs = model.forward(recording, inputs)
    features = tf.concat([last[0], tf.ones_like(last[0][..., :1])], -1)
    # Without a hidden layer all hypotheses share them.
    return tf.broadcast_to(features, [*outputs.shape[:3], features.shape[-1]]), outputs


def _variance(features: tf.Tensor, root: tf.Tensor, outputs: int) -> tf.Tensor:
    """Return the variances [S, H, n, C] of the outputs."""
    s, h, n, a = features.shape
    wide = tf.matmul(features, tf.reshape(root, [s, h, a, outputs * root.shape[-1]]))
    return tf.reduce_sum(tf.square(tf.reshape(wide, [s, h, n, outputs, root.shape[-1]])), -1)
