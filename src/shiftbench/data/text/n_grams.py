"""Words that change meaning in tables of n-grams, in the format of Google Books.

Source: li2021vbs, section 4.3. A line is `ngram TAB year TAB match_count TAB
volume_count`, a file is plain or gz. A 5-gram with count c adds (5 - d) / 4 c to both (i, j)
and (j, i) for each pair of its words at distance d; other n alike. Nothing is held out, as a
table has no documents. 1-grams have no pairs: their store has counts of words alone.

Shards as for running-text; here a shard has whole files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Le
from numba import njit

from shiftbench.core.errors import UserError
from shiftbench.data.text import _counts, _shards, _text_files, _tokens, _vocabulary
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._counts import GAP, Text
from shiftbench.data.text._tokens import Tokens, digest_of

GIVES = "counts"
HAS = ("warm-up",)

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
    """The tables; an entry of the table of raw data. google-ngrams are all files that were
    put into its folder; they have n-grams of one size."""
    first_year: Annotated[int, Ge(0)] = 1900
    """First year of the first period; earlier lines are left out."""
    last_year: Annotated[int, Ge(0)] = 2000
    """Last year; later lines are left out. The authors' vocabulary is of 1900 to 2000."""
    period_years: Annotated[int, Ge(1)] = 1
    """Number of years in a period."""
    case: Literal["kept", "lower"] = "kept"
    """Whether capital letters are kept, as in the papers' vocabularies, or made small."""
    vocabulary_size: Annotated[int, Ge(0)] = 30000
    """Number of words; 0 is all that occur often enough. The paper has 30000."""
    minimum_count: Annotated[int, Ge(1)] = 1
    """A word of the vocabulary occurs so often at least."""
    ranking: Literal["relative", "total"] = "relative"
    """Which words come first: by the mean over periods of the relative frequency in the
    period, as the authors' vocabulary does, or by the total count."""
    words: tuple[str, ...] = ()
    """A given vocabulary; then vocabulary_size, minimum_count and ranking have no effect."""
    weighting: Literal["linear", "flat", "harmonic"] = "linear"
    """Weight of a pair at distance d: (n - d) / (n - 1) as in the papers, 1, or 1 / d."""
    shards: Annotated[int, Ge(1), Le(10_000)] = 1
    """Number of jobs that share the counting, of whole files; those beyond the number of files
    are empty. Without effect on the result."""


class Lines(NamedTuple):
    """Lines of a table whose year is in a period, and the text that they are from.

    tokens: all words, n of each line. period, occurrences: [line] int64.
    """

    text: str
    tokens: Tokens
    period: np.ndarray
    occurrences: np.ndarray


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """The store, all in this process. UserError where the raw files are wrong."""
    words = vocabulary(settings, raw)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        partials = [
            count_shard(settings, raw, words, k, scratch / str(k)) for k in range(settings.shards)
        ]
        return _shards.in_memory(merge(settings, words, partials, scratch))


def vocabulary(settings: Settings, raw: Path) -> list[str]:
    """The words that have a number, in that order.

    Memory: about 200 bytes for each different word. UserError where the raw files are wrong
    or there are too few words.
    """
    n, totals = _size(settings, raw), _vocabulary.Totals()
    relative = settings.ranking == "relative" and not settings.words
    of_period = np.zeros(len(_first_year(settings)), np.int64)
    for found in _tables(settings, raw, n) if relative else ():
        of_period += _words_of_period(settings, found, n)
    for found in _tables(settings, raw, n):
        share = found.occurrences * _vocabulary.WHOLE // np.maximum(of_period, 1)[found.period]
        totals.add(found.text, found.tokens, np.repeat(found.occurrences, n), np.repeat(share, n))
    return _vocabulary.numbered(settings, totals, settings.dataset)


def count_shard(
    settings: Settings, raw: Path, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """The counts of one shard; some of its arrays are files in `scratch`, a new folder."""
    scratch.mkdir()
    n, table, first_year = _size(settings, raw), _tokens.table(words), _first_year(settings)
    weights = _counts.weights(settings.weighting, n - 1)
    counter = _shards.Counter(len(first_year), len(words), weights, scratch)
    tokens = np.zeros(len(first_year), np.int64)
    for found in _tables(settings, raw, n, shard):
        counter.add(_text(_tokens.numbers(table, found.tokens.digest), found, n))
        tokens += _words_of_period(settings, found, n)
    return counter.partial(shard, first_year, tokens=tokens)


def merge(
    settings: Settings, words: Sequence[str], partials: Sequence[xr.Dataset], scratch: Path
) -> xr.DataTree:
    """The store, from the counts of all shards in any order; arrays may be in `scratch`."""
    n = int(partials[0].attrs["window"]) + 1
    weights = _counts.weights(settings.weighting, n - 1)
    about = _shards.about(settings.dataset, settings.period_years)
    return _shards.merged(partials, words, weights, about, scratch)


def _first_year(settings: Settings) -> np.ndarray:
    return np.arange(settings.first_year, settings.last_year + 1, settings.period_years)


def _files(raw: Path) -> list[Path]:
    hidden = [".", "_"]
    files = sorted(p for p in raw.glob("*") if p.is_file() and p.name[0] not in hidden)
    files = [path for path in files if path.name not in NO_TABLES]
    if not files:
        raise UserError(f"There is no table of n-grams in {raw}. Put the files there.")
    return files


def _size(settings: Settings, raw: Path) -> int:
    """How many words an n-gram of the first file has."""
    for _, line in _text_files.lines(_files(Path(raw))[0]):
        return len(line.split("\t")[0].split(" "))
    raise UserError(f"Raw file {_files(Path(raw))[0]} is empty. Delete it and fetch it again.")


def _tables(settings: Settings, raw: Path, n: int, shard: int | None = None) -> Iterator[Lines]:
    """The lines of all files, or of those of a shard, some at a time."""
    files = _files(Path(raw))
    if shard is not None:
        files = files[shard :: settings.shards]
    for path in files:
        for first, content in _text_files.blocks(path):
            text = _text_files.decoded(str(path), content, line=first)
            text = text.lower() if settings.case == "lower" else text
            *arrays, bad = _parse(_tokens.code_points(text), n)
            if bad >= 0:
                form = f"{n} words TAB year TAB match_count TAB volume_count"
                raise _text_files.wrong(str(path), first + bad, f"it is not of the form {form}")
            yield _inside(settings, text, *arrays)


def _inside(
    settings: Settings,
    text: str,
    digest: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    year: np.ndarray,
    count: np.ndarray,
) -> Lines:
    """The lines whose year is in a period; words [line, n], year and count [line]."""
    kept = (year >= settings.first_year) & (year <= settings.last_year)
    tokens = Tokens(digest[kept].ravel(), start[kept].ravel(), stop[kept].ravel())
    period = (year[kept] - settings.first_year) // settings.period_years
    return Lines(text, tokens, period, count[kept])


def _text(numbers: np.ndarray, lines: Lines, n: int) -> Text:
    """Each line as a document that stands for all its occurrences, with gaps around it."""
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
    """How many words the lines stand for in each period."""
    words = np.zeros(len(_first_year(settings)), np.int64)
    np.add.at(words, lines.period, n * lines.occurrences)
    return words


@njit(cache=True)
def _parse(points, n):
    """The fields of the lines of a text that ends with an end of line.

    Digest, start and stop of words [lines, n], year and count [lines], and the first line, from
    0, that is not of the right form, or -1.
    """
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
    """The number that starts here and ends with a mark, and where the next field starts.

    -1 for what is no number; an end of line may have a carriage return.
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
