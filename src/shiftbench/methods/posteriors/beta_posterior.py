"""Beta-divergence posterior of a linear regression, in the normal-inverse-gamma family.

The general Bayesian posterior of knoblauch2018robust (Eq. 4 to 6, and its appendix),

    prior(theta) exp{ sum_i [ f_i^beta / beta - (integral f^(1 + beta)) / (1 + beta) ] },

is approximated by mu | s2 ~ N(m, s2 Sigma), s2 ~ IG(a, b) with the largest ELBO, which has a
closed form. With s = d beta / 2, R_i = I + beta X_i Sigma X_i', e_i = y_i - X_i m and c_i =
(beta / 2) e_i' R_i^-1 e_i,

    ELBO = sum_i T_i + U - KL(q, prior),
    T_i = (1 / beta) (2 pi)^-s |R_i|^-1/2 [Gamma(a + s) / Gamma(a)] b^a (b + c_i)^-(a + s),
    U = -n (1 + beta)^(-d / 2 - 1) (2 pi b)^-s Gamma(a + s) / Gamma(a).

`fit` maximises it by L-BFGS in coordinates z around a starting point (a0, b0, m0, L0 L0' =
Sigma0) in which the ELBO of that point is nearly a unit bowl:

    log(b / a) = log(b0 / a0) + z_0 / sqrt(a0),    log a = log a0 + sqrt 2 z_1,
    m = m0 + sqrt(b0 / a0) L0 z_m,    Sigma = L L', L = L0 A,

A lower triangular with diagonal exp(z / sqrt 2). Compiled; the numbers of a posterior lie in one
array q = (a, b, m [p], L [p, p]).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MEMORY = 6
"""The number of pairs that L-BFGS keeps."""
ROOT2 = math.sqrt(2.0)


@njit(cache=True)
def work_size(d: int, p: int) -> int:
    """Return the size of the working array of `elbo`."""
    return d * p + d * d + d + p * p + p


@njit(cache=True)
def digamma(x: float) -> float:
    """Return psi(x) for x > 0: recurrence up to 10, then the asymptotic series (to 1e-14)."""
    total = 0.0
    while x < 10.0:
        total -= 1.0 / x
        x += 1.0
    w = 1.0 / (x * x)
    series = w * (
        1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * 691 / 32760))))
    )
    return total + math.log(x) - 0.5 / x - series


@njit(cache=True)
def trigamma(x: float) -> float:
    """Return psi'(x) for x > 0."""
    total = 0.0
    while x < 10.0:
        total += 1.0 / (x * x)
        x += 1.0
    w = 1.0 / (x * x)
    series = w * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * (1 / 30 - w * 5 / 66))))
    return total + 1.0 / x + 0.5 * w + series / x


@njit(cache=True, error_model="numpy")
def elbo(q, prior, beta, x, y, gradient, work):
    """Return the ELBO of q on rows x [n, d, p], y [n, d]; set its gradient in (a, b, m, Sigma).

    q: a, b, m, L. prior: a0, b0, m0, Sigma0^-1 as a matrix [p, p], log |Sigma0|. gradient: like q,
    but with the symmetric gradient in Sigma instead of L. work: `work_size(d, p)` numbers.
    """
    n, d, p = x.shape
    a, b, m = q[0], q[1], q[2 : 2 + p]
    s = 0.5 * d * beta
    gradient[:] = 0.0
    log_ratio = math.lgamma(a + s) - math.lgamma(a)
    slope = digamma(a + s) - digamma(a)
    if d == 1 and p == 1:
        value = _rows_scalar(a, b, m[0], q[3], beta, log_ratio, slope, x, y, gradient)
    else:
        value = _rows_general(q, beta, log_ratio, slope, x, y, gradient, work)
    u = -n * (1 + beta) ** (-0.5 * d - 1) * math.exp(log_ratio - s * math.log(2 * math.pi * b))
    gradient[0] += u * slope
    gradient[1] -= u * s / b
    return value + u - _kl(q, prior, p, gradient, work)


