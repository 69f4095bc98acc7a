"""Words that change meaning in your own dated texts: a folder with one file for each.

Texts are counted as in running-text: a task is a period of years, with the weighted counts of pairs
of words that stand near each other in its training documents; some documents of each period are
held out. A document is a file. Its year is read from its name, as in 1996-07-04_speech.txt,
USA_25_1970.txt and su1790.txt, else from the name of its folder, as in 1996/speech.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftbench.core.facts import Facts
from shiftbench.data.text import _dated_texts, _user_texts
from shiftbench.data.text._count_store import held_out_documents, problem, task
from shiftbench.data.text._dated_texts import DatedSettings, Plan

FACTS = Facts(
    gives={"counts": True, "warm-up": True, "held-out": {"not held_out": (0.0,)}},
    ahead={"vocabulary and warm-up are of all periods": True},
)

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
class Settings(DatedSettings):
    path: str
    """The folder of texts, with or without sub-folders, relative to the file that names it."""
    date: str = r"(?<!\d)(\d{4})(?!\d)"
    """Regular expression whose one group is the year in a name; by default four digits alone."""
    ending: str = ".txt"
    """Ending of the names of documents, in small letters or capitals; other files are left out."""
    encoding: str = "utf-8"
    """Encoding of the texts, such as utf-8, latin-1, cp1252 or utf-16."""
    sha256: str = ""
    """Checksum of the folder: the checksum of the lines that sha256sum prints for its files,
    sorted by name. Empty: unchecked."""
    title: str = ""
    """What the texts are; empty: the name of the folder."""
    licence: str = "not stated"
    """Licence of the texts, which the store carries."""
    citation: str = "not stated"
    """Whom to cite for the texts."""


def look(settings: Settings, path: Path) -> None:
    """Raise UserError for wrong names, sizes or settings; no text is read."""
    _plan(settings, path)


def _plan(settings: Settings, raw: Path) -> Plan:
    corpus = _user_texts.folder(Path(raw), settings.date, settings.ending, settings.encoding)
    return _dated_texts.plan(settings, Path(raw).resolve().name, corpus)


def _attributes(settings: Settings) -> dict[str, Any]:
    return {
        "title": settings.title or Path(settings.path).resolve().name,
        "licence": settings.licence,
        "citation": settings.citation,
        "period_years": settings.period_years,
    }


build, vocabulary, count_shard, merge = _dated_texts.stages(_plan, _attributes)
