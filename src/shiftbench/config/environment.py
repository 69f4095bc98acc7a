"""The part of the environment that a job depends on: the packages that it imports, and theirs.

It is read from the lock file, which lists below each package the packages that need it. So it is
the same on every machine and for every Python, and nothing is imported. Packages that only a user's
own components import may be missing in the lock; they count with their installed version.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
import sys
from pathlib import Path
from typing import NamedTuple

from shiftbench.config import components, digest
from shiftbench.core import checkout
from shiftbench.core.errors import UserError

LOCK = checkout.LOCK
OTHER_NAMES = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Packages whose name for pip differs from the name of their module."""


class _Lock(NamedTuple):
    """versions: of each package, several if they depend on Python; needs: package -> packages."""

    versions: dict[str, list[str]]
    needs: dict[str, set[str]]


def versions(*modules: str) -> dict[str, list[str]]:
    """Return the versions of the packages that the modules and their import closure need, by name.

    UserError if the lock lacks a package that our own code imports.
    """
    closure = digest.closure(*modules)
    ours = {name for name in closure if name.partition(".")[0] == components.OURS}
    imported = digest.foreign(*ours) - sys.stdlib_module_names
    of_users = digest.foreign(*closure) - sys.stdlib_module_names - imported
    locked = {name for name in of_users if package(name) in _lock().versions}
    found = _versions(imported | locked)
    if others := of_users - locked:
        found = dict(sorted((found | {package(name): _installed(name) for name in others}).items()))
    return found


@functools.cache
def cuda() -> dict[str, list[str]]:
    """Return the versions of the libraries by which TensorFlow uses a GPU, by name."""
    return _read(checkout.GPU_LOCK).versions


@functools.cache
def _installed(name: str) -> list[str]:
    """Return the versions of the packages with an imported name; empty if none is installed."""
    packages = importlib.metadata.packages_distributions().get(name, [])
    return sorted({importlib.metadata.version(one) for one in packages})


@functools.cache
def _versions(imported: frozenset[str]) -> dict[str, list[str]]:
    lock = _lock()
    waiting = [package(name) for name in imported]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in lock.versions:
            raise UserError(
                f"{LOCK} has no {name}, which the code imports; add it to requirements.in, with its"
                " reason, and `make lock`"
            )
        if name not in found:
            found.add(name)
            waiting.extend(lock.needs.get(name, ()))
    return {name: lock.versions[name] for name in sorted(found)}


def package(imported: str) -> str:
    """Return the name in the lock of a package that is imported under this name."""
    return OTHER_NAMES.get(imported, imported.replace("_", "-").lower())


def locked(module: str) -> bool:
    """Return whether the lock has the package of a module."""
    return LOCK.exists() and package(module.partition(".")[0]) in _lock().versions


@functools.cache
def _lock() -> _Lock:
    return _read(LOCK)


def _read(lock: Path) -> _Lock:
    if not lock.exists():
        raise UserError(f"{lock} is missing; restore it, or make it with `make lock`")
    read = _Lock({}, {})
    name = ""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([\w.-]+)==([\w.]+)", line):
            name = found[1]
            read.versions.setdefault(name, []).append(found[2])
        # "# via numba", or one a line: "#   numba".
        elif found := re.match(r"    # +(?:via )?([\w.-]+)$", line):
            read.needs.setdefault(found[1], set()).add(name)
    return read
