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

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import xarray as xr
from annotated_types import Ge, Le, Lt

from shiftbench.data.text import _corpora, _dated_texts, _shards
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._dated_texts import Plan

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


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """The store, all in this process. UserError where the raw files are wrong."""
    return _dated_texts.build(settings, _plan(settings, raw), _about(settings))


def vocabulary(settings: Settings, raw: Path) -> list[str]:
    """The words that have a number, in that order; held-out documents have no part in it."""
    return _dated_texts.vocabulary(settings, _plan(settings, raw))


def count_shard(
    settings: Settings, raw: Path, words: Sequence[str], shard: int, scratch: Path
) -> xr.Dataset:
    """The counts of one shard; some of its arrays are files in `scratch`, a new folder."""
    return _dated_texts.count_shard(settings, _plan(settings, raw), words, shard, scratch)


def merge(
    settings: Settings, words: Sequence[str], partials: Sequence[xr.Dataset], scratch: Path
) -> xr.DataTree:
    """The store, from the counts of all shards in any order; arrays may be in `scratch`."""
    return _dated_texts.merge(settings, words, partials, _about(settings), scratch)


def _plan(settings: Settings, raw: Path) -> Plan:
    corpus = _corpora.READERS[settings.dataset](Path(raw))
    return _dated_texts.plan(settings, settings.dataset, corpus)


def _about(settings: Settings) -> dict[str, Any]:
    return _shards.about(settings.dataset, settings.period_years)
