"""A record of the modules and packages behind each digest, so that `plan` can name a change.

The folder results/CONFIG/code has a file for each digest of code (module -> its digest) and for
each digest of an environment (package -> versions). Its folder `modules` has a file for each
version of a module (definition -> its digest). Files are named by digests of their content, so that
nothing is written twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiftbench.config import digest, spec_code
from shiftbench.core import atomic_files

FOLDER = "code"


def write(results: Path) -> None:
    """Record what the specs depend on that this process has made so far."""
    place = results / FOLDER
    for name, modules in spec_code.behind().items():
        if _write(place / f"{name}.json", modules):
            for module, content in modules.items():
                if isinstance(content, str):  # otherwise it holds the versions of a package
                    file = place / "modules" / f"{content}.json"
                    if not file.exists():
                        _write(file, digest.definitions(module))


def changed(results: Path, old: str, new: str) -> list[str]:
    """Return phrases about what differs between an old digest and one of a spec made here.

    Empty if there is no record of the old digest.
    """
    before, after = _read(results / FOLDER / f"{old}.json"), spec_code.behind().get(new)
    if before is None or after is None:
        return []
    words = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            words += _of_module(results, name, before.get(name), after.get(name))
    return words


def _of_module(results: Path, name: str, old: Any, new: Any) -> list[str]:
    """Return phrases about what differs in one module or package."""
    if isinstance(old or new, list):
        return [f"{name} {_versions(old)} -> {_versions(new)}"]
    if old is None or new is None:
        return [f"{name} ({'no longer' if new is None else 'now'} imported)"]
    known = _read(results / FOLDER / "modules" / f"{old}.json")
    if known is None:
        return [name]
    here = digest.definitions(name)
    apart = sorted(key for key in known.keys() | here.keys() if known.get(key) != here.get(key))
    return [f"{name}.{key}" for key in apart] or [f"{name} (order of its parts)"]


def _versions(given: list[str] | None) -> str:
    return ", ".join(given) if given else "none"


def _write(path: Path, data: Mapping[str, Any]) -> bool:
    """Write a file at once, unless it is there; return whether it was written."""
    if path.exists():
        return False
    atomic_files.write(path, json.dumps(data, indent=0, sort_keys=True) + "\n")
    return True


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
