"""Energy score of predicted vectors, by draws: E|X - y| - E|X - X'| / 2.

Source: T. Gneiting and A. E. Raftery, 2007, Eq. 22.

The draws of a row are seeded by the bytes of its targets. So they are the same for every method and
do not depend on the other rows of a call.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from shiftbench.core import seeds
from shiftbench.core.interface import Gaussian, StudentT

DRAWS = 200
"""Number of draws X for a row; all their pairs give E|X - X'|."""


def energy_score(
    predictive: Gaussian | StudentT, targets: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    """Return the scores [S, n] of targets [S, n, d]; 0 in rows that are masked.

    The standard error of a row is about |X - y|'s standard deviation / sqrt(DRAWS).
    """
    found = np.zeros(mask.shape)
    weight = np.exp(predictive.log_weights)
    for s, i in np.argwhere(mask):
        y = np.ascontiguousarray(targets[s, i], float)
        random = seeds.generator(seeds.fold("energy-score", y.tobytes().hex()))
        draws = _draws(predictive, weight[s], s, i, random)
        distance = np.linalg.norm(draws - y, axis=1).mean()
        found[s, i] = distance - 0.5 * pdist(draws).mean()
    return found


def _draws(
    predictive: Gaussian | StudentT,
    weight: np.ndarray,
    s: int,
    i: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Draw values [DRAWS, d] from the prediction of row i of repetition s."""
    places = np.searchsorted(np.cumsum(weight)[:-1], random.random(DRAWS), side="right")
    mean = predictive.mean[s, :, i]
    normal = random.standard_normal((DRAWS, mean.shape[-1]))
    if isinstance(predictive, Gaussian):
        return mean[places] + np.sqrt(predictive.variance[s, :, i])[places] * normal
    drawn = np.unique(places)
    roots = np.zeros(predictive.scale[s, :, i].shape)
    roots[drawn] = np.linalg.cholesky(predictive.scale[s, drawn, i])
    df = predictive.df[s][places]
    shrunk = np.sqrt(random.chisquare(df) / df)
    return mean[places] + np.einsum("mij,mj->mi", roots[places], normal) / shrunk[:, None]
