"""Lines of tables of n-grams in both forms of Google Books, split by compiled code.

Releases up to 2012 have a line for each year, `ngram TAB year TAB match_count TAB volume_count`.
The release of 2020 has one for each n-gram, `ngram TAB year,match_count,volume_count TAB ...`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shiftbench.data.text import _tokens
from shiftbench.data.text._tokens import digest_of

TAB, LINE, RETURN, BLANK, COMMA, ZERO, NINE, UNDERSCORE = map(ord, "\t\n\r ,09_")
LONGEST = 5
"""Characters of the longest tag."""


def _packed_tags(tags: str) -> tuple[int, ...]:
    return tuple(int.from_bytes(tag.encode(), "big") for tag in tags.split())


WORD_CLASSES = _packed_tags("NOUN VERB ADJ ADV PRON DET ADP NUM CONJ PRT X .")
PLACEHOLDERS = (*WORD_CLASSES, *_packed_tags("START END"))


class Form(NamedTuple):
    """The form of the lines of a table: words of an n-gram, and whether years share a line."""

    n: int
    years_share: bool

    def __str__(self) -> str:
        """Return the form in words."""
        if self.years_share:
            return f"{self.n} words TAB year,match_count,volume_count TAB ..., as in 2020"
        return f"{self.n} words TAB year TAB match_count TAB volume_count, as up to 2012"


class Fields(NamedTuple):
    """The lines of a text, and their entries, each the count of an n-gram in a year.

    digest, start, stop: words [line, n]. key: digest of the n-gram [line]. tagged: whether a word
    of it is or has a tag of its class [line]. line, year, occurrences: [entry] int64. wrong: number
    of the first line, from 0, that has another form, or -1.
    """

    digest: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    key: np.ndarray
    tagged: np.ndarray
    line: np.ndarray
    year: np.ndarray
    occurrences: np.ndarray
    wrong: int


def form_of(line: str) -> Form:
    """Return the form that a line seems to have."""
    ngram, _, rest = line.partition("\t")
    return Form(ngram.count(" ") + 1, "," in rest)


def parsed(text: str, form: Form) -> Fields:
    """Split a text that ends with an end of line."""
    return Fields(*_parse(_tokens.code_points(text), form.n, form.years_share))


@njit(cache=True)
def _parse(points, n, years_share):
    lines = np.sum(points == LINE)
    entries = np.sum(points == TAB) if years_share else lines
    digest = np.empty((lines, n), np.uint64)
    start, stop = np.empty((lines, n), np.int32), np.empty((lines, n), np.int32)
    key, tagged = np.empty(lines, np.uint64), np.zeros(lines, np.bool_)
    of_line = np.empty(entries, np.int64)
    year, count = np.empty(entries, np.int64), np.empty(entries, np.int64)
    mark = np.int64(COMMA if years_share else TAB)
    end = np.int64(LINE)  # not a literal, for which the function would be compiled again
    at, used, wrong = np.int64(0), np.int64(0), np.int64(-1)
    for line in range(lines):
        whole = np.uint64(0)
        for word in range(n):
            begin = at
            while points[at] != BLANK and points[at] != TAB and points[at] != LINE:
                at += 1
            if at == begin or points[at] != (BLANK if word < n - 1 else TAB):
                wrong = line
                break
            digest[line, word] = digest_of(points, begin, at)
            start[line, word], stop[line, word] = begin, at
            whole = whole * np.uint64(1099511628211) + digest[line, word]
            tagged[line] |= _is_tag(points, begin, at)
            at += 1
        key[line] = whole
        more = wrong < 0
        while more:
            first, at = _number(points, at, mark)
            second, at = _number(points, at, mark)
            volumes, at = _number(points, at, end)
            more = years_share and points[at - 1] == TAB
            if min(first, second, volumes) < 0 or not (more or points[at - 1] == LINE):
                wrong = line
                break
            of_line[used], year[used], count[used] = line, first, second
            used += 1
        if wrong >= 0:
            break
    return digest, start, stop, key, tagged, of_line[:used], year[:used], count[:used], wrong


@njit(cache=True)
def _number(points, at, mark):
    """Return the number that starts at `at`, and the place after the mark that ends it.

    The number is -1 if there is none. With the mark LINE a tab also ends it. A carriage return may
    stand before the end of a line, and nothing beyond that end is read.
    """
    begin, value = at, np.int64(0)
    while ZERO <= points[at] <= NINE:
        value = 10 * value + np.int64(points[at]) - ZERO
        at += 1
    read = at - begin
    if mark == LINE and points[at] == RETURN and points[at + 1] == LINE:
        at += 1
    ends = points[at] == mark or (mark == LINE and points[at] == TAB)
    if not ends or not 0 < read < 19:
        return np.int64(-1), at if points[at] == LINE else at + 1
    return value, at + 1


@njit(cache=True)
def _is_tag(points, begin, end):
    """Return whether a word ends in _NOUN and the like, or is _NOUN_, _START_ or _END_."""
    if points[end - 1] == UNDERSCORE:
        return points[begin] == UNDERSCORE and _packed_in(
            points, begin + 1, end - 1, np.int64(len(PLACEHOLDERS))
        )
    if points[end - 1] > UNDERSCORE:  # a small letter, in which most words end
        return False
    for at in range(end - 2, max(begin, end - 2 - LONGEST) - 1, -1):
        if points[at] == UNDERSCORE:
            return _packed_in(points, at + 1, end, np.int64(len(WORD_CLASSES)))
    return False


@njit(cache=True)
def _packed_in(points, begin, end, known):
    """Return whether the characters are one of the first `known` placeholders."""
    value = np.int64(0)
    if not 0 < end - begin <= LONGEST:
        return False
    for at in range(begin, end):
        if points[at] > 127:
            return False
        value = 256 * value + np.int64(points[at])
    found = False
    for number in range(known):
        found |= value == PLACEHOLDERS[number]
    return found
