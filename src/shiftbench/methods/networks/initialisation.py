"""Start values of the fit of a mean-field posterior over weights."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from shiftbench.core.seeds import generator

StartKind = Literal["fresh", "means", "prior", "maximum-likelihood"]


class Start(NamedTuple):
    """The rule for start values.

    kind: fresh draws new values for every task. All others take the previous posterior, except for
    parameters whose mean is zero, which no task has trained; means also limits the sds to sd.
    mean_sd: standard deviation of new means, around zero.
    sd, rho_sd: new sds are softplus(rho), rho normal around softplus^-1(sd) with the standard
    deviation rho_sd.
    """

    kind: StartKind
    mean_sd: float
    sd: float
    rho_sd: float


def start_values(
    start: Start, mean: np.ndarray, sd: np.ndarray, bayesian: np.ndarray, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return start means and sds [S, H, P], given those of the previous posterior.

    New values are the same for all hypotheses. bayesian: [P], 0 for points, which start at zero,
    without sd.
    """
    # Means of zero throughout would also be a saddle point of a network.
    new = (mean == 0) | (start.kind == "fresh")
    draws = [generator(seed).standard_normal((2, mean.shape[-1])) for seed in seeds]
    noise = np.stack(draws)[:, :, np.newaxis] * bayesian
    if start.kind == "means":
        sd = np.minimum(sd, start.sd * bayesian)
    new_sd = np.full_like(sd, start.sd)
    if start.rho_sd > 0:
        rho = np.log(np.expm1(start.sd)) + start.rho_sd * noise[:, 1]
        new_sd = np.broadcast_to(np.logaddexp(0, rho), sd.shape)
    return (
        np.where(new, start.mean_sd * noise[:, 0], mean).astype(np.float32),
        np.where(new, new_sd * bayesian, sd).astype(np.float32),
    )
