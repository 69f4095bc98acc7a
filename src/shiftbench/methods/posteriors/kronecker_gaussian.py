"""Gaussian with Kronecker factors: independent layers, each with precision A (x) B + delta I.

A layer's weights and biases are one matrix W [a, b], a = fan_in + 1, b = fan_out, with the biases
as its last row. So A [a, a] belongs to the inputs (x, 1), B [b, b] to the outputs, and
(A (x) B + delta I) W = A W B + delta W. delta is kept apart, as part of a normal prior: with
A = U diag(l) U' and B = V diag(m) V', the precision has the eigenvalues l_i m_j + delta and the
eigenvectors u_i v_j', so that draws, determinants and divergences are exact. Sources: Ritter et al.
2018 (factors as a posterior); Martens and Grosse 2015, 6.3 (the nearest pair of a sum).

Shapes: a mean is flat, [..., P], with the layers in turn; layers are sizes (a, b).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import Broadening, State
from shiftbench.methods.decompositions import eigh
from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.lazy_tensorflow import tf

Sizes = tuple[tuple[int, int], ...]
"""(a, b) of each layer."""


class Precision(NamedTuple):
    """A [..., a, a] and B [..., b, b] of each layer, and delta [...]."""

    left: tuple[tf.Tensor, ...]
    right: tuple[tf.Tensor, ...]
    ridge: tf.Tensor


class Spectrum(NamedTuple):
    """Eigenvectors U [..., a, a] and V [..., b, b], and eigenvalues [..., a, b], of each layer."""

    left: tuple[tf.Tensor, ...]
    right: tuple[tf.Tensor, ...]
    values: tuple[tf.Tensor, ...]


def flat(matrices: tuple[tf.Tensor, ...]) -> tf.Tensor:
    """Return the entries [..., sum of m n] of matrices [..., m, n], one matrix after the other."""
    return tf.concat(
        [tf.reshape(m, [*m.shape[:-2], m.shape[-2] * m.shape[-1]]) for m in matrices], -1
    )


def matrices(entries: tf.Tensor, sizes: Sizes) -> tuple[tf.Tensor, ...]:
    """Return matrices [..., m, n] from `flat` entries; sizes: (m, n) of each."""
    parts = tf.split(entries, [m * n for m, n in sizes], -1)
    lead = entries.shape[:-1]
    return tuple(tf.reshape(one, [*lead, *size]) for one, size in zip(parts, sizes, strict=True))


def precision_of(left: tf.Tensor, right: tf.Tensor, ridge: tf.Tensor, sizes: Sizes) -> Precision:
    """Return the precision from flat A [..., sum a^2], flat B [..., sum b^2] and delta [...]."""
    return Precision(
        matrices(left, tuple((a, a) for a, _ in sizes)),
        matrices(right, tuple((b, b) for _, b in sizes)),
        ridge,
    )


def first_state(repetitions: int, sizes: Sizes, ridge: float) -> State:
    """Return the arrays of `state_of` [S, 1, ...] of a normal prior N(0, I / ridge), in float32."""
    entries = {
        "mean": sum(a * b for a, b in sizes),
        "left": sum(a * a for a, _ in sizes),
        "right": sum(b * b for _, b in sizes),
    }
    state = {name: np.zeros((repetitions, 1, n), np.float32) for name, n in entries.items()}
    return state | {"ridge": np.full((repetitions, 1), ridge, np.float32)}


def state_of(mean: tf.Tensor, precision: Precision) -> dict[str, tf.Tensor]:
    """Return the arrays of a state: mean, left, right and ridge, with flat factors."""
    factors = {"left": flat(precision.left), "right": flat(precision.right)}
    return {"mean": mean, **factors, "ridge": precision.ridge}


def nearest_pair(first: Precision, second: Precision) -> Precision:
    """Return one pair of factors for a sum of two, layer by layer; the deltas add up exactly.

    A = A0 + A1 / pi and B = B0 + pi B1, pi^2 = tr B0 tr A1 / (tr B1 tr A0), is the pair for which a
    bound on the error is smallest (Martens and Grosse 2015, 6.3). Its trace exceeds that of the
    sum, up to twofold, so B is scaled until they agree: the sum of equal terms is then exact.
    """
    pairs = [
        _nearest(*of_layer)
        for of_layer in zip(first.left, first.right, second.left, second.right, strict=True)
    ]
    left, right = zip(*pairs, strict=True)
    return Precision(left, right, first.ridge + second.ridge)


def _nearest(
    left: tf.Tensor, right: tf.Tensor, other_left: tf.Tensor, other_right: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the pair of one layer."""
    traces = [tf.linalg.trace(m)[..., None, None] for m in (left, right, other_left, other_right)]
    own, other = traces[0] * traces[1], traces[2] * traces[3]
    # A term without a trace is zero, and the pair is the other term.
    both = (own > 0) & (other > 0)
    ratio = tf.where(both, traces[1] * traces[2], 1.0) / tf.where(both, traces[3] * traces[0], 1.0)
    pi = tf.sqrt(ratio)
    zero, other_zero = tf.cast(own > 0, pi.dtype), tf.cast(other > 0, pi.dtype)
    new_left = zero * left + other_zero * other_left / pi
    new_right = zero * right + other_zero * pi * other_right
    trace = tf.linalg.trace(new_left) * tf.linalg.trace(new_right)
    scale = tf.math.divide_no_nan(own + other, trace[..., None, None])
    return new_left, scale * new_right


