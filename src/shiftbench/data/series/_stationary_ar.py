"""Autoregressions that never change, to see how near a posterior is to the exact one.

The paper (knoblauch2018robust, Fig. 2B) speaks of d autoregressions with a level and a lag each; it
gives neither the number of rows nor the coefficients. These are ours: a hundred rows to learn
from, one to predict, level 0, lag 0.5, noise N(0, 1).
"""

from __future__ import annotations

import numpy as np

from shiftbench.core import seeds

LAG, BURN_IN = 0.5, 50
VALUES = 102
"""One before the first row, 100 to learn from and one to predict."""


def generate(realisation: int, series: int) -> np.ndarray:
    """One realisation [102, series]."""
    random = seeds.generator(seeds.fold("k-hat", series, realisation))
    values = np.zeros((VALUES + BURN_IN, series))
    for t, shock in enumerate(random.standard_normal(values[1:].shape)):
        values[t + 1] = LAG * values[t] + shock
    return values[-VALUES:]
