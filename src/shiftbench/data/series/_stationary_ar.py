"""Autoregressions that never change, to compare posteriors with the exact one.

The paper (knoblauch2018robust, Fig. 2B) has d autoregressions with a level and a lag each, but
gives neither the number of rows nor the coefficients. We take a hundred rows to learn from, one to
predict, level 0, lag 0.5, noise N(0, 1).
"""

from __future__ import annotations

import numpy as np

from shiftbench.core import seeds
from shiftbench.data.series._series_store import Series

LAG, BURN_IN = 0.5, 50
VALUES = 102
"""One value before the first row, 100 to learn from and one to predict."""


def simulate(realisations: int, series: int) -> Series:
    """Return autoregressions without a change."""
    value = np.stack([generate(number, series) for number in range(realisations)])
    names = [f"series {number}" for number in range(series)]
    return Series(value, 1 + np.arange(VALUES), names, units="1", truth="known", changes=[])


def generate(realisation: int, series: int) -> np.ndarray:
    """Draw one realisation [102, series]."""
    random = seeds.generator(seeds.fold("k-hat", series, realisation))
    values = np.zeros((VALUES + BURN_IN, series))
    for t, shock in enumerate(random.standard_normal(values[1:].shape)):
        values[t + 1] = LAG * values[t] + shock
    return values[-VALUES:]
