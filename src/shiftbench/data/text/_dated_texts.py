"""Counts of words that stand near each other in dated documents, by period.

Shared by running-text and text-files, which differ in how they read documents. Counting has three
stages, each a job: choose the vocabulary, count the documents of each shard, and merge the shards.
No stage has more than a chunk of text in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Le, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.attributes import about
from shiftbench.data.text import _counts, _shards, _tokens, _vocabulary
from shiftbench.data.text._corpora import Corpus
from shiftbench.data.text._count_store import Documents
from shiftbench.data.text._tokens import Tokens

CHUNK = 2**22
"""Characters of text that are counted at a time."""


@dataclass(frozen=True, kw_only=True)
class DatedSettings:
    """The settings that every stream of dated documents has."""

    period_years: Annotated[int, Ge(1)] = 1
    """Number of years in a period."""
    first_year: Annotated[int, Ge(0)] = 0
    """First year of the first period; earlier documents are left out. 0: year of the first
    document."""
    last_year: Annotated[int, Ge(0)] = 0
    """Last year; later documents are left out. 0: year of the last document."""
    case: Literal["kept", "lower"] = "kept"
    """kept: capital letters stay, as in the papers' vocabularies. lower: they become small."""
    vocabulary_size: Annotated[int, Ge(0)] = 2000
    """Number of words; 0: all that occur often enough. The papers have 10000 to 30000."""
    minimum_count: Annotated[int, Ge(1)] = 1
    """Smallest number of occurrences of a word of the vocabulary in training documents."""
    ranking: Literal["relative", "total"] = "relative"
    """Order of the words. relative: by the mean over documents of the relative frequency in the
    document, as in the papers' vocabularies. total: by the total count."""
    words: tuple[str, ...] = ()
    """A given vocabulary; vocabulary_size, minimum_count and ranking then have no effect."""
    window: Annotated[int, Ge(1)] = 4
    """Largest distance at which two words count as a pair; the papers have 4."""
    weighting: Literal["linear", "flat", "harmonic"] = "linear"
    """Weight of a pair at distance d: (window + 1 - d) / window as in the papers, 1, or 1 / d."""
    held_out: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Share of the documents of each period that are held out, rounded. Of two documents or more,
    at least one is held out and at least one is not."""
    shards: Annotated[int, Ge(1), Le(10_000)] = 1
    """Number of jobs that share the counting; the result does not depend on it."""


class Plan(NamedTuple):
    """A corpus, its name, and the period (-1: none) and the split of each document [D]."""

    source: str
    corpus: Corpus
    period: np.ndarray
    held_out: np.ndarray
    first_year: np.ndarray


class Chunk(NamedTuple):
    """Some documents: their numbers [k], sizes in tokens [k], joined text, and its tokens."""

    numbers: np.ndarray
    sizes: np.ndarray
    text: str
    tokens: Tokens


class Stages(NamedTuple):
    """The functions of a stream family that counts dated documents."""

    build: Callable[[Any, Path], xr.DataTree]
    vocabulary: Callable[[Any, Path], list[str]]
    count_shard: Callable[[Any, Path, Sequence[str], int, Path], xr.Dataset]
    merge: Callable[[Any, Sequence[str], Sequence[xr.Dataset], Path], xr.DataTree]


def stages(
    plan_of: Callable[[Any, Path], Plan],
    attributes: Callable[[Any], Mapping[str, Any]],
    known_changes: Callable[[Any], Mapping[str, int]] = lambda settings: {},
) -> Stages:
    """Return the functions of a family from its own: how it plans, its attributes, known changes.

    known_changes: the words, in small letters, whose use changes for certain, with the year.
    """

    def build(settings: DatedSettings, raw: Path) -> xr.DataTree:
        """Return the store, counted in this process. UserError if the texts are wrong."""
        plan = plan_of(settings, raw)
        return _shards.build(
            settings.shards,
            partial(_choose_words, settings, plan),
            partial(_count_shard, settings, plan),
            partial(merge, settings),
        )

    def vocabulary(settings: DatedSettings, raw: Path) -> list[str]:
        """Return the words that have a number, in that order; held-out documents do not count."""
        return _choose_words(settings, plan_of(settings, raw))

    def count_shard(
        settings: DatedSettings, raw: Path, words: Sequence[str], shard: int, scratch: Path
    ) -> xr.Dataset:
        """Return the counts of one shard; some arrays are files in `scratch`, a new folder."""
        return _count_shard(settings, plan_of(settings, raw), words, shard, scratch)

    def merge(
        settings: DatedSettings, words: Sequence[str], partials: Sequence[xr.Dataset], scratch: Path
    ) -> xr.DataTree:
        """Return the store from the counts of all shards, in any order; it may use `scratch`."""
        weights = _counts.weights(settings.weighting, settings.window)
        store = _shards.merged(partials, words, weights, attributes(settings), scratch)
        return _with_known(store, known_changes(settings), settings.period_years)

    return Stages(build, vocabulary, count_shard, merge)


def _with_known(store: xr.DataTree, years: Mapping[str, int], period_years: int) -> xr.DataTree:
    """Add known_change [realisation, task, word] to a store; no learner sees it."""
    if not years:
        return store
    root = store.to_dataset(inherit=False)
    year = np.array([years.get(word.lower(), -1) for word in root["word"].values.tolist()])
    age = year[None, :] - root["first_year"].values[:, None]
    known = (age >= 0) & (age < period_years)
    words = "whether the use of the word changes for certain in this period; others may change too"
    store.dataset = root.assign(
        known_change=(("realisation", "task", "word"), known[None], about(words))
    )
    return store


def plan(settings: DatedSettings, source: str, corpus: Corpus) -> Plan:
    """Assign documents to periods and choose those held out; no text is read.

    source: name of the corpus, for messages and as a key of draws. UserError if a period has no
    document, or no document is in a period.
    """
    first = settings.first_year or int(corpus.years.min())
    last = settings.last_year or int(corpus.years.max())
    inside = (corpus.years >= first) & (corpus.years <= last)
    if not inside.any():
        raise UserError(
            f"{source} has no document from {first} to {last}, but from {corpus.years.min()} to"
            f" {corpus.years.max()}. Change first_year or last_year."
        )
    period = np.where(inside, (corpus.years - first) // settings.period_years, -1)
    first_year = np.arange(first, last + 1, settings.period_years)
    documents = np.bincount(period[inside], minlength=len(first_year))
    for t in np.flatnonzero(documents == 0)[:1]:
        raise UserError(
            f"{source} has no document in the period of {settings.period_years} years that starts"
            f" in {first_year[t]}. Raise period_years, or set first_year and last_year."
        )
    held_out = _held_out(settings, source, period, len(first_year))
    return Plan(source, corpus, period, held_out, first_year)


def _held_out(settings: DatedSettings, source: str, period: np.ndarray, periods: int) -> np.ndarray:
    """Draw which documents are held out [D] bool."""
    held_out = np.zeros(len(period), bool)
    for t in range(periods):
        members = np.flatnonzero(period == t)
        if settings.held_out and len(members) > 1:
            number = min(max(round(settings.held_out * len(members)), 1), len(members) - 1)
            random = seeds.generator(seeds.fold("running-text", source, t))
            held_out[random.choice(members, number, replace=False)] = True
    return held_out


def _choose_words(settings: DatedSettings, plan: Plan) -> list[str]:
    """Return the vocabulary of the training documents.

    Memory: about 200 bytes for each different word of the corpus. UserError if the texts are wrong
    or have too few words.
    """
    totals = _vocabulary.Totals()
    train = (plan.period >= 0) & ~plan.held_out
    for chunk in _chunks(settings, plan, train, 0, len(train)):
        share = np.repeat(_vocabulary.WHOLE // np.maximum(chunk.sizes, 1), chunk.sizes)
        totals.add(chunk.text, chunk.tokens, np.ones(len(share)), share)
    return _vocabulary.choose(settings, totals, plan.source)


def _count_shard(
    settings: DatedSettings, plan: Plan, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """Count the documents of one shard, which are neighbours in the order of the corpus."""
    scratch.mkdir()
    table, weights = _tokens.table(words), _counts.weights(settings.weighting, settings.window)
    counter = _shards.Counter(len(plan.first_year), len(words), weights, scratch)
    first, last = (len(plan.period) * k // settings.shards for k in (shard, shard + 1))
    sizes = np.zeros(last - first, np.int64)
    held_out: dict[int, np.ndarray] = {}
    for chunk in _chunks(settings, plan, plan.period >= 0, first, last):
        sizes[chunk.numbers - first] = chunk.sizes
        texts = np.split(_tokens.numbers(table, chunk.tokens.digest), np.cumsum(chunk.sizes)[:-1])
        out = plan.held_out[chunk.numbers]
        # Copies: a view would keep the words of the whole chunk.
        held_out |= {chunk.numbers[at]: texts[at].copy() for at in np.flatnonzero(out)}
        train = [texts[at] for at in np.flatnonzero(~out)]
        counter.add(_counts.text(train, plan.period[chunk.numbers[~out]], settings.window))
    documents = _documents(plan, first, sizes, held_out)
    return counter.partial(shard, plan.first_year, documents=documents)


def _chunks(
    settings: DatedSettings, plan: Plan, wanted: np.ndarray, first: int, last: int
) -> Iterator[Chunk]:
    """Yield the wanted documents from `first` to before `last`, some at a time."""
    numbers: list[int] = []
    texts: list[str] = []
    size = 0
    for number, text in plan.corpus.texts(first, last):
        if wanted[number]:
            numbers.append(number)
            texts.append(text.lower() if settings.case == "lower" else text)
            size += len(text)
        if size >= CHUNK:
            yield _chunk(numbers, texts)
            numbers, texts, size = [], [], 0
    if texts:
        yield _chunk(numbers, texts)


def _chunk(numbers: list[int], texts: list[str]) -> Chunk:
    # The end of line between two texts is a space: no word goes over it.
    joined = "\n".join(texts)
    tokens = _tokens.split(joined)
    stop = np.cumsum([len(text) + 1 for text in texts])
    sizes = np.diff(np.searchsorted(tokens.start, stop), prepend=0)
    return Chunk(np.array(numbers), sizes, joined, tokens)


def _documents(
    plan: Plan, first: int, sizes: np.ndarray, texts: dict[int, np.ndarray]
) -> Documents:
    """Return the documents of a shard from number `first` on; one without text has no words."""
    inside = first + np.flatnonzero(plan.period[first : first + len(sizes)] >= 0)
    held_out = plan.held_out[inside]
    parts = [texts.get(n, np.zeros(0, np.int32)) for n in inside[held_out].tolist()]
    return Documents(
        name=plan.corpus.names[inside].astype(str),
        task=plan.period[inside],
        held_out=held_out,
        tokens=sizes[inside - first],
        start=np.cumsum([0] + [len(part) for part in parts]),
        text=np.concatenate([np.zeros(0, np.int32), *parts]),
    )
