"""Counts of any size on disk: runs of sorted rows are written, and merged a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from shiftbench.data.text import _counts
from shiftbench.data.text._counts import SparseRows

PAIRS = 2**22
"""Pairs in memory at a time, at some 40 bytes each; more only if a single row has more."""


def run(rows: SparseRows, folder: Path) -> SparseRows:
    """Write rows to files of a new folder, and return them as arrays that are read when used."""
    folder.mkdir()
    for name, array in rows._asdict().items():
        np.save(folder / f"{name}.npy", array)
    return SparseRows(
        *(np.load(folder / f"{name}.npy", mmap_mode="r") for name in SparseRows._fields)
    )


def merged(
    runs: Sequence[SparseRows], vocabulary: int, folder: Path, pairs: int = PAIRS
) -> SparseRows:
    """Return the sum of runs over the same rows, in files of a new folder."""
    folder.mkdir()
    n_rows = len(runs[0].start) - 1
    start, used = np.zeros(n_rows + 1, np.int64), 0
    with Column(folder / "column", np.int32) as column, Column(folder / "value", np.int64) as value:
        for first, last, part in _sums(runs, vocabulary, pairs):
            start[first + 1 : last + 1] = used + part.start[1:]
            used += len(part.column)
            column.extend(part.column)
            value.extend(part.value)
    return SparseRows(start, column.array(), value.array())


def entries(runs: Sequence[SparseRows], vocabulary: int) -> int:
    """Return the number of non-zero entries of the symmetric matrix that is the sum of runs."""
    return sum(_counts.entries(part, first) for first, _, part in _sums(runs, vocabulary, PAIRS))


class Column:
    """A column of numbers that grows in a file."""

    def __init__(self, path: Path, kind: type) -> None:
        self.path, self.kind, self.size = path, kind, 0
        self.file = path.open("wb")

    def __enter__(self) -> Column:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def extend(self, values: np.ndarray) -> None:
        self.file.write(np.ascontiguousarray(values, self.kind).data)
        self.size += len(values)

    def array(self) -> np.ndarray:
        """Return all values, read when used, once the file is closed."""
        if not self.size:
            return np.zeros(0, self.kind)
        return np.memmap(self.path, self.kind, "r", shape=self.size)


def _sums(
    runs: Sequence[SparseRows], vocabulary: int, pairs: int
) -> Iterator[tuple[int, int, SparseRows]]:
    """Yield the sum of runs, some rows at a time: first row, row after the last, and the rows."""
    for first, last in _blocks(runs, pairs):
        parts = [_counts.between(run, first, last) for run in runs]
        yield first, last, _counts.total(parts, vocabulary)


def _blocks(runs: Sequence[SparseRows], pairs: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of rows, each with at most `pairs` pairs or with a single row."""
    ends = np.zeros(len(runs[0].start), np.int64)
    for run in runs:
        ends += run.start
    first, last_row = 0, len(ends) - 1
    while first < last_row:
        last = int(np.searchsorted(ends, ends[first] + pairs, side="right")) - 1
        last = min(max(last, first + 1), last_row)
        yield first, last
        first = last
