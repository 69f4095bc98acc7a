"""Mean-field Gaussian: independent N(mean, sd^2) for each parameter.

Broadening: li2021vbs, section 3.2 and Eq. 3; notes on what the authors' code does in
each of its experiments are in the docstring of `broaden`.
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
    """Mean and variance of the widened Gaussian, elementwise, any shape.

    temper: q^beta, variance / beta (image experiments of li2021vbs); the entropy of each
    dimension grows by -log(beta) / 2. temper-prior: q^beta N(prior), which cannot become
    wider than the prior (its word embeddings). geometric: q^beta N(prior)^(1 - beta), which
    leaves the prior as it is (Kulhavy and Zarrop 1993). diffuse: variance + D (its toy).
    """
    if broadening.kind == "temper":
        return mean, variance / broadening.beta
    if broadening.kind == "diffuse":
        return mean, variance + broadening.variance
    share = broadening.prior_share
    precision = broadening.beta / variance + share / prior_variance
    weighted = broadening.beta * mean / variance + share * prior_mean / prior_variance
    return weighted / precision, 1.0 / precision
