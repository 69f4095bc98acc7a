"""Series of mean 0 and variance 1 whose correlation changes, and nothing else does.

They are a counterpart of the stocks with known changes: all pairs of series have the same
correlation, which jumps at irregular places. Only a model of the covariance can see the jumps.
"""

from __future__ import annotations

import numpy as np

from shiftbench.core import seeds
from shiftbench.data.series._series_store import Series

CORRELATIONS = (0.0, 0.6, 0.2, 0.8)
CHANGES = (210, 330, 520)
VALUES = 700


def simulate(realisations: int, series: int) -> Series:
    """Return series with known changes of their correlation."""
    value = np.stack([generate(number, series) for number in range(realisations)])
    names = [f"series {number}" for number in range(series)]
    time = 1 + np.arange(VALUES)
    return Series(value, time, names, units="1", truth="known", changes=CHANGES)


def correlation() -> np.ndarray:
    """Return the correlation of each value [700]."""
    return np.array(CORRELATIONS)[np.searchsorted(CHANGES, np.arange(VALUES), side="right")]


def generate(realisation: int, series: int) -> np.ndarray:
    """Draw one realisation [700, series]: a common normal and one for each series."""
    random = seeds.generator(seeds.fold("series", "simulated-correlation", realisation))
    common, own = random.standard_normal((VALUES, 1)), random.standard_normal((VALUES, series))
    share = correlation()[:, None]
    return np.sqrt(share) * common + np.sqrt(1 - share) * own
