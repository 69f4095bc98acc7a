"""Words that change meaning in dated documents: speeches, addresses, debates.

Source: li2021vbs, section 4.3 and C.3. A window of 4 with falling weights is the equivalent in
running text of the published counts of 5-grams, as of pairs at distance d, (5 - d) / 4. A task is a
period: the weighted counts of pairs of words that stand near each other in its training
documents. The warm-up is the sum over all periods. Held-out documents, chosen in each period in the
same proportion, are in no training count.

Counting is split in shards, each a job of its own: `vocabulary` first, then `count_shard`
for each, then `merge`; `build` does it all in one process. The result does not depend on
the number of shards, and none has more than a chunk of text in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import xarray as xr
from annotated_types import Ge, Le, Lt

from shiftbench import seeds
from shiftbench.errors import UserError
from shiftbench.streams import _corpora, _counts, _partial, _tokens, _vocabulary
from shiftbench.streams._corpora import Corpus
from shiftbench.streams._count_store import Documents, held_out_documents, problem, task
from shiftbench.streams._tokens import Tokens

GIVES = "counts"
HAS = {"warm-up": True, "held-out": {"not held_out": (0.0,)}}

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

CHUNK = 2**22
"""Characters of text that are counted at a time."""


@dataclass(frozen=True)
class Settings:
    dataset: Literal["un-general-debates", "state-of-the-union", "congressional-record"] = (
        "un-general-debates"
    )
    """The documents; an entry of the table of raw data."""
    period_years: Annotated[int, Ge(1)] = 1
    """Number of years in a period."""
    first_year: Annotated[int, Ge(0)] = 0
    """First year of the first period; 0 is that of the first document. Earlier documents are
    left out."""
    last_year: Annotated[int, Ge(0)] = 0
    """Last year; 0 is that of the last document. Later documents are left out."""
    case: Literal["kept", "lower"] = "kept"
    """Whether capital letters are kept, as in the papers' vocabularies, or made small."""
    vocabulary_size: Annotated[int, Ge(0)] = 2000
    """Number of words; 0 is all that occur often enough. The paper has 10000 to 30000."""
    minimum_count: Annotated[int, Ge(1)] = 1
    """A word of the vocabulary occurs so often in training documents at least."""
    ranking: Literal["relative", "total"] = "relative"
    """Which words come first: by the mean over documents of the relative frequency in the
    document, as the papers' vocabularies do, or by the total count."""
    words: tuple[str, ...] = ()
    """A given vocabulary; then vocabulary_size, minimum_count and ranking have no effect."""
    window: Annotated[int, Ge(1)] = 4
    """Greatest distance of two words that count as a pair; the papers have 4."""
    weighting: Literal["linear", "flat", "harmonic"] = "linear"
    """Weight of a pair at distance d: (window + 1 - d) / window as in the papers, 1, or 1 / d."""
    held_out: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Share of the documents of each period that are held out, rounded; at least one is, and
    one is not, where there are two."""
    shards: Annotated[int, Ge(1), Le(10_000)] = 1
    """Number of jobs that share the counting. Without effect on the result."""


class Plan(NamedTuple):
    """A corpus with the period (-1 is none) and the split of each document [D]."""

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


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """The store, all in this process. UserError where the raw files are wrong."""
    plan = _plan(settings, Path(raw))
    words = _words(settings, plan)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        partials = [
            _counted(settings, plan, words, k, scratch / str(k)) for k in range(settings.shards)
        ]
        return _partial.in_memory(merge(settings, words, partials, scratch))


def vocabulary(settings: Settings, raw: Path) -> list[str]:
    """The words that have a number, in that order; held-out documents have no part in it.

    Memory: about 200 bytes for each different word of the corpus. UserError where the raw
    files are wrong or there are too few words.
    """
    return _words(settings, _plan(settings, Path(raw)))


def count_shard(
    settings: Settings, raw: Path, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """The counts of one shard; some of its arrays are files in `scratch`, a new folder."""
    return _counted(settings, _plan(settings, Path(raw)), words, shard, scratch)


def merge(
    settings: Settings, words: Sequence[str], partials: Sequence[xr.Dataset], scratch: Path
) -> xr.DataTree:
    """The store, from the counts of all shards in any order; arrays may be in `scratch`."""
    weights = _counts.weights(settings.weighting, settings.window)
    years = settings.period_years
    return _partial.merged(partials, words, weights, settings.dataset, years, scratch)


def _plan(settings: Settings, raw: Path) -> Plan:
    corpus = _corpora.READERS[settings.dataset](raw)
    first = settings.first_year or int(corpus.years.min())
    last = settings.last_year or int(corpus.years.max())
    inside = (corpus.years >= first) & (corpus.years <= last)
    period = np.where(inside, (corpus.years - first) // settings.period_years, -1)
    first_year = np.arange(first, last + 1, settings.period_years)
    there = np.bincount(period[inside], minlength=len(first_year))
    for t in np.flatnonzero(there == 0)[:1]:
        raise UserError(
            f"Stream running-text: {settings.dataset} has no document in the period of"
            f" {settings.period_years} years that starts in {first_year[t]}. Raise period_years,"
            " or set first_year and last_year."
        )
    return Plan(corpus, period, _split(settings, period, len(first_year)), first_year)


def _split(settings: Settings, period: np.ndarray, periods: int) -> np.ndarray:
    """Which documents are held out [D]."""
    held_out = np.zeros(len(period), bool)
    for t in range(periods):
        members = np.flatnonzero(period == t)
        if settings.held_out and len(members) > 1:
            number = min(max(round(settings.held_out * len(members)), 1), len(members) - 1)
            random = seeds.generator(seeds.fold("running-text", settings.dataset, t))
            held_out[random.choice(members, number, replace=False)] = True
    return held_out


def _words(settings: Settings, plan: Plan) -> list[str]:
    totals = _vocabulary.Totals()
    wanted = (plan.period >= 0) & ~plan.held_out
    for chunk in _chunks(settings, plan, wanted, 0, len(wanted)):
        share = np.repeat(_vocabulary.WHOLE // np.maximum(chunk.sizes, 1), chunk.sizes)
        totals.add(chunk.text, chunk.tokens, np.ones(len(share)), share)
    return _vocabulary.numbered(settings, totals)


def _counted(
    settings: Settings, plan: Plan, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """The counts of the documents of one shard, neighbours in the order of the corpus."""
    scratch.mkdir()
    table, weights = _tokens.table(words), _counts.weights(settings.weighting, settings.window)
    counter = _partial.Counter(len(plan.first_year), len(words), weights, scratch)
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


def _chunks(
    settings: Settings, plan: Plan, wanted: np.ndarray, first: int, last: int
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
