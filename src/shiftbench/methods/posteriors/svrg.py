"""Stochastic variance-reduced gradients for the beta posterior, as knoblauch2018robust, section
3.2, has it.

Per posterior and row one step

    z <- z + eta n (g_new - g_old + g_anchor) - eta d KL / dz,

g the mean gradients of the ELBO's rows: g_new here and g_old at the anchor on the same BATCH
rows of the window, g_anchor at the anchor on ANCHOR_BATCH rows. While the window is not full
the anchor is the optimum, found anew after EVERY rows; later it is the current point, after a
geometric number of rows. Batch sizes, EVERY and eta: the authors' script for the well-log.

z are the coordinates of `beta_posterior.place` around the anchor, in which the ELBO of the
anchor's rows is about a unit bowl; so eta is a share of Newton's step. Here it is 1 / n, to
which both of the script's steps (0.2 / (1 + 0.19 n) for m and Sigma, 3 / (1 + 2.97 n) for a
and b) tend, and stays 1 / window after; with the script's (10 / 25)^(2/3) there, the ELBO is
3 nats short of the best, not 0.7. The script has no optimum before row 10; here the first
are after rows 1, 2, 4, 8 and 16.

Numbers of a posterior beside its q, `size(p)` of them: anchor, z, g_anchor [2 + p + p p] each,
rows until the next anchor, state of the generator (a whole number below 2^32), rows at anchor.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.methods.posteriors import beta_posterior

ANCHOR_BATCH, BATCH, EVERY = 25, 10, 20
"""B*, b* and m of the paper."""


def size(p: int) -> int:
    """Numbers that are kept beside q."""
    return 3 * (2 + p + p * p) + 3


@njit(cache=True)
def wants_optimum(own, rows, window):
    """Whether the anchor is due and still the optimum, which the caller then puts into q."""
    return own[-3] <= 0 and rows < window


@njit(cache=True, error_model="numpy")
def step(own, q, prior, beta, x, y, window):
    """Moves q, in place, after a row; x [n, d, p], y [n, d] are the rows of the window."""
    k, n = len(q), len(y)
    anchor, z, of_anchor = own[:k], own[k : 2 * k], own[2 * k : 3 * k]
    if own[-3] <= 0:
        anchor[:], z[:] = q, 0.0
        of_anchor[:] = _mean_gradient(own, q, z, prior, beta, x, y, np.int64(ANCHOR_BATCH))
        own[-1] = n
        own[-3] = min(n, EVERY) if n < window else _geometric(own)
    before = own[-2]
    new = _mean_gradient(own, q, z, prior, beta, x, y, np.int64(BATCH))
    own[-2] = before  # so that both draw the same rows
    old = _mean_gradient(own, anchor, np.zeros(k), prior, beta, x, y, np.int64(BATCH))
    # eta = 1 / n, in a bowl as much steeper as there are more rows than at the anchor.
    move = (
        own[-1]
        / n**2
        * (n * (new - old + of_anchor) + _prior_gradient(own, q, z, prior, beta, x, y))
    )
    for i in range(k):
        z[i] += min(max(move[i], -1.0), 1.0)
    beta_posterior.place(z, anchor, x.shape[2], q)
    own[-3] -= 1


@njit(cache=True, error_model="numpy")
def _mean_gradient(own, q, z, prior, beta, x, y, most):
    """Mean over at most `most` random rows of the gradient in z of the ELBO without its KL."""
    n = len(y)
    many = min(n, most)
    rows = np.arange(n) if many == n else _drawn(own, n, many)
    gradient = _pulled(own, q, z, prior, beta, x[rows], y[rows])
    return (gradient - _prior_gradient(own, q, z, prior, beta, x, y)) / many


@njit(cache=True, error_model="numpy")
def _prior_gradient(own, q, z, prior, beta, x, y):
    """Gradient in z of -KL, the ELBO of no rows."""
    return _pulled(own, q, z, prior, beta, x[:0], y[:0])


@njit(cache=True, error_model="numpy")
def _pulled(own, q, z, prior, beta, x, y):
    d, p = x.shape[1], x.shape[2]
    gradient, of_z = np.empty(len(q)), np.empty(len(q))
    work = np.empty(beta_posterior.work_size(d, p))
    beta_posterior.elbo(q, prior, beta, x, y, gradient, work)
    beta_posterior.pull(z, own[: len(q)], p, q, gradient, of_z)
    return of_z


@njit(cache=True)
def _drawn(own, n, many):
    """`many` different numbers below n (R. Floyd's algorithm)."""
    found = np.empty(many, np.int64)
    for i in range(many):
        top = n - many + i
        number = int(_uniform(own) * (top + 1))
        for j in range(i):
            if found[j] == number:
                number = top
        found[i] = number
    return found


@njit(cache=True)
def _geometric(own):
    """Trials up to the first success, of probability B* / (B* + b*)."""
    failure = BATCH / (ANCHOR_BATCH + BATCH)
    return 1 + math.floor(math.log(1.0 - _uniform(own)) / math.log(failure))


@njit(cache=True)
def _uniform(own):
    """The next number in [0, 1) of a linear congruential generator (Numerical Recipes)."""
    number = (np.int64(own[-2]) * 1664525 + 1013904223) % 4294967296
    own[-2] = number
    return number / 4294967296.0
