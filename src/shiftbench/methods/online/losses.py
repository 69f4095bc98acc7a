"""Hinge, squared and absolute loss of a score, at a point and in expectation.

A loss depends on theta only through the score z = <theta, x>. Under a mean-field Gaussian
q = N(m, diag(sd^2)) it is N(mu, tau^2) with mu = <m, x> and tau^2 = sum sd_j^2 x_j^2, so
that the expected loss and its gradients have closed forms (standard Gaussian integrals):

    d/dm = slope * x,        d/dsd = curvature * sd * x^2,

with slope = d E/d mu and curvature = (d E/d tau) / tau, which is 2 d E/d(tau^2). Source: the
set-up of cherief2019online; the formulas are checked against quadrature and finite differences.

`at_point` and `under_gaussian` are compiled scalar functions, for loops over rows; `Loss` applies
them to arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

Kind = Literal["hinge", "squared", "absolute"]

CODES: dict[str, int] = {"hinge": 0, "squared": 1, "absolute": 2}
"""The codes of the losses in compiled functions."""

TINY = 1e-150
"""Replaces a standard deviation of 0 in a ratio; its square is still a positive number."""
DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)


class ExpectedLoss(NamedTuple):
    """E l(y, z), its slope in mu and its curvature, for z ~ N(mu, tau^2); of equal shapes."""

    value: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray


@dataclass(frozen=True)
class Loss:
    """A convex loss l(y, z) of target y (-1 or +1 for hinge, else real) and score z.

    Arrays broadcast. `slope` is a subgradient in z; `expected` is exact at tau = 0 as well.
    """

    kind: Kind

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return l(y, z)."""
        return self._over(_points, y, z)[0]

    def slope(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return d l / d z."""
        return self._over(_points, y, z)[1]

    def expected(self, y: np.ndarray, mu: np.ndarray, tau: np.ndarray) -> ExpectedLoss:
        """Return E l(y, N(mu, tau^2)) with its derivatives."""
        return ExpectedLoss(*self._over(_gaussians, y, mu, tau))

    def _over(self, loop: Callable, *numbers: np.ndarray) -> list[np.ndarray]:
        """Return the results of a compiled loop over vectors, in the broadcast shape."""
        arrays = np.broadcast_arrays(*numbers)
        vectors = [np.array(array, float, order="C").ravel() for array in arrays]
        return [result.reshape(arrays[0].shape)[()] for result in loop(CODES[self.kind], *vectors)]


@njit(cache=True)
def at_point(code: int, y: float, z: float) -> tuple[float, float]:
    """Return loss and slope."""
    if code == 0:
        margin = 1 - y * z
        return max(margin, 0.0), (-y if margin > 0 else 0.0)
    residual = y - z
    if code == 1:
        return residual * residual, -2 * residual
    return abs(residual), -np.sign(residual)


@njit(cache=True)
def under_gaussian(code: int, y: float, mu: float, tau: float) -> tuple[float, float, float]:
    """Return expected loss, slope and curvature."""
    if code == 1:
        residual = y - mu
        return residual * residual + tau * tau, -2 * residual, 2.0
    distance = 1 - y * mu if code == 0 else y - mu
    # Beyond 40 standard deviations the normal distribution is 0 or 1 to the last bit.
    k = min(max(distance / max(tau, TINY), -40.0), 40.0)
    density = DENSITY_AT_0 * math.exp(-0.5 * k * k)
    below = 0.5 * math.erfc(-k / math.sqrt(2.0))
    # For tau = 0 the curvature does not matter: x, or every sd, is 0.
    curvature = density / tau if tau > 0 else 0.0
    if code == 0:
        return distance * below + tau * density, -y * below, curvature
    sign = 2 * below - 1
    return 2 * tau * density + distance * sign, -sign, 2 * curvature


@njit(cache=True)
def _points(code, y, z):
    value, slope = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        value[i], slope[i] = at_point(code, y[i], z[i])
    return value, slope


@njit(cache=True)
def _gaussians(code, y, mu, tau):
    value, slope, curvature = np.empty(len(y)), np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        value[i], slope[i], curvature[i] = under_gaussian(code, y[i], mu[i], tau[i])
    return value, slope, curvature
