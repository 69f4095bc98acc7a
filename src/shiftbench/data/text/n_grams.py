"""Words that change meaning in tables of n-grams, in the format of Google Books.

Source: li2021vbs, section 4.3. A line is `ngram TAB year TAB match_count TAB volume_count`, and a
file is plain or gz. A 5-gram with count c adds (5 - d) / 4 c to both (i, j) and (j, i) for each
pair of its words at distance d; other sizes follow the same rule. Nothing is held out, because a
table has no documents. 1-grams have no pairs: their store has counts of words alone.

Counting is split in shards as for running-text, but a shard has whole files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Le
from numba import njit

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _counts, _shards, _text_files, _tokens, _vocabulary
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._counts import GAP, Text
from shiftbench.data.text._tokens import Tokens, digest_of

FACTS = Facts(gives=("counts", "warm-up"))

__all__ = [
    "Settings",
    "build",
    "count_shard",
    "held_out_documents",
    "merge",
    "problem",
    "task",
    "vocabulary",
]

NO_TABLES = ("total_counts.csv",)
TAB, LINE, RETURN, BLANK, ZERO, NINE = (ord(character) for character in "\t\n\r 09")
YEAR, COUNT, VOLUMES = 1, 2, 3


@dataclass(frozen=True)
class Settings:
    dataset: Literal["google-ngrams-q", "google-ngrams"] = "google-ngrams"
    """Name of the tables in the table of raw data. google-ngrams are all files that you put into
    its folder; they have n-grams of one size."""
    first_year: Annotated[int, Ge(0)] = 1900
    """First year of the first period; earlier lines are left out."""
    last_year: Annotated[int, Ge(0)] = 2000
    """Last year; later lines are left out. The authors' vocabulary is of 1900 to 2000."""
    period_years: Annotated[int, Ge(1)] = 1
    """Number of years in a period."""
    case: Literal["kept", "lower"] = "kept"
    """kept: capital letters stay, as in the papers' vocabularies. lower: they become small."""
    vocabulary_size: Annotated[int, Ge(0)] = 30000
    """Number of words; 0: all that occur often enough. The paper has 30000."""
    minimum_count: Annotated[int, Ge(1)] = 1
    """Smallest number of occurrences of a word of the vocabulary."""
    ranking: Literal["relative", "total"] = "relative"
    """Order of the words. relative: by the mean over periods of the relative frequency in the
    period, as in the authors' vocabulary. total: by the total count."""
    words: tuple[str, ...] = ()
    """A given vocabulary; vocabulary_size, minimum_count and ranking then have no effect."""
    weighting: Literal["linear", "flat", "harmonic"] = "linear"
    """Weight of a pair at distance d: (n - d) / (n - 1) as in the papers, 1, or 1 / d."""
    shards: Annotated[int, Ge(1), Le(10_000)] = 1
    """Number of jobs that share the counting, each with whole files; jobs beyond the number of
    files are empty. The result does not depend on it."""


class Fields(NamedTuple):
    """Fields of the lines of a table: words [line, n] and numbers [line].

    wrong: number of the first line, from 0, that is not of the right form, or -1.
    """

    digest: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    year: np.ndarray
    occurrences: np.ndarray
    wrong: int


class Lines(NamedTuple):
    """Lines of a table whose year is in a period, and the text that has them.

    tokens: all words, n a line. period, occurrences: [line] int64.
    """

    text: str
    tokens: Tokens
    period: np.ndarray
    occurrences: np.ndarray


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """Return the store, counted in this process. UserError if the raw files are wrong."""
    return _shards.build(
        settings.shards,
        partial(vocabulary, settings, raw),
        partial(count_shard, settings, raw),
        partial(merge, settings),
    )


def vocabulary(settings: Settings, raw: Path) -> list[str]:
    """Return the words that have a number, in that order.

    Memory: about 200 bytes for each different word. UserError if the raw files are wrong or have
    too few words.
    """
    n, totals = _size(settings, raw), _vocabulary.Totals()
    relative = settings.ranking == "relative" and not settings.words
    of_period = np.zeros(len(_first_year(settings)), np.int64)
    for lines in _tables(settings, raw, n) if relative else ():
        of_period += _words_of_period(settings, lines, n)
    for lines in _tables(settings, raw, n):
        share = lines.occurrences * _vocabulary.WHOLE // np.maximum(of_period, 1)[lines.period]
        totals.add(lines.text, lines.tokens, np.repeat(lines.occurrences, n), np.repeat(share, n))
    return _vocabulary.choose(settings, totals, settings.dataset)


