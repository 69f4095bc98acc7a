"""Broadening of a mean-field Gaussian: independent N(mean, sd^2) for each parameter.

Source: li2021vbs, section 3.2 and Eq. 3; the docstring of `broaden` says which experiment of the
authors uses which kind.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Broadening, LearnerError

POWER, DIFFUSE, OU = range(3)
"""Ways to widen, as numbers for compiled code; POWER: all kinds but `diffuse` and `ou`."""


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
    the prior is a fixed point (Kulhavy and Zarrop 1993). diffuse: variance + D (its toy data). ou:
    mean beta m + (1 - beta) m0, variance beta^2 v + (1 - beta^2) v0 (Galashov et al. 2024, Eq. 3),
    of which the prior is a fixed point, too. LearnerError for ou towards an infinite variance.
    """
    if broadening.kind == "ou" and not np.isfinite(prior_variance).all():
        raise LearnerError(
            "a posterior cannot move towards a flat prior, which has no variance (broadening ou);"
            " set broadening to temper, or the learner's prior to normal"
        )
    how = broadening.beta, broadening.prior_share, broadening.variance, way(broadening)
    return widened(mean, variance, *how, prior_mean, prior_variance)


def way(broadening: Broadening) -> int:
    """Return the way to widen as a number."""
    return {"diffuse": DIFFUSE, "ou": OU}.get(broadening.kind, POWER)


def widened(mean, variance, beta, share, added, way, prior_mean, prior_variance):
    """Return mean and variance of q^beta N(prior)^share, or of q diffused or moved to the prior.

    Of arrays, and compiled by learners of rows of numbers.
    """
    if way == DIFFUSE:
        return mean, variance + added
    if way == OU:
        kept = beta * beta
        mean = beta * mean + (1 - beta) * prior_mean
        return mean, kept * variance + (1 - kept) * prior_variance
    if share == 0:
        return mean, variance / beta
    precision = beta / variance + share / prior_variance
    weighted = beta * mean / variance + share * prior_mean / prior_variance
    return weighted / precision, 1.0 / precision
