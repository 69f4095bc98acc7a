"""Reader of a user's folder of texts, each a file with a year in its name.

Wrong names, sizes and settings are refused before a text is read; a wrong encoding, or a file that
is not a text, when it is read.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.store import user_folder
from shiftbench.data.text import _text_files
from shiftbench.data.text._corpora import Corpus


def folder(path: Path, date: str, ending: str, encoding: str) -> Corpus:
    """Return the files with this ending below a folder as a corpus, in the order of their names.

    date: regular expression whose group is the year; it is searched in the name of the file, then
    in the names of its folders, the innermost first. UserError for a setting that is no such
    expression or no encoding, and for a file that has no year, more than one, or no text, or is a
    copy of another one.
    """
    dated, files = _pattern(date), _files(path, ending)
    _refuse_unknown(encoding)
    names = [file.relative_to(path) for file in files]
    years = [_year(dated, name, path) for name in names]
    _refuse_empty(files)
    _refuse_copies(files, years)

    def texts(first: int, last: int) -> Iterator[tuple[int, str]]:
        for number, file in enumerate(files[first:last], first):
            yield number, _text(file, encoding)

    return Corpus(np.array([name.as_posix() for name in names]), np.array(years), texts)


def _pattern(date: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(date)
    except re.error as error:
        raise UserError(f"Setting date: {date!r} is not a regular expression ({error}).") from None
    if pattern.groups != 1:
        raise UserError(
            f"Setting date: {date!r} has {pattern.groups} groups, but must have one, the year, as"
            r" in '_(\d{4})\.txt'."
        )
    return pattern


def _refuse_unknown(encoding: str) -> None:
    try:
        b" ".decode(encoding, "ignore")
    except LookupError:
        raise UserError(
            f"Setting encoding: there is no encoding of text {encoding!r}; others are utf-8,"
            " latin-1, cp1252, utf-16."
        ) from None


def _files(path: Path, ending: str) -> list[Path]:
    if not path.is_dir():
        raise UserError(f"{path} is a file. Put the texts into a folder and name that.")
    files = user_folder.files(path)
    texts = [file for file in files if file.name.lower().endswith(ending.lower())]
    if not texts:
        others = f", but {len(files)} others, such as {files[0]}" if files else ""
        raise UserError(
            f"{path} has no file whose name ends in {ending}{others}. Put texts there, or change"
            " the setting ending."
        )
    return texts


def _year(dated: re.Pattern[str], name: Path, folder: Path) -> int:
    for part in reversed(name.parts):
        years = sorted(set(dated.findall(part)))
        if len(years) > 1:
            raise UserError(
                f"{folder / name}: its year may be {' or '.join(years)}. Set date to a regular"
                r" expression that finds one, such as '_(\d{4})\.txt'."
            )
        if years and not years[0].isdecimal():
            raise UserError(
                f"{folder / name}: date {dated.pattern!r} finds {years[0]!r}, which is not a year."
                " Its group must be the year alone."
            )
        if years:
            return int(years[0])
    raise UserError(
        f"{folder / name}: there is no year in its name, nor in those of its folders. Rename it,"
        f" as in 1996-07-04_speech.txt, or set date (now {dated.pattern!r}), or take it out."
    )


def _refuse_empty(files: Sequence[Path]) -> None:
    empty = [file for file in files if not file.stat().st_size]
    if empty:
        raise UserError(
            f"{empty[0]} is empty ({len(empty)} such files). Write its text, or take it out."
        )


def _refuse_copies(files: Sequence[Path], years: Sequence[int]) -> None:
    """Raise UserError for the same text twice in a year: one might be held out, one learnt from."""
    sizes = [(year, file.stat().st_size) for file, year in zip(files, years, strict=True)]
    often, seen = Counter(sizes), dict[tuple[int, int, bytes], Path]()
    for size, file in zip(sizes, files, strict=True):
        if often[size] == 1:  # most files: they need not be read
            continue
        first = seen.setdefault((*size, hashlib.sha256(file.read_bytes()).digest()), file)
        if first != file:
            raise UserError(
                f"{first} and {file} are the same text in the same year. Take one of them out."
            )


def _text(file: Path, encoding: str) -> str:
    text = _text_files.decoded(str(file), file.read_bytes(), encoding, wrong=_wrong)
    if not text.strip():
        raise UserError(f"{file} has nothing but spaces. Write its text, or take it out.")
    return text


def _wrong(place: str, reason: str, line: int) -> UserError:
    return UserError(
        f"{place}, line {line}: {reason}. Set encoding to that of the texts, such as latin-1,"
        " cp1252 or utf-16; if it is not text, take it out."
    )
