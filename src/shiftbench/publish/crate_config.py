"""The files that a config is made of, in their own folder and in the folder `config` of a crate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from shiftbench.config import yaml_lines
from shiftbench.config.composition import Composition
from shiftbench.config.library import OURS, Library
from shiftbench.config.yaml_lines import FOLDER, Document
from shiftbench.core.errors import UserError
from shiftbench.publish import crate_files, crate_sources

FROM, COMPONENTS = "from", "components"
"""Keys of a config that name the config it starts from, and folders with code."""
BELOW = "move it below that folder, and write its path from this file on"
REMEDIES = {FROM: BELOW, COMPONENTS: BELOW, FOLDER: "write paths from this file on without it"}
"""Keys of a config that name further files or folders to read, with what to do in place of that."""
METHODS = "methods"
"""The folder of methods, of which those nearest to the config count."""


def chain(path: Path, alone: bool = False) -> Iterator[Document]:
    """Yield a config, then the config that it starts from, and so on.

    Only the files yielded so far have been read, so that a caller can stop before the next one.
    alone: look for them only beside the first, as in a crate.
    """
    document, library = yaml_lines.read(path), None
    seen: set[Path] = set()
    while document.path.resolve() not in seen:
        yield document
        seen.add(document.path.resolve())
        library = library or Library(document.folder, alone)
        library.look_in(document.folder)
        start = library.config(*names) if (names := _names(document, FROM)) else None
        if start is None:
            return
        document = library.read(start)


def component_folders(document: Document) -> list[str]:
    """Return the folders of code that a config names."""
    return _names(document, COMPONENTS)


def leading_out(document: Document) -> Iterator[tuple[str, str]]:
    """Yield what a config names outside of its folder, each after its key."""
    for key in REMEDIES:
        for name in _names(document, key):
            place = PurePosixPath(name)
            if place.is_absolute() or ".." in place.parts or name.startswith("~"):
                yield key, name


def copy(composed: Composition, config_file: Path, crate: Path) -> None:
    """Copy a config with all files that it is made of. UserError if a crate cannot have them."""
    beside = config_file.parent.resolve()
    for document in chain(config_file):
        for key, name in leading_out(document):
            raise UserError(
                f"{document.path}: {key}: {name} leads out of {document.path.parent}, and a crate"
                f" has only what is below; {REMEDIES[key]}"
            )
    copied = {config_file.name: config_file}
    for path in dict.fromkeys(document.path for document in composed.library.documents):
        name = _name(path, [beside, *composed.library.folders, OURS])
        if not _is_same(copied.setdefault(name, path), path):
            raise UserError(
                f"{copied[name]}: this and {path} would be one file of a crate; rename the first"
            )
    own = beside / crate_sources.CITATION
    if own.is_file():
        copied[own.name] = own
    for folder in composed.component_folders:
        if not folder.is_relative_to(beside):
            raise UserError(
                f"{folder}: these components are not below the folder of {config_file}, where a"
                " crate has them; move them there"
            )
        for path in crate_files.below(folder):
            copied[path.relative_to(beside).as_posix()] = path
    for name, path in copied.items():
        crate_files.copy(path, crate / "config" / name)


def is_ours(config_file: Path) -> bool:
    """Return whether a config is one of this repository, whose results are those of its authors."""
    return config_file.resolve().is_relative_to(OURS.resolve())


def on_citation(config_file: Path) -> Iterator[str]:
    """Yield a note if nothing says who made the results of a config, and under which licence."""
    path = config_file.parent / crate_sources.CITATION
    if path.is_file():
        if not crate_sources.read_citation(path).licence:
            yield f"{path} states no license, so neither does the crate; add one, such as CC-BY-4.0"
    elif not is_ours(config_file):
        yield (
            f"there is no {path}, so the crate names no author and no licence of these results;"
            " write this file, with title, authors and license"
        )


def _name(path: Path, folders: list[Path]) -> str:
    """Return the name of a file below the first of the folders that has it."""
    place = Path(os.path.abspath(path))
    base = next(folder for folder in folders if place.is_relative_to(folder))
    return place.relative_to(base).as_posix()


def _is_same(near: Path, far: Path) -> bool:
    """Return whether a file of a library can stand for one of its name in a folder farther away."""
    if near.read_bytes() == far.read_bytes():
        return True
    ours, theirs = ({*yaml_lines.read(path).data} for path in (near, far))
    return near.parent.name == METHODS and theirs <= ours


def _names(document: Document, key: str) -> list[str]:
    """Return the paths under a key of a config."""
    value: Any = document.data.get(key) if isinstance(document.data, dict) else None
    if key == FROM:
        return [] if value is None else [str(value)]  # as the resolver of configs reads it
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
