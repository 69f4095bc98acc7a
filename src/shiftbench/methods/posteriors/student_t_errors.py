"""Linear regression with Student's t errors, in the normal-inverse-gamma family.

y = x' mu + sqrt(s2 / w) noise, with a weight w ~ Gamma(nu / 2, rate nu / 2) for each row, which
makes the error Student's t with nu degrees of freedom. knoblauch2018robust, 2.1 and 2.3, compares
beta divergences with such errors. Given w a row has the conjugate update, and w has a density in
one dimension. So after a row the posterior is a mixture over w. It is replaced by the
normal-inverse-gamma with the same E[1 / s2], E[log s2], E[mu / s2] and E[mu mu' / s2], which is the
nearest one in KL(mixture, it): assumed density filtering. Integrals over w are sums over log w (the
trapezoid rule); nothing is drawn. Tests compare one dimension with quadrature over (mu, s2).

With the gain g = Sigma x, r = x' Sigma x, e = y - x' m and s = 1 / w + r, a weight has the mean
m + g e / s, the covariance Sigma - g g' / s and the scale b + e^2 / (2 s); hence all moments change
along g alone. Compiled, in place, one row at a time. An outlier has a small w; sums leave out nodes
of smaller w than the row needs. `nodes` holds 1 / w of each node, then the probabilities and their
logarithms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.methods.posteriors import normal_inverse_gamma, student_t
from shiftbench.methods.posteriors.beta_posterior import digamma, trigamma

MASS, RIGHT, OUTLIERS = 60.0, 6.0, 200.0
"""Range of the nodes for a row without an error: log w down to where the prior density of log w is
e^(-MASS / 2) of its largest, and up to RIGHT standard deviations above 0. A squared error of z
variances needs log(1 + z) more below. There are nodes for OUTLIERS more: errors of up to e^100, or
3e43, standard deviations. Tests have 1e40."""
STEPS = 4
"""Steps of Newton's method that find a shape; each squares the error, which begins below 2 %."""


def nodes(df: float) -> np.ndarray:
    """Return 1 / w, probabilities and their logarithms [3 K]; df: degrees of freedom of errors.

    The nodes have equal distances in log w, of .6 of the smallest standard deviation that log w has
    after a row; sums are then exact to about six digits.
    """
    width = math.sqrt(2 / (df + 1))
    step = 0.6 * width
    share = MASS / df  # at -x, the density has e^(-df / 2 (x - 1 + e^-x)) of its largest
    count = math.ceil((share + math.sqrt(2 * share) + OUTLIERS) / step)
    above = math.ceil((1 + RIGHT * width) / step)
    logs = [step * number for number in range(-count, above + 1)]
    # Relative to the largest, at log w = 0.
    masses = [0.5 * df * (u + 1 - math.exp(u)) for u in logs]
    total = math.fsum(map(math.exp, masses))
    probabilities = [math.exp(mass) / total for mass in masses]
    log_probabilities = [mass - math.log(total) for mass in masses]
    return np.array([math.exp(-u) for u in logs] + probabilities + log_probabilities)


@njit(cache=True, error_model="numpy")
def _first(nodes, squared):
    """Return the first node that a row needs; squared: its squared error in variances."""
    step = math.log(nodes[0] / nodes[1])
    return int(max((OUTLIERS - math.log1p(squared)) / step, 0.0))


@njit(cache=True, error_model="numpy")
def shape(gap):
    """Return a with log a - psi(a) = gap > 0, by T. P. Minka's start and steps (2002).

    It is the shape of the inverse gamma of v that has log E[1 / v] + E[log v] = gap.
    """
    a = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(STEPS):
        inverse = 1 / a
        error = math.log(a) - digamma(a) - gap
        a = 1 / (inverse + error / (a * a * (inverse - trigamma(a))))
    return a


@njit(cache=True, error_model="numpy")
def forecast(a, b, r, nodes):
    """Return a' and b' of the inverse gamma nearest to v = s2 (1 / w + r), the error's variance.

    The forecast is then Student's t with 2 a' degrees of freedom and scale b' / a'. It is exact for
    a known s2 and mean (r = 0), and for normal errors (nu -> infinity).
    """
    count = len(nodes) // 3
    mean_log = inverse = 0.0
    for k in range(_first(nodes, 0.0), count):
        s = nodes[k] + r
        mean_log += nodes[count + k] * math.log(s)
        inverse += nodes[count + k] / s
    wide = shape(math.log(a) - digamma(a) + mean_log + math.log(inverse))
    return wide, wide * b / (a * inverse)


