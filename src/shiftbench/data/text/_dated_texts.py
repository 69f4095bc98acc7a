"""Counts of words that stand near each other in dated documents, by period.

What streams of dated documents share, however they are read. Source and protocol: see
`running_text`. Counting is split in shards; none has more than a chunk of text in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.text import _counts, _shards, _tokens, _vocabulary
from shiftbench.data.text._corpora import Corpus
from shiftbench.data.text._count_store import Documents
from shiftbench.data.text._tokens import Tokens

CHUNK = 2**22
"""Characters of text that are counted at a time."""


class Counted(_vocabulary.Wanted, Protocol):
    """The settings that a stream of dated documents has."""

    @property
    def period_years(self) -> int: ...
    @property
    def first_year(self) -> int: ...
    @property
    def last_year(self) -> int: ...
    @property
    def case(self) -> Literal["kept", "lower"]: ...
    @property
    def window(self) -> int: ...
    @property
    def weighting(self) -> Literal["linear", "flat", "harmonic"]: ...
    @property
    def held_out(self) -> float: ...
    @property
    def shards(self) -> int: ...


class Plan(NamedTuple):
    """A corpus, its name, and the period (-1 is none) and the split of each document [D]."""

    source: str
    corpus: Corpus
    period: np.ndarray
    held_out: np.ndarray
    first_year: np.ndarray


class Chunk(NamedTuple):
    """Some documents: their numbers [k] and sizes in tokens [k], all texts joined, its tokens."""

    numbers: np.ndarray
    sizes: np.ndarray
    text: str
    tokens: Tokens


def plan(settings: Counted, source: str, corpus: Corpus) -> Plan:
    """Which document is in which period, and which are held out; no text is read.

    source: what the corpus is called, in messages and as a key of draws. UserError for a period
    without a document, and where no document is in any.
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
    there = np.bincount(period[inside], minlength=len(first_year))
    for t in np.flatnonzero(there == 0)[:1]:
        raise UserError(
            f"{source} has no document in the period of {settings.period_years} years that starts"
            f" in {first_year[t]}. Raise period_years, or set first_year and last_year."
        )
    held_out = _split(settings, source, period, len(first_year))
    return Plan(source, corpus, period, held_out, first_year)


def build(settings: Counted, plan: Plan, about: Mapping[str, Any]) -> xr.DataTree:
    """The store, all in this process, with these attributes."""
    words = vocabulary(settings, plan)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        partials = [
            count_shard(settings, plan, words, k, scratch / str(k)) for k in range(settings.shards)
        ]
        return _shards.in_memory(merge(settings, words, partials, about, scratch))


def vocabulary(settings: Counted, plan: Plan) -> list[str]:
    """The words that have a number, in that order; held-out documents have no part in it.

    Memory: about 200 bytes for each different word of the corpus. UserError where the texts
    are wrong or there are too few words.
    """
    totals = _vocabulary.Totals()
    wanted = (plan.period >= 0) & ~plan.held_out
    for chunk in _chunks(settings, plan, wanted, 0, len(wanted)):
        share = np.repeat(_vocabulary.WHOLE // np.maximum(chunk.sizes, 1), chunk.sizes)
        totals.add(chunk.text, chunk.tokens, np.ones(len(share)), share)
    return _vocabulary.numbered(settings, totals, plan.source)


def count_shard(
    settings: Counted, plan: Plan, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """The counts of the documents of one shard, neighbours in the order of the corpus.

    Some of its arrays are files in `scratch`, a new folder.
    """
    scratch.mkdir()
    table, weights = _tokens.table(words), _counts.weights(settings.weighting, settings.window)
    counter = _shards.Counter(len(plan.first_year), len(words), weights, scratch)
    first, last = (len(plan.period) * k // settings.shards for k in (shard, shard + 1))
    sizes = np.zeros(last - first, np.int64)
    held_out: dict[int, np.ndarray] = {}
    for chunk in _chunks(settings, plan, plan.period >= 0, first, last):
        sizes[chunk.numbers - first] = chunk.sizes
        texts = np.split(_tokens.numbers(table, chunk.tokens.digest), np.cumsum(chunk.sizes)[:-1])
        kept = plan.held_out[chunk.numbers]
        # Copies: a view would keep the words of the whole chunk.
        held_out |= {chunk.numbers[at]: texts[at].copy() for at in np.flatnonzero(kept)}
        period = plan.period[chunk.numbers[~kept]]
        train = [text for text, out in zip(texts, kept, strict=True) if not out]
        counter.add(_counts.text(train, period, settings.window))
    documents = _documents(plan, first, sizes, held_out)
    return counter.partial(shard, plan.first_year, documents=documents)


def merge(
    settings: Counted,
    words: Sequence[str],
    partials: Sequence[xr.Dataset],
    about: Mapping[str, Any],
    scratch: Path,
) -> xr.DataTree:
    """The store, from the counts of all shards in any order; arrays may be in `scratch`."""
    weights = _counts.weights(settings.weighting, settings.window)
    return _shards.merged(partials, words, weights, about, scratch)


def _split(settings: Counted, source: str, period: np.ndarray, periods: int) -> np.ndarray:
    """Which documents are held out [D]."""
    held_out = np.zeros(len(period), bool)
    for t in range(periods):
        members = np.flatnonzero(period == t)
        if settings.held_out and len(members) > 1:
            number = min(max(round(settings.held_out * len(members)), 1), len(members) - 1)
            random = seeds.generator(seeds.fold("running-text", source, t))
            held_out[random.choice(members, number, replace=False)] = True
    return held_out


def _chunks(
    settings: Counted, plan: Plan, wanted: np.ndarray, first: int, last: int
) -> Iterator[Chunk]:
    """The wanted documents from `first` to before `last`, some at a time."""
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
    text = "\n".join(texts)
    tokens = _tokens.split(text)
    stop = np.cumsum([len(one) + 1 for one in texts])
    sizes = np.diff(np.searchsorted(tokens.start, stop), prepend=0)
    return Chunk(np.array(numbers), sizes, text, tokens)


def _documents(
    plan: Plan, first: int, sizes: np.ndarray, texts: dict[int, np.ndarray]
) -> Documents:
    """The documents of a shard from number `first` on; one without text has no words."""
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