@njit(cache=True, error_model="numpy")
def _rows_scalar(a, b, m, root, beta, log_ratio, slope, x, y, gradient):
    """Return sum T_i for one target and one regressor; add its gradient."""
    s = 0.5 * beta
    constant = math.exp(log_ratio - s * math.log(2 * math.pi * b)) / beta
    value = in_a = in_b = in_m = in_sigma = 0.0
    for i in range(len(y)):
        xi = x[i, 0, 0]
        r = 1.0 + beta * (xi * root) ** 2
        e = y[i, 0] - xi * m
        v = xi * e / r
        log_tail = math.log1p(0.5 * beta * e * e / (r * b))
        t = constant * math.exp(-(a + s) * log_tail) / math.sqrt(r)
        over = (a + s) / (b + 0.5 * beta * e * e / r)
        value += t
        in_a += t * (slope - log_tail)
        in_b += t * (a / b - over)
        in_m += t * over * beta * v
        in_sigma += t * (over * 0.5 * beta * beta * v * v - 0.5 * beta * xi * xi / r)
    gradient[0] += in_a
    gradient[1] += in_b
    gradient[2] += in_m
    gradient[3] += in_sigma
    return value


@njit(cache=True, error_model="numpy")
def _rows_general(q, beta, log_ratio, slope, x, y, gradient, work):
    """Return sum T_i; add its gradient."""
    n, d, p = x.shape
    a, b, m, lower = q[0], q[1], q[2 : 2 + p], q[2 + p :].reshape(p, p)
    s = 0.5 * d * beta
    constant = math.exp(log_ratio - s * math.log(2 * math.pi * b)) / beta
    white = work[: d * p].reshape(d, p)
    root = work[d * p : d * p + d * d].reshape(d, d)
    e = work[d * p + d * d : d * p + d * d + d]
    v = work[-p:]
    value = 0.0
    for i in range(n):
        log_det, quadratic = _whiten(x[i], y[i], m, lower, beta, white, root, e)
        log_tail = math.log1p(0.5 * beta * quadratic / b)
        t = constant * math.exp(-(a + s) * log_tail - 0.5 * log_det)
        over = (a + s) / (b + 0.5 * beta * quadratic)
        value += t
        gradient[0] += t * (slope - log_tail)
        gradient[1] += t * (a / b - over)
        for k in range(p):
            v[k] = 0.0
            for j in range(d):
                v[k] += white[j, k] * e[j]
            gradient[2 + k] += t * over * beta * v[k]
        _add_outer(
            white, v, t * over * 0.5 * beta * beta, 0.5 * t * beta, gradient[2 + p :].reshape(p, p)
        )
    return value


@njit(cache=True, error_model="numpy")
def _whiten(x, y, m, lower, beta, white, root, e):
    """Return log |R| and e' R^-1 e of a row, with R = I + beta X L L' X'.

    Sets root, lower triangular with R = root root', white to root^-1 X, and e to root^-1 (y - X m).
    """
    d, p = x.shape
    for j in range(d):
        e[j] = y[j]
        for k in range(p):
            e[j] -= x[j, k] * m[k]
            white[j, k] = 0.0
            for k2 in range(k, p):
                white[j, k] += x[j, k2] * lower[k2, k]
    log_det = quadratic = 0.0
    for j in range(d):
        for j2 in range(j + 1):
            total = 1.0 if j == j2 else 0.0
            for k in range(p):
                total += beta * white[j, k] * white[j2, k]
            for k in range(j2):
                total -= root[j, k] * root[j2, k]
            root[j, j2] = math.sqrt(total) if j == j2 else total / root[j2, j2]
        log_det += 2 * math.log(root[j, j])
        for k in range(j):
            e[j] -= root[j, k] * e[k]
        e[j] /= root[j, j]
        quadratic += e[j] ** 2
    for k in range(p):
        for j in range(d):
            total = x[j, k]
            for j2 in range(j):
                total -= root[j, j2] * white[j2, k]
            white[j, k] = total / root[j, j]
    return log_det, quadratic


