"""What one shard of a corpus counts, and the store that all shards together make.

A shard is a job of its own. Counts are integers, so that a sum over shards is the same
whatever their order and number. Neither a shard nor the merge has all pairs in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw as raw_data
from shiftbench.data.text import _count_store, _counts, _external_merge
from shiftbench.data.text._count_store import Documents, Realisation
from shiftbench.data.text._counts import SparseRows, Text, Weights

ROWS = ("row_start", "column", "count")


class Counter:
    """Adds up the pairs and the words of texts whose groups are periods."""

    def __init__(self, periods: int, vocabulary: int, weights: Weights, scratch: Path) -> None:
        self.weights, self.scratch = weights, scratch
        self.unigram = np.zeros((periods, vocabulary), np.int64)
        self.runs: list[SparseRows] = []

    def add(self, text: Text) -> None:
        """Counts a text that fits into memory, and puts its pairs on disk."""
        periods, vocabulary = self.unigram.shape
        known = text.word != _counts.GAP
        np.add.at(self.unigram, (text.group[known], text.word[known]), text.weight[known])
        rows = _counts.count(text, self.weights, periods, vocabulary)
        self.runs.append(_external_merge.run(rows, self.scratch / f"run-{len(self.runs)}"))

    def partial(
        self,
        shard: int,
        first_year: np.ndarray,
        documents: Documents | None = None,
        tokens: np.ndarray | None = None,
    ) -> xr.Dataset:
        """The counts of this shard, to be merged.

        tokens: the number of words, known or not, in each period; else from the documents.
        """
        periods, vocabulary = self.unigram.shape
        runs = self.runs or [_none(periods * vocabulary)]
        rows = _external_merge.merged(runs, vocabulary, self.scratch / "merged")
        found = {
            "row_start": ("edge", rows.start),
            "column": ("pair", rows.column),
            "count": ("pair", rows.value),
            "unigram": (("task", "word"), self.unigram),
            "first_year": ("task", first_year),
        }
        if documents is not None:
            tokens = np.zeros(periods, np.int64)
            train = ~documents.held_out
            np.add.at(tokens, documents.task[train], documents.tokens[train])
            fields = documents._asdict().items()
            found |= {f"document_{name}": (f"of_{name}", array) for name, array in fields}
        attrs = {"shard": shard, "window": len(self.weights.distance)}
        return xr.Dataset(found | {"tokens": ("task", tokens)}, attrs=attrs)


def merged(
    partials: Sequence[xr.Dataset],
    words: Sequence[str],
    weights: Weights,
    about: Mapping[str, Any],
    scratch: Path,
) -> xr.DataTree:
    """The store of a corpus from the counts of its shards, which may come in any order.

    about: further attributes of the store: title, licence, citation, years of a period.
    UserError where a period has no pair of words that are both in the vocabulary.
    """
    partials = sorted(partials, key=lambda partial: partial.attrs["shard"])
    runs = [SparseRows(*(_Slices(partial[name]) for name in ROWS)) for partial in partials]
    rows = _external_merge.merged(runs, len(words), scratch / "merged")
    unigram = np.sum([partial["unigram"].values for partial in partials], axis=0)
    tokens = np.sum([partial["tokens"].values for partial in partials], axis=0)
    first_year = partials[0]["first_year"].values
    _refuse_empty(rows, len(words), first_year, tokens, weights)
    documents = _documents(partials) if "document_text" in partials[0] else None
    realisation = Realisation(rows, unigram, tokens, documents)
    return _count_store.tree(words, first_year, [realisation], weights, about)


def about(dataset: str, period_years: int) -> dict[str, Any]:
    """What the table of raw data says of a corpus, as attributes of its store."""
    entry = raw_data.table()[dataset]
    attrs = {"title": entry.title, "licence": entry.licence, "citation": entry.citation}
    return attrs | {"period_years": period_years}


def in_memory(store: xr.DataTree) -> xr.DataTree:
    """The same store without files behind it."""
    nodes = {node.path: node.to_dataset(inherit=False) for node in store.subtree}
    return xr.DataTree.from_dict({name: node.copy(deep=True) for name, node in nodes.items()})


class _Slices:
    """An array that is read from its file a slice at a time."""

    def __init__(self, array: xr.DataArray) -> None:
        self.array = array

    def __len__(self) -> int:
        return self.array.size

    def __getitem__(self, inside: slice) -> np.ndarray:
        return self.array[inside].values

    def __array__(self, *arguments: Any, **options: Any) -> np.ndarray:
        return np.asarray(self.array.values, *arguments, **options)


def _none(rows: int) -> SparseRows:
    return SparseRows(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


def _refuse_empty(
    rows: SparseRows, vocabulary: int, first_year: np.ndarray, tokens: np.ndarray, weights: Weights
) -> None:
    pairs = np.diff(rows.start[::vocabulary])
    for t in np.flatnonzero((tokens == 0) | ((pairs == 0) & (len(weights.distance) > 0)))[:1]:
        raise UserError(
            f"The period that starts in {first_year[t]} is empty: no pair of words of the"
            " vocabulary is in its training text. Set first_year, last_year or period_years so"
            " that each period has text."
        )


def _documents(partials: Sequence[xr.Dataset]) -> Documents:
    """The documents of all shards, in the order of the corpus."""
    parts = [
        [partial[f"document_{name}"].values for name in Documents._fields] for partial in partials
    ]
    joined = Documents(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    sizes = np.concatenate([np.diff(Documents(*part).start) for part in parts])
    start = np.concatenate([[0], np.cumsum(sizes)])
    # Text that is read from a store has a type of its own.
    return joined._replace(name=joined.name.astype(object).astype(str), start=start)
