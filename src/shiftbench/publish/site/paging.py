"""Cuts long tables into pages that a person can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

MOST_WORDS = 1200
"""The most words of a table on a page; the text around it has at most 300."""


class TablePage(NamedTuple):
    """A page of a table. address: of the page; addresses: of all its pages, in order."""

    address: str
    rows: list[Any]
    addresses: list[str]


def cut(address: str, rows: Sequence[Any], words: Callable[[Any], int]) -> Iterator[TablePage]:
    """Yield the pages of a table; a table without rows has one page.

    address: of the first page, without its ending; the others also have their number. words: the
    number of words of a row. A row with more words than a page may have gets a page of its own.
    """
    groups: list[list[Any]] = [[]]
    left = MOST_WORDS
    for row in rows:
        needed = words(row)
        if groups[-1] and needed > left:
            groups.append([])
            left = MOST_WORDS
        groups[-1].append(row)
        left -= needed
    addresses = [f"{address}{f'-{i}' * (i > 1)}.html" for i in range(1, len(groups) + 1)]
    for own, group in zip(addresses, groups, strict=True):
        yield TablePage(own, group, addresses)


def words(cells: Iterable[str]) -> int:
    """Return the number of words in cells; an empty one is shown as a dash."""
    return sum(max(1, len(cell.split())) for cell in cells)
