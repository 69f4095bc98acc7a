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
        spread = _contract(root, x[j * p : j * p + p], v, gain)
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
def _contract(root, x, v, gain):
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


def scale(x: np.ndarray, root: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the scale matrix (b / a) (I + X L L' X') [..., d, d] of the prediction; df is 2 a."""
    spread = x @ root
    return (b / a)[..., None, None] * (np.eye(x.shape[-2]) + spread @ np.swapaxes(spread, -1, -2))


def prediction(
    x: np.ndarray, a: np.ndarray, b: np.ndarray, mean: np.ndarray, root: np.ndarray
) -> StudentT:
    """Return the prediction for designs x [S, H, n, d, p], with equal weights of the hypotheses.

    a, b: [S, H]; mean: [S, H, p]; root: [S, H, p, p].
    """
    s, h = a.shape
    return StudentT(
        np.full((s, h), -math.log(h)),
        np.einsum("shndp,shp->shnd", x, mean),
        scale(x, root[:, :, None], a[..., None], b[..., None]),
        2 * a,
    )


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

    For c = 0, a' = beta a - (1 - beta) k; below 0 the power has no integral. With a share of the
    prior a' is always positive. Raises LearnerError if a' is not positive, and for diffuse: an
    added variance that does not scale with s2 leaves the family.
    """
    if broadening.kind == "diffuse":
        raise LearnerError(
            "a normal-inverse-gamma posterior cannot be widened by `diffuse`, after which its"
            " covariance is no multiple of the noise variance; set broadening to geometric, temper"
            " or temper-prior"
        )
    a0, b0, prior_mean, prior_variance = prior
    beta, share, k = broadening.beta, broadening.prior_share, 1 + mean.shape[-1] / 2
    shape = beta * (a + k) + share * (a0 + k) - k
    if not (shape > 0).all():
        raise LearnerError(
            f"a normal-inverse-gamma posterior of shape a = {a.min():g} has no power"
            f" {beta:g} that can be normalised, which needs a > {(1 - beta) * k / beta:g}; set"
            " broadening to geometric or temper-prior, or raise beta, a0, or the rows of a task"
        )
    mean, root, loss = full_gaussian.powers(mean, root, beta, prior_mean, share / prior_variance)
    return shape, beta * b + share * b0 + loss / 2, mean, root
