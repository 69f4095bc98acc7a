"""A hook that refuses what a part must not do: write outside its folder, or read its callers.

It sees only what Python does for the part's own code. It does not see files that C libraries open,
nor what other programs do; so a part may not start programs. A library's own caches, written while
it is imported or compiled, are allowed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shiftbench.core.errors import UserError

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FIRST, BOTH, SECOND = slice(0, 1), slice(0, 2), slice(1, 2)
CHANGED_PATHS = {
    "os.mkdir": FIRST, "os.remove": FIRST, "os.rmdir": FIRST, "os.truncate": FIRST,
    "os.chmod": FIRST, "os.chown": FIRST, "os.utime": FIRST, "shutil.rmtree": FIRST,
    "sqlite3.connect": FIRST, "os.rename": BOTH, "os.link": SECOND, "os.symlink": SECOND,
}  # fmt: skip
"""Events that change files, with those of their arguments that are paths of what changes."""
FRAMES = {"sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile"}
FRAMES |= {"gc.get_objects", "gc.get_referrers"}
FRAME_NAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame"}
PROGRAMS = {"os.fork", "os.forkpty", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"}
SIGNALS = {"os.kill", "os.killpg"}
CACHES = ("importlib._bootstrap", os.path.join("numba", "core", "caching.py"))
"""Functions inside which a library, and not the part, decides what is written."""
PASSED_ON = ("inspect", "traceback", "subprocess", "os")
"""Modules of Python through which a part looks into frames or starts programs."""
_busy = threading.local()


class Refused(UserError):
    """What a part must not do, with its line; raised where it tries."""


def install(package: Path, folder: Path) -> list[str]:
    """Refuse from now on, in this process; return the list to which each refusal is added.

    package: the folder of the parts, whose code is watched. folder: the only one to write to.
    """
    refusals: list[str] = []

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if getattr(_busy, "inside", False) or event not in JUDGES:
            return
        _busy.inside = True
        try:
            tried, direct = JUDGES[event](event, given, folder)
            line = _line(package, direct) if tried else ""
        finally:
            _busy.inside = False
        if line:
            refusals.append(f"{tried} ({line}).")
            raise Refused(refusals[-1])

    sys.addaudithook(hook)
    return refusals


def _opened(event: str, given: tuple[Any, ...], folder: Path) -> tuple[str, bool]:
    path, _, flags = given
    writes = isinstance(flags, int) and flags & WRITES
    return _outside([path], folder) if writes else ("", False)


def _changed(event: str, given: tuple[Any, ...], folder: Path) -> tuple[str, bool]:
    return _outside(given[CHANGED_PATHS[event]], folder)


def _outside(paths: Any, folder: Path) -> tuple[str, bool]:
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike):
            full = Path(os.path.realpath(os.fsdecode(path)))
            if full != Path(os.devnull) and not full.is_relative_to(folder):
                return f"It writes to no folder but its working folder: it tried {full}", False
    return "", False


def _moved(event: str, given: tuple[Any, ...], folder: Path) -> tuple[str, bool]:
    return f"It stays in its working folder: it tried to change to {given[0]}", False


def _looked(event: str, given: tuple[Any, ...], folder: Path) -> tuple[str, bool]:
    if event == "object.__getattr__" and given[1] not in FRAME_NAMES:
        return "", True
    return "It uses only what it is given: it tried to look into the frames of its callers", True


def _started(event: str, given: tuple[Any, ...], folder: Path) -> tuple[str, bool]:
    return f"It starts no other process: it tried {event}", True


def _signalled(event: str, given: tuple[Any, ...], folder: Path) -> tuple[str, bool]:
    return f"It sends no signals: it tried {event}", False


JUDGES: dict[str, Callable[[str, tuple[Any, ...], Path], tuple[str, bool]]] = {
    "open": _opened,
    "os.chdir": _moved,
    "object.__getattr__": _looked,
    **dict.fromkeys(CHANGED_PATHS, _changed),
    **dict.fromkeys(FRAMES, _looked),
    **dict.fromkeys(PROGRAMS, _started),
    **dict.fromkeys(SIGNALS, _signalled),
}
"""For each event, a function that returns the message of a refusal, empty for none, and whether
only calls by the part's own code count, rather than those of a library."""


def _line(package: Path, direct: bool) -> str:
    """Return file and line of the part that caused the present event; empty if it did not."""
    for file, line in _frames():
        if file.startswith(f"{package}{os.sep}"):
            return f"{file}, line {line}"
        if any(cache in file for cache in CACHES):
            return ""
        name = Path(file.removeprefix("<frozen ").removesuffix(">")).stem
        if direct and name not in PASSED_ON:
            return ""
    return ""


def _frames() -> Iterator[tuple[str, int]]:
    """Yield file and line of all frames below the hook's, the nearest first."""
    frame = sys._getframe(2)  # this function's and `_line`'s come first
    while frame := frame.f_back:  # type: ignore[assignment]
        yield frame.f_code.co_filename, frame.f_lineno
