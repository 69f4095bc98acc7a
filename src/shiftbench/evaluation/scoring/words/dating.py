"""Dating of held-out documents by their words: the distortion of li2021vbs, 4.3.

The paper does not say how it dates; here a held-out document with pair counts n+ has the
log likelihood in period t

    score(t) = sum_ij n+_ij log s(u_i^t.v_j) + c_i q_j log s(-u_i^t.v_j),    c_i = sum_j n+_ij

with the words' vectors u^t of that period (`scoring.words.trajectories`), and q the shares of
negative contexts over all periods, because those of one period would reveal the date. It is dated
to the period with the largest score. Where several periods have the same score, because no word of
it changes between them, its error is the mean over these periods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from shiftbench.config import provenance
from shiftbench.evaluation.scoring.words import trajectories
from shiftbench.evaluation.scoring.words.trajectories import Trajectories
from shiftbench.methods.words.cooccurrence import Cooccurrence, cooccurrence


class Texts(NamedTuple):
    """Held-out documents: period [D]; counts, sparse [W D, V], row w D + k for word w of k."""

    period: np.ndarray
    counts: sparse.csr_array


def scores(run: xr.Dataset, stream: xr.DataTree, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return log likelihoods [D, T] of held-out documents, and the periods [D] they are from.

    Words with the same vector in all periods, which are most, add a constant and are left out.
    Empty for a stream without held-out documents.
    """
    realisation = int(run["realisation"].values[seed])
    texts = _texts(stream, realisation)
    context = run["warm_up_context"].isel(seed=seed, warm_up_hypothesis=0).values
    vectors = trajectories.of_seed(run, seed)
    settings = provenance.offering(run, "context")
    assert settings is not None
    share = _over_all_periods(stream, realisation, settings).share
    score = np.zeros((len(texts.period), len(vectors.segment)))
    for word in np.flatnonzero(vectors.changed.any(axis=0)):
        _add_word(score, vectors, word, context, texts, settings["negative_ratio"] * share)
    return score, texts.period


def errors(score: np.ndarray, period: np.ndarray) -> np.ndarray:
    """Return the expected distance [D] in periods of the best-scoring from the true period [D].

    score: [D, T].
    """
    best = score == score.max(axis=1, keepdims=True)
    distance = np.abs(np.arange(score.shape[1]) - period[:, None])
    return (best * distance).sum(axis=1) / best.sum(axis=1)


def mean_error(score: np.ndarray, period: np.ndarray) -> float:
    """Return the mean error over documents; NaN without any."""
    return float(errors(score, period).mean()) if len(period) else np.nan


def by_period(score: np.ndarray, period: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and periods with the held-out documents of a period pooled to one."""
    periods, which = np.unique(period, return_inverse=True)
    total = np.zeros((len(periods), score.shape[1]))
    np.add.at(total, which, score)
    return total, periods


def log_sigmoid(x: np.ndarray) -> np.ndarray:
    """Return log s(x), fast in 32 bits: NumPy vectorises exp and log, but not logaddexp."""
    return np.minimum(x, 0) - np.log(1 + np.exp(-np.abs(x)))


def _add_word(
    score: np.ndarray,
    vectors: Trajectories,
    word: int,
    context: np.ndarray,
    texts: Texts,
    share: np.ndarray,
) -> None:
    """Add the terms of one word to the scores of the documents that have it, in place."""
    documents = len(texts.period)
    rows = texts.counts[word * documents : (word + 1) * documents]
    here = np.flatnonzero(np.diff(rows.indptr))
    if not here.size:
        return
    first, last = vectors.segment[0, word], vectors.segment[-1, word]
    x = vectors.vector[first : last + 1] @ context.T
    positive = log_sigmoid(x)
    counts = rows[here]
    each = counts @ positive.T.astype(float)
    each += np.outer(counts.sum(axis=1), (positive - x) @ share)
    score[here] += each[:, vectors.segment[:, word] - first]


_kept: list[tuple[xr.DataTree, dict[int, Texts]]] = []
"""The stream that was read last, with its documents by realisation: all learners share them."""


def _texts(stream: xr.DataTree, realisation: int) -> Texts:
    """Return the held-out documents of a stream, which is read once."""
    if not _kept or _kept[0][0] is not stream:
        _kept[:] = [(stream, {})]
    read = _kept[0][1]
    if realisation not in read:
        read[realisation] = _read_texts(stream, realisation)
    return read[realisation]


def _read_texts(stream: xr.DataTree, realisation: int) -> Texts:
    size = stream.sizes["word"]
    documents = list(provenance.reader(stream).held_out_documents(stream, realisation))
    row, column, count = (
        np.concatenate([np.zeros(0, np.int64), *arrays])
        for arrays in zip(
            *(
                (one.pairs[:, 0] * len(documents) + k, one.pairs[:, 1], one.targets)
                for k, one in enumerate(documents)
            ),
            strict=True,
        )
    )
    shape = size * len(documents), size
    return Texts(
        np.array([one.task for one in documents]), sparse.csr_array((count, (row, column)), shape)
    )


def _over_all_periods(
    stream: xr.DataTree, realisation: int, settings: Mapping[str, Any]
) -> Cooccurrence:
    """Return the counts of all periods together, as the learner gets them before the first."""
    batch = provenance.reader(stream).task(stream, [realisation], -1).train
    ratio, exponent = settings["negative_ratio"], settings["negative_exponent"]
    size = stream.sizes["word"]
    return cooccurrence(batch.inputs[0], batch.targets[0, :, 0], size, ratio, exponent)
