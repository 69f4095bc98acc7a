"""Readers of files of n-grams, plain or gz; errors name file and line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _n_gram_lines, _text_files
from shiftbench.data.text._n_gram_lines import Form
from shiftbench.data.text._tokens import Tokens

NO_TABLES = ("total_counts.csv",)


class Wanted(NamedTuple):
    """Selection of entries: the years from `first_year` to `last_year`, and how words are read.

    lower_case: whether words become small. drop_tags: whether n-grams with tags are left out.
    """

    first_year: int
    last_year: int
    lower_case: bool
    drop_tags: bool


class Lines(NamedTuple):
    """Lines of a table and their entries; an entry is the count of an n-gram in a wanted year.

    tokens: the words of the text, [line, n] each. line: [entry]. key: digest of the n-gram [entry]
    uint64. year, occurrences: [entry] int64.
    """

    text: str
    tokens: Tokens
    line: np.ndarray
    key: np.ndarray
    year: np.ndarray
    occurrences: np.ndarray


def form(raw: Path) -> Form:
    """Return the form of the first line of the first file, which all others must have."""
    first = _files(raw)[0]
    for _, line in _text_files.lines(first):
        return _n_gram_lines.form_of(line)
    raise UserError(f"Raw file {first} is empty. Delete it and fetch it again.")


def lines(raw: Path, wanted: Wanted, shard: int = 0, shards: int = 1) -> Iterator[Lines]:
    """Yield the lines of the files of one shard of several, in blocks."""
    every, one = _files(raw), form(raw)
    for path in every[shard::shards]:
        for first, content in _text_files.blocks(path):
            text = _text_files.decoded(str(path), content, line=first)
            fields = _n_gram_lines.parsed(text, one)
            if fields.wrong >= 0:
                other = "" if path == every[0] else f", which {every[0].name} has: put files of"
                other += " another size or release elsewhere" if other else ""
                reason = f"it is not of the form {one}{other}"
                raise raw_files.wrong(path, reason, first + fields.wrong)
            yield _selected(text, fields, one, wanted)


def _files(raw: Path) -> list[Path]:
    files = sorted(path for path in raw.glob("[!._]*") if path.is_file())
    files = [path for path in files if path.name not in NO_TABLES]
    if not files:
        raise UserError(
            f"There is no table of n-grams in {raw}. Put the files there, of one release and"
            " one size; docs/own-data.md says where they are."
        )
    return files


def _selected(text: str, fields: _n_gram_lines.Fields, form: Form, wanted: Wanted) -> Lines:
    """Select the entries of wanted years and lines.

    Tags and keys are those of the original text, even where words become small.
    """
    kept = (fields.year >= wanted.first_year) & (fields.year <= wanted.last_year)
    if wanted.drop_tags:
        kept &= ~fields.tagged[fields.line]
    line = fields.line[kept]
    if wanted.lower_case:
        text = text.lower()
        of_words = _n_gram_lines.parsed(text, form)
    else:
        of_words = fields
    tokens = Tokens(of_words.digest, of_words.start, of_words.stop)
    year, occurrences = fields.year[kept], fields.occurrences[kept]
    return Lines(text, tokens, line, fields.key[line], year, occurrences)
