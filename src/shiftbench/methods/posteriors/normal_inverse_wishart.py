"""Normal-inverse-Wishart posterior of a mean mu and a covariance C of vectors in R^d.

mu | C ~ N(m, C / kappa), C ~ IW(nu, Psi), nu > d - 1, Psi = L L'. Source: A. Gelman et al.,
Bayesian Data Analysis, third edition, section 3.6. The updates act on the lower factor L, so that
covariances stay positive. For d = 1 it is the normal-inverse-gamma with a = nu / 2, b = Psi / 2 and
the root 1 / sqrt(kappa). Compiled, in place, one posterior at a time.
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, error_model="numpy")
def learn(scales, mean, root, y, work):
    """Update (kappa, nu), mean [d] and root [d d], flat, by a row y [d]; work: d numbers.

    Returns log |V| and e' V^-1 e / df of the row's prediction before the update, a Student's t
    with df = nu - d + 1, scale V = Psi (kappa + 1) / (kappa df), and residual e = y - m.
    """
    d, kappa, nu = len(mean), scales[0], scales[1]
    df, shrink = nu - d + 1, kappa / (kappa + 1)
    log_det, squared = -d * math.log(df * shrink), 0.0
    for i in range(d):
        white = y[i] - mean[i]
        for k in range(i):
            white -= root[i * d + k] * work[k]
        work[i] = white / root[i * d + i]
        log_det += 2 * math.log(root[i * d + i])
        squared += work[i] * work[i]
    narrow = math.sqrt(shrink)
    for i in range(d):
        work[i] = y[i] - mean[i]
        mean[i] += work[i] / (kappa + 1)
        work[i] *= narrow
    add(root, work)
    scales[0], scales[1] = kappa + 1, nu + 1
    return log_det, shrink * squared


@njit(cache=True, error_model="numpy")
def add(root, vector):
    """Set root [d d], flat, to that of root root' + vector vector'; vector [d] is overwritten."""
    d = len(vector)
    for k in range(d):
        before, entry = root[k * d + k], vector[k]
        after = math.sqrt(before * before + entry * entry)
        stay, turn = after / before, entry / before
        root[k * d + k] = after
        for i in range(k + 1, d):
            root[i * d + k] = (root[i * d + k] + turn * vector[i]) / stay
            vector[i] = stay * vector[i] - turn * root[i * d + k]


@njit(cache=True, error_model="numpy")
def predict(scales, mean, root, out):
    """Set out to the prediction of a row: location [d], scale matrix [d d] and df."""
    d, kappa = len(mean), scales[0]
    df = scales[1] - d + 1
    factor = (kappa + 1) / (kappa * df)
    for i in range(d):
        out[i] = mean[i]
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += root[i * d + k] * root[j * d + k]
            out[d + i * d + j] = out[d + j * d + i] = factor * total
    out[d + d * d] = df


@njit(cache=True, error_model="numpy")
def relax(scales, mean, beta, prior):
    """Move mean [d] and kappa towards those of the prior (`ou`); the covariance C is kept.

    prior: as in `powers`. In units of C, the covariance 1 / kappa of the mean becomes
    beta^2 / kappa + (1 - beta^2) / kappa0.
    """
    if beta == 1:
        return
    for i in range(len(mean)):
        mean[i] = beta * mean[i] + (1 - beta) * prior[2]
    scales[0] = 1 / (beta * beta / scales[0] + (1 - beta * beta) / prior[0])


@njit(cache=True, error_model="numpy")
def powers(scales, mean, root, beta, share, prior, work):
    """Set (kappa, nu), mean [d] and root [d d] to those of q^beta p0^share, renormalised.

    prior: kappa0, nu0, the mean of all d, and psi0 with Psi0 = psi0 I. work: d numbers. Returns
    whether the power is a distribution: nu' > d - 1 and kappa' > 0. With k = d + 2:

        kappa' = beta kappa + share kappa0,    nu' = beta (nu + k) + share (nu0 + k) - k,
        Psi' = beta Psi + share Psi0 + (beta kappa) (share kappa0) / kappa' (m - m0) (m - m0)'.
    """
    d, k = len(mean), len(mean) + 2
    kept, added = beta * scales[0], share * prior[0]
    kappa, narrow = kept + added, math.sqrt(beta)
    for i in range(d * d):
        root[i] *= narrow
    if share > 0:
        pull = math.sqrt(kept * added / kappa)
        for i in range(d):
            work[i] = pull * (mean[i] - prior[2])
            mean[i] = (kept * mean[i] + added * prior[2]) / kappa
        add(root, work)
        for i in range(d):
            work[:] = 0.0
            work[i] = math.sqrt(share * prior[3])
            add(root, work)
    scales[0] = kappa
    scales[1] = beta * (scales[1] + k) + share * (prior[1] + k) - k
    return scales[1] > d - 1 and kappa > 0
