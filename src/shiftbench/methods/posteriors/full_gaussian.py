"""Broadening of a Gaussian with a full covariance, N(mean, L L'), L lower triangular.

Source: li2021vbs, section 3.2 and Eq. 3; all kinds stay in the family. Everything is computed from
L, whose diagonal can become neither negative nor, except by underflow, zero. Compiled, in place,
one Gaussian at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.core.interface import Broadening


def broaden(
    mean: np.ndarray,
    root: np.ndarray,
    broadening: Broadening,
    prior_mean: float = 0.0,
    prior_variance: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean [..., P] and root [..., P, P] of the widened Gaussian, for any leading axes.

    The prior is N(prior_mean, prior_variance I). As `mean_field_gaussian.broaden`: temper q^beta,
    temper-prior q^beta N(prior), geometric q^beta N(prior)^(1 - beta), diffuse covariance + D I, ou
    a move towards the prior.

    temper has no bound: the variance in a direction without data grows by 1 / beta each time
    (covariance wind-up). With a share of the prior it grows at most to that of the prior.
    """
    mean, root = (np.array(a, float, order="C") for a in (mean, root))
    p = mean.shape[-1]
    means, roots, work = mean.reshape(-1, p), root.reshape(-1, p, p), np.empty(p * p + p)
    for one in range(len(means)):
        if broadening.kind == "diffuse":
            diffuse(roots[one], 1.0, float(broadening.variance), work)
        elif broadening.kind == "ou":
            prior = float(prior_mean), float(prior_variance)
            relax(means[one], roots[one], float(broadening.beta), *prior, work)
        else:
            share = float(broadening.prior_share / prior_variance)
            powers(means[one], roots[one], float(broadening.beta), float(prior_mean), share, work)
    return mean, root


@njit(cache=True, error_model="numpy")
def powers(mean, root, beta, prior_mean, precision, work):
    """Set mean [P] and root [P, P] to those of q^beta times exp(-precision |x - prior_mean|^2 / 2).

    work: P P + P numbers. Returns the minimum over x, taken at the new mean, of
    beta |x - mean|^2 (in q's metric) + precision |x - prior_mean|^2. With C = beta I +
    precision L'L, the new covariance is L C^-1 L', and the new mean is mean + L C^-1 L'
    (prior_mean - mean) precision. C = W'W with W lower triangular, so that the new root, L W^-1,
    is lower triangular.
    """
    p = len(mean)
    if precision == 0:
        narrow = math.sqrt(beta)
        for i in range(p):
            for j in range(i + 1):
                root[i, j] /= narrow
        return 0.0
    w, step = work[: p * p].reshape(p, p), work[p * p : p * p + p]
    _gram(root, beta, precision, w)
    _factor_from_below(w)
    for j in range(p):
        step[j] = 0.0
    for i in range(p):
        pull = precision * (prior_mean - mean[i])
        for j in range(i + 1):
            step[j] += root[i, j] * pull
    _solve_gram(w, step)
    loss = 0.0
    for i in range(p):
        for j in range(i + 1):
            mean[i] += root[i, j] * step[j]
    for j in range(p):
        loss += beta * step[j] ** 2 + precision * (mean[j] - prior_mean) ** 2
    for i in range(p):
        for j in range(i, -1, -1):
            root[i, j] /= w[j, j]
            for k in range(j):
                root[i, k] -= root[i, j] * w[j, k]
    return loss


@njit(cache=True, error_model="numpy")
def relax(mean, root, beta, prior_mean, prior_variance, work):
    """Move mean [P] and root [P, P] towards N(prior_mean, prior_variance I); work: P P numbers.

    The mean becomes beta mean + (1 - beta) prior_mean, and the covariance beta^2 root root' +
    (1 - beta^2) prior_variance I: beta = 1 changes nothing, beta = 0 gives the prior.
    """
    if beta == 1:
        return
    for i in range(len(mean)):
        mean[i] = beta * mean[i] + (1 - beta) * prior_mean
    diffuse(root, beta * beta, (1 - beta * beta) * prior_variance, work)


@njit(cache=True, error_model="numpy")
def diffuse(root, kept, variance, work):
    """Set root [P, P] to that of the covariance kept root root' + variance I; work: P P numbers."""
    p = len(root)
    covariance = work[: p * p].reshape(p, p)
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += root[i, k] * root[j, k]
            covariance[i, j] = kept * total
        covariance[i, i] += variance
    for i in range(p):
        for j in range(i + 1):
            total = covariance[i, j]
            for k in range(j):
                total -= root[i, k] * root[j, k]
            root[i, j] = math.sqrt(total) if i == j else total / root[j, j]


@njit(cache=True, error_model="numpy")
def _gram(root, beta, precision, w):
    """Set the lower half of w to beta I + precision L'L."""
    p = len(root)
    for j in range(p):
        for k in range(j):
            w[j, k] = 0.0
        w[j, j] = beta
    for i in range(p):
        for j in range(i + 1):
            scaled = precision * root[i, j]
            for k in range(j + 1):
                w[j, k] += scaled * root[i, k]


@njit(cache=True, error_model="numpy")
def _factor_from_below(w):
    """Set the lower half of w, a matrix C, to the W with C = W'W, from the last row up."""
    for k in range(len(w) - 1, -1, -1):
        w[k, k] = math.sqrt(w[k, k])
        for j in range(k):
            w[k, j] /= w[k, k]
        for j in range(k):
            for i in range(j + 1):
                w[j, i] -= w[k, j] * w[k, i]


@njit(cache=True, error_model="numpy")
def _solve_gram(w, step):
    """Replace step by the solution x of W'W x = step."""
    p = len(step)
    for j in range(p - 1, -1, -1):
        step[j] /= w[j, j]
        for k in range(j):
            step[k] -= step[j] * w[j, k]
    for j in range(p):
        for k in range(j):
            step[j] -= w[j, k] * step[k]
        step[j] /= w[j, j]
