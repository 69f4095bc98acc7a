"""Counts of one shard of a corpus, and the store that all shards together make.

Each shard is one job. Counts are integers, so that a sum over shards is the same for any
order and number of them. Neither a shard nor the merge has all pairs in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.data.text import _count_store, _counts, _external_merge
from shiftbench.data.text._count_store import HELD_OUT, Documents, Realisation
from shiftbench.data.text._counts import SparseRows, Text, Weights

ROWS = ("row_start", "column", "count")


class Counter:
    """Sums of the pairs and the words of texts whose groups are periods."""

    def __init__(self, periods: int, vocabulary: int, weights: Weights, scratch: Path) -> None:
        self.weights, self.scratch = weights, scratch
        self.unigram = np.zeros((periods, vocabulary), np.int64)
        self.runs: list[SparseRows] = []

    def add(self, text: Text) -> None:
        """Count a text that fits into memory, and put its pairs on disk."""
        periods, vocabulary = self.unigram.shape
        is_word = text.word != _counts.GAP
        np.add.at(self.unigram, (text.group[is_word], text.word[is_word]), text.weight[is_word])
        rows = _counts.count(text, self.weights, periods, vocabulary)
        self.runs.append(_external_merge.run(rows, self.scratch / f"run-{len(self.runs)}"))

    def partial(
        self,
        shard: int,
        first_year: np.ndarray,
        documents: Documents | None = None,
        tokens: np.ndarray | None = None,
        held_out: Counter | None = None,
    ) -> xr.Dataset:
        """Return the counts of this shard, to be merged.

        tokens: number of words in each period, in the vocabulary or not; by default from documents.
        held_out: counts of held-out occurrences, where no documents are held out.
        """
        variables = {
            **self._pairs(),
            "unigram": (("task", "word"), self.unigram),
            "first_year": ("task", first_year),
        }
        if held_out is not None:
            variables |= held_out._pairs(HELD_OUT)
        if documents is not None:
            tokens = np.zeros(len(first_year), np.int64)
            train = ~documents.held_out
            np.add.at(tokens, documents.task[train], documents.tokens[train])
            fields = documents._asdict().items()
            variables |= {f"document_{name}": (f"of_{name}", array) for name, array in fields}
        attrs = {"shard": shard, "window": len(self.weights.distance)}
        return xr.Dataset(variables | {"tokens": ("task", tokens)}, attrs=attrs)

    def _pairs(self, prefix: str = "") -> dict[str, tuple[str, np.ndarray]]:
        """Return the sums of the pairs, as variables."""
        periods, vocabulary = self.unigram.shape
        runs = self.runs or [_none(periods * vocabulary)]
        rows = _external_merge.merged(runs, vocabulary, self.scratch / "merged")
        dims = (f"{prefix}edge", f"{prefix}pair", f"{prefix}pair")
        names = (prefix + name for name in ROWS)
        return {name: (dim, array) for name, dim, array in zip(names, dims, rows, strict=True)}


def build(
    shards: int,
    vocabulary: Callable[[], Any],
    count_shard: Callable[[Any, int, Path], xr.Dataset],
    merge: Callable[[Any, Sequence[xr.Dataset], Path], xr.DataTree],
) -> xr.DataTree:
    """Return the store that the three stages of counting make, all in this process."""
    found = vocabulary()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        partials = [count_shard(found, shard, scratch / str(shard)) for shard in range(shards)]
        return _in_memory(merge(found, partials, scratch))


def merged(
    partials: Sequence[xr.Dataset],
    words: Sequence[str],
    weights: Weights,
    attributes: Mapping[str, Any],
    scratch: Path,
) -> xr.DataTree:
    """Return the store of a corpus from the counts of its shards, which may come in any order.

    attributes: of the store: title, licence, citation, years of a period. UserError if a period has
    no pair of words of the vocabulary.
    """
    partials = sorted(partials, key=lambda partial: partial.attrs["shard"])
    rows = _merged_pairs(partials, len(words), scratch / "merged")
    unigram = np.sum([partial["unigram"].values for partial in partials], axis=0)
    tokens = np.sum([partial["tokens"].values for partial in partials], axis=0)
    first_year = partials[0]["first_year"].values
    _refuse_empty(rows, len(words), first_year, tokens, weights)
    documents = _documents(partials) if "document_text" in partials[0] else None
    held_out = None
    if HELD_OUT + ROWS[0] in partials[0]:
        held_out = _merged_pairs(partials, len(words), scratch / "held-out", HELD_OUT)
        _refuse_nothing_held_out(held_out, len(words), first_year, weights)
    realisation = Realisation(rows, unigram, tokens, documents, held_out)
    return _count_store.tree(words, first_year, [realisation], weights, attributes)


def _merged_pairs(
    partials: Sequence[xr.Dataset], vocabulary: int, folder: Path, prefix: str = ""
) -> SparseRows:
    # The arrays can be sliced, which is all that the merge needs.
    runs = [SparseRows(*(_Slices(one[prefix + name]) for name in ROWS)) for one in partials]  # type: ignore[arg-type]
    return _external_merge.merged(runs, vocabulary, folder)


def _in_memory(store: xr.DataTree) -> xr.DataTree:
    """Return a copy of the store without files behind it."""
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


def _refuse_nothing_held_out(
    rows: SparseRows, vocabulary: int, first_year: np.ndarray, weights: Weights
) -> None:
    pairs = np.diff(rows.start[::vocabulary])
    for t in np.flatnonzero((pairs == 0) & (len(weights.distance) > 0))[:1]:
        raise UserError(
            f"The period that starts in {first_year[t]} has no pair of words of the vocabulary"
            " that is held out. Raise held_out or period_years, or set held_out to 0."
        )


def _documents(partials: Sequence[xr.Dataset]) -> Documents:
    """Return the documents of all shards, in the order of the corpus."""
    parts = [
        [partial[f"document_{name}"].values for name in Documents._fields] for partial in partials
    ]
    joined = Documents(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    sizes = np.concatenate([np.diff(Documents(*part).start) for part in parts])
    start = np.concatenate([[0], np.cumsum(sizes)])
    # Text read from a store has a type of its own.
    return joined._replace(name=joined.name.astype(object).astype(str), start=start)
