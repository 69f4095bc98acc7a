"""Gaussian with a precision of low rank plus diagonal, U U' + D: N(mean, (U U' + D)^-1).

Source: Mishkin et al. 2018 (SLANG), 3.2; eschenhagen2019vogn, eq. 54 and 57. With A = D^-1/2 U and
the eigen-decomposition A' A = Q s Q', the covariance is D^-1/2 (I - A Q (1 + s)^-1 Q' A') D^-1/2
(Woodbury) and its root D^-1/2 (I - A Q f Q' A'), f = (1 - (1 + s)^-1/2) / s: no matrix is larger
than P x L.

Shapes: mean and diagonal [..., P], low_rank [..., P, L]; leading axes broadcast.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Broadening
from shiftbench.methods.decompositions import eigh
from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.lazy_tensorflow import tf


def _spectrum(low_rank: tf.Tensor, diagonal: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return A Q [..., P, L] and s [..., L], the eigenvalues of A A' that can differ from zero."""
    scaled = low_rank * inverse_sqrt(diagonal)[..., None]
    values, vectors = eigh(tf.matmul(scaled, scaled, transpose_a=True))
    return tf.matmul(scaled, vectors), tf.maximum(values, 0.0)


def sample(
    mean: tf.Tensor, low_rank: tf.Tensor, diagonal: tf.Tensor, noise: tf.Tensor
) -> tf.Tensor:
    """Return draws [..., K, P] from standard normal noise [..., K, P]."""
    axes, values = _spectrum(low_rank, diagonal)
    # (1 - (1 + s)^-1/2) / s without a difference, so that s = 0 is not a special case.
    root = tf.sqrt(1.0 + values)
    shrink = 1.0 / (root * (1.0 + root))
    along = tf.matmul(noise, axes) * shrink[..., None, :]
    white = noise - tf.matmul(along, axes, transpose_b=True)
    return mean[..., None, :] + white * inverse_sqrt(diagonal)[..., None, :]


def covariance_times(low_rank: tf.Tensor, diagonal: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Return (U U' + D)^-1 times values [..., P, k]."""
    axes, spectrum = _spectrum(low_rank, diagonal)
    scale = inverse_sqrt(diagonal)[..., None]
    scaled = values * scale
    along = tf.matmul(axes, scaled, transpose_a=True) / (1.0 + spectrum)[..., None]
    return scale * (scaled - tf.matmul(axes, along))


def precision_times(low_rank: tf.Tensor, diagonal: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Return (U U' + D) times values [..., P, k]."""
    along = tf.matmul(low_rank, values, transpose_a=True)
    return tf.matmul(low_rank, along) + diagonal[..., None] * values


def log_det_precision(low_rank: tf.Tensor, diagonal: tf.Tensor) -> tf.Tensor:
    """Return log |U U' + D| [...]."""
    _, values = _spectrum(low_rank, diagonal)
    return tf.reduce_sum(tf.math.log(diagonal), -1) + tf.reduce_sum(tf.math.log1p(values), -1)


def log_prob(x: tf.Tensor, mean: tf.Tensor, low_rank: tf.Tensor, diagonal: tf.Tensor) -> tf.Tensor:
    """Return the log density [...] in nats at x [..., P]."""
    square = _square(x - mean, low_rank, diagonal)
    constant = mean.shape[-1] * np.log(2 * np.pi)
    return 0.5 * (log_det_precision(low_rank, diagonal) - square - constant)


def kl(
    mean: tf.Tensor,
    low_rank: tf.Tensor,
    diagonal: tf.Tensor,
    prior_mean: tf.Tensor,
    prior_low_rank: tf.Tensor,
    prior_diagonal: tf.Tensor,
) -> tf.Tensor:
    """Return KL(q || prior) [...] in nats, exact."""
    axes, values = _spectrum(low_rank, diagonal)
    explained = tf.reduce_sum(tf.square(axes) / (1.0 + values)[..., None, :], -1)
    # The trace of prior precision times covariance, minus P.
    trace = tf.reduce_sum(prior_diagonal / diagonal * (1.0 - explained) - 1.0, -1)
    spread = covariance_times(low_rank, diagonal, prior_low_rank)
    trace += tf.reduce_sum(prior_low_rank * spread, (-2, -1))
    square = _square(mean - prior_mean, prior_low_rank, prior_diagonal)
    log_ratio = log_det_precision(low_rank, diagonal) - log_det_precision(
        prior_low_rank, prior_diagonal
    )
    return 0.5 * (trace + square + log_ratio)


def _square(difference: tf.Tensor, low_rank: tf.Tensor, diagonal: tf.Tensor) -> tf.Tensor:
    """Return d' (U U' + D) d [...]."""
    along = tf.linalg.matvec(low_rank, difference, transpose_a=True)
    weighted = diagonal * tf.square(difference)
    return tf.reduce_sum(tf.square(along), -1) + tf.reduce_sum(weighted, -1)


def broaden(
    mean: np.ndarray,
    low_rank: np.ndarray,
    diagonal: np.ndarray,
    broadening: Broadening,
    prior_mean: float | np.ndarray = 0.0,
    prior_variance: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, low-rank part and diagonal of the widened Gaussian; the family is closed.

    As `mean_field_gaussian.broaden`: temper q^beta, temper-prior q^beta N(prior), geometric
    q^beta N(prior)^(1 - beta), diffuse covariance + D I, ou towards the prior. Give float64
    arrays.
    """
    beta = broadening.beta
    if broadening.kind == "diffuse":
        return mean, *_diffuse(low_rank, diagonal, 1.0, broadening.variance)
    if broadening.kind == "ou":
        wide = _diffuse(low_rank, diagonal, beta**2, (1 - beta**2) * prior_variance)
        return beta * mean + (1 - beta) * prior_mean, *wide
    wide = np.sqrt(beta) * low_rank, beta * diagonal
    prior_precision = broadening.prior_share / prior_variance
    if not prior_precision:
        return mean, *wide
    weighted = beta * diagonal * mean + prior_precision * prior_mean
    weighted += beta * np.einsum("...pl,...ql,...q->...p", low_rank, low_rank, mean, optimize=True)
    wide = wide[0], wide[1] + prior_precision
    return covariance_times(*wide, weighted[..., None]).numpy()[..., 0], *wide


def _diffuse(
    low_rank: np.ndarray, diagonal: np.ndarray, kept: float, variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (kept covariance + variance I)^-1, by Woodbury with covariance D^-1 - W W'."""
    axes, values = (a.numpy() for a in _spectrum(low_rank, diagonal))
    fall = axes / np.sqrt(diagonal)[..., None] / np.sqrt(1.0 + values)[..., None, :]
    fall, wide = np.sqrt(kept) * fall, 1.0 / (kept / diagonal + variance)
    scaled = wide[..., None] * fall
    inner = np.eye(low_rank.shape[-1]) - np.swapaxes(fall, -1, -2) @ scaled
    # A repetition that has diverged harms no other.
    finite = np.isfinite(inner).all(axis=(-2, -1), keepdims=True)
    inner = np.where(finite, inner, np.eye(inner.shape[-1]))
    return scaled @ np.linalg.cholesky(np.linalg.inv(inner)), wide
