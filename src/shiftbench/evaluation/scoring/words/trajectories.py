"""Vectors of each word over time, its changes and its neighbours, from a run on counts.

The most likely hypothesis of each word at the end of the stream, in hindsight, divides time into
segments at its changes. All periods of a segment have the vector of the word at its end
(li2021vbs, 4.3: the published figures show these), so that a word is updated only where it
changes. A learner that makes no decisions about changes updates every word in every period.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import beam_lineage, run_infos


class Trajectories(NamedTuple):
    """The vectors of W words in T periods: word w has vector[segment[t, w]] in period t.

    segment: [T, W] int, numbers of a word are consecutive; vector: [n, d].
    """

    segment: np.ndarray
    vector: np.ndarray

    @property
    def changed(self) -> np.ndarray:
        """Flags of words whose vector differs from the period before [T, W]; False in the first."""
        return np.diff(self.segment, axis=0, prepend=self.segment[:1]) > 0

    def at(self, period: int) -> np.ndarray:
        """Return the vectors [W, d] of a period."""
        return self.vector[self.segment[period]]


def of_seed(run: xr.Dataset, seed: int, hypothesis: int = 0) -> Trajectories:
    """Return the trajectories of a seed, by its index, in each word's most likely hypothesis.

    hypothesis: the index of another one, by final weight.
    """
    run = run.isel(seed=[seed])
    if not run_infos.has_lineage(run):
        means = run["info_mean"].isel(seed=0, hypothesis=0).transpose("task", "word", ...).values
        return _segmented(means, np.ones(means.shape[:2], bool))
    slots = beam_lineage.lineage(run, hypothesis)
    starts = beam_lineage.along(run, "shift", slots)[0].astype(bool)
    starts[0] = True
    return _segmented(beam_lineage.along(run, "mean", slots)[0], starts)


def shifts(run: xr.Dataset) -> np.ndarray | None:
    """Return whether a word changes with a period [seed, T, W], in the most likely hypothesis.

    None if the learner makes no decisions about changes.
    """
    return beam_lineage.shifts(run) if run_infos.has_lineage(run) else None


def updates_per_period(run: xr.Dataset) -> np.ndarray:
    """Return the mean number of words updated in a period after the first [seed]; NaN without one.

    All words for a learner that makes no decisions about changes.
    """
    changes = shifts(run)
    if run.sizes["task"] < 2:
        return np.full(run.sizes["seed"], np.nan)
    if changes is None:
        return np.full(run.sizes["seed"], float(run.sizes["word"]))
    return changes[:, 1:].sum(axis=(1, 2)) / (changes.shape[1] - 1)


def change_probability(run: xr.Dataset, seed: int) -> np.ndarray:
    """Return the final weight of hypotheses in which a word changes with a period [T, W]."""
    run = run.isel(seed=[seed])
    weight = np.exp(run["info_log_weight"].isel(seed=0, task=-1).transpose("hypothesis", "word"))
    each = [beam_lineage.shifts(run, k)[0] for k in range(run.sizes["hypothesis"])]
    return np.einsum("kw,ktw->tw", weight.values, np.stack(each).astype(float))


def similarity(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the cosine similarity [...] of vectors [..., d]; 0 where one of them is zero."""
    size = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return np.einsum("...d,...d->...", one, other) / np.where(size > 0, size, 1.0)


def neighbours(vectors: np.ndarray, word: int, number: int) -> np.ndarray:
    """Return the words [number] whose vectors [W, d] are nearest to a word's, nearest first."""
    near = similarity(vectors, vectors[word])
    near[word] = -np.inf
    return np.argsort(-near, kind="stable")[:number]


def _segmented(means: np.ndarray, starts: np.ndarray) -> Trajectories:
    """Return the trajectories of means [T, W, d], with flags of the starts of segments [T, W]."""
    segment = np.cumsum(starts.T.ravel()).reshape(starts.T.shape).T - 1
    ends = np.roll(starts, -1, axis=0)
    ends[-1] = True
    return Trajectories(segment, means.swapaxes(0, 1)[ends.T])
