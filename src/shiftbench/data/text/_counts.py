"""Weighted counts of pairs of words that stand near each other, in exact arithmetic.

Every pair of words at a distance of d = 1..W in the same document adds a weight to both (i, j) and
(j, i), so that the diagonal gets it twice. Weights are integers, multiples of 1 / units, so that a
sum is the same in any order.

The counts are symmetric: the part with j >= i is kept, as rows of a CSR matrix. A row is a word of
a group, and a group is a period or a document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

Weighting = Literal["linear", "flat", "harmonic"]
GAP = -1
"""The number of a word outside the vocabulary; gaps also separate documents."""
SHIFT = 4
BLOCK = 1 << SHIFT
"""Columns that share a flag, so that a row is gathered in order without being sorted."""


class SparseRows(NamedTuple):
    """Counts in CSR form: row r has the columns and values from start[r] to start[r + 1].

    start: [rows + 1] int64; column: [m] int32, ascending in each row; value: [m] int64, in units.
    All three may be anything that can be sliced, such as files on disk.
    """

    start: np.ndarray
    column: np.ndarray
    value: np.ndarray


class Weights(NamedTuple):
    """The weight of each distance 1..W, in multiples of 1 / units: [W] int64."""

    distance: np.ndarray
    units: int


class Text(NamedTuple):
    """Documents as one row of words with gaps between: word, group int32, weight int64 [n]."""

    word: np.ndarray
    group: np.ndarray
    weight: np.ndarray


def weights(weighting: Weighting, window: int) -> Weights:
    """Return the weight at distance d: linear (W + 1 - d) / W, flat 1, harmonic 1 / d."""
    distance = np.arange(1, window + 1, dtype=np.int64)
    if weighting == "linear":
        return Weights(window + 1 - distance, window)
    if weighting == "flat":
        return Weights(np.ones_like(distance), 1)
    units = math.lcm(*range(1, window + 1))
    return Weights(units // distance, units)


def text(documents: Sequence[np.ndarray], group: np.ndarray, window: int) -> Text:
    """Join documents, given as the numbers of their words, with their groups [D].

    As many gaps as the window is wide stand before, between and after documents.
    """
    sizes = np.array([len(document) for document in documents], np.int64)
    words = np.concatenate([np.zeros(0, np.int32), *documents])
    place = np.arange(len(words)) + np.repeat(window * np.arange(1, len(sizes) + 1), sizes)
    size = len(words) + window * (len(sizes) + 1)
    spread, groups = np.full(size, GAP, np.int32), np.zeros(size, np.int32)
    spread[place], groups[place] = words, np.repeat(group, sizes)
    return Text(spread, groups, np.ones(size, np.int64))


def count(joined: Text, weights: Weights, groups: int, vocabulary: int) -> SparseRows:
    """Count the pairs of a text: row g V + i holds word i of group g, with columns j >= i.

    Memory: at most 12 bytes for each word and distance. The text must start and end with gaps, as
    `text` joins it.
    """
    return SparseRows(*_count(*joined, weights.distance, groups, vocabulary))


def total(parts: Sequence[SparseRows], vocabulary: int) -> SparseRows:
    """Return the sum of counts over the same rows; equal for any order of the parts."""
    ends = np.cumsum([0] + [len(part.column) for part in parts])
    starts = np.stack([np.asarray(p.start) + e for p, e in zip(parts, ends[:-1], strict=True)])
    column = _joined((part.column for part in parts), np.int32)
    value = _joined((part.value for part in parts), np.int64)
    return SparseRows(*_total(starts, column, value, vocabulary))


def between(rows: SparseRows, first: int, last: int) -> SparseRows:
    """Return the rows from `first` to before `last`."""
    start = np.asarray(rows.start[first : last + 1])
    inside = slice(int(start[0]), int(start[-1]))
    return SparseRows(start - start[0], rows.column[inside], rows.value[inside])


def mirrored(rows: SparseRows, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric matrix of one group: pairs [m, 2] int32 in order, counts [m] int64."""
    from scipy.sparse import csr_array, triu

    half = csr_array((rows.value, rows.column, rows.start), shape=(vocabulary, vocabulary))
    whole = csr_array(half + triu(half, 1, format="csr").T)
    whole.sort_indices()
    word = np.repeat(np.arange(vocabulary, dtype=np.int32), np.diff(whole.indptr))
    return np.stack([word, whole.indices.astype(np.int32)], axis=1), whole.data


