"""Reader of the change logs of the GNU C Library: ChangeLog.1 to .25, gz, newest entry first.

An entry is a document. It begins with an unindented line with date, name and mail address; what is
indented below it is its text, without further authors. From ChangeLog.20 on, that is since 14
October 2019, a program made the logs from git: an entry has a line COMMIT, and phrases such as
"Modified function." or "Delete file." for each change. So the words of these phrases have had other
neighbours since then, whatever people mean by them. Words that people wrote, such as removed,
renamed, moved and likewise, have disappeared.

Only runs of letters are kept of the text, since paths and punctuation would fill every window.
Before that, these are removed: mail addresses with the names before them, names of people who have
entries, and hexadecimal numbers that begin with 0x or have the 40 digits of a commit.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _text_files
from shiftbench.data.text._corpora import Corpus

FILES = 25
KNOWN_CHANGES = dict.fromkeys(("commit", "modified", "function", "delete"), 2019)
"""Words whose use changes for certain, with the year."""
YEAR = re.compile(r"(?:19[89]|20[0-2])\d")
DATE_ENDS = 30
"""Characters of a head in which its date is, as in `Thu Sep  3 17:31:13 1992` or `2019-10-11`."""
OTHER = re.compile(r"See ChangeLog\.\d+ for earlier|Local Variables:|mode: change-log|End:")
MAIL = r"[<(]?[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\s*[>)]?"
NAME = r"[A-Z][\w.'’-]*"  # noqa: RUF001  # the typographic apostrophe is meant
NAMES = re.compile(rf"{NAME}(?:\s+{NAME})+")
NAMED_MAIL = re.compile(rf"(?:{NAME}\s+)*{MAIL}")
HEXADECIMAL = re.compile(r"\b(?:0[xX][0-9a-fA-F]+|[0-9a-f]{40})\b")
LETTERS = re.compile(r"[^\W\d_]+")


class _Entry(NamedTuple):
    """A dated entry: line of its head in the file, year, name in the head, and text."""

    line: int
    year: int
    author: str
    text: str


def read(raw: Path) -> Corpus:
    """Return the entries as documents, in the order of the files. UserError for a wrong file."""
    paths = [raw / f"ChangeLog.{number}.gz" for number in range(1, FILES + 1)]
    names, years, authors, sizes = [], [], set[str](), []
    for path in paths:
        entries = list(_entries(path))
        names += [f"{path.stem}:{entry.line}" for entry in entries]
        years += [entry.year for entry in entries]
        authors |= {entry.author for entry in entries}
        sizes.append(len(entries))
    ends = np.cumsum([0, *sizes]).tolist()
    people = frozenset(name for name in authors if " " in name)

    def texts(first: int, last: int) -> Iterator[tuple[int, str]]:
        for path, start, stop in zip(paths, ends[:-1], ends[1:], strict=True):
            if start < last and first < stop:
                for number, entry in enumerate(_entries(path), start):
                    if first <= number < last:
                        yield number, _words(entry.text, people)

    return Corpus(np.array(names), np.array(years), texts)


def _entries(path: Path) -> Iterator[_Entry]:
    """Yield the entries of a file. UserError for text outside an entry, or no entry at all."""
    head: tuple[int, int, str] | None = None
    text: list[str] = []
    year = 0
    for number, line in _text_files.lines(path):
        if line and not line[0].isspace() and not OTHER.match(line):
            year = _year(path, number, line, year)
            if head:
                yield _Entry(*head, "\n".join(text))
            head, text = (number, year, _author(line)), []
        elif head and not text and "@" in line:
            continue  # another author
        elif head:
            text.append("" if OTHER.match(line) else line)
        elif line.strip() and not OTHER.match(line):
            raise raw_files.wrong(path, "text before the first dated entry", number)
    if head is None:
        raise raw_files.wrong(path, "it has no dated entry", 1)
    yield _Entry(*head, "\n".join(text))


def _year(path: Path, number: int, head: str, last: int) -> int:
    """Return the year of a head; where a mistyped date has none, that of the entry above."""
    if found := YEAR.search(head[:DATE_ENDS]):
        return int(found[0])
    if "@" not in head:
        reason = f"{head[:40]!r} is neither indented nor the dated head of an entry"
        raise raw_files.wrong(path, reason, number)
    if not last:
        raise raw_files.wrong(path, "the first entry has no year", number)
    return last


def _author(head: str) -> str:
    """Return the name between the date and the mail address of a head."""
    before = re.split(r"[<(@]", head)[0]
    return " ".join(re.split(r"\d", before)[-1].split())


def _words(text: str, people: frozenset[str]) -> str:
    """Return the runs of letters of a text, without people and hexadecimal numbers."""
    text = NAMED_MAIL.sub(" ", text)
    text = NAMES.sub(functools.partial(_without, people), text)
    return " ".join(LETTERS.findall(HEXADECIMAL.sub(" ", text)))


def _without(people: frozenset[str], found: re.Match[str]) -> str:
    """Return a run of words with capitals without the names in it."""
    words = found[0].split()
    kept: list[str] = []
    while words:
        ends = range(len(words), 1, -1)
        end = next((end for end in ends if " ".join(words[:end]).rstrip(".") in people), 0)
        kept += words[: 0 if end else 1]
        words = words[end or 1 :]
    return " ".join(kept)
