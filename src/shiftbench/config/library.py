"""The library of methods, studies and claims: YAML files in folders beside the configs.

A config first searches the folders beside itself, then those beside the configs that it starts
from, then those of this repository. A file is read when one of its names is requested.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import yaml_lines
from shiftbench.config.yaml_lines import Document, KeyPath
from shiftbench.core import checkout

OURS = checkout.CONFIGS
"""The folder of the repository's configs."""
DEFAULT = "embedded"
"""The config that runs if none is named. Each of our configs has the name of its budget."""
ANCHORS = "definitions"
"""The key of a file that is free for YAML anchors."""


@dataclass(frozen=True)
class YamlValue:
    """A value of a YAML file, with its place in the file."""

    document: Document
    place: KeyPath
    data: Any

    def at(self, key: str | int) -> YamlValue:
        """Return the value under a key, which must exist."""
        return YamlValue(self.document, (*self.place, key), self.data[key])

    def get(self, key: str) -> YamlValue | None:
        """Return the value under a key; None if there is none, or if this is not a mapping."""
        return self.at(key) if isinstance(self.data, dict) and key in self.data else None

    def items(self) -> Iterator[tuple[str, YamlValue]]:
        """Yield the keys and values of a mapping; nothing for any other value."""
        yield from ((key, self.at(key)) for key in (self.data if self.is_mapping() else ()))

    def is_mapping(self) -> bool:
        """Return whether this is a mapping."""
        return isinstance(self.data, dict)

    def elements(self) -> Iterator[YamlValue]:
        """Yield the elements of a list; nothing for any other value."""
        for position in range(len(self.data) if isinstance(self.data, list) else 0):
            yield self.at(position)

    def named(self) -> Iterator[tuple[str, YamlValue]]:
        """Yield names with values, from a mapping or from a list of names and small mappings.

        A name alone has the value None. Elements of another form are skipped.
        """
        yield from self.items()
        for element in self.elements():
            if isinstance(element.data, str):
                yield element.data, YamlValue(element.document, element.place, None)
            elif element.is_mapping() and len(element.data) == 1:
                yield from element.items()


class PlannedStudy(NamedTuple):
    """A study as one of our configs has it.

    file: its name in `studies/`. changes: what the config says of it.
    """

    file: str
    budget: YamlValue
    changes: YamlValue


def root(document: Document) -> YamlValue:
    """Return the whole content of a file."""
    return YamlValue(document, (), document.data)


class Library:
    """All files that a config in a folder may name. UserError for a file that is not YAML.

    alone: only those that stand there, as in a crate, and not ours.
    """

    def __init__(self, folder: Path, alone: bool = False) -> None:
        ours = [] if alone else [OURS.resolve()]
        self.folders = list(dict.fromkeys([folder.resolve(), *ours]))
        self._alone = alone
        self.documents: list[Document] = []
        """The files read so far."""
        self._studies: dict[str, YamlValue | None] = {}

    def look_in(self, folder: Path) -> None:
        """Search another folder before ours: that of a config which this one starts from."""
        if folder.resolve() not in self.folders:
            self.folders.insert(len(self.folders) - (not self._alone), folder.resolve())

    def config(self, name: str) -> Path | None:
        """Return the file of a config, given its name or its path beside this config."""
        for folder in self.folders:
            for path in (folder / name, folder / f"{name}.yaml"):
                if path.is_file():
                    return path
        return None

    def studies(self) -> list[str]:
        """Return the names of all study files."""
        return sorted({path.stem for path in self._files("studies")})

    def study(self, name: str) -> YamlValue | None:
        """Return the content of a study file, which is read once; None if there is no such file."""
        if name not in self._studies:
            path = next((path for path in self._files("studies") if path.stem == name), None)
            self._studies[name] = None if path is None else root(self.read(path))
        return self._studies[name]

    def planned(self, budget: str = DEFAULT) -> dict[str, YamlValue]:
        """Return the studies of our config for a budget; empty if there is no such config."""
        files = [path for path in OURS.glob("*.yaml") if path.stem == budget]
        return {name: entry for path in files for name, entry in self._entries(path)}

    def planned_study(self, name: str, budget: str = DEFAULT) -> PlannedStudy | None:
        """Return a study of our config for a budget; None if the config has no such study.

        `list studies` prints such names, and some differ from the names of files:
        `permuted-digits` of config/embedded.yaml stands for the file `permuted-images`.
        """
        entry = self.planned(budget).get(name)
        if entry is None:
            return None
        source, own = entry.get("from"), entry.get("budget")
        file = name if source is None else str(source.data)
        return PlannedStudy(file, own or root(entry.document).at("budget"), entry)

    def planning(self, name: str) -> list[Path]:
        """Return the files of our configs that have a study of this name."""
        return [path for path in sorted(OURS.glob("*.yaml")) if name in self.planned(path.stem)]

    def _entries(self, path: Path) -> Iterator[tuple[str, YamlValue]]:
        return root(self.read(path)).at("studies").named()

    @functools.cached_property
    def methods(self) -> dict[str, YamlValue]:
        """All methods by name; the one nearest to the config if several share a name."""
        nearest: dict[str, YamlValue] = {}
        for _, name, method in self._methods:
            nearest.setdefault(name, method)
        return nearest

    def replaces_ours(self, name: str, method: YamlValue) -> bool:
        """Return whether a method's pipeline differs from that of our method of the same name.

        Claims and numbers of papers are about the latter.
        """
        ours = self._ours.get(name)
        return ours is not None and method.data.get("pipeline") != ours.data.get("pipeline")

    @functools.cached_property
    def _ours(self) -> dict[str, YamlValue]:
        """The methods of this repository by name."""
        folder = (OURS / "methods").resolve()
        return {name: one for path, name, one in self._methods if path.resolve().parent == folder}

    def doubled_methods(self) -> Iterator[tuple[YamlValue, str]]:
        """Yield methods whose name occurs in two files of a folder, with a message."""
        seen: dict[tuple[Path, str], Path] = {}
        for path, name, method in self._methods:
            first = seen.setdefault((path.parent, name), path)
            if first != path:
                yield method, f'the method "{name}" is also in {first.name}; rename one'

    @functools.cached_property
    def _methods(self) -> list[tuple[Path, str, YamlValue]]:
        """Every method with its file and its name."""
        return [
            (path, name, method)
            for path in self._files("methods")
            for name, method in root(self.read(path)).items()
            if name != ANCHORS
        ]

    @functools.cached_property
    def claims(self) -> list[YamlValue]:
        """The contents of all claim files."""
        return [root(self.read(path)) for path in self._files("claims")]

    def _files(self, kind: str) -> list[Path]:
        return [path for one in self.folders for path in sorted((one / kind).glob("*.yaml"))]

    def read(self, path: Path) -> Document:
        """Read a file and record it in `documents`."""
        document = yaml_lines.read(path)
        self.documents.append(document)
        return document