def entries(rows: SparseRows, first: int = 0) -> int:
    """Return the number of non-zero entries of rows, from word `first` on, with their mirror."""
    word = np.repeat(np.arange(first, first + len(rows.start) - 1), np.diff(rows.start))
    return 2 * len(rows.column) - int((rows.column == word).sum())


def _joined(arrays: Iterable[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.asarray(array, kind) for array in arrays])


@njit(cache=True)
def _count(words, group, weight, distance, groups, vocabulary):
    rows, window = groups * vocabulary, len(distance)
    first, order = _by_row(words, group, rows, vocabulary)
    column = np.empty(len(order) * window, np.int32)
    counts = np.empty(len(order) * window, np.int64)
    start = np.zeros(rows + 1, np.int64)
    sums = np.zeros(vocabulary, np.int64)
    touched = np.zeros((vocabulary + BLOCK - 1) // BLOCK, np.bool_)
    used = np.int64(0)
    for row in range(rows):
        word = row % vocabulary
        for place in order[first[row] : first[row + 1]]:
            for d in range(1, window + 1):
                added = distance[d - 1] * weight[place]
                for other in (words[place - d], words[place + d]):
                    if other >= word:
                        sums[other] += added
                        touched[other >> SHIFT] = True
        if first[row] < first[row + 1]:
            used = _gather(sums, touched, column, counts, used)
        start[row + 1] = used
    return start, column[:used].copy(), counts[:used].copy()


@njit(cache=True)
def _by_row(words, group, rows, vocabulary):
    """Return the positions of words sorted by row, and the start of each row [rows + 1]."""
    first = np.zeros(rows + 2, np.int64)
    for at in range(len(words)):
        if words[at] >= 0:
            first[np.int64(group[at]) * vocabulary + words[at] + 2] += 1
    first = np.cumsum(first)
    order = np.empty(first[-1], np.int64)
    for at in range(len(words)):
        if words[at] >= 0:
            row = np.int64(group[at]) * vocabulary + words[at] + 1
            order[first[row]] = at
            first[row] += 1
    return first[:-1], order


@njit(cache=True)
def _gather(sums, touched, column, counts, used):
    """Move the sums that are not 0 to the end of the lists, in order; clear sums and flags."""
    for block in range(len(touched)):
        if touched[block]:
            touched[block] = False
            for j in range(block * BLOCK, min((block + 1) * BLOCK, len(sums))):
                if sums[j] != 0:
                    column[used], counts[used] = j, sums[j]
                    sums[j] = 0
                    used += 1
    return used


@njit(cache=True)
def _total(starts, columns, values, vocabulary):
    parts, rows = starts.shape[0], starts.shape[1] - 1
    column, counts = np.empty(len(columns), np.int32), np.empty(len(columns), np.int64)
    start = np.zeros(rows + 1, np.int64)
    sums = np.zeros(vocabulary, np.int64)
    touched = np.zeros((vocabulary + BLOCK - 1) // BLOCK, np.bool_)
    used = np.int64(0)
    for row in range(rows):
        for part in range(parts):
            for at in range(starts[part, row], starts[part, row + 1]):
                sums[columns[at]] += values[at]
                touched[columns[at] >> SHIFT] = True
        used = _gather(sums, touched, column, counts, used)
        start[row + 1] = used
    return start, column[:used].copy(), counts[:used].copy()
