"""Words of a text as 64-bit digests, and tables from digests to word numbers.

A token is a run of letters and digits, with single hyphens and apostrophes inside it; any
other mark that is not a space is a token of its own. That is the regular expression
\\w+([-']\\w+)*|[^\\w\\s], with the typographic apostrophe beside the plain one, in Unicode's
basic plane; what lies beyond that is a mark.

Words are compared by a digest of 64 bits, so that no text is kept: among ten million
different words the chance that any two have the same one is three in a million.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

JOINERS = "-'’"  # noqa: RUF001  # the typographic apostrophe is meant
SPACE, WORD, JOINER, MARK = range(4)
PLANE = 2**16


class Tokens(NamedTuple):
    """The tokens of a text: digest [n] uint64, start and stop in the text [n]."""

    digest: np.ndarray
    start: np.ndarray
    stop: np.ndarray


class Table(NamedTuple):
    """An open hash table from digests to numbers: both [slots], number is -1 where empty."""

    digest: np.ndarray
    number: np.ndarray


def split(text: str) -> Tokens:
    """Return the tokens of a text, in order."""
    return Tokens(*_split(code_points(text), _kinds()))


def code_points(text: str) -> np.ndarray:
    """Return the characters of a text as numbers [n] uint32."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def table(words: Sequence[str]) -> Table:
    """Return the table from each word to its position in `words`."""
    stop = np.cumsum([len(word) for word in words], dtype=np.int64)
    start = np.concatenate([np.zeros(1, np.int64), stop[:-1]])
    slots = 1 << max(4, (2 * len(words)).bit_length())
    return Table(*_table(code_points("".join(words)), start, stop, slots))


def numbers(table: Table, digest: np.ndarray) -> np.ndarray:
    """Return the number of each digest [n], int32; -1 for words that are not in the table."""
    return _numbers(table.digest, table.number, digest)


@functools.cache
def _kinds() -> np.ndarray:
    """Return the kind of each character of the basic plane [PLANE]."""
    kinds = np.full(PLANE, MARK, np.uint8)
    for point in range(PLANE):
        character = chr(point)
        if character.isalnum() or character == "_":
            kinds[point] = WORD
        elif character.isspace():
            kinds[point] = SPACE
        elif character in JOINERS:
            kinds[point] = JOINER
    return kinds


@njit(cache=True)
def digest_of(points, start, stop):
    """Return a digest of the characters from `start` to before `stop`: FNV-1a and a last mixing."""
    value = np.uint64(14695981039346656037)
    for at in range(start, stop):
        value = (value ^ np.uint64(points[at])) * np.uint64(1099511628211)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return value ^ (value >> np.uint64(32))


@njit(cache=True)
def _kind(points, kinds, at):
    if at >= len(points):
        return SPACE
    return kinds[points[at]] if points[at] < PLANE else MARK


@njit(cache=True)
def _end(points, kinds, at):
    """Return the end of the word that starts at `at`."""
    kind = WORD
    while kind == WORD or (kind == JOINER and _kind(points, kinds, at + 1) == WORD):
        at += 1
        kind = _kind(points, kinds, at)
    return at


@njit(cache=True)
def _split(points, kinds):
    size = len(points)
    digest = np.empty(size, np.uint64)
    start, stop = np.empty(size, np.int32), np.empty(size, np.int32)
    count, at = 0, np.int64(0)
    while at < size:
        kind = _kind(points, kinds, at)
        end = _end(points, kinds, at) if kind == WORD else at + 1
        if kind != SPACE:
            digest[count] = digest_of(points, at, end)
            start[count], stop[count] = at, end
            count += 1
        at = end
    return digest[:count].copy(), start[:count].copy(), stop[:count].copy()


@njit(cache=True)
def _slot(digests, numbers, wanted):
    """Return the slot of a digest in the table, or the empty slot for it."""
    last = len(digests) - 1
    slot = np.int64(wanted & np.uint64(last))
    while numbers[slot] >= 0 and digests[slot] != wanted:
        slot = (slot + 1) & last
    return slot


@njit(cache=True)
def _table(points, start, stop, slots):
    digests, numbers = np.zeros(slots, np.uint64), np.full(slots, -1, np.int32)
    for number in range(len(start)):
        digest = digest_of(points, start[number], stop[number])
        slot = _slot(digests, numbers, digest)
        digests[slot], numbers[slot] = digest, number
    return digests, numbers


@njit(cache=True)
def _numbers(digests, numbers, wanted):
    result = np.empty(len(wanted), np.int32)
    for at in range(len(wanted)):
        result[at] = numbers[_slot(digests, numbers, wanted[at])]
    return result
