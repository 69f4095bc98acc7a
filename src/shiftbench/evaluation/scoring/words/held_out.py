"""Log likelihood of each period's held-out text under the word vectors of that period."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.evaluation.scoring.words.dating import log_sigmoid
from shiftbench.methods.words.cooccurrence import Cooccurrence, cooccurrence

BLOCK = 128
"""Vectors at a time: a dense block of this many times the vocabulary stays in the cache."""
LEAST = 1e-9
"""Weight below which a hypothesis of a word is left out: less than rounding in 32 bits."""


def log_likelihood(run: xr.Dataset, stream: xr.DataTree, seed: int) -> float:
    """Return nats per pair of a seed, mean over periods; NaN where nothing is held out."""
    settings = provenance.offering(run, "context")
    assert settings is not None
    reader, one = provenance.reader(stream), run.isel(seed=seed)
    realisation = int(one["realisation"].values)
    # In 32 bits all of this is twice as fast; sums are taken in 64.
    context = one["warm_up_context"].isel(warm_up_hypothesis=0).values.astype(np.float32)
    means = one["info_mean"].transpose("task", "hypothesis", "word", ...).values
    weights = _weights(one, means.shape[:3])
    by_period = []
    for t in range(len(means)):
        test = reader.task(stream, [realisation], t).test
        if test is None:
            return np.nan
        ratio, exponent = settings["negative_ratio"], settings["negative_exponent"]
        pairs, count = test.inputs[0], test.targets[0, :, 0]
        counts = cooccurrence(pairs, count, len(context), ratio, exponent)
        total = counts.positives.sum() * (1 + ratio)
        by_period.append(_of_period(counts, context, means[t], weights[t]) / total)
    return float(np.mean(by_period))


def _weights(run: xr.Dataset, shape: tuple[int, ...]) -> np.ndarray:
    """Return the weights of the hypotheses [T, K, W]."""
    if "info_log_weight" not in run:
        return np.ones(shape)
    return np.exp(run["info_log_weight"].transpose("task", "hypothesis", "word").values)


def _of_period(
    counts: Cooccurrence, context: np.ndarray, means: np.ndarray, weights: np.ndarray
) -> float:
    """Return the nats of all pairs of a period, with means [K, W, d] and weights [K, W].

    Words that the text does not have add nothing, as words or as contexts.
    """
    words, contexts = np.flatnonzero(counts.mass), np.flatnonzero(counts.share)
    positives = counts.positives[words][:, contexts]
    share = counts.share[contexts].astype(np.float32)
    context, weights = np.ascontiguousarray(context[contexts].T), weights[:, words]
    slots, places = np.nonzero(weights > LEAST)
    total = 0.0
    for first in range(0, len(slots), BLOCK):
        slot, place = slots[first : first + BLOCK], places[first : first + BLOCK]
        x = means[slot, words[place]] @ context
        positive = log_sigmoid(x)
        each = positives[place].multiply(positive).sum(axis=1)
        each += counts.mass[words[place]] * ((positive - x) @ share)
        total += float(weights[slot, place] @ each)
    return total
