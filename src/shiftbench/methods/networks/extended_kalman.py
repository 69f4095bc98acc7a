"""Extended Kalman filter of a network, whose precision is W W' + D, W of low rank.

With J [S, H, b C, P] the Jacobian of the outputs of b rows, F their Fisher information and g the
gradient of the log likelihood in them, a step makes W~ = (W, J' F^1/2) and moves the mean by
(W~ W~' + D)^-1 J' g. W becomes the largest terms of W~ W~', and D gains the diagonal of the others
(Chang et al. 2023). For classes this needs no inverse of the singular covariance F of class
probabilities, and so no jitter: F^1/2 = diag(p^1/2) - p p^1/2'. All in float64 but the network.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from shiftbench.methods.decompositions import cholesky, eigh
from shiftbench.methods.networks import linearised
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Model
from shiftbench.methods.networks.training import Minibatch, where_repetitions
from shiftbench.methods.posteriors import low_rank_gaussian

NUMBERS_AT_ONCE = 2**22
"""The most numbers of a layer, for all rows of a prediction at once."""


class LowRank(NamedTuple):
    """Mean m, low-rank factor W and diagonal D of a posterior."""

    mean: tf.Tensor
    low_rank: tf.Tensor
    diagonal: tf.Tensor


class _Likelihood(NamedTuple):
    """The likelihood of b rows around their outputs: 0 for masked rows.

    gradient [S, H, b C]: g. root [S, H, b C, b C]: F^1/2, in blocks of a row.
    """

    gradient: tf.Tensor
    root: tf.Tensor


def update(model: Model, q: LowRank, rows: Minibatch, natural: bool) -> tuple[LowRank, tf.Tensor]:
    """Return the posterior after rows, and their log predictive density before [S, H].

    natural: the mean moves by the new precision, W W' + D. Repetitions without rows do not move.
    """
    outputs, slopes = linearised.linearise(model, q.mean, rows.inputs)
    outputs = tf.cast(outputs, tf.float64)
    jacobian = tf.cast(linearised.jacobian(slopes), tf.float64)
    s, h, b, c, p = jacobian.shape
    slope = tf.linalg.matrix_transpose(tf.reshape(jacobian, [s, h, b * c, p]))
    likelihood = _likelihood(model, outputs, rows)
    spread = low_rank_gaussian.covariance_times(q.low_rank, q.diagonal, slope)
    variance = tf.matmul(slope, spread, transpose_a=True)
    root, gradient = likelihood.root, likelihood.gradient[..., tf.newaxis]
    inner = tf.eye(b * c, dtype=tf.float64) + tf.matmul(root, tf.matmul(variance, root), True)
    factor = cholesky(inner)
    new = _with_rows(q, tf.matmul(slope, root))
    if natural:
        pull = tf.matmul(slope, gradient)
        step = low_rank_gaussian.covariance_times(new.low_rank, new.diagonal, pull)
    else:
        # (W~ W~' + D)^-1 J' g by Woodbury.
        along = tf.matmul(root, tf.matmul(variance, gradient), transpose_a=True)
        step = tf.matmul(
            spread, gradient - tf.matmul(root, tf.linalg.cholesky_solve(factor, along))
        )
    new = new._replace(mean=q.mean + step[..., 0])
    filled = tf.reduce_any(rows.mask > 0, axis=1)
    new = where_repetitions(filled, new, q)
    return new, _log_density(model, outputs, variance, factor, likelihood, rows)


def _with_rows(q: LowRank, added: tf.Tensor) -> LowRank:
    """Return q with the precision W~ W~' + D cut to its rank; added: J' F^1/2 [S, H, P, b C]."""
    columns = tf.concat([q.low_rank, added], -1)
    _, vectors = eigh(tf.matmul(columns, columns, transpose_a=True))
    rank = q.low_rank.shape[-1]
    low_rank = tf.matmul(columns, vectors[..., vectors.shape[-1] - rank :])
    squares = (tf.reduce_sum(tf.square(a), -1) for a in (columns, low_rank))
    rest = tf.maximum(tf.subtract(*squares), 0.0)
    return LowRank(q.mean, low_rank, q.diagonal + rest)


def _likelihood(model: Model, outputs: tf.Tensor, rows: Minibatch) -> _Likelihood:
    """Return gradient and Fisher of the log likelihood in outputs [S, H, b, C]."""
    s, h, b, c = outputs.shape
    targets = rows.targets[:, tf.newaxis]
    if model.likelihood == "categorical":
        p = tf.nn.softmax(outputs)
        gradient = tf.one_hot(targets, c, dtype=tf.float64) - p
        half = tf.sqrt(p)
        root = tf.linalg.diag(half) - p[..., tf.newaxis] * half[..., tf.newaxis, :]
    else:
        gradient = (tf.cast(targets, tf.float64) - outputs) / model.noise_sd**2
        root = tf.linalg.diag(tf.fill([s, h, b, c], tf.constant(1 / model.noise_sd, tf.float64)))
    mask = tf.cast(rows.mask, tf.float64)[:, tf.newaxis, :, tf.newaxis]
    blocks = (mask[..., tf.newaxis] * root)[:, :, :, :, tf.newaxis]
    apart = tf.eye(b, dtype=tf.float64)[:, tf.newaxis, :, tf.newaxis]
    return _Likelihood(
        tf.reshape(mask * gradient, [s, h, b * c]),
        tf.reshape(blocks * apart, [s, h, b * c, b * c]),
    )


def _log_density(
    model: Model,
    outputs: tf.Tensor,
    variance: tf.Tensor,
    factor: tf.Tensor,
    likelihood: _Likelihood,
    rows: Minibatch,
) -> tf.Tensor:
    """Return the log predictive density [S, H] of rows; variance: covariance of the outputs.

    Real values are jointly normal. factor: the Cholesky root of I + F^1/2' variance F^1/2.
    """
    mask = tf.cast(rows.mask, tf.float64)[:, tf.newaxis]
    if model.likelihood == "categorical":
        each = tf.reshape(tf.linalg.diag_part(variance), outputs.shape)
        own = tf.one_hot(rows.targets[:, tf.newaxis], outputs.shape[-1], dtype=tf.float64)
        log_prob = tf.nn.log_softmax(moderated(outputs, each))
        return tf.reduce_sum(mask * tf.reduce_sum(own * log_prob, -1), -1)
    white = model.noise_sd * likelihood.gradient[..., tf.newaxis]
    scaled = tf.linalg.triangular_solve(factor, white)
    log_det = 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)), -1)
    constant = outputs.shape[-1] * math.log(2 * math.pi * model.noise_sd**2)
    count = tf.reduce_sum(mask, -1)
    return -0.5 * (tf.reduce_sum(tf.square(scaled), (-2, -1)) + log_det + constant * count)


def moderated(mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """Return logits whose softmax is about the mean one of normal logits, of any shape."""
    return mean / tf.sqrt(1.0 + math.pi / 8 * variance)


def moments(model: Model, q: LowRank, inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return mean and variance [S, H, n, C] of the outputs for inputs [S, n, ...]."""
    s, n = inputs.shape[:2]
    # Copies of rows with all layers' numbers, and products with the low-rank part.
    widest = max(layer.fan_in + layer.fan_out for layer in model.layers)
    numbers = q.mean.shape[1] * s * widest * (q.low_rank.shape[-1] + 1)
    size = max(1, min(n, NUMBERS_AT_ONCE // numbers))
    pieces = -(-n // size)
    order = tf.reshape(tf.minimum(tf.range(pieces * size), n - 1), [pieces, size])
    # (W W' + D)^-1 = D^-1 - B B', with B = D^-1 W K^-1' and K K' = I + W' D^-1 W.
    scaled = q.low_rank / q.diagonal[..., tf.newaxis]
    inner = tf.matmul(q.low_rank, scaled, transpose_a=True)
    factor = cholesky(tf.eye(inner.shape[-1], dtype=tf.float64) + inner)
    fall = tf.linalg.triangular_solve(factor, tf.linalg.matrix_transpose(scaled))
    fall = tf.linalg.matrix_transpose(fall)

    def piece(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        rows = tf.gather(inputs, index, axis=1)[:, tf.newaxis]
        mean, slopes = linearised.linearise(model, q.mean, rows)
        wide = linearised.squares_times(slopes, 1 / q.diagonal)
        narrow = tf.reduce_sum(tf.square(linearised.times(slopes, fall)), -1)
        return tf.cast(mean, tf.float64), wide - narrow

    types = (tf.float64, tf.float64)
    parts = tf.map_fn(piece, order, fn_output_signature=types, parallel_iterations=1)
    return tuple(_joined(part)[:, :, :n] for part in parts)


def _joined(pieces: tf.Tensor) -> tf.Tensor:
    """Join pieces [k, S, H, m, C] to [S, H, k m, C]."""
    k, s, h, m, c = pieces.shape
    return tf.reshape(tf.transpose(pieces, [1, 2, 0, 3, 4]), [s, h, k * m, c])
