"""Components of users, known for the time of one call."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shiftbench.api.arguments import file_path
from shiftbench.api.input_error import InputError
from shiftbench.config import components, digest, environment, spec_code, user_components

Folders = tuple[Path, ...]
_LOCK = threading.RLock()
"""Held while components are added: all threads see one library."""
_imported: dict[Path, set[tuple[Path, int, int]]] = {}
"""The files of each folder, with size and time, as they were when it was imported."""


def folders(given: Any) -> Folders:
    """Return the folders of an argument `components`: a path, a list of paths, or None."""
    if given is None:
        return ()
    several = given if isinstance(given, list | tuple) else [given]
    return tuple(file_path("components", one).resolve() for one in several)


@contextmanager
def known(own: Sequence[Path]) -> Iterator[None]:
    """Add the components of folders for the time of a call. InputError for what is wrong there.

    Modules of a folder are imported again if one of its files was edited since.
    """
    if not own:
        yield
        return
    with of_this_call():
        for folder in own:
            _refresh(folder)
        if wrong := [message for folder in own for message in user_components.use(folder)]:
            raise InputError("; ".join(wrong))
        yield


@contextmanager
def of_this_call() -> Iterator[None]:
    """Forget at the end the components that a call has added, and all that was read of them.

    Their files may be edited before the next call.
    """
    with _LOCK:
        before = components.packages().keys()
        refused = True
        try:
            yield
            refused = False
        finally:
            added = components.packages().keys() - before
            for package in added:
                components.remove(package)
            if added or refused:  # one that was refused is not added, but was read
                _clear_caches()


def _refresh(folder: Path) -> None:
    """Forget the modules of a folder that were imported before an edit, or before it was moved."""
    files = sorted(folder.rglob("*.py"))
    states = {(file, file.stat().st_size, file.stat().st_mtime_ns) for file in files}
    places = [Path(one) for one in getattr(sys.modules.get(folder.name), "__path__", ())]
    edited = places == [folder] and _imported.get(folder, states) != states
    moved = any(one in _imported and not one.is_dir() for one in places)
    if edited or moved:
        for name in [*sys.modules]:
            if name.partition(".")[0] == folder.name:
                del sys.modules[name]
        for file in files:  # its bytecode may be as old as the last second, and as long
            with suppress(OSError):
                Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        importlib.invalidate_caches()
    _imported[folder] = states


def _clear_caches() -> None:
    for module in (components, digest, environment, spec_code):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
