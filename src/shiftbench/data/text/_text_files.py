"""Readers of text in raw files; errors name file and line."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw as raw_files

UNREADABLE = (gzip.BadGzipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)
BLOCK_BYTES, BUFFER = 2**24, 2**20


def decoded(
    place: str,
    content: bytes,
    encoding: str = "utf-8",
    line: int = 1,
    wrong: Callable[[str, str, int], UserError] = raw_files.wrong,
) -> str:
    """Return the text of bytes that start in this line of a file.

    Raises the error that `wrong` returns for place, reason and line if the bytes have another
    encoding, or NUL characters, which no text has but some encodings accept.
    """
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode(encoding)
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        raise wrong(place, f"it is not {encoding} ({error.reason})", line) from None
    if "\0" in text:
        line += text[: text.index("\0")].count("\n")
        raise wrong(place, f"it is not {encoding}", line)
    return text


def members(path: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name without folders and the content of the files with this suffix in an archive.

    UserError, at the end, if there is no such file.
    """
    name, empty = "its start", True
    try:
        with tarfile.open(path, "r|*", bufsize=BUFFER) as archive:
            for entry in archive:
                name = entry.name
                if entry.isfile() and name.endswith(suffix):
                    content = archive.extractfile(entry)
                    assert content is not None
                    empty = False
                    yield Path(name).name, content.read()
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except IsADirectoryError:
        raise raw_files.wrong(path, "it is a folder", 1) from None
    except UNREADABLE as error:
        raise raw_files.wrong(path, f"the archive breaks off at {name} ({error})", 1) from None
    if empty:
        raise raw_files.wrong(path, f"the archive has no file whose name ends in {suffix}", 1)


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file, plain or .gz, in blocks of whole lines: number of the first line, content."""
    line, rest = 1, b""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while content := file.read(BLOCK_BYTES):
                whole, newline, last = (rest + content).rpartition(b"\n")
                rest = last
                if newline:
                    yield line, whole + newline
                    line += whole.count(b"\n") + 1
            if rest:
                yield line, rest + b"\n"
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except UNREADABLE as error:
        reason = f"it breaks off or is damaged after here ({error})"
        raise raw_files.wrong(path, reason, line) from None


def lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without the ends of line."""
    for first, content in blocks(path):
        text = decoded(str(path), content, encoding, first)
        for number, line in enumerate(text.removesuffix("\n").split("\n"), first):
            yield number, line.removesuffix("\r")
