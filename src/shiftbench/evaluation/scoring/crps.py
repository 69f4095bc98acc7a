"""Continuous ranked probability score of predicted real values, and the score of intervals.

CRPS(F, y) = integral of (F(x) - 1{x >= y})^2 = E|X - y| - E|X - X'| / 2 (T. Gneiting and A. E.
Raftery, 2007, Eq. 20 and 21). E|X - y| has a closed form. So has E|X - X'| for mixtures of
normals, by pairs, and for one Student's t (A. Jordan, F. Krueger and S. Lerch, 2019). For mixtures
of Student's t it is 2 times the integral of F (1 - F), by adaptive Gauss-Kronrod quadrature.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.core.interface import LearnerError
from shiftbench.evaluation.scoring.marginals import Marginals
from shiftbench.evaluation.scoring.mixtures import above, excess, fronts, pack, quantile
from shiftbench.evaluation.scoring.student_t_tail import ROOT_PI

TOLERANCE = 1e-6
"""Error of E|X - X'| / 2 as a share of the mean width, see `crps`."""
FAR = 1e-6
"""Probability beyond the ends of the quadrature, where (1 - F)^2 no longer counts."""
DEEPEST = 60
"""Largest number of panels that wait to be halved."""
# Gauss (7) and Kronrod (15) on [-1, 1], as in QUADPACK's qk15.
NODES = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
    0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
    0.586087235467691130294144691693616, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
])  # fmt: skip
KRONROD = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
    0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
    0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
])  # fmt: skip
GAUSS = np.array([
    0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780,
    0.0, 0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327,
])  # fmt: skip