@njit(cache=True, error_model="numpy")
def _add_outer(white, v, of_v, of_white, total):
    """Add of_v v v' - of_white white' white to total, all [p, p]."""
    for k in range(len(v)):
        for k2 in range(k + 1):
            cross = 0.0
            for j in range(len(white)):
                cross += white[j, k] * white[j, k2]
            change = of_v * v[k] * v[k2] - of_white * cross
            total[k, k2] += change
            if k2 != k:
                total[k2, k] += change


@njit(cache=True, error_model="numpy")
def _kl(q, prior, p, gradient, work):
    """Return KL(q, prior); subtract its gradient."""
    a, b, a0, b0 = q[0], q[1], prior[0], prior[1]
    lower, precision = q[2 + p :].reshape(p, p), prior[2 + p : -1].reshape(p, p)
    of_m, of_sigma = gradient[2 : 2 + p], gradient[2 + p :].reshape(p, p)
    trace = distance = log_det = 0.0
    for k in range(p):
        log_det += 2 * math.log(lower[k, k])
        pulled = 0.0
        for k2 in range(p):
            pulled += precision[k, k2] * (q[2 + k2] - prior[2 + k2])
            sigma = 0.0
            for k3 in range(min(k, k2) + 1):
                sigma += lower[k, k3] * lower[k2, k3]
            trace += precision[k, k2] * sigma
            of_sigma[k, k2] -= 0.5 * precision[k, k2]
        distance += (q[2 + k] - prior[2 + k]) * pulled
        of_m[k] -= a / b * pulled
    _add_half_inverse(lower, of_sigma, work[: p * p].reshape(p, p))
    gradient[0] -= distance / (2 * b) + (a - a0) * trigamma(a) + (b0 - b) / b
    gradient[1] -= -a * distance / (2 * b * b) + a0 / b - a * b0 / (b * b)
    gamma = (a - a0) * digamma(a) - math.lgamma(a) + math.lgamma(a0)
    return (
        0.5 * (trace - p + prior[-1] - log_det)
        + 0.5 * a / b * distance
        + gamma
        + a0 * math.log(b / b0)
        + a * (b0 - b) / b
    )


@njit(cache=True, error_model="numpy")
def _add_half_inverse(lower, total, inverse):
    """Add (L L')^-1 / 2 to total; inverse: working array for L^-1."""
    p = len(lower)
    inverse[:] = 0.0
    for k in range(p):
        inverse[k, k] = 1.0 / lower[k, k]
        for i in range(k + 1, p):
            entry = 0.0
            for j in range(k, i):
                entry -= lower[i, j] * inverse[j, k]
            inverse[i, k] = entry / lower[i, i]
    for k in range(p):
        for k2 in range(p):
            entry = 0.0
            for i in range(max(k, k2), p):
                entry += inverse[i, k] * inverse[i, k2]
            total[k, k2] += 0.5 * entry


@njit(cache=True, error_model="numpy")
def place(z, start, p, q):
    """Set q to the point with coordinates z around start."""
    a = start[0] * math.exp(ROOT2 * z[1])
    ratio = start[1] / start[0]
    q[0], q[1] = a, a * ratio * math.exp(z[0] / math.sqrt(start[0]))
    width = math.sqrt(ratio)
    lower, first = q[2 + p :].reshape(p, p), start[2 + p :].reshape(p, p)
    turn = z[2 + p :].reshape(p, p)
    for i in range(p):
        shift = 0.0
        for k in range(i + 1):
            shift += first[i, k] * z[2 + k]
            total = first[i, k] * math.exp(turn[k, k] / ROOT2)
            for j in range(k + 1, i + 1):
                total += first[i, j] * turn[j, k]
            lower[i, k] = total
        for k in range(i + 1, p):
            lower[i, k] = 0.0
        q[2 + i] = start[2 + i] + width * shift


