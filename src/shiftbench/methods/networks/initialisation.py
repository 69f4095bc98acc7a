"""Where the fit of a mean-field posterior over weights begins."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from shiftbench.core.seeds import generator

From = Literal["fresh", "means", "prior", "maximum-likelihood"]


class Start(NamedTuple):
    """How a fit begins. fresh: anew for every task; else from the posterior before, but for
    parameters whose mean is zero, which no task has trained; means: from no larger sds than sd.

    New means have the standard deviation mean_sd around zero; new sds are softplus(rho), with rho
    of the standard deviation rho_sd around softplus^-1(sd).
    """

    how: From
    mean_sd: float
    sd: float
    rho_sd: float


def start_values(
    start: Start, mean: np.ndarray, sd: np.ndarray, bayesian: np.ndarray, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds [S, H, P] from those before; new ones are the same for all hypotheses.

    bayesian [P]: 0 for points, which start at zero, without sd.
    """
    # A prior mean of zero throughout would also be a saddle point of a network.
    anew = (mean == 0) | (start.how == "fresh")
    draws = [generator(seed).standard_normal((2, mean.shape[-1])) for seed in seeds]
    noise = np.stack(draws)[:, :, np.newaxis] * bayesian
    if start.how == "means":
        sd = np.minimum(sd, start.sd * bayesian)
    spread = np.full_like(sd, start.sd)
    if start.rho_sd > 0:
        rho = np.log(np.expm1(start.sd)) + start.rho_sd * noise[:, 1]
        spread = np.broadcast_to(np.logaddexp(0, rho), sd.shape)
    return (
        np.where(anew, start.mean_sd * noise[:, 0], mean).astype(np.float32),
        np.where(anew, spread * bayesian, sd).astype(np.float32),
    )
