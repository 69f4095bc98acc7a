"""Components in folders of users, which the library knows during one call."""

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
from shiftbench.config import components, user_components

Folders = tuple[Path, ...]
_LOCK = threading.RLock()
"""Held while components are added, since all threads share one library."""
_imported: dict[Path, set[tuple[Path, int, int]]] = {}
"""The Python files of each folder at its last import, with size and modification time."""


def folders(given: Any) -> Folders:
    """Return the folders of an argument `components`: a path, a list of paths, or None."""
    if given is None:
        return ()
    several = given if isinstance(given, list | tuple) else [given]
    return tuple(file_path("components", one).resolve() for one in several)


@contextmanager
def known(own: Sequence[Path]) -> Iterator[None]:
    """Add the components of folders inside the block. InputError with all that is wrong with them.

    The modules of a folder are imported again if one of its files was edited.
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
    """Remove, at the end of the block, the components that it added, with all that is cached.

    Their files may be edited before the next call, as in a notebook.
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
            if added or refused:  # a refused component was not added, but is cached
                user_components.clear_caches()


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
        for file in files:  # Python reuses bytecode if time and size agree
            with suppress(OSError):
                Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        importlib.invalidate_caches()
    _imported[folder] = states
