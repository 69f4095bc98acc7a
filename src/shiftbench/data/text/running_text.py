"""Words that change meaning in dated documents: speeches, addresses, debates.

Source: li2021vbs, sections 4.3 and C.3. A window of 4 with falling weights, (5 - d) / 4 at distance
d, is the equivalent in running text of the published counts of 5-grams. A task is a period: the
weighted counts of pairs of words that stand near each other in its training documents. The warm-up
is the sum over all periods. Held-out documents, chosen in each period in the same proportion, are
in no training count.

Counting is split in shards, each a job of its own; see `_dated_texts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt

from shiftbench.core.facts import Facts
from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _corpora, _dated_texts
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._dated_texts import Plan

FACTS = Facts(gives={"counts": True, "warm-up": True, "held-out": {"not held_out": (0.0,)}})

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
    """Name of the documents in the table of raw data."""
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
    """Number of words; 0: all that occur often enough. The paper has 10000 to 30000."""
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


def _plan(settings: Settings, raw: Path) -> Plan:
    corpus = _corpora.READERS[settings.dataset](Path(raw))
    return _dated_texts.plan(settings, settings.dataset, corpus)


def _attributes(settings: Settings) -> dict[str, Any]:
    entry = raw_files.table()[settings.dataset]
    return {**entry.attributes(), "period_years": settings.period_years}


build, vocabulary, count_shard, merge = _dated_texts.stages(_plan, _attributes)
