"""The store of word counts, one group a period, and its tasks.

The root has the words, the number of each in each period, and truth. Below it a group for each
realisation (a real corpus has one) holds the documents, with the text of held-out ones as word
numbers. Below that a group for each period holds its counts of pairs in training documents, half of
a symmetric matrix: `row_start`, `column` and `count` are the CSR form of the part with
column >= row; n+ = count / units. Where single occurrences are held out and not documents, the same
group has their counts, as `held_out_row_start` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.attributes import about
from shiftbench.data.text import _counts, _external_merge
from shiftbench.data.text._counts import SparseRows, Weights

BY_TASK = ("realisation", "task")
HELD_OUT = "held_out_"
"""Prefix of the names of counts of held-out occurrences."""


class Documents(NamedTuple):
    """Documents of a corpus, in its order, and the text of the held-out ones.

    name, task, held_out, tokens (number of words, in the vocabulary or not): [D]. start [H + 1],
    text [n]: the words of held-out documents, one after the other, -1 outside the vocabulary.
    """

    name: np.ndarray
    task: np.ndarray
    held_out: np.ndarray
    tokens: np.ndarray
    start: np.ndarray
    text: np.ndarray


class Realisation(NamedTuple):
    """Counts of one corpus: rows for T periods by V words, unigram [T, V], tokens [T].

    held_out: rows of held-out occurrences, where no documents are held out.
    """

    rows: SparseRows
    unigram: np.ndarray
    tokens: np.ndarray
    documents: Documents | None
    held_out: SparseRows | None = None


class HeldOut(NamedTuple):
    """A held-out document: its period, its pairs [m, 2] and their counts n+ [m], as in a batch."""

    name: str
    task: int
    pairs: np.ndarray
    targets: np.ndarray


def tree(
    words: Sequence[str],
    first_year: np.ndarray,
    realisations: Sequence[Realisation],
    weights: Weights,
    attrs: Mapping[str, Any],
    shift: np.ndarray | None = None,
) -> xr.DataTree:
    """Return the store; shift [realisation, task] is truth, None if unknown."""
    attrs = {
        "units": weights.units,
        "weights": weights.distance.tolist(),
        "warm_up": 1,
        "change": "unknown" if shift is None else "planted",
        **attrs,
    }
    if shift is None:
        shift = np.zeros((len(realisations), len(first_year)), bool)
    groups = {"/": _root(words, first_year, realisations, shift, attrs)}
    for number, realisation in enumerate(realisations):
        groups[f"/realisation-{number}"] = _documents(realisation.documents)
        for t in range(len(first_year)):
            period = _period(realisation.rows, t, len(words))
            if realisation.held_out is not None:
                period |= _period(realisation.held_out, t, len(words), HELD_OUT)
            groups[f"/{_group(number, t)}"] = xr.Dataset(period)
    return xr.DataTree.from_dict(groups)


def problem(store: xr.DataTree) -> Problem:
    """Return the problem: counts n+ of pairs (word, context), with one output a word."""
    rows = int(max(store.dataset["pairs"].values.max(), store.dataset["pairs_of_all"].values.max()))
    return Problem("counts", (2,), store.sizes["word"], rows, store.sizes["task"])  # type: ignore[arg-type]


def task(store: xr.DataTree, realisations: Sequence[int], t: int) -> Task:
    """Return the pairs of period t: inputs [S, n, 2] int32 in order, targets [S, n, 1] n+.

    The pairs have both (i, j) and (j, i). Task -1, the warm-up, is the sum over all periods. Test
    data are the pairs of what is held out of the period, if there is any.
    """
    if t < 0:
        width = int(store.dataset["pairs_of_all"].values.max())
        return Task(_batch([_all(store, r) for r in realisations], store, width), None, None)
    train = [counts(store, r, t) for r in realisations]
    batch = _batch(train, store, int(store.dataset["pairs"].values[:, t].max()))
    width = int(store.dataset["held_out_pairs"].values[:, t].max())
    if not width:
        return Task(batch, None, None)
    test = [held_out_counts(store, r, t) for r in realisations]
    return Task(batch, None, _batch(test, store, width))


def counts(store: xr.DataTree, realisation: int, t: int) -> SparseRows:
    """Return the part of a period's matrix with column >= row, in units; training documents."""
    return _rows_of(_node(store, _group(realisation, t)))


