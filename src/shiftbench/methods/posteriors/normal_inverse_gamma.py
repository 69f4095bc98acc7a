"""Normal-inverse-gamma posterior of a linear regression: mu | s2 ~ N(m, s2 L L'), s2 ~ IG(a, b).

y = X mu + noise, y in R^d, noise N(0, s2 I_d), X [d, p]. Source: knoblauch2018robust, section 4
(which prints I_d for s2 I_d). The standard conjugate updates act on the lower factor L of the
covariance (N. A. Carlson, 1973), so that variances stay positive however large a regressor is.
Compiled, in place, one row (y, X) at a time; no matrix is inverted.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.core.interface import Broadening, LearnerError, StudentT
from shiftbench.methods.posteriors import full_gaussian


@njit(cache=True, error_model="numpy", forceinline=True)
def learn(x, y, scale, mean, root, work):
    """Update mean [p] and root [p p] by the row x [d p], y [d]; matrices flat; work: 2 p numbers.

    Returns log |scale R| for R = I + X L L' X' and e' R^-1 e for the residual e = y - X m, both
    before the update, which the row's prediction needs; a grows by d / 2 and b by e' R^-1 e / 2.
    The d targets are learnt in turn: with variance s and residual e of a target given the previous
    ones, the results are the sums of log(scale s) and of e^2 / s.
    """
    p = len(mean)
    v, gain = work[:p], work[p : 2 * p]
    log_det = quadratic = 0.0
    for j in range(len(y)):
        error = y[j]
        for i in range(p):
            error -= x[j * p + i] * mean[i]
        spread = contract(root, x[j * p : j * p + p], v, gain)
        for i in range(p):
            mean[i] += gain[i] * (error / spread)
        log_det += math.log(scale * spread)
        quadratic += error * (error / spread)
    return log_det, quadratic


@njit(cache=True, error_model="numpy", forceinline=True)
def learn_scalar(x, y, scale, mean, root):
    """Return mean and root after the row x, y for d = p = 1, and the results of `learn`.

    The numbers are those of `learn`, to the last bit, in a third of the time.
    """
    v, error = root * x, y - x * mean
    spread = 1.0 + v * v
    ratio = error / spread
    mean += root * v * ratio
    root *= 1.0 / math.sqrt(spread)
    return mean, root, math.log(scale * spread), error * ratio


@njit(cache=True, error_model="numpy", forceinline=True)
def contract(root, x, v, gain):
    """Set root to L C with C C' = I - v v' / s, C lower triangular; return s = 1 + v'v.

    Sets v [p] to L' x and gain [p] to L v. With s_k = 1 + v_k^2 + v_k+1^2 + ..., the squares of C's
    diagonal are s_k+1 / s_k, and below it C has -v_j v_k / sqrt(s_k s_k+1): no differences, so no
    cancellation.
    """
    p = len(x)
    for i in range(p):
        for k in range(i):
            v[k] += root[i * p + k] * x[i]
        v[i] = root[i * p + i] * x[i]
    s = width = inverse = 1.0  # width: the square root of s_k+1
    for k in range(p - 1, -1, -1):
        s += v[k] * v[k]
        before, before_inverse = width, inverse
        width = math.sqrt(s)
        inverse = 1.0 / width
        stay, turn = before * inverse, v[k] * inverse * before_inverse
        gain[k] = 0.0
        for i in range(k, p):
            entry = root[i * p + k]
            root[i * p + k] = entry * stay - gain[i] * turn
            gain[i] += entry * v[k]
    return s


@njit(cache=True, error_model="numpy", forceinline=True)
def predict(x, a, b, mean, root, out, work):
    """Set out to the prediction of a row x [d p], see `prediction`; work: d p numbers.

    out: mean [d], scale [d d] and df.
    The scale matrix is (b / a) (I + X L L' X'), and df is 2 a.
    """
    p = len(mean)
    d = len(x) // p
    for j in range(d):
        out[j] = 0.0
        spread = work[j * p : (j + 1) * p]
        spread[:] = 0.0
        for i in range(p):
            out[j] += x[j * p + i] * mean[i]
            for k in range(i + 1):
                spread[k] += root[i * p + k] * x[j * p + i]
        for other in range(j + 1):
            total = 1.0 if other == j else 0.0
            for k in range(p):
                total += spread[k] * work[other * p + k]
            out[d + j * d + other] = out[d + other * d + j] = b / a * total
    out[d + d * d] = 2 * a


def prediction(
    x: np.ndarray, a: np.ndarray, b: np.ndarray, mean: np.ndarray, root: np.ndarray
) -> StudentT:
    """Return the prediction for designs x [S, H, n, d, p], with equal weights of the hypotheses.

    a, b: [S, H]; mean: [S, H, p]; root: [S, H, p, p].
    """
    s, h, n, d, p = x.shape
    designs = np.require(x, float, ["C", "W"]).reshape(s * h, n, d * p)
    scales = np.stack([a, b], axis=-1).reshape(s * h, 2)
    mean, root = (np.require(q, float, ["C", "W"]).reshape(s * h, -1) for q in (mean, root))
    out = np.empty((s * h, n, d + d * d + 1))
    _predict_all(designs, scales, mean, root, out, np.empty(d * p))
    return student_t(np.full((s, h), -math.log(h)), out.reshape(s, h, n, -1))


def student_t(log_weights: np.ndarray, out: np.ndarray) -> StudentT:
    """Return the prediction from what `predict` gives, [S, H, n, d + d d + 1]."""
    d = (math.isqrt(4 * out.shape[-1] - 3) - 1) // 2
    mean, scale = out[..., :d].copy(), out[..., d:-1].reshape(*out.shape[:3], d, d)
    return StudentT(log_weights, mean, scale, out[:, :, 0, -1].copy())


@njit(cache=True, error_model="numpy")
def _predict_all(designs, scales, mean, root, out, work):
    """Run the loop of `prediction`."""
    for h in range(len(mean)):
        for i in range(designs.shape[1]):
            a, b = scales[h]
            predict(designs[h, i], a, b, mean[h], root[h], out[h, i], work)


def broaden(
    a: np.ndarray,
    b: np.ndarray,
    mean: np.ndarray,
    root: np.ndarray,
    broadening: Broadening,
    prior: tuple[float, float, float, float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a, b, mean and root of q^beta p0^c, renormalised.

    prior: a0, b0, prior mean and variance. c is 0 for temper, 1 for temper-prior, 1 - beta for
    geometric. With k = 1 + p / 2, by which the exponent of s2 exceeds a, and Q the loss of
    `full_gaussian.powers`:

        a' = beta (a + k) + c (a0 + k) - k,    b' = beta b + c b0 + Q / 2.

    ou moves mean and root to those of the prior, in units of s2, and keeps a and b: the noise is
    not forgotten.

    For c = 0, a' = beta a - (1 - beta) k; below 0 the power has no integral. With a share of the
    prior a' is always positive. Raises LearnerError if a' is not positive, and for diffuse: an
    added variance that does not scale with s2 leaves the family.
    """
    if broadening.kind == "diffuse":
        raise LearnerError(
            "a normal-inverse-gamma posterior cannot be widened by `diffuse`, after which its"
            " covariance is not a multiple of the noise variance; set broadening to geometric, ou,"
            " temper or temper-prior"
        )
    beta, k = broadening.beta, 1 + mean.shape[-1] / 2
    p, smallest = mean.shape[-1], a.min()
    a, b, mean, root = (np.array(array, float, order="C") for array in (a, b, mean, root))
    scales = np.stack([a.ravel(), b.ravel()], axis=1)
    means, roots, work = mean.reshape(-1, p), root.reshape(-1, p, p), np.empty(p * p + p)
    how, prior_numbers = (float(beta), float(broadening.prior_share)), np.array(prior, float)
    if broadening.kind == "ou":
        centre, spread = float(prior[2]), float(prior[3])
        for one in range(len(scales)):
            full_gaussian.relax(means[one], roots[one], how[0], centre, spread, work)
        return a, b, mean, root
    for one in range(len(scales)):
        powers(scales[one], means[one], roots[one], *how, prior_numbers, work)
    if not (scales[:, 0] > 0).all():
        raise LearnerError(
            f"a normal-inverse-gamma posterior of shape a = {smallest:g} has no power"
            f" {beta:g} that can be normalised, which needs a > {(1 - beta) * k / beta:g}; set"
            " broadening to geometric or temper-prior, or raise beta, a0, or the rows of a task"
        )
    return scales[:, 0].reshape(a.shape), scales[:, 1].reshape(a.shape), mean, root


@njit(cache=True, error_model="numpy")
def powers(scales, mean, root, beta, share, prior, work):
    """Set (a, b), mean [p] and root [p, p] to those of q^beta p0^share; see `broaden`.

    prior: a0, b0, prior mean and variance. work: p p + p numbers.
    """
    k = 1 + 0.5 * len(mean)
    loss = full_gaussian.powers(mean, root, beta, prior[2], share / prior[3], work)
    scales[0] = beta * (scales[0] + k) + share * (prior[0] + k) - k
    scales[1] = beta * scales[1] + share * prior[1] + 0.5 * loss
