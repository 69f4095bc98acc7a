"""Which words have a number: a given list, or those that rank highest in the training text.

The vocabularies of li2021vbs, as its authors' files have them, rank by the sum over documents
of a word's relative frequency in the document (speeches, sessions, or years of n-gram tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.text._tokens import Tokens

Ranking = Literal["relative", "total"]
WHOLE = 2**32
"""Relative frequencies are kept in this fraction of 1, so that sums are exact."""


class Totals:
    """Sums over the words seen so far; memory grows with different words, not with text."""

    def __init__(self) -> None:
        self.words: dict[str, tuple[int, int]] = {}

    def add(self, text: str, found: Tokens, count: np.ndarray, share: np.ndarray) -> None:
        """Adds the tokens of a text: how often each stands for [n], and its share of WHOLE."""
        _, first, place = np.unique(found.digest, return_index=True, return_inverse=True)
        # Exact: no sum comes near 2^53.
        counts = np.bincount(place, count, len(first)).astype(np.int64).tolist()
        shares = np.bincount(place, share, len(first)).astype(np.int64).tolist()
        starts, stops = found.start[first].tolist(), found.stop[first].tolist()
        for start, stop, c, s in zip(starts, stops, counts, shares, strict=True):
            word = text[start:stop]
            old_count, old_share = self.words.get(word, (0, 0))
            self.words[word] = (old_count + c, old_share + s)


class Wanted(Protocol):
    """The settings that a stream of texts has of its vocabulary."""

    @property
    def words(self) -> Sequence[str]: ...
    @property
    def vocabulary_size(self) -> int: ...
    @property
    def minimum_count(self) -> int: ...
    @property
    def ranking(self) -> Ranking: ...


def numbered(wanted: Wanted, totals: Totals, source: str) -> list[str]:
    """The words that have a number: those that are given, or the first of a ranking."""
    if wanted.words:
        return given(wanted.words, totals, source)
    size, least = wanted.vocabulary_size, wanted.minimum_count
    return chosen(totals, size, least, wanted.ranking, source)


def chosen(
    totals: Totals, size: int, minimum_count: int, ranking: Ranking, source: str
) -> list[str]:
    """The `size` words that rank highest, or all for 0; equals in the order of the alphabet.

    UserError where fewer words than that occur `minimum_count` times.
    """
    by = 1 if ranking == "relative" else 0
    known = [(-sums[by], word) for word, sums in totals.words.items() if sums[0] >= minimum_count]
    if len(known) < max(size, 2):
        raise UserError(
            f"The vocabulary of {source} shall have {max(size, 2)} words, but only {len(known)}"
            f" occur {minimum_count} times or more in its training text. Lower vocabulary_size"
            " or minimum_count."
        )
    return [word for _, word in sorted(known)[: size or None]]


def given(words: Sequence[str], totals: Totals, source: str) -> list[str]:
    """The list as it is. UserError for a word that is twice in it, or not in the corpus."""
    double = sorted({word for word in words if words.count(word) > 1})
    absent = [word for word in words if word not in totals.words]
    for what, found in (("is twice", double), ("does not occur", absent)):
        if found:
            raise UserError(
                f"Word {found[0]!r} of the given vocabulary {what} in {source}"
                f" ({len(found)} such words). Correct the setting words."
            )
    return list(words)