def count_shard(
    settings: Settings, raw: Path, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """Return the counts of one shard; some arrays are files in `scratch`, a new folder."""
    scratch.mkdir()
    n, table, first_year = _size(settings, raw), _tokens.table(words), _first_year(settings)
    weights = _counts.weights(settings.weighting, n - 1)
    counter = _shards.Counter(len(first_year), len(words), weights, scratch)
    tokens = np.zeros(len(first_year), np.int64)
    for lines in _tables(settings, raw, n, shard):
        counter.add(_text(_tokens.numbers(table, lines.tokens.digest), lines, n))
        tokens += _words_of_period(settings, lines, n)
    return counter.partial(shard, first_year, tokens=tokens)


def merge(
    settings: Settings, words: Sequence[str], partials: Sequence[xr.Dataset], scratch: Path
) -> xr.DataTree:
    """Return the store from the counts of all shards, in any order; it may use `scratch`."""
    weights = _counts.weights(settings.weighting, int(partials[0].attrs["window"]))
    entry = raw_files.table()[settings.dataset]
    attributes = {**entry.attributes(), "period_years": settings.period_years}
    return _shards.merged(partials, words, weights, attributes, scratch)


def _first_year(settings: Settings) -> np.ndarray:
    return np.arange(settings.first_year, settings.last_year + 1, settings.period_years)


def _files(raw: Path) -> list[Path]:
    files = sorted(path for path in raw.glob("[!._]*") if path.is_file())
    files = [path for path in files if path.name not in NO_TABLES]
    if not files:
        raise UserError(f"There is no table of n-grams in {raw}. Put the files there.")
    return files


def _size(settings: Settings, raw: Path) -> int:
    """Return the number of words of an n-gram of the first file."""
    for _, line in _text_files.lines(_files(Path(raw))[0]):
        return len(line.split("\t")[0].split(" "))
    raise UserError(f"Raw file {_files(Path(raw))[0]} is empty. Delete it and fetch it again.")


def _tables(settings: Settings, raw: Path, n: int, shard: int | None = None) -> Iterator[Lines]:
    """Yield the lines of all files, or of the files of a shard, some at a time."""
    files = _files(Path(raw))
    if shard is not None:
        files = files[shard :: settings.shards]
    for path in files:
        for first, content in _text_files.blocks(path):
            text = _text_files.decoded(str(path), content, line=first)
            text = text.lower() if settings.case == "lower" else text
            fields = Fields(*_parse(_tokens.code_points(text), n))
            if fields.wrong >= 0:
                form = f"{n} words TAB year TAB match_count TAB volume_count"
                raise raw_files.wrong(path, f"it is not of the form {form}", first + fields.wrong)
            yield _inside(settings, text, fields)


def _inside(settings: Settings, text: str, fields: Fields) -> Lines:
    """Select the lines whose year is in a period."""
    kept = (fields.year >= settings.first_year) & (fields.year <= settings.last_year)
    words = (fields.digest, fields.start, fields.stop)
    tokens = Tokens(*(array[kept].ravel() for array in words))
    period = (fields.year[kept] - settings.first_year) // settings.period_years
    return Lines(text, tokens, period, fields.occurrences[kept])


def _text(numbers: np.ndarray, lines: Lines, n: int) -> Text:
    """Return lines as documents with gaps around them, each weighted by its occurrences."""
    window = n - 1
    grid = np.full((len(lines.occurrences), n + window), GAP, np.int32)
    grid[:, :n] = numbers.reshape(-1, n)
    word = np.concatenate([np.full(window, GAP, np.int32), grid.ravel()])
    group, weight = (
        np.concatenate([np.zeros(window, np.int64), np.repeat(array, n + window)])
        for array in (lines.period, lines.occurrences)
    )
    return Text(word, group.astype(np.int32), weight)


def _words_of_period(settings: Settings, lines: Lines, n: int) -> np.ndarray:
    """Return the number of words of all occurrences of the lines in each period."""
    words = np.zeros(len(_first_year(settings)), np.int64)
    np.add.at(words, lines.period, n * lines.occurrences)
    return words


@njit(cache=True)
def _parse(points, n):
    """Split the lines of a text that ends with an end of line into `Fields`."""
    lines = np.sum(points == LINE)
    digest = np.empty((lines, n), np.uint64)
    start, stop = np.empty((lines, n), np.int32), np.empty((lines, n), np.int32)
    fields = np.empty((4, lines), np.int64)
    at = np.int64(0)
    for line in range(lines):
        for word in range(n):
            begin = at
            while points[at] != BLANK and points[at] != TAB and points[at] != LINE:
                at += 1
            if at == begin or points[at] != (BLANK if word < n - 1 else TAB):
                return digest, start, stop, fields[YEAR], fields[COUNT], line
            digest[line, word] = digest_of(points, begin, at)
            start[line, word], stop[line, word] = begin, at
            at += 1
        for field in (YEAR, COUNT, VOLUMES):
            value, at = _number(points, at, LINE if field == VOLUMES else TAB)
            if value < 0:
                return digest, start, stop, fields[YEAR], fields[COUNT], line
            fields[field, line] = value
    return digest, start, stop, fields[YEAR], fields[COUNT], -1


@njit(cache=True)
def _number(points, at, mark):
    """Return the number that starts at `at` and ends with a mark, and the start of the next field.

    -1 if it is no number; an end of line may have a carriage return.
    """
    begin, value = at, np.int64(0)
    while ZERO <= points[at] <= NINE:
        value = 10 * value + np.int64(points[at]) - ZERO
        at += 1
    read = at - begin
    if mark == LINE and points[at] == RETURN:
        at += 1
    if points[at] != mark or not 0 < read < 19:
        return np.int64(-1), at
    return value, at + 1
