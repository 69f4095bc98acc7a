"""Variational Newton steps for Bayesian logistic regression with weighted counts.

A fit has the prior N(m0, 1 / lam0) and rows with features v_j [d], counted n+_j times as positive
and n-_j times as negative. With N = n+ + n-, b = sum_j n+_j v_j and x_j = u.v_j, which under
q = N(m, 1 / lam) is normal with mean v_j.m and variance t_j = sum_k v_jk^2 / lam_k,

    ELBO     = b.m - sum_j N_j E softplus(x_j) - KL(q, prior)
    gradient = lam0 (m0 - m) + b - sum_j N_j E s(x_j) v_j
    H        = diag(lam0) + sum_j N_j E s'(x_j) v_j v_j'

and the optimum has gradient 0 and lam = diag(H); the steps m += H^-1 gradient, lam = diag(H)
converge to it quadratically. Expectations are by Gauss-Hermite quadrature. Axes: W problems side by
side, each with H hypotheses (priors) that share its counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.networks.backend import fused, tf

REACH = 4.0
"""The largest change of any x_j in a step: farther away the quadratic approximation fails."""
JITTER = 1e-5
"""Relative addition to the diagonal of H, which in float32 sums of 1e7 counts may be singular."""


class Normal(NamedTuple):
    """Independent normals: mean and precision [W, H, d] float32."""

    mean: tf.Tensor
    precision: tf.Tensor


class ContextCounts(NamedTuple):
    """Features [U, V, d], U is 1 if all W share them; positives n+ and total N [W, 1, V]."""

    features: tf.Tensor
    positives: tf.Tensor
    total: tf.Tensor


def context_counts(features: tf.Tensor, targets: tf.Tensor, mask: tf.Tensor) -> ContextCounts:
    """Return the data of features [U, V, d], counts (n+, n-) [W, V, 2] and mask [W, V]."""
    counts = tf.cast(targets, tf.float32) * tf.cast(mask, tf.float32)[..., tf.newaxis]
    positives = counts[:, tf.newaxis, :, 0]
    return ContextCounts(
        tf.cast(features, tf.float32), positives, positives + counts[:, tf.newaxis, :, 1]
    )


def fit(
    prior: Normal, start: Normal, data: ContextCounts, nodes: int, iterations: int, tolerance: float
) -> tuple[Normal, tf.Tensor]:
    """Return the optimum, by Newton steps from `start`, and the steps [W, H] that each fit took.

    A fit ends after a step with an expected gain below `tolerance` nats, or after `iterations`. The
    fits beside it have no influence.
    """
    linear = product(data.positives, data.features)
    squares = _squares(data.features)

    def advance(now: Normal, steps: tf.Tensor, active: tf.Tensor) -> tuple:
        new, gain = _step(prior, now, data, linear, squares, nodes)
        mask = active[..., tf.newaxis]
        now = Normal(*(tf.where(mask, a, b) for a, b in zip(new, now, strict=True)))
        steps += tf.cast(active, tf.int32)
        return now, steps, active & (gain > tolerance) & (steps < iterations)

    steps = tf.zeros(start.mean.shape[:2], tf.int32)
    first = start, steps, tf.ones(steps.shape, tf.bool)
    now, steps, _ = tf.while_loop(lambda *state: tf.reduce_any(state[2]), advance, first)
    return now, steps


def elbo(prior: Normal, q: Normal, data: ContextCounts, nodes: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the expected log likelihood and KL(q, prior) [W, H], in nats, float64.

    In float64 because the ELBO of 1e7 counts is 1e7 nats, while decisions rest on differences of a
    few nats. Only the effect of the variance on a softplus, small for large counts, is float32.
    """
    _, t = spread(q, data.features)
    prior, q = (Normal(*(tf.cast(a, tf.float64) for a in normal)) for normal in (prior, q))
    features, positives = tf.cast(data.features, tf.float64), tf.cast(data.positives, tf.float64)
    x = product(q.mean, features, transpose=True)
    linear = tf.reduce_sum(product(positives, features) * q.mean, -1)
    ratio = prior.precision / q.precision
    distance = prior.precision * tf.square(q.mean - prior.mean)
    kl = 0.5 * tf.reduce_sum(ratio + distance - 1.0 - tf.math.log(ratio), -1)
    return linear - _softplus_sum(x, t, data.total, nodes), kl


