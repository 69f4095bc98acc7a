"""Bayesian logistic regression with weighted counts in float64, by high-order quadrature.

The reference for `words.newton`: one fit at a time, in plain NumPy.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import expit

NODES = 61


quadrature = cache(np.polynomial.hermite_e.hermegauss)


def averages(features, mean, precision, nodes=NODES):
    """Return E softplus, E s and E s' [V] of x_j = u.v_j under N(mean, 1 / precision)."""
    z, w = quadrature(nodes)
    x = (features @ mean)[:, None] + np.sqrt(features**2 @ (1 / precision))[:, None] * z
    values = np.logaddexp(0, x), expit(x), expit(x) * expit(-x)
    return [value @ (w / w.sum()) for value in values]


def elbo(features, counts, prior, q, nodes=NODES):
    """Return expected log likelihood and KL.

    counts: (n+, n-) [V, 2]. prior, q: (mean, precision).
    """
    (m0, p0), (m, p) = prior, q
    softplus = averages(features, m, p, nodes)[0]
    expected = counts[:, 0] @ (features @ m) - counts.sum(axis=1) @ softplus
    kl = 0.5 * (p0 / p + p0 * (m - m0) ** 2 - 1 - np.log(p0 / p)).sum()
    return expected, kl


def optimum(features, counts, prior, steps=100):
    """Return (mean, precision) of the best mean-field Gaussian, by damped Newton steps."""
    (m0, p0), total = prior, counts.sum(axis=1)
    m, p = m0.copy(), p0.copy()
    linear = counts[:, 0] @ features
    best = -np.inf
    for _ in range(steps):
        _, first, second = averages(features, m, p)
        gradient = p0 * (m0 - m) + linear - (total * first) @ features
        hessian = np.diag(p0) + (features.T * (total * second)) @ features
        move, share = np.linalg.solve(hessian, gradient), 1.0
        while share > 1e-9:
            new = m + share * move, p ** (1 - share) * np.diag(hessian) ** share
            value = np.subtract(*elbo(features, counts, prior, new))
            if value >= best - 1e-12 * abs(best):
                break
            share /= 2
        if value <= best + 1e-13 * abs(best):
            break
        (m, p), best = new, value
    return m, p