def spectrum(precision: Precision) -> Spectrum:
    """Return the eigenvectors and eigenvalues of a precision; delta keeps them above 0."""
    lefts, rights = (
        [_eigen(factor) for factor in factors] for factors in (precision.left, precision.right)
    )
    ridge = precision.ridge[..., None, None]
    values = [
        of_inputs[..., :, None] * of_outputs[..., None, :] + ridge
        for (of_inputs, _), (of_outputs, _) in zip(lefts, rights, strict=True)
    ]
    return Spectrum(tuple(u for _, u in lefts), tuple(v for _, v in rights), tuple(values))


def _eigen(factor: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return eigenvalues, 0 where rounding makes them negative, and eigenvectors."""
    values, vectors = eigh(tf.cast(factor, tf.float64))
    return tf.cast(tf.maximum(values, 0.0), factor.dtype), tf.cast(vectors, factor.dtype)


def sizes_of(values: tuple[tf.Tensor, ...]) -> Sizes:
    """Return the sizes (a, b) of layers from an array [..., a, b] of each."""
    return tuple((one.shape[-2], one.shape[-1]) for one in values)


def precision_times(precision: Precision, x: tf.Tensor) -> tf.Tensor:
    """Return the precision times x [..., P]."""
    sizes = tuple(
        (a.shape[-1], b.shape[-1]) for a, b in zip(precision.left, precision.right, strict=True)
    )
    layers = zip(precision.left, precision.right, matrices(x, sizes), strict=True)
    return flat(tuple(a @ (w @ b) for a, b, w in layers)) + precision.ridge[..., None] * x


def covariance_times(of: Spectrum, x: tf.Tensor) -> tf.Tensor:
    """Return the inverse of the precision times x [..., P]."""
    layers = zip(*of, matrices(x, sizes_of(of.values)), strict=True)
    return flat(
        tuple(
            u @ tf.matmul((tf.matmul(u, w, transpose_a=True) @ v) / values, v, transpose_b=True)
            for u, v, values, w in layers
        )
    )


def sample(mean: tf.Tensor, of: Spectrum, noise: tf.Tensor) -> tf.Tensor:
    """Return draws [..., K, P] from standard normal noise [..., K, P]; mean [..., P]."""
    layers = zip(*of, matrices(noise, sizes_of(of.values)), strict=True)
    white = flat(tuple(_draws_of_layer(*layer) for layer in layers))
    return mean[..., None, :] + white


def _draws_of_layer(u: tf.Tensor, v: tf.Tensor, values: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    """Return U (noise / values^1/2) V' [..., K, a, b] for noise [..., K, a, b].

    All draws are in one product: a batch of products gives other bytes for other numbers of seeds.
    """
    *lead, k, a, b = noise.shape
    scaled = _swapped(noise) * inverse_sqrt(values)[..., :, None, :]
    turned = tf.matmul(tf.reshape(scaled, [*lead, a * k, b]), v, transpose_b=True)
    drawn = u @ tf.reshape(turned, [*lead, a, k * b])
    return _swapped(tf.reshape(drawn, [*lead, a, k, b]))


def _swapped(x: tf.Tensor) -> tf.Tensor:
    """Return x [..., m, n, c] as [..., n, m, c]."""
    last = x.shape.rank
    return tf.transpose(x, [*range(last - 3), last - 2, last - 3, last - 1])


def log_det(of: Spectrum) -> tf.Tensor:
    """Return the log determinant [...] of the precision."""
    return tf.add_n([tf.reduce_sum(tf.math.log(values), (-2, -1)) for values in of.values])


def square(precision: Precision, x: tf.Tensor) -> tf.Tensor:
    """Return x' (precision) x [...] for x [..., P]."""
    return tf.reduce_sum(x * precision_times(precision, x), -1)


def kl(mean: tf.Tensor, of: Spectrum, prior_mean: tf.Tensor, prior: Precision) -> tf.Tensor:
    """Return KL(q || prior) [...] in nats, exact; of: the spectrum of q's precision."""
    ridge = prior.ridge[..., None, None]
    # The trace of prior precision times covariance, less 1 for each parameter.
    trace = tf.add_n(
        [
            tf.reduce_sum((_diagonal(a, u) * _diagonal(b, v, -2) + ridge) / values - 1.0, (-2, -1))
            for a, b, u, v, values in zip(prior.left, prior.right, *of, strict=True)
        ]
    )
    log_ratio = log_det(of) - log_det(spectrum(prior))
    return 0.5 * (trace + square(prior, mean - prior_mean) + log_ratio)


def _diagonal(matrix: tf.Tensor, vectors: tf.Tensor, axis: int = -1) -> tf.Tensor:
    """Return the diagonal of U' M U, as a column [..., m, 1] or as a row with axis -2."""
    return tf.expand_dims(tf.reduce_sum(vectors * (matrix @ vectors), -2), axis)


def broaden(
    mean: np.ndarray,
    precision: Precision,
    broadening: Broadening,
    prior_variance: float = 1.0,
) -> tuple[np.ndarray, Precision]:
    """Return mean and precision of the widened Gaussian; the prior is N(0, prior_variance I).

    As `mean_field_gaussian.broaden`: temper q^beta, temper-prior q^beta N(prior) and geometric
    q^beta N(prior)^(1 - beta) stay in the family. diffuse, covariance + D I, leaves it: there delta
    and the eigenvectors are exact, and the rest of the eigenvalues is the pair with the same sums
    over rows and columns, exact for a layer with one output; so it is for ou, which adds a multiple
    of I to a multiple of the covariance. Give float64 arrays.
    """
    if broadening.kind == "diffuse":
        return mean, _diffuse(precision, 1.0, broadening.variance)
    if broadening.kind == "ou":
        kept = broadening.beta**2
        wide = _diffuse(precision, kept, (1 - kept) * prior_variance)
        return broadening.beta * mean, wide
    beta, added = broadening.beta, broadening.prior_share / prior_variance
    right = tuple(beta * factor for factor in precision.right)
    wide = Precision(precision.left, right, beta * precision.ridge + added)
    if not added:
        return mean, wide
    pull = beta * precision_times(precision, tf.convert_to_tensor(mean))
    return covariance_times(spectrum(wide), pull).numpy(), wide


def broaden_state(
    state: State, sizes: Sizes, broadening: Broadening, prior_variance: float
) -> State:
    """Return a state whose arrays of `state_of` are those of the widened Gaussian, in float32."""
    arrays = {name: state[name].astype(np.float64) for name in ("mean", "left", "right", "ridge")}
    left, right, ridge = (tf.constant(arrays[name]) for name in ("left", "right", "ridge"))
    precision = precision_of(left, right, ridge, sizes)
    broad = state_of(*broaden(arrays["mean"], precision, broadening, prior_variance))
    return state | {name: np.asarray(a, np.float32) for name, a in broad.items()}


def _diffuse(precision: Precision, kept: float, variance: float) -> Precision:
    """Return the precision of kept times the covariance plus variance I, nearly."""
    of, ridge = spectrum(precision), precision.ridge / (kept + variance * precision.ridge)
    excess = [values / (kept + variance * values) - ridge[..., None, None] for values in of.values]
    rows, columns = (
        [tf.reduce_sum(one, axis, keepdims=True) for one in excess] for axis in (-1, -2)
    )
    totals = [tf.reduce_sum(one, -2, keepdims=True) for one in rows]
    shares = [tf.math.divide_no_nan(one, all_) for one, all_ in zip(columns, totals, strict=True)]
    left = [
        _recomposed(u, tf.linalg.matrix_transpose(r)) for u, r in zip(of.left, rows, strict=True)
    ]
    right = [_recomposed(v, share) for v, share in zip(of.right, shares, strict=True)]
    return Precision(tuple(left), tuple(right), ridge)


def _recomposed(vectors: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Return U diag(values) U' for values as a row [..., 1, m]."""
    return tf.matmul(vectors * tf.maximum(values, 0.0), vectors, transpose_b=True)