def held_out_counts(store: xr.DataTree, realisation: int, t: int) -> SparseRows:
    """Return the same part of the matrix for what is held out of the period."""
    period = _node(store, _group(realisation, t))
    if HELD_OUT + "count" in period:
        return _rows_of(period, HELD_OUT)
    group = _node(store, f"realisation-{realisation}")
    members = np.flatnonzero(group["held_out_task"].values == t)
    return _held_out(group, members, _weights(store), store.sizes["word"])


def held_out_documents(store: xr.DataTree, realisation: int = 0) -> Iterator[HeldOut]:
    """Yield the documents that are in no training count, one after the other; for dating.

    Where single occurrences are held out, those of each period make one document.
    """
    group, vocabulary = _node(store, f"realisation-{realisation}"), store.sizes["word"]
    if "held_out_task" in group:
        tasks, names = group["held_out_task"].values, group["document_name"].values
        names = names[group["document_held_out"].values]
        each = (
            _held_out(group, np.array([number]), _weights(store), vocabulary)
            for number in range(len(tasks))
        )
    else:
        root = store.dataset
        years, held_out = root["first_year"].values, root["held_out_pairs"].values[realisation]
        tasks = np.flatnonzero(held_out)
        names = years[tasks].astype(str)
        each = (held_out_counts(store, realisation, t) for t in tasks.tolist())
    for name, t, rows in zip(names.tolist(), tasks.tolist(), each, strict=True):
        pairs, count = _counts.mirrored(rows, vocabulary)
        yield HeldOut(name, t, pairs, count / store.attrs["units"])


def _group(realisation: int, t: int) -> str:
    return f"realisation-{realisation}/period-{t:03d}"


def _node(store: xr.DataTree, path: str) -> xr.Dataset:
    node = store[path]
    assert isinstance(node, xr.DataTree)
    return node.to_dataset(inherit=False)


def _rows_of(period: xr.Dataset, prefix: str = "") -> SparseRows:
    names = ("row_start", "column", "count")
    return SparseRows(*(period[prefix + name].values for name in names))


def _weights(store: xr.DataTree) -> Weights:
    return Weights(np.array(store.attrs["weights"], np.int64), int(store.attrs["units"]))


def _all(store: xr.DataTree, realisation: int) -> SparseRows:
    periods = [counts(store, realisation, t) for t in range(store.sizes["task"])]
    return _counts.total(periods, store.sizes["word"])


def _held_out(
    group: xr.Dataset, members: np.ndarray, weights: Weights, vocabulary: int
) -> SparseRows:
    """Count the pairs of some held-out documents together."""
    start, text = group["text_start"].values, group["text"].values
    return _count([text[start[h] : start[h + 1]] for h in members], weights, vocabulary)


def _count(texts: Sequence[np.ndarray], weights: Weights, vocabulary: int) -> SparseRows:
    joined = _counts.text(texts, np.zeros(len(texts), np.int32), len(weights.distance))
    return _counts.count(joined, weights, 1, vocabulary)


def _batch(halves: Sequence[SparseRows], store: xr.DataTree, width: int) -> Batch:
    """Return the symmetric matrices, padded with masked pairs to the same number of pairs."""
    inputs = np.zeros((len(halves), width, 2), np.int32)
    targets = np.zeros((len(halves), width, 1))
    mask = np.zeros((len(halves), width), bool)
    for s, half in enumerate(halves):
        pairs, count = _counts.mirrored(half, store.sizes["word"])
        inputs[s, : len(pairs)] = pairs
        targets[s, : len(pairs), 0] = count / store.attrs["units"]
        mask[s, : len(pairs)] = True
    return Batch(inputs, targets, mask)


