"""Words that change meaning in dated texts of your own: a folder with a file for each.

Counted as running-text is: a task is a period of years, the weighted counts of pairs of words
that stand near each other in its training documents; some documents of each period are held out.
A document is a file. The year is read from its name, as in 1996-07-04_speech.txt, USA_25_1970.txt
and su1790.txt, else from that of its folder, as in 1996/speech.txt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import xarray as xr
from annotated_types import Ge, Le, Lt

from shiftbench.data.text import _dated_texts, _user_texts
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._dated_texts import Plan

GIVES = "counts"
HAS = {"warm-up": True, "held-out": {"not held_out": (0.0,)}}

__all__ = [
    "Settings",
    "build",
    "count_shard",
    "held_out_documents",
    "look",
    "merge",
    "problem",
    "task",
    "vocabulary",
]


@dataclass(frozen=True)
class Settings:
    path: str
    """The folder of texts, with sub-folders or without; relative to the file that says so."""
    date: str = r"(?<!\d)(\d{4})(?!\d)"
    """The regular expression whose one group is the year in a name; by default four digits
    alone."""
    ending: str = ".txt"
    """Files whose names end so are documents, others are left out; small letters or capitals."""
    encoding: str = "utf-8"
    """That of the texts, such as utf-8, latin-1, cp1252 or utf-16."""
    sha256: str = ""
    """Checksum of the folder: that of the lines which sha256sum prints of its files, sorted by
    name; empty is unchecked."""
    title: str = ""
    """What the texts are; empty is the name of the folder."""
    licence: str = "not stated"
    """Their licence, which the store tells."""
    citation: str = "not stated"
    """Whom to cite for them."""
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
    """Number of words; 0 is all that occur often enough."""
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


def look(settings: Settings, path: Path) -> None:
    """UserError where names, sizes or settings are wrong; no text is read."""
    _plan(settings, path)


def build(settings: Settings, raw: Path) -> xr.DataTree:
    """The store of the texts in folder `raw`, all in this process. UserError where they are wrong.

    A text is wrong that has no year, is empty, is twice there, or has another encoding.
    """
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
    corpus = _user_texts.folder(Path(raw), settings.date, settings.ending, settings.encoding)
    return _dated_texts.plan(settings, Path(raw).resolve().name, corpus)


def _about(settings: Settings) -> dict[str, Any]:
    return {
        "title": settings.title or Path(settings.path).resolve().name,
        "licence": settings.licence,
        "citation": settings.citation,
        "period_years": settings.period_years,
    }
