"""Normal-inverse-gamma posterior of a linear regression: mu | s2 ~ N(m, s2 L L'), s2 ~ IG(a, b).

y = X mu + noise, y in R^d, noise N(0, s2 I_d), X [d, p]. Source: knoblauch2018robust, section 4
(which prints I_d for s2 I_d); the standard conjugate updates, on the lower factor L of the
covariance (N. A. Carlson, 1973), which no regressor, however large, can make lose its
positive variances. Compiled, in place, one row (y, X) a time; no matrix is inverted.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.core.interface import Broadening, LearnerError, StudentT
from shiftbench.methods.posteriors import full_gaussian


@njit(cache=True, error_model="numpy")
def learn(x, y, mean, root, work):
    """Learns the row x [d, p], y [d] into mean [p] and root [p, p]; work: 2 p numbers.

    Returns what the row's prediction needs, log determinant of R = I + X L L' X' and e' R^-1 e
    of the residual e = y - X m before; a grows by d / 2 and b by e' R^-1 e / 2. The targets are
    learnt one after the other: with s the variance of one and e its residual, given those
    before it, the first is the sum of log s, the second that of e^2 / s.
    """
    log_det = quadratic = 0.0
    p = len(mean)
    v, gain = work[:p], work[p : 2 * p]
    for j in range(len(y)):
        error = y[j]
        v[:] = 0.0
        for i in range(p):
            if x[j, i] != 0.0:
                error -= x[j, i] * mean[i]
                for k in range(i + 1):
                    v[k] += root[i, k] * x[j, i]
        spread = _contract(root, v, gain)
        for i in range(p):
            mean[i] += gain[i] * (error / spread)
        log_det += math.log(spread)
        quadratic += error * (error / spread)
    return log_det, quadratic


@njit(cache=True, error_model="numpy")
def _contract(root, v, gain):
    """root <- L C with C C' = I - v v' / s, C lower triangular; returns s = 1 + v'v.

    gain: L v. With s_k = 1 + v_k^2 + v_k+1^2 + ..., C has s_k+1 / s_k in the squares of its
    diagonal and -v_j v_k / sqrt(s_k s_k+1) below it: there is no difference to cancel.
    """
    gain[:] = 0.0
    after = 1.0
    for k in range(len(v) - 1, -1, -1):
        s = after + v[k] * v[k]
        stay, turn = math.sqrt(after / s), v[k] / math.sqrt(s) / math.sqrt(after)
        for i in range(k, len(v)):
            before = root[i, k]
            root[i, k] = before * stay - gain[i] * turn
            gain[i] += before * v[k]
        after = s
    return after


def scale(x: np.ndarray, root: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scale matrix (b / a) (I + X L L' X') of the prediction, [..., d, d]; df is 2 a."""
    spread = x @ root
    return (b / a)[..., None, None] * (np.eye(x.shape[-2]) + spread @ np.swapaxes(spread, -1, -2))


def prediction(
    x: np.ndarray, a: np.ndarray, b: np.ndarray, mean: np.ndarray, root: np.ndarray
) -> StudentT:
    """Of rows with designs x [S, H, n, d, p], in equal parts by each hypothesis.

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
    """a, b, mean and root of q^beta p0^c, renormalised; prior: a0, b0, prior mean and variance.

    c is 0 for temper, 1 for temper-prior, 1 - beta for geometric. With k = 1 + p / 2, by which the
    exponent of s2 is larger than a, and Q the least of what both exponents lose in mu:

        a' = beta (a + k) + c (a0 + k) - k,    b' = beta b + c b0 + Q / 2.

    A power of the density in s2 alone, which is what counts for c = 0, has a' = beta a -
    (1 - beta) k: below 0 it has no integral, and there is a LearnerError. With a share of the
    prior a' is always positive. LearnerError for diffuse: mu | s2 ~ N(m, s2 L L') with a variance
    added that does not scale with s2 is no member of the family.
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
    moved, wide, lost = full_gaussian.powers(mean, root, beta, prior_mean, share / prior_variance)
    return shape, beta * b + share * b0 + lost / 2, moved, wide