def crps(marginals: Marginals, targets: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the scores [S, n, d] of targets [S, n, d]; 0 in rows that are masked.

    The error is below TOLERANCE times the mean width of the components, and for df < 1.5 below 3
    times that. For mixtures of normals it is the rounding error. LearnerError for df <= 1, where
    E|X - y| is infinite.
    """
    if not (marginals.df[marginals.weight > 0] > 1).all():
        raise LearnerError(
            "CRPS and energy score: a prediction of df <= 1 has no mean; raise the prior's shape"
            " (a0 of bayes-linear), or beta of the broadening, or take these metrics out"
        )
    found = np.zeros(targets.shape)
    _crps(*_arguments(marginals, targets, mask), found)
    return found


def interval_score(
    marginals: Marginals, targets: np.ndarray, mask: np.ndarray, level: float
) -> np.ndarray:
    """Return the scores [S, n, d] of central intervals (Gneiting and Raftery, 2007, Eq. 43).

    Width of the interval, plus 2 / (1 - level) times the distance of the target outside.
    """
    found = np.zeros(targets.shape)
    _intervals(*_arguments(marginals, targets, mask), float(level), found)
    return found


def _arguments(marginals: Marginals, targets: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
    """Return the arguments of the compiled loops, contiguous and writable.

    weight [S, H], centre and width [S, n, d, H], df and its factors [S, H], targets and mask.
    """
    weight, centre, width, df = marginals
    centre, width = (np.moveaxis(array, 1, -1) for array in (centre, width))
    numbers = (weight, centre, width, df, targets)
    weight, centre, width, df, y = (np.require(array, float, ["C", "W"]) for array in numbers)
    return [weight, centre, width, df, fronts(df), y, np.require(mask, bool, ["C", "W"])]


@njit(cache=True, error_model="numpy")
def _crps(weight, centre, width, df, fronts, targets, mask, found):
    """Fill `found` with the scores of all unmasked rows."""
    mixture = np.empty((weight.shape[1], 5))
    panels = np.empty((DEEPEST + 2, 2))
    for s in range(targets.shape[0]):
        for i in range(targets.shape[1]):
            for j in range(targets.shape[2] if mask[s, i] else 0):
                count = pack(weight[s], centre[s, i, j], width[s, i, j], df[s], fronts[s], mixture)
                over, under = excess(mixture[:count], targets[s, i, j])
                found[s, i, j] = over + under - _spread(mixture[:count], panels)


@njit(cache=True, error_model="numpy")
def _intervals(weight, centre, width, df, fronts, targets, mask, level, found):
    """Fill `found` with the interval scores of all unmasked rows."""
    mixture, share = np.empty((weight.shape[1], 5)), 0.5 * (1 - level)
    for s in range(targets.shape[0]):
        for i in range(targets.shape[1]):
            for j in range(targets.shape[2] if mask[s, i] else 0):
                count = pack(weight[s], centre[s, i, j], width[s, i, j], df[s], fronts[s], mixture)
                low = quantile(mixture[:count], share)
                high = quantile(mixture[:count], 1 - share)
                y = targets[s, i, j]
                found[s, i, j] = high - low + max(low - y, y - high, 0.0) / share


@njit(cache=True, error_model="numpy")
def _spread(mixture, panels):
    """Return E|X - X'| / 2 of a mixture."""
    if mixture[0, 3] == math.inf:
        return _pairs(mixture)
    if len(mixture) == 1:
        df = mixture[0, 3]
        # B(1/2, df - 1/2) = Gamma(1/2) Gamma(df - 1/2) / Gamma(df); `front` is 1 / B(1/2, df/2).
        beta = ROOT_PI * math.exp(math.lgamma(df - 0.5) - math.lgamma(df))
        return mixture[0, 2] * 2 * math.sqrt(df) * beta * mixture[0, 4] ** 2 / (df - 1)
    return _quadrature(mixture, panels)


@njit(cache=True, error_model="numpy")
def _pairs(mixture):
    """Return E|X - X'| / 2 of a mixture of normals."""
    total = 0.0
    for k in range(len(mixture)):
        weight, centre, width = mixture[k, 0], mixture[k, 1], mixture[k, 2]
        total += 0.5 * weight * weight * 2 * width / ROOT_PI
        for other in range(k):
            spread = math.sqrt(width * width + mixture[other, 2] ** 2)
            z = (centre - mixture[other, 1]) / spread
            normal = math.sqrt(2 / math.pi) * math.exp(-0.5 * z * z)
            mean = spread * (normal + z * math.erf(z * math.sqrt(0.5)))
            total += weight * mixture[other, 0] * mean
    return total


@njit(cache=True, error_model="numpy")
def _quadrature(mixture, panels):
    """Return the integral of F (1 - F), with tails in closed form where (1 - F)^2 is negligible.

    The variable is v = asinh((x - centre) / width) with the centre and width of the heaviest
    component; in v the tails fall exponentially.
    """
    first, scale = 0, 0.0
    for k in range(len(mixture)):
        first = k if mixture[k, 0] > mixture[first, 0] else first
        scale += mixture[k, 0] * mixture[k, 2]
    centre, width = mixture[first, 1], mixture[first, 2]
    low, high = -1.0, 1.0
    while above(mixture, centre + width * math.sinh(high)) > FAR:
        high += 1.0
    while above(mixture, centre + width * math.sinh(low)) < 1 - FAR:
        low -= 1.0
    total = excess(mixture, centre + width * math.sinh(high))[0]
    total += excess(mixture, centre + width * math.sinh(low))[1]
    panels[0, 0], panels[0, 1], waiting = low, high, 1
    while waiting > 0:
        waiting -= 1
        a, b = panels[waiting]
        fine, coarse = _panel(mixture, centre, width, a, b)
        # The error of the finer rule is far below the difference of both.
        if abs(fine - coarse) < 5 * TOLERANCE * scale or waiting + 2 > DEEPEST:
            total += fine
        else:
            middle = 0.5 * (a + b)
            panels[waiting, 0], panels[waiting, 1] = middle, b
            panels[waiting + 1, 0], panels[waiting + 1, 1] = a, middle
            waiting += 2
    return total


@njit(cache=True, error_model="numpy")
def _panel(mixture, centre, width, a, b):
    """Return the integral of F (1 - F) over v in (a, b) by the Kronrod and the Gauss rule."""
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    fine = coarse = 0.0
    for n in range(len(NODES)):
        for sign in range(2 if NODES[n] > 0 else 1):
            v = middle + half * (NODES[n] if sign == 0 else -NODES[n])
            growing = math.exp(v)
            over = above(mixture, centre + width * 0.5 * (growing - 1 / growing))
            height = over * (1 - over) * width * 0.5 * (growing + 1 / growing)
            fine += KRONROD[n] * height
            coarse += GAUSS[n] * height
    return half * fine, half * coarse
