"""Influence of an observation on a posterior by its distance: Fig. 1A of knoblauch2018robust.

The influence is the Fisher-Rao distance arccos(integral sqrt(pi pi')) between the posterior
without the observation, pi, and with it, pi' ~ pi exp{l}, where l is the score: the log
density, or for beta > 0

    l(theta) = f^beta / beta - (2 pi s2)^(-d beta / 2) (1 + beta)^(-d / 2 - 1).

Source: knoblauch2018robust, sections 2.1 and 4; the divergence is S. Kurtek and K. Bharath's (2015,
Bayesian sensitivity analysis with the Fisher-Rao metric), its reference 28. The paper takes
Monte Carlo for the integral; here it is the trapezoidal rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from shiftbench.core.errors import UserError

BETAS = np.geomspace(1e-4, 4.0, 25)
"""The grid of betas on which `initial_beta` begins its search."""


@dataclass(frozen=True)
class Posterior:
    """The posterior pi: eta | s2 ~ N(0, s2 variance I_d) of the level, s2 ~ IG(a, b).

    d: the number of dimensions. a = infinity means a known s2 = b: a Gaussian. The prediction is a
    Student's t with 2 a degrees of freedom and the scale matrix `scale`^2 I.
    """

    a: float = math.inf
    b: float = 1.0
    variance: float = 0.01
    d: int = 1

    @property
    def scale(self) -> float:
        """The unit of a Mahalanobis distance under the prediction."""
        noise = self.b if math.isinf(self.a) else self.b / self.a
        return math.sqrt(noise * (1 + self.variance))


class _Points(NamedTuple):
    """The posterior as weighted points [n]: s2, eta along the observation, |eta|^2 across."""

    weight: np.ndarray
    s2: np.ndarray
    along: np.ndarray
    across: np.ndarray


def influence(distance: np.ndarray, beta: float, posterior: Posterior) -> np.ndarray:
    """Return the influence [n] of observations at Mahalanobis distances [n].

    Between 0, no influence, and pi / 2, disjoint posteriors. beta = 0: the standard posterior.
    """
    points = _quadrature(posterior)
    return np.array([_influence(x, beta, posterior, points) for x in np.asarray(distance, float)])


def initial_beta(distance: float, posterior: Posterior) -> float:
    """Return the beta with the largest influence at a Mahalanobis distance.

    Source: knoblauch2018robust, section 4. With known noise and a sharp posterior it is
    1 / distance^2; the paper takes some standard deviations in one dimension, and the root of d in
    d dimensions. Raises UserError if no beta within `BETAS` has its largest influence there.
    """
    points = _quadrature(posterior)
    step = 1e-3 * distance

    def slope(log_beta: float) -> float:
        ends = [
            _influence(x, math.exp(log_beta), posterior, points)
            for x in (distance - step, distance + step)
        ]
        return (ends[1] - ends[0]) / step

    # The maximum of a larger beta is closer: the slope at the distance falls through zero.
    logs = np.log(BETAS)
    slopes = np.array([slope(log_beta) for log_beta in logs])
    falls = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    if not len(falls):
        raise UserError(
            f"no beta between {BETAS[0]:g} and {BETAS[-1]:g} gives an observation at distance"
            f" {distance:g} the largest influence; take another distance (4 in the paper for one"
            " dimension, the root of d for many) or a posterior in other units"
        )
    return math.exp(optimize.brentq(slope, logs[falls[0]], logs[falls[0] + 1], xtol=1e-10))


def _influence(distance: float, beta: float, posterior: Posterior, points: _Points) -> float:
    """Return the influence from the share of variance of exp(l / 2), also exact for small ones."""
    offset = distance * posterior.scale - points.along
    half = 0.5 * _score(offset**2 + points.across, beta, posterior.d, points.s2)
    root = np.exp(half - half.max())
    mean = points.weight @ root
    variance = points.weight @ (root - mean) ** 2
    return math.asin(math.sqrt(variance / (variance + mean**2)))


def _score(square: np.ndarray, beta: float, d: int, s2: np.ndarray) -> np.ndarray:
    """Return the score l of an observation at a squared distance from the level, with noise s2."""
    log_density = -0.5 * d * np.log(2 * np.pi * s2) - 0.5 * square / s2
    if beta == 0:
        return log_density
    integral = (2 * np.pi * s2) ** (-0.5 * d * beta) * (1 + beta) ** (-0.5 * d - 1)
    return np.exp(beta * log_density) / beta - integral


def _quadrature(posterior: Posterior) -> _Points:
    """Return the trapezoidal rule over log s2, eta, log |eta|^2; it converges geometrically."""
    # Fine enough for the likelihood of an observation, which is narrower than the posterior.
    z = np.linspace(-9, 9, 2 * math.ceil(18 * math.sqrt(1 + posterior.variance)) + 1)
    log_s2 = np.log([posterior.b])
    s2_weight = np.ones(1)
    if not math.isinf(posterior.a):
        precision, s2_weight = _log_gamma_rule(posterior.a)
        log_s2 = math.log(posterior.b) - precision
    log_across, across_weight = np.full(1, -np.inf), np.ones(1)
    if posterior.d > 1:
        log_across, across_weight = _log_gamma_rule(0.5 * (posterior.d - 1))
    density = np.exp(-0.5 * z**2)
    s2, eta, across = np.meshgrid(np.exp(log_s2), z, 2 * np.exp(log_across), indexing="ij")
    weight = np.einsum("i,j,k", s2_weight, density / density.sum(), across_weight)
    spread = posterior.variance * s2
    return _Points(*(a.ravel() for a in (weight, s2, eta * np.sqrt(spread), across * spread)))


def _log_gamma_rule(shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights for the logarithm of a standard gamma variable."""
    low, high = stats.gamma.ppf(1e-10, shape), stats.gamma.isf(1e-16, shape)
    points = np.linspace(np.log(low), np.log(high), 61)
    log_weight = shape * points - np.exp(points)
    weight = np.exp(log_weight - log_weight.max())
    return points, weight / weight.sum()
