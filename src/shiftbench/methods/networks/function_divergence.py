"""Divergence of a posterior over weights from another one, as far as a network's outputs show it.

The network is linearised at the means of a posterior N(mean, diag(sd^2)), so that its outputs for
some rows are normal with covariance J diag(sd^2) J'. Outputs count as independent of each other,
and with covariance `diagonal` so do rows (Rudner et al. 2022). For a linear network and as many
independent rows as an output has weights, the full divergence is that of the weights.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from shiftbench.methods.decompositions import cholesky
from shiftbench.methods.networks import linearised, shared_linearisation
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.context_rows import Context
from shiftbench.methods.networks.heads import EXCLUDED
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.networks.model import Model

Covariance = Literal["diagonal", "full"]
JITTER = 1e-6
"""Added to all variances of outputs; the public code of Rudner et al. 2022 adds it to full
covariances, with a further 0.001, and nothing to a diagonal."""


class Outputs(NamedTuple):
    """Normal outputs of a network for n rows: mean [S, H, n, C], and their spread.

    spread: variances [S, H, n, C], or covariances of the rows [S, H, C, n, n] in float64.
    """

    mean: tf.Tensor
    spread: tf.Tensor


def outputs(model: Model, q: MeanField, inputs: tf.Tensor, covariance: Covariance) -> Outputs:
    """Return the outputs under a posterior [S, H, P] for inputs [S, 1, n, ...]."""
    mean, slopes = shared_linearisation.linearise(model, q.mean, inputs)
    if covariance == "diagonal":
        return Outputs(mean, linearised.squares_times(slopes, tf.square(q.sd)))
    rows = linearised.jacobian(slopes) * q.sd[:, :, tf.newaxis, tf.newaxis]
    rows = tf.cast(tf.transpose(rows, [0, 1, 3, 2, 4]), tf.float64)
    return Outputs(mean, tf.matmul(rows, rows, transpose_b=True))


def independent(sd: float, like: Outputs) -> Outputs:
    """Return outputs with mean 0 and standard deviation sd, all independent."""
    if like.spread.shape.rank == like.mean.shape.rank:
        return Outputs(tf.zeros_like(like.mean), tf.fill(like.spread.shape, sd**2))
    n, batch = like.spread.shape[-1], like.spread.shape[:-2]
    spread = sd**2 * tf.eye(n, batch_shape=batch, dtype=like.spread.dtype)
    return Outputs(tf.zeros_like(like.mean), spread)


def divergence(q: Outputs, p: Outputs, mask: tf.Tensor) -> tf.Tensor:
    """Return KL(q || p) [S, H] in nats, summed over outputs and the rows of a mask [S, n], 0 or 1.

    Outputs of other heads than a row's own do not count.
    """
    counted, moved = _counted(q, p, mask)
    if q.spread.shape.rank == q.mean.shape.rank:
        ratio = (q.spread + JITTER) / (p.spread + JITTER)
        each = ratio - 1 - tf.math.log(ratio) + tf.square(moved) / (p.spread + JITTER)
        return 0.5 * tf.reduce_sum(counted * each, [2, 3])
    by_output = [tf.cast(tf.transpose(a, [0, 1, 3, 2]), tf.float64) for a in (moved, counted)]
    of_q, of_p = (_factor(spread, by_output[1]) for spread in (q.spread, p.spread))
    return tf.cast(_full(of_q, of_p, by_output[0]), tf.float32)


def _counted(q: Outputs, p: Outputs, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return which outputs count, 0 or 1, and the distances of their means, both [S, H, n, C]."""
    own = tf.cast(q.mean > 0.5 * EXCLUDED, tf.float32)
    counted = own * mask[:, tf.newaxis, :, tf.newaxis]
    return counted, counted * (q.mean - p.mean)


def _factor(spread: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
    """Return the Cholesky factor [S, H, C, n, n]; rows that do not count have variance 1."""
    pairs = counted[..., tf.newaxis] * counted[..., tf.newaxis, :]
    return cholesky(spread * pairs + tf.linalg.diag(1 - counted + JITTER * counted))


def _full(of_q: tf.Tensor, of_p: tf.Tensor, moved: tf.Tensor) -> tf.Tensor:
    """Return KL [S, H] from Cholesky factors and distances of the means [S, H, C, n]."""
    whitened = tf.linalg.triangular_solve(of_p, of_q)
    distance = tf.linalg.triangular_solve(of_p, moved[..., tf.newaxis])
    squares = tf.reduce_sum(tf.square(whitened), [-2, -1]) + tf.reduce_sum(
        tf.square(distance), [-2, -1]
    )
    logs = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(whitened)), -1)
    return tf.reduce_sum(0.5 * (squares - moved.shape[-1]) - logs, -1)


def gradient(
    model: Model, q: MeanField, prior: Outputs, context: Context, covariance: Covariance
) -> MeanField:
    """Return the gradient in mean and sd of the divergence, a mean over the context's rows.

    The linearisation moves with the mean, and the gradient passes through it.
    """
    rows = tf.reduce_sum(context.mask, -1)[:, tf.newaxis]
    with tf.GradientTape() as tape:
        tape.watch([*q])
        now = outputs(model, q, context.inputs, covariance)
        if covariance == "diagonal":
            loss = _with_slopes_of_divergence(now, prior, context.mask)
        else:
            loss = divergence(now, prior, context.mask)
        loss = tf.math.divide_no_nan(loss, rows)
    return MeanField(*tape.gradient(loss, [*q]))


def _with_slopes_of_divergence(q: Outputs, p: Outputs, mask: tf.Tensor) -> tf.Tensor:
    """Return a linear function of q's outputs [S, H] whose gradient is that of the divergence.

    The gradient of a float32 logarithm has a reciprocal, which processors approximate.
    """
    counted, moved = _counted(q, p, mask)
    of_q, of_p = q.spread + JITTER, p.spread + JITTER
    in_mean, in_spread = moved / of_p, 0.5 * counted * (of_q - of_p) / (of_q * of_p)
    terms = tf.stop_gradient(in_mean) * q.mean + tf.stop_gradient(in_spread) * q.spread
    return tf.reduce_sum(terms, [2, 3])
