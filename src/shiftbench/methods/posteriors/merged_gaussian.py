"""Geometric mean of the Gaussians of all tasks so far, with weights that fall with their age.

The newest of N(m_i, 1 / s_i), elementwise, has i = 0, and the oldest is the first prior. With
weights w_i that are in proportion to decay^i and sum to one,

    sum_i w_i KL(q || N(m_i, 1 / s_i)) = KL(q || N(M, 1 / P)) + a constant without q,
    P = sum_i w_i s_i,    M = sum_i w_i s_i m_i / P,

so that N(M, 1 / P) is a prior for which the sum of divergences of TD(lambda)-VCL (Melo et al. 2025)
is a single one. Two sums with weights decay^i are enough to know it, however many tasks there are.

State: merged_precision and merged_moment [S, H, P], the sums of s_i and of s_i m_i; merged_weight
[S, H], the sum of the weights.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Broadening, State
from shiftbench.methods.posteriors import mean_field_gaussian


def begin(mean: np.ndarray, precision: np.ndarray) -> State:
    """Return the sums of a single Gaussian with mean and precision [S, H, P]."""
    return _sums(mean, precision, np.ones(mean.shape[:2]))


def added(state: State, decay: float, mean: np.ndarray, precision: np.ndarray) -> State:
    """Return the sums after one more Gaussian, the newest; decay: the weight of the one before."""
    s = precision.astype(np.float64)
    return {
        "merged_precision": (decay * state["merged_precision"] + s).astype(np.float32),
        "merged_moment": (decay * state["merged_moment"] + s * mean).astype(np.float32),
        "merged_weight": (decay * state["merged_weight"] + 1).astype(np.float32),
    }


def moments(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean M and the precision P [S, H, P] of the merged Gaussian."""
    precision = state["merged_precision"].astype(np.float64)
    mean = state["merged_moment"] / precision
    return mean, precision / state["merged_weight"][..., np.newaxis]


def broadened(state: State, broadening: Broadening, prior_variance: float) -> State:
    """Return the sums of the broadened merged Gaussian, given the variance of the first prior.

    For a power of it, and a power times one of the first prior, these are the sums of the Gaussians
    broadened one by one; for `diffuse` and `ou` they are not.
    """
    mean, precision = moments(state)
    mean, variance = mean_field_gaussian.broaden(
        mean, 1 / precision, broadening, 0.0, prior_variance
    )
    return _sums(mean, 1 / variance, state["merged_weight"])


def _sums(mean: np.ndarray, precision: np.ndarray, weight: np.ndarray) -> State:
    total = weight[..., np.newaxis] * precision
    return {
        "merged_precision": total.astype(np.float32),
        "merged_moment": (total * mean).astype(np.float32),
        "merged_weight": weight.astype(np.float32),
    }
