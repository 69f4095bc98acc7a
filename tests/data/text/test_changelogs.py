"""Change logs: all forms of entry heads, omitted text, known changes, and damaged files."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.text import _changelogs, running_text
from shiftbench.data.text.running_text import Settings
from tests.real_files import MIRROR, needs_mirror

NEW = """\
2020-02-01  Ann Lee  <ann@example.org>
\t    Bob van Dam  <bob@example.org>

\tCOMMIT: 7ef9556328fd5c2fe1c2d9203a209895b5156a33
\tUpdate numbers after Ann
\tLee, as asked by Carl Marks <carl@example.org> at 0xFF00.

\t* sysdeps/x86/le-cache.c: Modified function.

Wed Apr 24 17:35:30  Ann Lee  <ann@example.org>

\t* version.h: Likewise.
"""
OLD = """\
Thu Sep  3 17:31:13 1992  Ann Lee  (ann@example.org)

\t* string.h (memmem): Fixed.

d1991-10-30  Bob van Dam  <bob@example.org>

\t* Makefile: New.

See ChangeLog.1 for earlier changes.

Local Variables:
mode: change-log
End:
"""


def write(folder: Path, *logs: str) -> Path:
    """Write logs, with an old entry for each log that is not given; return the folder."""
    for number in range(1, _changelogs.FILES + 1):
        text = logs[number - 1] if number <= len(logs) else OLD
        content = gzip.compress(text.encode(), compresslevel=1, mtime=0)
        (folder / f"ChangeLog.{number}.gz").write_bytes(content)
    return folder


def test_an_entry_is_a_document_with_the_words_below_its_head(tmp_path):
    corpus = _changelogs.read(write(tmp_path, NEW))
    assert corpus.names[:4].tolist() == [
        "ChangeLog.1:1", "ChangeLog.1:10", "ChangeLog.2:1", "ChangeLog.2:5",
    ]  # fmt: skip
    # An entry whose date has no year because of a typo gets the date of the entry above.
    assert corpus.years[:4].tolist() == [2020, 2020, 1992, 1991]
    texts = [text for _, text in corpus.texts(0, 4)]
    assert texts == [
        "COMMIT Update numbers after as asked by at sysdeps x le cache c Modified function",
        "version h Likewise",
        "string h memmem Fixed",
        "Makefile New",
    ]


def test_any_range_of_documents_is_that_part_of_all(tmp_path):
    corpus = _changelogs.read(write(tmp_path, NEW, OLD, NEW))
    every = list(corpus.texts(0, len(corpus.years)))
    assert [number for number, _ in every] == [*range(50)]
    for first, last in ((0, 1), (1, 5), (3, 3), (6, 50)):
        assert list(corpus.texts(first, last)) == every[first:last]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("\t* Makefile: New.\n" + NEW, r"ChangeLog\.2\.gz .* line 1: text before the first"),
        ("See ChangeLog.1 for earlier changes.\n", "line 1: it has no dated entry"),
        ("", "line 1: it has no dated entry"),
        (NEW + "A line of another file\n", "line 13: 'A line of another file' is neither"),
        ("Wed Apr 24 17:35:30  Ann Lee  <ann@example.org>\n", "line 1: the first entry has no"),
    ],
)
def test_a_damaged_log_is_told_with_its_line_and_the_remedy(tmp_path, log, words):
    with pytest.raises(UserError, match=rf"{words}.*Delete it and fetch it again"):
        _changelogs.read(write(tmp_path, OLD, log))


def test_a_damaged_archive_is_told(tmp_path):
    whole = (write(tmp_path) / "ChangeLog.3.gz").read_bytes()
    for content in (whole[:-9], whole[:20] + b"\xff\xff" + whole[22:], b"no gzip"):
        (tmp_path / "ChangeLog.3.gz").write_bytes(content)
        with pytest.raises(UserError, match=r"ChangeLog\.3\.gz .*breaks off or is damaged"):
            _changelogs.read(tmp_path)
    (tmp_path / "ChangeLog.3.gz").unlink()
    with pytest.raises(UserError, match=r"ChangeLog\.3\.gz is missing"):
        _changelogs.read(tmp_path)


def test_known_changes_are_flagged_where_the_period_has_their_year(tmp_path):
    old, new = (OLD + OLD.replace("1991", "1993")) * 3, NEW.replace("2020", "2018") * 3
    raw = write(tmp_path, old, new, NEW.replace("2020", "2019") * 3)
    settings = Settings("glibc-changelogs", period_years=20, case="lower", vocabulary_size=0)
    store = running_text.build(settings, raw).dataset
    assert store["first_year"].values.tolist() == [1991, 2011]
    task, word = np.nonzero(store["known_change"].values[0])
    assert task.tolist() == [1, 1, 1]
    found = set(store["word"].values[word].tolist())
    assert found == {"commit", "modified", "function"}  # "delete" is in no entry
    assert not store["shift"].values.any() and store.attrs["licence_status"] == "presumed"


@needs_mirror
def test_the_real_logs():
    raw = MIRROR / "glibc-changelogs"
    corpus = _changelogs.read(raw)
    # 25,416 heads have a full date (25,413 by a stricter rule); in 13 it has a typo.
    assert len(corpus.years) == len(set(corpus.names.tolist())) == 25_416 + 13
    years, entries = np.unique(corpus.years, return_counts=True)
    assert years.tolist() == [*range(1991, 2023)] and entries[0] == 10
    # With mail addresses and hexadecimal numbers, in lower case: 2.06 million words, of which
    # 8,998 occur five times. These counts include the lines of further authors, whose names
    # make up the difference.
    every = Counter[str]()
    for number in range(1, _changelogs.FILES + 1):
        for entry in _changelogs._entries(raw / f"ChangeLog.{number}.gz"):
            every.update(re.findall("[a-z]+", entry.text.lower()))
    assert round(every.total() / 1e6, 2) == 2.06
    assert sum(count >= 5 for count in every.values()) == pytest.approx(8_998, rel=0.01)


@pytest.mark.long
@needs_mirror
def test_the_real_logs_change_their_words_in_2019():
    corpus = _changelogs.read(MIRROR / "glibc-changelogs")
    of_year: dict[int, Counter[str]] = {year: Counter() for year in range(1991, 2023)}
    for number, text in corpus.texts(0, len(corpus.years)):
        of_year[int(corpus.years[number])].update(text.lower().split())
    size = {year: words.total() for year, words in of_year.items()}
    assert 10_000 < size[2008] < 13_000 and size[2021] > 250_000
    for word in ("commit", "modified"):
        above = [year for year in of_year if of_year[year][word] > 0.002 * size[year]]
        assert above == [2019, 2020, 2021, 2022]
    # "Modified function." and "Delete file." are phrases that the program writes.
    for word in ("function", "delete"):
        before, after = (
            sum(of_year[year][word] for year in span) / sum(size[year] for year in span)
            for span in (range(1992, 2019), range(2020, 2023))
        )
        assert after > 7 * before
    # Words of hand-written entries vanish, so no change of their use can be detected.
    for word in ("removed", "renamed", "likewise"):
        assert sum(of_year[year][word] for year in (2020, 2021, 2022)) <= 3
