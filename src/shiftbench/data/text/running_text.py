"""Words that change meaning in dated documents: speeches, addresses, debates, change logs.

Source: li2021vbs, sections 4.3 and C.3. A window of 4 with falling weights, (5 - d) / 4 at distance
d, is the equivalent in running text of the published counts of 5-grams. A task is a period: the
weighted counts of pairs of words that stand near each other in its training documents. The warm-up
is the sum over all periods. Held-out documents, chosen in each period in the same proportion, are
in no training count.

Counting is split in shards, each one job; see `_dated_texts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shiftbench.core.facts import Facts
from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _changelogs, _corpora, _dated_texts
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._dated_texts import DatedSettings, Plan

FACTS = Facts(
    gives={
        "counts": True,
        "warm-up": True,
        "held-out": {"not held_out": (0.0,)},
        "known-changes": {"dataset": ("glibc-changelogs",)},
    },
    ahead={"vocabulary and warm-up are of all periods": True},
)
CHANGELOGS = "glibc-changelogs"
READERS = {**_corpora.READERS, CHANGELOGS: _changelogs.read}

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
class Settings(DatedSettings):
    dataset: Literal[
        "un-general-debates", "state-of-the-union", "congressional-record", "glibc-changelogs"
    ] = "un-general-debates"
    """Name of the documents in the table of raw data."""


def _plan(settings: Settings, raw: Path) -> Plan:
    corpus = READERS[settings.dataset](Path(raw))
    return _dated_texts.plan(settings, settings.dataset, corpus)


def _attributes(settings: Settings) -> dict[str, Any]:
    entry = raw_files.table()[settings.dataset]
    return {**entry.attributes(), "period_years": settings.period_years}


def _known_changes(settings: Settings) -> Mapping[str, int]:
    return _changelogs.KNOWN_CHANGES if settings.dataset == CHANGELOGS else {}


build, vocabulary, count_shard, merge = _dated_texts.stages(_plan, _attributes, _known_changes)
