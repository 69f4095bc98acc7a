"""How well the words' vectors of each period predict that period's held-out text."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.planning import provenance
from shiftbench.scoring.words.dating import log_sigmoid
from shiftbench.words.cooccurrence import Cooccurrence, cooccurrence

BLOCK = 100
"""Words at a time: what is dense is so many times the vocabulary, and should stay in the cache."""


def log_likelihood(run: xr.Dataset, stream: xr.DataTree, seed: int) -> float:
    """Nats per pair, the mean over periods of a seed; NaN where nothing is held out."""
    settings = provenance.offering(run, "context")
    assert settings is not None
    reader, one = provenance.reader(stream), run.isel(seed=seed)
    realisation = int(one["realisation"].values)
    # In 32 bits, in which all of this is twice as fast; sums are of 64.
    context = one["warm_up_context"].isel(warm_up_hypothesis=0).values.astype(np.float32)
    means = one["info_mean"].transpose("task", "hypothesis", "word", ...).values
    weights = _weights(one, means.shape[:3])
    found = []
    for t in range(len(means)):
        test = reader.task(stream, [realisation], t).test
        if test is None:
            return np.nan
        ratio, exponent = settings["negative_ratio"], settings["negative_exponent"]
        pairs, count = test.inputs[0], test.targets[0, :, 0]
        counts = cooccurrence(pairs, count, len(context), ratio, exponent)
        total = counts.positives.sum() * (1 + ratio)
        found.append(_of_period(counts, context, means[t], weights[t]) / total)
    return float(np.mean(found))


def _weights(run: xr.Dataset, shape: tuple[int, ...]) -> np.ndarray:
    """The weights of the hypotheses [T, K, W]."""
    if "info_log_weight" not in run:
        return np.ones(shape)
    return np.exp(run["info_log_weight"].transpose("task", "hypothesis", "word").values)


def _of_period(
    counts: Cooccurrence, context: np.ndarray, means: np.ndarray, weights: np.ndarray
) -> float:
    """Nats of all pairs, with means [K, W, d] and weights [K, W]."""
    total = 0.0
    for first in range(0, len(context), BLOCK):
        words = slice(first, first + BLOCK)
        n = counts.positives[words]
        for mean, weight in zip(means[:, words], weights[:, words], strict=True):
            x = mean @ context.T
            positive = log_sigmoid(x)
            each = n.multiply(positive).sum(axis=1)
            each += counts.mass[words] * ((positive - x) @ counts.share)
            total += float(weight @ each)
    return total
