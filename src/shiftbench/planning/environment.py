"""The part of the environment that a job depends on: what it imports, with what that needs.

Read from the lock, which names below each package those that need it, so that it is the same on
every machine and for every Python, and nothing is imported.
"""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import NamedTuple

from shiftbench.errors import UserError
from shiftbench.planning import digest

LOCK = Path(__file__).parents[3] / "envs" / "requirements.lock"
OTHER_NAMES = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Packages that are imported by another name than they are installed by."""


class _Lock(NamedTuple):
    """versions: of each package, several where they differ by Python; needs: package -> those."""

    versions: dict[str, list[str]]
    needs: dict[str, set[str]]


def versions(*modules: str) -> dict[str, list[str]]:
    """Locked versions of the packages that the modules and their import closure need, by name.

    UserError where the lock lacks a package.
    """
    return _versions(frozenset(digest.foreign(*modules) - sys.stdlib_module_names))


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
    """The name by which the lock has a package that is imported by this one."""
    return OTHER_NAMES.get(imported, imported.replace("_", "-").lower())


@functools.cache
def _lock() -> _Lock:
    if not LOCK.exists():
        raise UserError(f"{LOCK} is missing; restore it, or make it with `make lock`")
    read = _Lock({}, {})
    name = ""
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([\w.-]+)==([\w.]+)", line):
            name = found[1]
            read.versions.setdefault(name, []).append(found[2])
        # "# via numba", or one a line: "#   numba".
        elif found := re.match(r"    # +(?:via )?([\w.-]+)$", line):
            read.needs.setdefault(found[1], set()).add(name)
    return read
