"""Words that change meaning in tables of n-grams, in the formats of Google Books.

Source: li2021vbs, section 4.3. The two forms of lines are in `_n_gram_lines`; a file is plain or
gz. A 5-gram with count c adds (5 - d) / 4 c to both (i, j) and (j, i) for each pair of its words at
distance d; other sizes follow the same rule. A table has no documents: what is held out of a year
is a share of the occurrences of its n-grams. 1-grams have no pairs: their store has counts of words
alone.

Counting is split in shards as for running-text, but a shard has whole files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Le, Lt

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _counts, _n_gram_files, _shards, _thinning, _tokens, _vocabulary
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._counts import GAP, Text
from shiftbench.data.text._n_gram_files import Lines
from shiftbench.data.text._thinning import Sample
from shiftbench.data.text._tokens import Tokens
from shiftbench.data.text._vocabulary import Totals

FACTS = Facts(
    gives={"counts": True, "warm-up": True, "held-out": {"not held_out": (0.0,)}},
    ahead={"vocabulary and warm-up are of all periods": True},
)

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

ENTRIES = 2**19
"""Number of entries whose pairs are in memory at a time, about 600 bytes each."""
Found = Sequence[str] | Mapping[str, Any]
"""What the vocabulary stage finds: the words or, where periods are thinned, a mapping with the
`words`, and with the `tokens` of each period."""


@dataclass(frozen=True)
class Settings:
    dataset: Literal["google-ngrams-q", "google-ngrams", "made-ngrams-2012", "made-ngrams-2020"] = (
        "google-ngrams"
    )
    """Name of the tables in the table of raw data. google-ngrams are all files that you put into
    its folder; they have n-grams of one size, from one release. This package makes the others'
    5-grams itself, in the forms of two releases."""
    first_year: Annotated[int, Ge(0)] = 1900
    """First year of the first period; earlier lines are left out."""
    last_year: Annotated[int, Ge(0)] = 2000
    """Last year; later lines are left out. The authors' vocabulary is of 1900 to 2000."""
    period_years: Annotated[int, Ge(1)] = 1
    """Number of years in a period."""
    tags: Literal["drop", "keep"] = "drop"
    """drop: n-grams with a word that ends in the tag of a class, such as _NOUN, or is _NOUN_,
    _START_ or _END_, are left out, because they count words again. keep: they count."""
    tokens_per_period: Annotated[int, Ge(0)] = 0
    """Number of tokens to which a period with more is thinned: each occurrence of an n-gram stays
    with the probability that leaves about this number; 0: all stay. An n-gram has n tokens, so that
    a word of running text counts about n times. The paper has 250 to 300 million."""
    held_out: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of the occurrences that are held out, at random. The paper holds 0.1 out."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the only realisation. Each number has its own draws of the occurrences that stay
    and of those that are held out."""
    case: Literal["kept", "lower"] = "kept"
    """kept: capital letters stay, as in the papers' vocabularies. lower: they become small."""
    vocabulary_size: Annotated[int, Ge(0)] = 30000
    """Number of words; 0: all that occur often enough. The paper has 30000."""
    minimum_count: Annotated[int, Ge(1)] = 1
    """Smallest number of occurrences of a word of the vocabulary in training n-grams."""
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


class Drawn(NamedTuple):
    """Counts of n-grams in a year, split at random; all [entry] int64.

    line: position of its line. train, held_out: occurrences that stay, for training or held out.
    """

    line: np.ndarray
    period: np.ndarray
    train: np.ndarray
    held_out: np.ndarray


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.last_year < settings.first_year:
        yield (
            f"last_year is {settings.last_year}, before first_year, {settings.first_year}: raise"
            " last_year, or lower first_year"
        )


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """Return the store, counted in this process. UserError if the raw files are wrong."""
    return _shards.build(
        settings.shards,
        partial(vocabulary, settings, raw),
        partial(count_shard, settings, raw),
        partial(merge, settings),
    )


def vocabulary(settings: Settings, raw: Path) -> Found:
    """Return the vocabulary, in the order of its numbers, of the text that is not held out.

    Memory: about 200 bytes for each different word. UserError if the raw files are wrong or have
    too few words.
    """
    tokens = np.zeros(len(_first_year(settings)), np.int64)
    relative = settings.ranking == "relative" and not settings.words
    for lines in _lines(settings, raw) if relative or settings.tokens_per_period else ():
        n = lines.tokens.digest.shape[1]
        np.add.at(tokens, _period(settings, lines), n * lines.occurrences)
    sample = _sample(settings, tokens.tolist())
    of_period = _thinning.expected(sample, tokens.tolist())
    totals = _vocabulary.Totals()
    for lines in _lines(settings, raw):
        _add(totals, lines, _drawn(settings, sample, lines), of_period)
    if not totals.words:
        raise UserError(
            f"No n-gram of {settings.dataset} is of the years from {settings.first_year} to"
            f" {settings.last_year}. Change first_year or last_year."
        )
    words = _vocabulary.choose(settings, totals, settings.dataset)
    return {"words": words, "tokens": tokens.tolist()} if settings.tokens_per_period else words


