"""The files of a crate, checked before any is read: their kinds, names, number and sizes.

A crate may come from anybody. Nothing in it is followed, opened or computed before these checks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.data.store import checksum
from shiftbench.publish.result_files import CHECKSUMS

LINE = re.compile(r"([0-9a-f]{64})  (.+)")
"""A line that sha256sum prints."""
WORKFLOW = (
    "Snakefile", "Makefile", "pyproject.toml", "setup.py", "envs/requirements.lock", "LICENSE",
    "CITATION.cff",
)  # fmt: skip
FOLDERS = {"workflow": "*", "profiles": "*", "envs": "*.in", "src/shiftbench": "*"}
"""Folders of the checkout, with a pattern for their files."""
LEFT_OUT = ("__pycache__",)
MAX_PATH = 1000
"""Characters of a name with its folders."""
SHOWN = 3
"""Names that one message lists."""


class Limits(NamedTuple):
    """Limits on the size of a crate, which users can raise.

    files: their number; size: bytes of all files; document: bytes of a file of JSON or text that is
    read as a whole; decoded: bytes of the arrays of a study; seconds: estimated processor time of
    all runs that are computed again.
    """

    files: int = 100_000
    size: int = 32 * 2**30
    document: int = 64 * 2**20
    decoded: int = 8 * 2**30
    seconds: float = 600.0

    def raised(self, factor: float) -> Limits:
        """Return all limits times a factor."""
        files, size, document, decoded, seconds = (limit * factor for limit in self)
        return Limits(int(files), int(size), int(document), int(decoded), seconds)


DEFAULT = Limits()
MOST = 10_000
"""The largest factor by which users can raise them."""
RAISE = "if you trust where it comes from, raise the limits with --limit"


def contents(
    crate: Path, with_checksums: bool = False, limits: Limits = DEFAULT
) -> dict[str, Path]:
    """Return all files of a crate by name, with or without the list of their checksums.

    Raises UserError for anything but files and folders with plain names, and for too many or too
    large ones.
    """
    if not crate.is_dir():
        raise UserError(f"{crate}: is not a folder; unpack the crate first, and name its folder")
    found: dict[str, Path] = {}
    size, folders, spellings = 0, [""], dict[str, str]()
    while folders:
        with os.scandir(crate / folders.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                path = Path(entry.path)
                name = _checked_name(crate, path, spellings)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    folders.append(name)
                else:
                    _refuse_special(path, status.st_mode)
                    found[name] = path
                    size += status.st_size
                if len(spellings) > limits.files or size > limits.size:
                    raise UserError(
                        f"{crate}: more than {limits.files:,} files or {limits.size:,} bytes;"
                        f" {RAISE}"
                    )
    if not with_checksums:
        found.pop(CHECKSUMS, None)
    return dict(sorted(found.items()))


def below(folder: Path, pattern: str = "*") -> Iterator[Path]:
    """Yield the files below a folder that belong into a crate: no hidden ones, and no bytecode."""
    for path in sorted(folder.rglob(pattern)):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(one.startswith(".") or one in LEFT_OUT for one in parts):
            yield path


def copy(source: Path, target: Path) -> None:
    """Copy a file into a crate."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def changed(
    crate: Path, files: dict[str, Path], described: dict[str, str], limits: Limits
) -> list[str]:
    """Return the names of the files of a crate that are changed, missing or unexpected.

    files: its contents. described: checksums by the metadata, which the list must agree with.
    Raises UserError if the list is missing or malformed.
    """
    now = {(name, checksum.sha256(path)) for name, path in files.items()}
    then = {*listed(crate, limits).items()}
    return sorted({name for name, _ in (now ^ then) | (described.items() - then)})


def listed(crate: Path, limits: Limits = DEFAULT) -> dict[str, str]:
    """Return the sha256 of each file from the list of checksums. UserError if it is malformed."""
    path = crate / CHECKSUMS
    if not path.is_file():
        raise UserError(f"{crate}: not a complete crate, without {CHECKSUMS}; get it again")
    found: dict[str, str] = {}
    for number, text in enumerate(read_text(path, limits).splitlines(), 1):
        line = LINE.fullmatch(text)
        if line is None or line[2] in found:
            raise UserError(f"{path}, line {number}: not what sha256sum prints; get it again")
        found[line[2]] = line[1]
    return found


def read_text(path: Path, limits: Limits = DEFAULT) -> str:
    """Return the text of a file of a crate. UserError if it is too large or not text."""
    if path.stat().st_size > limits.document:
        raise UserError(f"{path}: more than {limits.document:,} bytes; {RAISE}")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8 ({error}); get the crate again") from None


def read_json(path: Path, limits: Limits = DEFAULT) -> Any:
    """Return the content of a JSON file of a crate. UserError if it is too large or not JSON."""
    try:
        return json.loads(read_text(path, limits))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON ({error}); get the crate again") from None


def some(names: list[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _checked_name(crate: Path, path: Path, spellings: dict[str, str]) -> str:
    """Return the name of a file or folder in the crate. UserError unless all systems can have it.

    spellings: the names so far, as systems see them that ignore case.
    """
    name = path.relative_to(crate).as_posix()
    if printable(name) != name or "\\" in name or len(name) > MAX_PATH:
        raise UserError(
            f"{printable(str(crate))}: the name {printable(name[:MAX_PATH])} has control"
            f" characters, backslashes, bytes that are not text or more than {MAX_PATH} characters;"
            " no crate of shiftbench has such names"
        )
    spelling = unicodedata.normalize("NFC", name).casefold()
    if (other := spellings.setdefault(spelling, name)) != name:
        raise UserError(f"{crate}: {other} and {name} are one file on systems that ignore case")
    return name


def _refuse_special(path: Path, mode: int) -> None:
    """Raise UserError for a link, a pipe, a device or a socket."""
    kinds = {stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
    if not stat.S_ISREG(mode):
        kind = kinds.get(stat.S_IFMT(mode), "device")
        raise UserError(f"{path}: is a {kind}; a crate has files and folders alone")
