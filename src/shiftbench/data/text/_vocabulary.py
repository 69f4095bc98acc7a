"""The vocabulary: a given list of words, or those that rank highest in the training text.

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


def share(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return floor(WHOLE count / total) for counts below 2^47, where the product would overflow."""
    half = 2**16
    high, rest = np.divmod(count * half, total)
    return high * half + rest * half // total


class Totals:
    """Sums over the words seen so far; memory grows with different words, not with text."""

    def __init__(self) -> None:
        self.words: dict[str, tuple[int, int]] = {}

    def add(self, text: str, tokens: Tokens, count: np.ndarray, share: np.ndarray) -> None:
        """Add the tokens of a text, with the occurrences and the share of WHOLE of each [n]."""
        _, first, place = np.unique(tokens.digest, return_index=True, return_inverse=True)
        # Exact: no sum comes near 2^53.
        counts = np.bincount(place, count, len(first)).astype(np.int64).tolist()
        shares = np.bincount(place, share, len(first)).astype(np.int64).tolist()
        starts, stops = tokens.start[first].tolist(), tokens.stop[first].tolist()
        for start, stop, c, s in zip(starts, stops, counts, shares, strict=True):
            word = text[start:stop]
            old_count, old_share = self.words.get(word, (0, 0))
            self.words[word] = (old_count + c, old_share + s)


class Settings(Protocol):
    """The settings that a stream of texts has of its vocabulary."""

    @property
    def words(self) -> Sequence[str]: ...
    @property
    def vocabulary_size(self) -> int: ...
    @property
    def minimum_count(self) -> int: ...
    @property
    def ranking(self) -> Ranking: ...


def choose(settings: Settings, totals: Totals, source: str) -> list[str]:
    """Return the words that have a number: the given ones, or the first of a ranking.

    UserError, with the name of the source, if a given word is listed twice or is not in the texts,
    or if too few words occur often enough.
    """
    if settings.words:
        _refuse_wrong(settings.words, totals, source)
        return list(settings.words)
    size, minimum = settings.vocabulary_size, settings.minimum_count
    return ranked(totals, size, minimum, settings.ranking, source)


def ranked(
    totals: Totals, size: int, minimum_count: int, ranking: Ranking, source: str
) -> list[str]:
    """Return the `size` words that rank highest, 0 for all; ties are in alphabetical order.

    UserError if fewer words than that occur `minimum_count` times.
    """
    by = 1 if ranking == "relative" else 0
    words = [(-sums[by], word) for word, sums in totals.words.items() if sums[0] >= minimum_count]
    if len(words) < max(size, 2):
        raise UserError(
            f"The vocabulary of {source} shall have {max(size, 2)} words, but only {len(words)}"
            f" occur {minimum_count} times or more in its training text. Lower vocabulary_size"
            " or minimum_count."
        )
    return [word for _, word in sorted(words)[: size or None]]


def _refuse_wrong(words: Sequence[str], totals: Totals, source: str) -> None:
    double = sorted({word for word in words if words.count(word) > 1})
    absent = [word for word in words if word not in totals.words]
    for reason, wrong in (("is twice", double), ("does not occur", absent)):
        if wrong:
            raise UserError(
                f"Word {wrong[0]!r} of the given vocabulary {reason} in {source}"
                f" ({len(wrong)} such words). Correct the setting words."
            )
