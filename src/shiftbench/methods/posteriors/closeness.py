"""Closeness (k-hat) of the normal-inverse-gamma approximation to the exact beta posterior.

Source: knoblauch2018robust, Fig. 2B, after Yao et al. (2018): draw from the approximation and
weight the draws by exact over approximate density; k-hat is the shape of the Pareto distribution of
the largest terms of the estimated expectation. Below 0.5 the approximation is close, above 0.7 it
is unreliable.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from arviz import psislw

from shiftbench.methods.posteriors.beta_exact import Approximation, Prior, log_density


class Closeness(NamedTuple):
    """Measures of closeness of an approximation, from importance weights.

    predictive: k-hat of the density of the next row, an expectation, as in the paper.
    weights: k-hat of the weights alone, which shows the shape of their tail, but not whether they
        differ.
    effective: the share of effective draws.
    learnt: growth of a over n d / 2, its growth without beta; near 0 the posterior is the prior and
        has forgotten the data.
    """

    predictive: float
    weights: float
    effective: float
    learnt: float


def closeness(
    prior: Prior,
    beta: float,
    fitted: Approximation,
    x: np.ndarray,
    y: np.ndarray,
    draws: int,
    random: np.random.Generator,
) -> Closeness:
    """Return the closeness of an approximation, estimated by a number of draws.

    fitted: the approximation on all rows x [n, d, p], y [n, d] but the last.
    """
    s2, mu = fitted.draw(draws, random)
    exact = log_density(prior, beta, x[:-1], y[:-1], s2, mu)
    log_weight = exact - fitted.log_density(s2, mu)
    squared = ((y[-1] - mu @ x[-1].T) ** 2).sum(axis=1)
    log_next = -0.5 * (y.shape[1] * np.log(2 * math.pi * s2) + squared / s2)
    weight = np.exp(log_weight - log_weight.max())
    return Closeness(
        float(psislw(log_weight + log_next)[1]),
        float(psislw(log_weight)[1]),
        float(weight.sum() ** 2 / (weight**2).sum() / draws),
        (fitted.a - prior.a) / (0.5 * y[:-1].size),
    )