def count_shard(
    settings: Settings, raw: Path, found: Found, shard: int, scratch: Path
) -> xr.Dataset:
    """Return the counts of one shard; some arrays are files in `scratch`, a new folder."""
    words, tokens = _parts(settings, found)
    table, first_year = _tokens.table(words), _first_year(settings)
    sample, n = _sample(settings, tokens), _n_gram_files.form(Path(raw)).n
    weights, counters = _counts.weights(settings.weighting, n - 1), {}
    for name in ("train", "held_out") if settings.held_out else ("train",):
        (scratch / name).mkdir(parents=True)
        counters[name] = _shards.Counter(len(first_year), len(words), weights, scratch / name)
    of_period = np.zeros(len(first_year), np.int64)
    for lines in _lines(settings, raw, shard):
        drawn = _drawn(settings, sample, lines)
        np.add.at(of_period, drawn.period, n * drawn.train)
        numbers = _tokens.numbers(table, lines.tokens.digest.ravel()).reshape(-1, n)
        for name, counter in counters.items():
            for text in _texts(numbers, drawn, getattr(drawn, name)):
                counter.add(text)
    held_out = counters.get("held_out")
    return counters["train"].partial(shard, first_year, tokens=of_period, held_out=held_out)


def merge(
    settings: Settings, found: Found, partials: Sequence[xr.Dataset], scratch: Path
) -> xr.DataTree:
    """Return the store from the counts of all shards, in any order; it may use `scratch`."""
    words, _ = _parts(settings, found)
    weights = _counts.weights(settings.weighting, int(partials[0].attrs["window"]))
    entry = raw_files.table()[settings.dataset]
    attributes = {**entry.attributes(), "period_years": settings.period_years}
    return _shards.merged(partials, words, weights, attributes, scratch)


def _first_year(settings: Settings) -> np.ndarray:
    return np.arange(settings.first_year, settings.last_year + 1, settings.period_years)


def _parts(settings: Settings, found: Found) -> tuple[Sequence[str], Sequence[int]]:
    """Return the words, and the number of tokens of each period, which only thinning needs."""
    if isinstance(found, Mapping):
        return found["words"], found["tokens"]
    return found, [0] * len(_first_year(settings))


def _sample(settings: Settings, tokens: Sequence[int]) -> Sample:
    target, held_out = settings.tokens_per_period, settings.held_out
    return _thinning.sample(tokens, target, held_out, settings.first_realisation)


def _lines(settings: Settings, raw: Path, shard: int | None = None) -> Iterator[Lines]:
    """Yield the lines of all files, or of the files of a shard, some at a time."""
    wanted = _n_gram_files.Wanted(
        settings.first_year,
        settings.last_year,
        settings.case == "lower",
        settings.tags == "drop",
    )
    of_shard = (0, 1) if shard is None else (shard, settings.shards)
    return _n_gram_files.lines(Path(raw), wanted, *of_shard)


def _period(settings: Settings, lines: Lines) -> np.ndarray:
    return (lines.year - settings.first_year) // settings.period_years


def _drawn(settings: Settings, sample: Sample, lines: Lines) -> Drawn:
    period = _period(settings, lines)
    train, held_out = _thinning.drawn(sample, period, lines.key, lines.year, lines.occurrences)
    return Drawn(lines.line, period, train, held_out)


def _add(totals: Totals, lines: Lines, drawn: Drawn, of_period: np.ndarray) -> None:
    """Add the words of lines that have training occurrences, with their shares of the periods."""
    size, n = lines.tokens.digest.shape
    shares = _vocabulary.share(drawn.train, np.maximum(of_period, 1)[drawn.period])
    # Exact: no sum comes near 2^53.
    count, share = (
        np.bincount(drawn.line, each, size).astype(np.int64) for each in (drawn.train, shares)
    )
    seen = np.flatnonzero(count)
    tokens = Tokens(*(array[seen].ravel() for array in lines.tokens))
    totals.add(lines.text, tokens, np.repeat(count[seen], n), np.repeat(share[seen], n))


def _texts(numbers: np.ndarray, drawn: Drawn, weight: np.ndarray) -> Iterator[Text]:
    """Yield n-grams as documents with gaps around them, each weighted by its occurrences."""
    n = numbers.shape[1]
    window, places = n - 1, np.flatnonzero(weight)
    for first in range(0, len(places), ENTRIES):
        some = places[first : first + ENTRIES]
        grid = np.full((len(some), n + window), GAP, np.int32)
        grid[:, :n] = numbers[drawn.line[some]]
        word = np.concatenate([np.full(window, GAP, np.int32), grid.ravel()])
        group, each = (
            np.concatenate([np.zeros(window, np.int64), np.repeat(array[some], n + window)])
            for array in (drawn.period, weight)
        )
        yield Text(word, group.astype(np.int32), each)
