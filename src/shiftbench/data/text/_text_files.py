"""Text of raw files, and the one error for what is wrong in them: file and line are named."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from shiftbench.core.errors import UserError

UNREADABLE = (gzip.BadGzipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)
BLOCK_BYTES, BUFFER = 2**24, 2**20


def wrong(place: str, line: int, reason: str) -> UserError:
    return UserError(
        f"Raw file {place} is not what it should be, line {line}: {reason}. Delete it and fetch"
        " it again."
    )


def decoded(
    place: str,
    content: bytes,
    encoding: str = "utf-8",
    line: int = 1,
    error: Callable[[str, int, str], UserError] = wrong,
) -> str:
    """The text of a file that starts in this line. The error for another encoding.

    Also for NUL characters, which no text has, but other encodings read as text.
    """
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode(encoding)
    except UnicodeDecodeError as found:
        line += content.count(b"\n", 0, found.start)
        raise error(place, line, f"it is no {encoding} ({found.reason})") from None
    if "\0" in text:
        raise error(place, line + text[: text.index("\0")].count("\n"), f"it is no {encoding}")
    return text


def members(path: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    """The files in an archive whose names end so: name without folders, and content.

    UserError, at the end, where there is none.
    """
    name, none = "its start", True
    try:
        with tarfile.open(path, "r|*", bufsize=BUFFER) as archive:
            for entry in archive:
                name = entry.name
                if entry.isfile() and name.endswith(suffix):
                    content = archive.extractfile(entry)
                    assert content is not None
                    none = False
                    yield Path(name).name, content.read()
    except FileNotFoundError:
        raise missing(path) from None
    except IsADirectoryError:
        raise wrong(str(path), 1, "it is a folder") from None
    except UNREADABLE as error:
        raise wrong(str(path), 1, f"the archive breaks off at {name} ({error})") from None
    if none:
        raise wrong(str(path), 1, f"the archive has no file whose name ends in {suffix}")


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """A file, plain or .gz, in blocks of whole lines: number of the first line, and content."""
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
        raise missing(path) from None
    except UNREADABLE as error:
        raise wrong(str(path), line, f"it breaks off or is damaged after here ({error})") from None


def lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, without the ends of line."""
    for first, content in blocks(path):
        text = decoded(str(path), content, encoding, first)
        for number, line in enumerate(text.removesuffix("\n").split("\n"), first):
            yield number, line.removesuffix("\r")


def missing(path: Path) -> UserError:
    return UserError(
        f"Raw file {path} is missing. Run the workflow, or python -m shiftbench fetch."
    )
