"""The exact beta posterior of a linear regression, up to a constant, and its approximation.

It is the density that `posteriors.beta_posterior` approximates, in plain NumPy, for comparison.
Source: knoblauch2018robust, Eq. 3 and 5. Prior: mu ~ N(m0, s2 v0 I) and s2 ~ IG(a0, b0).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from shiftbench.methods.posteriors import beta_posterior


class Prior(NamedTuple):
    """The prior mu | s2 ~ N(mean, s2 variance I), s2 ~ IG(a, b)."""

    a: float
    b: float
    mean: float
    variance: float

    def packed(self, p: int) -> np.ndarray:
        """Return a0, b0, m0, Sigma0^-1, log |Sigma0| for p coefficients, as `elbo` takes them."""
        precision = np.eye(p) / self.variance
        mean, log_det = np.full(p, self.mean), p * math.log(self.variance)
        return np.concatenate([[self.a, self.b], mean, precision.ravel(), [log_det]])

    def approximation(self, p: int) -> Approximation:
        """Return the prior of p coefficients in the form of an approximation."""
        root = math.sqrt(self.variance) * np.eye(p)
        return Approximation(self.a, self.b, np.full(p, self.mean), root)


class Approximation(NamedTuple):
    """mu | s2 ~ N(m, s2 L L'), s2 ~ IG(a, b); m [p], root L [p, p] lower triangular."""

    a: float
    b: float
    m: np.ndarray
    root: np.ndarray

    @classmethod
    def unpacked(cls, q: np.ndarray) -> Approximation:
        """Return the approximation from a, b, m, L in one array."""
        p = round(math.sqrt(len(q) - 1.75) - 0.5)
        return cls(q[0], q[1], q[2 : 2 + p], q[2 + p :].reshape(p, p))

    def packed(self) -> np.ndarray:
        """Return a, b, m, L in one array."""
        return np.concatenate([[self.a, self.b], self.m, self.root.ravel()])

    def draw(self, size: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw s2 [size] and mu [size, p]."""
        s2 = self.b / random.standard_gamma(self.a, size)
        z = random.standard_normal((size, len(self.m)))
        return s2, self.m + np.sqrt(s2)[:, None] * z @ self.root.T

    def log_density(self, s2: np.ndarray, mu: np.ndarray) -> np.ndarray:
        """Return the log density [K] at s2 [K], mu [K, p]."""
        z = np.linalg.solve(self.root, (mu - self.m).T) / np.sqrt(s2)
        p = len(self.m)
        log_det = p * np.log(2 * math.pi * s2) + 2 * np.log(np.diag(self.root)).sum()
        gaussian = -0.5 * (log_det + (z**2).sum(axis=0))
        constant = self.a * math.log(self.b) - gammaln(self.a)
        return gaussian + constant - (self.a + 1) * np.log(s2) - self.b / s2


def log_density(
    prior: Prior, beta: float, x: np.ndarray, y: np.ndarray, s2: np.ndarray, mu: np.ndarray
) -> np.ndarray:
    """Return the log density [K] of the exact beta posterior at s2 [K], mu [K, p], for beta > 0.

    Up to a constant; after the rows x [n, d, p], y [n, d].
    """
    n, d, p = x.shape
    residual = y.ravel() - mu @ x.reshape(n * d, p).T
    squared = (residual**2).reshape(-1, n, d).sum(axis=2)
    log_normaliser = -0.5 * d * np.log(2 * math.pi * s2)
    powers = np.exp(beta * (log_normaliser[:, None] - 0.5 * squared / s2[:, None]))
    integral = np.exp(beta * log_normaliser) * (1 + beta) ** (-0.5 * d)
    log_prior = prior.approximation(p).log_density(s2, mu)
    return log_prior + powers.sum(axis=1) / beta - n * integral / (1 + beta)


def approximation(prior: Prior, beta: float, x: np.ndarray, y: np.ndarray) -> Approximation:
    """Return the best normal-inverse-gamma: `beta_posterior.fit` from the conjugate posterior."""
    q = conjugate(prior, x, y)
    x, y = np.ascontiguousarray(x, float), np.ascontiguousarray(y, float)
    beta_posterior.fit(q, prior.packed(x.shape[2]), beta, x, y, 1e-4, 2000)
    return Approximation.unpacked(q)


def conjugate(prior: Prior, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a, b, m, L of the standard posterior, in one array."""
    n, d, p = x.shape
    flat, targets = x.reshape(n * d, p), y.ravel() - x.reshape(n * d, p) @ np.full(p, prior.mean)
    precision = np.eye(p) / prior.variance + flat.T @ flat
    shift = np.linalg.solve(precision, flat.T @ targets)
    b = prior.b + 0.5 * (targets @ targets - shift @ precision @ shift)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return np.concatenate([[prior.a + 0.5 * n * d, b], prior.mean + shift, root.ravel()])
