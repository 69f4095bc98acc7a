"""Stochastic variance-reduced gradients (SVRG) for the beta posterior: knoblauch2018robust, 3.2.

Each row makes one step of each posterior,

    z <- z + eta n (g_new - g_old + g_anchor) - eta d KL / dz,

with g the mean gradient of the ELBO's rows: g_new at the current point and g_old at the anchor, on
the same BATCH rows of the window, and g_anchor at the anchor on ANCHOR_BATCH rows. While the window
is not full, the anchor is the optimum, computed again after EVERY rows; later it is the current
point, renewed after a geometric number of rows. Batch sizes, EVERY and eta: the authors' script for
the well-log.

z are the coordinates of `beta_posterior.place` around the anchor, in which the ELBO of the anchor's
rows is about a unit bowl; so eta is a share of Newton's step. Here it is 1 / n, to which both of
the script's steps (0.2 / (1 + 0.19 n) for m and Sigma, 3 / (1 + 2.97 n) for a and b) tend, and
stays 1 / window for a full window; with the script's (10 / 25)^(2/3) there, the ELBO is 3 nats
short of the best, not 0.7. The script has no optimum before row 10; here the first are after rows
1, 2, 4, 8 and 16.

`own`, the state of a posterior besides its q, holds `size(p)` numbers: anchor, z and g_anchor
[2 + p + p p], rows until the next anchor, state of the generator (an integer below 2^32), rows at
the anchor.

`plain_step` is the plain stochastic gradient that the paper compares with in words: the same step
and batch, no anchor and no optimum, in coordinates around the current point.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.methods.posteriors import beta_posterior

ANCHOR_BATCH, BATCH, EVERY = 25, 10, 20
"""B*, b* and m of the paper."""


def size(p: int) -> int:
    """Return how many numbers `own` holds."""
    return 3 * (2 + p + p * p) + 3


@njit(cache=True)
def wants_optimum(own, rows, window):
    """Return whether an anchor is due that must be the optimum, which the caller then sets as q."""
    return own[-3] <= 0 and rows < window


@njit(cache=True, error_model="numpy")
def step(own, q, prior, beta, x, y, window):
    """Move q in place after a row; x [n, d, p], y [n, d] are the rows of the window."""
    k, n = len(q), len(y)
    anchor, z, of_anchor, random = own[:k], own[k : 2 * k], own[2 * k : 3 * k], own[-2:-1]
    if own[-3] <= 0:
        anchor[:], z[:] = q, 0.0
        of_anchor[:] = _mean_gradient(
            random, anchor, q, z, prior, beta, x, y, np.int64(ANCHOR_BATCH)
        )
        own[-1] = n
        own[-3] = min(n, EVERY) if n < window else _geometric(random)
    before = own[-2]
    new = _mean_gradient(random, anchor, q, z, prior, beta, x, y, np.int64(BATCH))
    own[-2] = before  # so that both draw the same rows
    old = _mean_gradient(random, anchor, anchor, np.zeros(k), prior, beta, x, y, np.int64(BATCH))
    # eta = 1 / n, in a bowl that is steeper than the anchor's by the ratio of their rows.
    move = (
        own[-1]
        / n**2
        * (n * (new - old + of_anchor) + _prior_gradient(anchor, q, z, prior, beta, x, y))
    )
    for i in range(k):
        z[i] += min(max(move[i], -1.0), 1.0)
    beta_posterior.place(z, anchor, x.shape[2], q)
    own[-3] -= 1


@njit(cache=True, error_model="numpy")
def plain_step(random, q, prior, beta, x, y):
    """Move q in place after a row, by a share 1 / n of Newton's step on at most BATCH random rows.

    random: one number, the state of the generator. x [n, d, p], y [n, d]: rows of the window.
    """
    n, anchor, z = len(y), q.copy(), np.zeros(len(q))
    mean = _mean_gradient(random, anchor, q, z, prior, beta, x, y, np.int64(BATCH))
    move = mean + _prior_gradient(anchor, q, z, prior, beta, x, y) / n
    for i in range(len(q)):
        z[i] = min(max(move[i], -1.0), 1.0)
    beta_posterior.place(z, anchor, x.shape[2], q)


@njit(cache=True, error_model="numpy")
def _mean_gradient(random, anchor, q, z, prior, beta, x, y, limit):
    """Return the mean gradient in z of the ELBO without KL, over at most `limit` random rows."""
    n = len(y)
    count = min(n, limit)
    rows = np.arange(n) if count == n else _drawn(random, n, count)
    gradient = _elbo_gradient(anchor, q, z, prior, beta, x[rows], y[rows])
    return (gradient - _prior_gradient(anchor, q, z, prior, beta, x, y)) / count


@njit(cache=True, error_model="numpy")
def _prior_gradient(anchor, q, z, prior, beta, x, y):
    """Return the gradient in z of -KL, the ELBO of no rows."""
    return _elbo_gradient(anchor, q, z, prior, beta, x[:0], y[:0])


@njit(cache=True, error_model="numpy")
def _elbo_gradient(anchor, q, z, prior, beta, x, y):
    """Return the gradient in z of the ELBO."""
    d, p = x.shape[1], x.shape[2]
    gradient, of_z = np.empty(len(q)), np.empty(len(q))
    work = np.empty(beta_posterior.work_size(d, p))
    beta_posterior.elbo(q, prior, beta, x, y, gradient, work)
    beta_posterior.pull(z, anchor, p, q, gradient, of_z)
    return of_z


@njit(cache=True)
def _drawn(random, n, count):
    """Return `count` different random numbers below n (R. Floyd's algorithm)."""
    drawn = np.empty(count, np.int64)
    for i in range(count):
        top = n - count + i
        number = int(_uniform(random) * (top + 1))
        for j in range(i):
            if drawn[j] == number:
                number = top
        drawn[i] = number
    return drawn


@njit(cache=True)
def _geometric(random):
    """Return the number of trials up to the first success, of probability B* / (B* + b*)."""
    failure = BATCH / (ANCHOR_BATCH + BATCH)
    return 1 + math.floor(math.log(1.0 - _uniform(random)) / math.log(failure))


@njit(cache=True)
def _uniform(random):
    """Return the next number in [0, 1) of a linear congruential generator (Numerical Recipes)."""
    number = (np.int64(random[0]) * 1664525 + 1013904223) % 4294967296
    random[0] = number
    return number / 4294967296.0
