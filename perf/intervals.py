"""How often 95 % intervals over few seeds contain the true mean: ours, Student t's, and BCa.

Beta distributions represent scores between 0 and 1, log-normal ones positive scores. The table has
each interval's coverage, its mean width relative to Student t's, and how often it leaves the
domain. Run it as `python -m perf.intervals`; seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from shiftbench.evaluation.scoring import statistics

SEEDS = (3, 5, 10, 20)
"""Usual numbers of repetitions in studies."""
STUDIES = 4000
"""The number of simulated studies; the standard error of a coverage near 95 % is 0.3 points."""
RESAMPLES = 999
FRACTION, POSITIVE = (0.0, 1.0), (0.0, None)


def _beta(mean: float, sd: float) -> stats.rv_continuous:
    size = mean * (1 - mean) / sd**2 - 1
    return stats.beta(mean * size, (1 - mean) * size)


CASES = {
    "beta, mean .70, sd .05": (_beta(0.70, 0.05), FRACTION),
    "beta, mean .95, sd .02": (_beta(0.95, 0.02), FRACTION),
    "beta, mean .98, sd .02": (_beta(0.98, 0.02), FRACTION),
    "beta, mean .90, sd .15": (_beta(0.90, 0.15), FRACTION),
    "beta, mean .50, sd .35": (_beta(0.50, 0.35), FRACTION),
    "log-normal, sigma 0.2": (stats.lognorm(0.2), POSITIVE),
    "log-normal, sigma 0.5": (stats.lognorm(0.5), POSITIVE),
    "log-normal, sigma 1.0": (stats.lognorm(1.0), POSITIVE),
}
"""Score distributions, with the bounds of their metric."""


def ours(values: np.ndarray, within: statistics.Bounds) -> np.ndarray:
    """Return the ends [study, 2] of our intervals of values [study, seed]."""
    return np.array([statistics.interval(one, within)[2:4] for one in values])


def bca(values: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the intervals of SciPy's bias-corrected and accelerated bootstrap."""
    found = stats.bootstrap(
        (values,), np.mean, axis=-1, n_resamples=RESAMPLES, batch=100, rng=generator
    )
    return np.stack([found.confidence_interval.low, found.confidence_interval.high], axis=1)


def rows() -> Iterator[dict[str, object]]:
    """Yield one row per distribution and number of seeds."""
    for name, (distribution, within) in CASES.items():
        for n in SEEDS:
            generator = np.random.default_rng([n, *name.encode()])
            values = distribution.rvs((STUDIES, n), random_state=generator)
            ends = {
                "t": ours(values, statistics.UNBOUNDED),
                "ours": ours(values, within),
                "BCa": bca(values, generator),
            }
            yield {"scores": name, "n": n} | _told(distribution.mean(), within, ends)


def _told(mean: float, within: statistics.Bounds, ends: dict[str, np.ndarray]) -> dict[str, object]:
    """Return coverage, width and share outside the domain of the intervals [study, 2] by name."""
    covered = {
        f"{name}, %": _percent((each[:, 0] <= mean) & (mean <= each[:, 1]))
        for name, each in ends.items()
    }
    width = {name: np.diff(each, axis=1).mean() for name, each in ends.items()}
    relative = {f"{name}, width": round(width[name] / width["t"], 2) for name in ("ours", "BCa")}
    low, high = (np.nan if end is None else end for end in within)  # comparisons with NaN are false
    outside = (ends["t"][:, 0] < low) | (ends["t"][:, 1] > high)
    return covered | relative | {"t outside, %": _percent(outside)}


def _percent(flags: np.ndarray) -> float:
    return round(100 * float(flags.mean()), 1)


if __name__ == "__main__":
    print(pd.DataFrame(rows()).to_markdown(index=False))