@njit(cache=True, error_model="numpy")
def forecast_row(x, posterior, nodes, work):
    """Return the mean, a' and b' of `forecast` for a row x [p].

    posterior: a, b, mean [p], root [p p]. work: 2 p numbers.
    """
    p = len(x)
    r = _gain(x, posterior[2 + p :], work[:p], work[p : 2 * p])
    mean = 0.0
    for i in range(p):
        mean += x[i] * posterior[2 + i]
    a, b = forecast(posterior[0], posterior[1], r, nodes)
    return mean, a, b


@njit(cache=True, error_model="numpy")
def _gain(x, root, v, gain):
    """Set v [p] to L' x and gain [p] to Sigma x, for root [p p]; return r = x' Sigma x."""
    p = len(x)
    r = 0.0
    for k in range(p):
        v[k] = gain[k] = 0.0
        for i in range(k, p):
            v[k] += root[i * p + k] * x[i]
        r += v[k] * v[k]
    for i in range(p):
        for k in range(i + 1):
            gain[i] += root[i * p + k] * v[k]
    return r


@njit(cache=True, error_model="numpy")
def learn(x, y, scales, mean, root, nodes, work):
    """Update (a, b), mean [p] and root [p p] by a row x [p], y; return its exact log density.

    work: 3 p + K numbers.
    """
    p, count = len(mean), len(nodes) // 3
    v, gain, spare, logs = work[:p], work[p : 2 * p], work[2 * p : 3 * p], work[3 * p :]
    a, b = scales
    r, error = _gain(x, root, v, gain), y
    for i in range(p):
        error -= x[i] * mean[i]
    largest, begin = -np.inf, _first(nodes, error * error * (a + 0.5) / b)
    for k in range(begin, count):
        s = nodes[k] + r
        logs[k] = nodes[2 * count + k] - 0.5 * math.log(s)
        logs[k] -= (a + 0.5) * math.log1p(0.5 * error * error / (b * s))
        largest = max(largest, logs[k])
    total = mean_log = inverse = first = precision = 0.0
    for k in range(begin, count):
        s = nodes[k] + r
        grown = 1 + 0.5 * error * error / (b * s)
        q = math.exp(logs[k] - largest)
        total += q
        mean_log += q * math.log(grown)
        inverse += q / grown
        first += q / (grown * s)
        precision += q / s
    mean_log, inverse, first, precision = (
        mean_log / total, inverse / total, first / total, precision / total
    )  # fmt: skip
    shift = error * first / inverse
    between = 0.0
    for k in range(begin, count):
        s = nodes[k] + r
        grown = 1 + 0.5 * error * error / (b * s)
        q = math.exp(logs[k] - largest) / total
        between += q / grown * (error / s - shift) ** 2
    more = a + 0.5
    for i in range(p):
        mean[i] += shift * gain[i]
    _turn(root, x, r, precision - more / b * between, v, gain, spare)
    scales[0] = shape(math.log(more) - digamma(more) + mean_log + math.log(inverse))
    scales[1] = scales[0] * b / (more * inverse)
    constant = student_t.log_constant(2 * a, np.int64(1)) - 0.5 * math.log(b / a)
    return constant + largest + math.log(total)


@njit(cache=True, error_model="numpy")
def _turn(root, x, r, share, v, gain, spare):
    """Set root to L C with C C' = I - share v v', C lower triangular, for v = L' x of length r.

    A share below 0 widens: an error may be an outlier or not, and the means differ. With s_k = 1 -
    share (v_1^2 + ... + v_k^2), the squares of C's diagonal are s_k / s_k-1, and below it C has
    -share v_j v_k / sqrt(s_k s_k-1). v and gain, of `_gain`, and spare [p] are overwritten.
    """
    p = len(x)
    if share >= 0:
        # This is the update by a row u with u u' / (1 + u' u) = share v v'.
        longer = math.sqrt(share / (1 - share * r))
        for i in range(p):
            spare[i] = longer * x[i]
        normal_inverse_gamma.contract(root, spare, v, gain)
        return
    s = 1 - share * r
    spare[:] = 0.0
    for k in range(p - 1, -1, -1):
        before = max(s + share * v[k] * v[k], 1.0)
        stay, turn = math.sqrt(s / before), -share * v[k] / math.sqrt(s * before)
        for i in range(k, p):
            entry = root[i * p + k]
            root[i * p + k] = entry * stay + turn * spare[i]
            spare[i] += entry * v[k]
        s = before