@njit(cache=True, error_model="numpy")
def pull(z, start, p, q, gradient, of_z):
    """Set of_z, the gradient in z, from the gradient in q."""
    a, b = q[0], q[1]
    of_z[0] = gradient[1] * b / math.sqrt(start[0])
    of_z[1] = ROOT2 * (gradient[0] * a + gradient[1] * b)
    width = math.sqrt(start[1] / start[0])
    lower, first = q[2 + p :].reshape(p, p), start[2 + p :].reshape(p, p)
    turn, of_turn = z[2 + p :].reshape(p, p), of_z[2 + p :].reshape(p, p)
    of_sigma = gradient[2 + p :].reshape(p, p)
    of_turn[:] = 0.0
    for k in range(p):
        of_z[2 + k] = 0.0
        for i in range(k, p):
            of_z[2 + k] += width * first[i, k] * gradient[2 + i]
        for i in range(p):
            of_lower = 0.0
            for j in range(k, p):
                of_lower += 2 * of_sigma[i, j] * lower[j, k]
            for j in range(k, i + 1):
                of_turn[j, k] += first[i, j] * of_lower
    for k in range(p):
        of_turn[k, k] *= math.exp(turn[k, k] / ROOT2) / ROOT2


@njit(cache=True, error_model="numpy")
def fit(q, prior, beta, x, y, tolerance, limit):
    """Move q to the largest ELBO near it; return the number of evaluations.

    L-BFGS with backtracking. Stops when no entry of the gradient in z exceeds `tolerance` (the ELBO
    is then within about its square), or after `limit` evaluations.
    """
    d, p = x.shape[1], x.shape[2]
    size = len(q)
    start, trial = q.copy(), q.copy()
    gradient, work = np.empty(size), np.empty(work_size(d, p))
    z, next_z, step = np.zeros(size), np.zeros(size), np.zeros(size)
    of_z, next_of_z = np.empty(size), np.empty(size)
    steps, turns = np.zeros((MEMORY, size)), np.zeros((MEMORY, size))
    products, weights = np.zeros(MEMORY), np.zeros(MEMORY)
    value = elbo(q, prior, beta, x, y, gradient, work)
    pull(z, start, p, q, gradient, of_z)
    evaluations, kept = 1, np.int64(0)
    while evaluations < limit and np.abs(of_z).max() > tolerance:
        _direction(of_z, steps, turns, products, weights, kept, step)
        climb = step @ of_z
        if climb <= 0:
            step[:] = of_z
            climb, kept = of_z @ of_z, 0
        length = min(1.0, 2.0 / np.abs(step).max())
        better = False
        while evaluations < limit and length > 1e-10:
            next_z[:] = z + length * step
            place(next_z, start, p, trial)
            trial_value = elbo(trial, prior, beta, x, y, gradient, work)
            evaluations += 1
            if trial_value >= value + 1e-4 * length * climb:
                better = True
                break
            length *= 0.3
        if not better:
            break
        pull(next_z, start, p, trial, gradient, next_of_z)
        slot = kept % MEMORY
        steps[slot] = next_z - z
        turns[slot] = of_z - next_of_z
        products[slot] = steps[slot] @ turns[slot]
        if products[slot] > 1e-12:
            kept += 1
        value = trial_value
        z[:], of_z[:], q[:] = next_z, next_of_z, trial
    return evaluations


@njit(cache=True, error_model="numpy")
def _direction(of_z, steps, turns, products, weights, kept, step):
    """Set step to the L-BFGS direction of ascent (two loops); the first scale is 1."""
    step[:] = of_z
    newest = min(kept, MEMORY)
    for back in range(newest):
        i = (kept - 1 - back) % MEMORY
        weights[i] = (steps[i] @ step) / products[i]
        step -= weights[i] * turns[i]
    if kept:
        i = (kept - 1) % MEMORY
        step *= products[i] / (turns[i] @ turns[i])
    for back in range(newest - 1, -1, -1):
        i = (kept - 1 - back) % MEMORY
        step += (weights[i] - (turns[i] @ step) / products[i]) * steps[i]
