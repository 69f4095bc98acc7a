"""Broadening of a mean-field Gaussian: independent N(mean, sd^2) for each parameter.

Source: li2021vbs, section 3.2 and Eq. 3; the docstring of `broaden` says which experiment of the
authors uses which kind.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Broadening


def broaden(
    mean: np.ndarray,
    variance: np.ndarray,
    broadening: Broadening,
    prior_mean: float | np.ndarray = 0.0,
    prior_variance: float | np.ndarray = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the widened Gaussian, elementwise, in any shape.

    temper: q^beta, variance / beta (image experiments of li2021vbs); the entropy of each
    dimension grows by -log(beta) / 2. temper-prior: q^beta N(prior), which cannot become
    wider than the prior (its word embeddings). geometric: q^beta N(prior)^(1 - beta), of which
    the prior is a fixed point (Kulhavy and Zarrop 1993). diffuse: variance + D (its toy data).
    """
    how = broadening.beta, broadening.prior_share, broadening.variance, broadening.kind == "diffuse"
    return widened(mean, variance, *how, prior_mean, prior_variance)


def widened(mean, variance, beta, share, added, is_diffuse, prior_mean, prior_variance):
    """Return mean and variance of q^beta N(prior)^share, or of q with an added variance.

    Of arrays, and compiled by learners of rows of numbers.
    """
    if is_diffuse:
        return mean, variance + added
    if share == 0:
        return mean, variance / beta
    precision = beta / variance + share / prior_variance
    weighted = beta * mean / variance + share * prior_mean / prior_variance
    return weighted / precision, 1.0 / precision