def _root(
    words: Sequence[str],
    first_year: np.ndarray,
    realisations: Sequence[Realisation],
    shift: np.ndarray,
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    unigram = np.stack([realisation.unigram for realisation in realisations])
    tokens = np.stack([realisation.tokens for realisation in realisations])
    sizes = [_sizes(realisation, len(words), attrs) for realisation in realisations]
    pairs, of_all, held_out = (np.array(column) for column in zip(*sizes, strict=True))
    return xr.Dataset(
        {
            "shift": (BY_TASK, shift, about("whether a word changes with this period")),
            "unigram": (
                (*BY_TASK, "word"),
                unigram,
                about("how often the word is in training text"),
            ),
            "tokens": (BY_TASK, tokens, about("words of training text, in the vocabulary or not")),
            "pairs": (BY_TASK, pairs, about("pairs with a count in training text, both ways")),
            "pairs_of_all": ("realisation", of_all, about("the same for all periods together")),
            "held_out_pairs": (BY_TASK, held_out, about("the same for held-out text")),
        },
        coords={
            "realisation": ("realisation", np.arange(len(pairs)), about("number of realisation")),
            "task": ("task", np.arange(len(first_year)), about("number of the period")),
            "first_year": ("task", first_year, about("first year of the period", "year")),
            "word": ("word", np.array(words, str), about("word; its number is its place here")),
        },
        attrs=dict(attrs),
    )


def _sizes(
    counted: Realisation, vocabulary: int, attrs: Mapping[str, Any]
) -> tuple[np.ndarray, int, np.ndarray]:
    """Return the number of pairs of each period, of all periods together, and of held-out text."""
    periods = [_rows(counted.rows, t, vocabulary) for t in range(len(counted.tokens))]
    pairs = _entries_by_period(counted.rows, len(periods), vocabulary)
    of_all = _external_merge.entries(periods, vocabulary)
    held_out = np.zeros_like(pairs)
    if counted.documents is not None:
        weights = Weights(np.array(attrs["weights"], np.int64), attrs["units"])
        start, text = counted.documents.start, counted.documents.text
        tasks = counted.documents.task[counted.documents.held_out]
        for t in np.unique(tasks):
            texts = [text[start[h] : start[h + 1]] for h in np.flatnonzero(tasks == t)]
            held_out[t] = _counts.entries(_count(texts, weights, vocabulary))
    elif counted.held_out is not None:
        held_out = _entries_by_period(counted.held_out, len(pairs), vocabulary)
    return pairs, of_all, held_out


def _rows(rows: SparseRows, t: int, vocabulary: int) -> SparseRows:
    return _counts.between(rows, t * vocabulary, (t + 1) * vocabulary)


def _entries_by_period(rows: SparseRows, periods: int, vocabulary: int) -> np.ndarray:
    return np.array([_counts.entries(_rows(rows, t, vocabulary)) for t in range(periods)])


def _period(
    rows: SparseRows, t: int, vocabulary: int, prefix: str = ""
) -> dict[str, tuple[str, np.ndarray, dict[str, str]]]:
    """Return the counts of a period, as variables."""
    half = _rows(rows, t, vocabulary)
    first = about("first pair of a word, and after the last")
    other = about("number of the other word, not below the word")
    weighted = about("weighted count of the pair, times units")
    return {
        f"{prefix}row_start": (f"{prefix}edge", half.start, first),
        f"{prefix}column": (f"{prefix}pair", half.column, other),
        f"{prefix}count": (f"{prefix}pair", half.value, weighted),
    }


def _documents(documents: Documents | None) -> xr.Dataset:
    if documents is None:
        return xr.Dataset()
    held_out_task = documents.task[documents.held_out]
    return xr.Dataset(
        {
            "document_name": ("document", documents.name, about("name of the document")),
            "document_task": ("document", documents.task, about("number of its period")),
            "document_held_out": ("document", documents.held_out, about("no training text")),
            "document_tokens": ("document", documents.tokens, about("number of its words")),
            "held_out_task": ("held_out", held_out_task, about("period of a held-out document")),
            "text_start": ("text_edge", documents.start, about("first word of a held-out text")),
            "text": ("token", documents.text, about("number of the word; -1 is not in the list")),
        }
    )
