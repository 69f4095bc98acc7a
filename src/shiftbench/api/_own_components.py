"""Components of users, known for the time of one call."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shiftbench.api.arguments import file_path
from shiftbench.api.input_error import InputError
from shiftbench.config import components, digest, environment, specs, user_components

Folders = tuple[Path, ...]
_names: set[str] = set()
"""The packages that calls have added."""


def folders(given: Any) -> Folders:
    """Return the folders of an argument `components`: a path, a list of paths, or nothing.

    Modules of these folders that were imported before are imported again on their next use, as
    their files may have been edited since, for example in a notebook.
    """
    several = given if isinstance(given, list | tuple) else [given]
    found = tuple(file_path("components", one).resolve() for one in several)
    for folder in found:
        places = getattr(sys.modules.get(folder.name), "__path__", ())
        if folder.name in _names or [*places] == [str(folder)]:
            _forget_modules(folder.name)
    return found


@contextmanager
def known(own: Sequence[Path]) -> Iterator[None]:
    """Add the components of folders for the time of a call. InputError for what is wrong there."""
    if not own:
        yield
        return
    with of_this_call():
        if wrong := [message for folder in own for message in user_components.use(folder)]:
            raise InputError("; ".join(wrong))
        _names.update(folder.name for folder in own)
        yield


@contextmanager
def of_this_call() -> Iterator[None]:
    """Remove, at the end of the block, the components that it added, with all that is cached.

    Their files may be edited before the next call.
    """
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
            _clear_caches()


def _forget_modules(package: str) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == package:
            del sys.modules[name]


def _clear_caches() -> None:
    for module in (components, digest, environment, specs):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