def spread(q: Normal, features: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return mean and variance [W, H, V] of x_j = u.v_j."""
    variance = product(1.0 / q.precision, tf.square(features), transpose=True)
    return product(q.mean, features, transpose=True), variance


def product(left: tf.Tensor, right: tf.Tensor, transpose: bool = False) -> tf.Tensor:
    """Return left [W, H, a] times right [U, a, b] or, transposed, [U, b, a]; U is 1 or W."""
    if right.shape[0] != 1:
        return tf.matmul(left, right, transpose_b=transpose)
    flat = tf.reshape(left, [-1, left.shape[-1]])
    out = tf.matmul(flat, right[0], transpose_b=transpose)
    return tf.reshape(out, [*left.shape[:-1], out.shape[-1]])


def quadrature(nodes: int) -> list[tuple[float, float]]:
    """Return nodes and weights for the standard normal distribution."""
    node, weight = np.polynomial.hermite_e.hermegauss(nodes)
    return list(zip(node.tolist(), (weight / weight.sum()).tolist(), strict=True))


def sigmoids(
    x: tf.Tensor, t: tf.Tensor, weight: tf.Tensor | float, nodes: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return E s and E s' for normals with mean x and variance t, times a weight, elementwise."""
    both = _sigmoids(x, t, weight, nodes)
    return tf.math.real(both), tf.math.imag(both)


# As a single complex number: for two results XLA would compute their common part twice.
@fused
def _sigmoids(x: tf.Tensor, t: tf.Tensor, weight: tf.Tensor | float, nodes: int) -> tf.Tensor:
    """Use s = (1 + tanh(x / 2)) / 2 and s' = (1 - tanh(x / 2)^2) / 4."""
    sd = tf.sqrt(t)
    first, second = tf.zeros_like(x), tf.zeros_like(x)
    for z, w in quadrature(nodes):
        tanh = tf.tanh(0.5 * (x + z * sd))
        first, second = first + w * tanh, second + w * tf.square(tanh)
    return tf.complex(weight * 0.5 * (1.0 + first), weight * 0.25 * (1.0 - second))


@fused
def _softplus_sum(x: tf.Tensor, t: tf.Tensor, total: tf.Tensor, nodes: int) -> tf.Tensor:
    """Return sum_j N_j E softplus(x_j) [W, H] float64, for x float64, variance t and N float32."""
    decay = tf.exp(-tf.abs(x))
    value = tf.maximum(x, 0.0) + tf.math.log(1.0 + decay)
    value += tf.cast(mean_excess(tf.cast(decay, tf.float32), t, nodes), tf.float64)
    return tf.reduce_sum(tf.cast(total, tf.float64) * value, -1)


def mean_excess(decay: tf.Tensor, t: tf.Tensor, nodes: int) -> tf.Tensor:
    """Return E softplus - softplus(x) for normals with exp(-|x|) = decay and variance t.

    Without cancellation, since softplus(x + y) + softplus(x - y) - 2 softplus(x) =
    log(1 + 4 s'(x) sinh(y / 2)^2).
    """
    slope = decay / tf.square(1.0 + decay)
    half = 0.5 * tf.sqrt(t)
    excess = tf.zeros_like(t)
    for z, w in quadrature(nodes)[(nodes + 1) // 2 :]:
        root = tf.exp(z * half)
        excess += w * tf.math.log1p(slope * tf.square(root - 1.0 / root))
    return excess


def _step(
    prior: Normal,
    now: Normal,
    data: ContextCounts,
    linear: tf.Tensor,
    squares: tf.Tensor,
    nodes: int,
) -> tuple[Normal, tf.Tensor]:
    """Return the fits after a Newton step, and its expected gain in nats [W, H]."""
    x, t = spread(now, data.features)
    pull = prior.precision * (prior.mean - now.mean)
    first, second = sigmoids(x, t, data.total, nodes)
    gradient = pull + linear - product(first, data.features)
    curvature = product(second, squares)
    hessian = _symmetric(curvature, prior.precision)
    precision = tf.linalg.diag_part(hessian)
    move = _solved(hessian, gradient)
    reach = tf.abs(product(move, data.features, transpose=True))
    reach = tf.reduce_max(tf.where(data.total > 0, reach, 0.0), -1, keepdims=True)
    gain = 0.5 * gradient * move + 0.25 * tf.square(tf.math.log(precision / now.precision))
    mean = now.mean + move * tf.minimum(1.0, REACH / tf.maximum(reach, REACH))
    return Normal(mean, precision), tf.reduce_sum(gain, -1)


def _squares(features: tf.Tensor) -> tf.Tensor:
    """Return v_jk v_jl for k <= l [U, V, d (d + 1) / 2]."""
    first, second = np.triu_indices(features.shape[-1])
    return tf.gather(features, first, axis=-1) * tf.gather(features, second, axis=-1)


def _symmetric(upper: tf.Tensor, diagonal: tf.Tensor) -> tf.Tensor:
    """Return matrices [W, H, d, d] from upper triangles [W, H, d (d + 1) / 2], plus a diagonal."""
    d = diagonal.shape[-1]
    first, second = np.triu_indices(d)
    index = np.zeros((d, d), np.int32)
    index[first, second] = index[second, first] = np.arange(len(first))
    full = tf.reshape(tf.gather(upper, index.ravel(), axis=-1), [*diagonal.shape, d])
    return tf.linalg.set_diag(full, tf.linalg.diag_part(full) + diagonal)


def _solved(hessian: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
    """Return H^-1 gradient, scaled to a unit diagonal and in float64 for its large condition."""
    scale = inverse_sqrt(tf.linalg.diag_part(hessian))
    unit = hessian * scale[..., tf.newaxis] * scale[..., tf.newaxis, :]
    unit = tf.cast(unit, tf.float64) + JITTER * tf.eye(unit.shape[-1], dtype=tf.float64)
    right = tf.cast(gradient * scale, tf.float64)[..., tf.newaxis]
    solved = tf.linalg.cholesky_solve(tf.linalg.cholesky(unit), right)
    return tf.cast(solved[..., 0], tf.float32) * scale
