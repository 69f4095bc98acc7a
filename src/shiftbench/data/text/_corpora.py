"""Readers of corpora of dated documents, from the files as they are published.

A corpus is listed first, without its text: names and years decide on the period and on the split.
Its texts are read one after the other and are never all in memory.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw as raw_files
from shiftbench.data.text import _text_files


class Corpus(NamedTuple):
    """Documents in the order of the files: names [D] text, years [D] int.

    texts(first, last) yields the documents from `first` to before `last`, as (number, text).
    """

    names: np.ndarray
    years: np.ndarray
    texts: Callable[[int, int], Iterator[tuple[int, str]]]


UN_ARCHIVE = "UNGDC_1970-2018_TXT.tar.xz"
UN_NAME = re.compile(r"[A-Z]{2,4}_\d+_(\d{4})\.txt")
UNION_ARCHIVE, UNION_TABLE = "sotu_txt_1790-2024.tar.xz", "SOTU_metadata.csv"
CONGRESS_ENCODING = "iso-8859-1"
"""The encoding that users of these files assume; they are not all UTF-8."""


def un_general_debates(raw: Path) -> Corpus:
    """Read the speeches in the UN General Debate: files ISO_SESSION_YEAR.txt in one archive."""
    path = raw / UN_ARCHIVE

    def year(name: str) -> int:
        match = UN_NAME.fullmatch(name)
        if not match:
            reason = "it has no date: no name such as USA_25_1970.txt"
            raise raw_files.wrong(f"{path}, {name}", reason, 1)
        return int(match[1])

    return _archived(path, year)


def state_of_the_union(raw: Path) -> Corpus:
    """Read the addresses to Congress: files suYEAR.txt in one archive, their dates in a table."""
    years = _dates_of_addresses(raw / UNION_TABLE)
    path = raw / UNION_ARCHIVE

    def year(name: str) -> int:
        if name not in years:
            reason = f"it has no date: {UNION_TABLE} does not name it"
            raise raw_files.wrong(f"{path}, {name}", reason, 1)
        return years[name]

    return _archived(path, year)


def congressional_record(raw: Path) -> Corpus:
    """Read the speeches in the US Congress: pairs of files descr_NNN.txt and speeches_NNN.txt.

    Source: M. Gentzkow, J. M. Shapiro and M. Taddy, Congressional Record for the 43rd to 114th
    Congresses, editions hein-bound and hein-daily. The files lie in `raw` or in a folder of it.
    """
    files = sorted(raw.rglob("speeches_[0-9]*.txt"))
    if not files:
        raise UserError(
            f"There is no file speeches_NNN.txt in {raw}. Put the speeches_NNN.txt and"
            " descr_NNN.txt of hein-bound or hein-daily there; they cannot be fetched."
        )
    dates = [_dates_of_speeches(_description(path)) for path in files]
    ends = np.cumsum([0] + [len(years) for _, years in dates])

    def texts(first: int, last: int) -> Iterator[tuple[int, str]]:
        for path, (names, _), start in zip(files, dates, ends[:-1], strict=True):
            if start < last and first < start + len(names):
                for number, text in _speeches(path, names):
                    if first <= start + number < last:
                        yield int(start + number), text

    names, years = (np.concatenate(parts) for parts in zip(*dates, strict=True))
    return Corpus(names, years, texts)


READERS = {
    "un-general-debates": un_general_debates,
    "state-of-the-union": state_of_the_union,
    "congressional-record": congressional_record,
}


def _archived(path: Path, year: Callable[[str], int]) -> Corpus:
    """Return the corpus of the text files in an archive; year: the year of a file's name."""
    names = [name for name, _ in _text_files.members(path, ".txt")]

    def texts(first: int, last: int) -> Iterator[tuple[int, str]]:
        for number, (name, content) in enumerate(_text_files.members(path, ".txt")):
            if number >= last:
                return
            if number >= first:
                yield number, _text_files.decoded(f"{path}, {name}", content)

    return Corpus(np.array(names), np.array([year(name) for name in names]), texts)


def _dates_of_addresses(path: Path) -> dict[str, int]:
    """Return the year of each file that the table names."""
    text = "\n".join(line for _, line in _text_files.lines(path))
    years = {}
    rows = csv.DictReader(io.StringIO(text))
    for row in rows:
        year = re.search(r"\b(\d{4})$", row.get("Date") or "")
        if not year or not row.get("filename"):
            raise raw_files.wrong(path, "a row without a date or a file name", rows.line_num)
        years[row["filename"]] = int(year[1])
    return years


def _description(path: Path) -> Path:
    return path.with_name(path.name.replace("speeches", "descr"))


def _dates_of_speeches(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return names and years of the speeches that a file describes."""
    rows = _text_files.lines(path, CONGRESS_ENCODING)
    header = next(rows, (1, ""))[1].split("|")
    if not {"speech_id", "date"} <= set(header):
        raise raw_files.wrong(path, "it does not name the columns speech_id and date", 1)
    name, date = header.index("speech_id"), header.index("date")
    names, years = [], []
    for number, row in rows:
        fields = row.split("|")
        if len(fields) <= max(name, date) or not re.fullmatch(r"\d{8}", fields[date]):
            raise raw_files.wrong(path, "a speech without a date such as 18730304", number)
        names.append(fields[name])
        years.append(int(fields[date][:4]))
    if not names:
        raise raw_files.wrong(path, "it describes no speech", 1)
    return np.array(names, str), np.array(years, int)


def _speeches(path: Path, names: np.ndarray) -> Iterator[tuple[int, str]]:
    """Yield the speeches of a file, with their position among the names."""
    places = {name: place for place, name in enumerate(names.tolist())}
    for number, row in _text_files.lines(path, CONGRESS_ENCODING):
        name, bar, text = row.partition("|")
        if number == 1 and name == "speech_id":
            continue
        if not bar:
            raise raw_files.wrong(path, "it is not of the form speech_id|speech", number)
        if name not in places:
            reason = f"speech {name} has no date: {_description(path).name} does not name it"
            raise raw_files.wrong(path, reason, number)
        yield places[name], text
