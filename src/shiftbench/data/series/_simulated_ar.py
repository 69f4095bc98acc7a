"""Autoregressions that change together, some of them seen with heavy-tailed noise.

Source: knoblauch2018robust, Fig. 1B, with the settings of the authors' code: three segments of 200
values, y_t = coefficient y_{t-1} + level + N(0, 1). Each segment starts at its first innovation;
only the first segment has a burn-in, which is cut off.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.signal import lfilter

from shiftbench.core import seeds
from shiftbench.data.series._series_store import Series

COEFFICIENTS = (-0.5, 0.75, -0.7)
LEVELS = (0.3, -0.25, 0.3)
SEGMENT = 200
BURN_IN = 100
CHANGES = (SEGMENT, 2 * SEGMENT)
DEGREES_OF_FREEDOM = 4
CODE_SEED_OF_NOISE = 20
"""The authors' code seeds the noise of series i with 20 i, and its innovations with i."""

Innovations = Literal["fresh", "shared"]


class Noise(NamedTuple):
    """Noise scale * t_4 on the first `series` series; values below `threshold` become 0."""

    series: int
    scale: float
    threshold: float


def simulate(realisations: int, series: int, noise: Noise, innovations: Innovations) -> Series:
    """Return autoregressions with known changes."""
    numbers = range(realisations)
    value = np.stack([generate(number, series, noise, innovations) for number in numbers])
    names = [f"series {number}" for number in range(series)]
    time = 1 + np.arange(value.shape[1])
    return Series(value, time, names, units="1", truth="known", changes=CHANGES)


def generate(realisation: int, series: int, noise: Noise, innovations: Innovations) -> np.ndarray:
    """Draw one realisation [600, series].

    innovations: `fresh`, drawn for each segment, or `shared`, the same in all segments as in the
    authors' code; realisation 0 of `shared` is the data set of the paper.
    """
    columns = []
    for number in range(series):
        segments = []
        for segment in range(len(LEVELS)):
            size = SEGMENT + BURN_IN * (segment == 0)
            shocks, tails = _draws(realisation, series, number, segment, size, innovations)
            values = _autoregression(shocks, COEFFICIENTS[segment], LEVELS[segment])
            if number < noise.series:
                tails = noise.scale * tails
                values = values + np.where(tails < noise.threshold, 0.0, tails)
            segments.append(values[-SEGMENT:])
        columns.append(np.concatenate(segments))
    return np.stack(columns, axis=1)


def _draws(
    realisation: int, series: int, number: int, segment: int, size: int, innovations: Innovations
) -> tuple[np.ndarray, np.ndarray]:
    """Draw standard normal innovations and t_4 noise [size] each, for a segment of a series."""
    if innovations == "fresh":
        key = seeds.fold("series", "simulated-ar", realisation, number, segment)
        random = seeds.generator(key)
        return random.standard_normal(size), random.standard_t(DEGREES_OF_FREEDOM, size)
    # NumPy's old generator: the data set of the paper consists of its draws.
    code_seed = realisation * series + number
    shocks = np.random.RandomState(code_seed).normal(size=size)
    noise = np.random.RandomState(CODE_SEED_OF_NOISE * code_seed)
    return shocks, noise.standard_t(DEGREES_OF_FREEDOM, size)


def _autoregression(shocks: np.ndarray, coefficient: float, level: float) -> np.ndarray:
    """Return y_0 = shock_0, y_t = coefficient y_{t-1} + level + shock_t."""
    drive = shocks + level
    drive[0] = shocks[0]
    return lfilter([1.0], [1.0, -coefficient], drive)
