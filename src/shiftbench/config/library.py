"""Methods, studies and claims: the files of `methods/`, `studies/` and `claims/` beside configs.

A config finds those beside itself first, then those beside configs that it starts from, then
those of this repository. Files are read when a name is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import yaml_lines
from shiftbench.config.yaml_lines import Document, Place
from shiftbench.core import checkout

OURS = checkout.CONFIGS
"""The folder of the repository's configs."""
DEFAULT = "embedded"
"""Our config of a budget is named after it; this is the one that runs if none is named."""
ANCHORS = "definitions"
"""The key of a file that is free, as a place for YAML anchors."""


@dataclass(frozen=True)
class Part:
    """A value of a file, with the place where it stands."""

    document: Document
    place: Place
    data: Any

    def at(self, key: str | int) -> Part:
        """The value under a key that is there."""
        return Part(self.document, (*self.place, key), self.data[key])

    def get(self, key: str) -> Part | None:
        """The value under a key; None where it is missing, or this is no mapping."""
        return self.at(key) if isinstance(self.data, dict) and key in self.data else None

    def items(self) -> Iterator[tuple[str, Part]]:
        """Keys and values of a mapping; nothing of anything else."""
        yield from ((key, self.at(key)) for key in (self.data if self.mapping() else ()))

    def mapping(self) -> bool:
        """Whether this is a mapping."""
        return isinstance(self.data, dict)

    def elements(self) -> Iterator[Part]:
        """The elements of a list; nothing of anything else."""
        for place in range(len(self.data) if isinstance(self.data, list) else 0):
            yield self.at(place)

    def named(self) -> Iterator[tuple[str, Part]]:
        """Names with what is said of them: of a mapping, or of a list of names and small mappings.

        What has another form is left out.
        """
        yield from self.items()
        for element in self.elements():
            if isinstance(element.data, str):
                yield element.data, Part(element.document, element.place, None)
            elif element.mapping() and len(element.data) == 1:
                yield from element.items()


class PlannedStudy(NamedTuple):
    """A study of one of our configs: its file in `studies/`, its budget, and what is changed."""

    file: str
    budget: Part
    changes: Part


def whole(document: Document) -> Part:
    """All that a file holds."""
    return Part(document, (), document.data)


class Library:
    """What a config in a folder may name. UserError for a file that is no YAML."""

    def __init__(self, folder: Path) -> None:
        self.folders = list(dict.fromkeys([folder.resolve(), OURS.resolve()]))
        self.documents: list[Document] = []
        """The files that were read."""
        self._studies: dict[str, Part | None] = {}

    def look_in(self, folder: Path) -> None:
        """Adds the folder of a config that this one starts from, before ours."""
        if folder.resolve() not in self.folders:
            self.folders.insert(-1, folder.resolve())

    def config(self, name: str) -> Path | None:
        """The file of a config, by its path beside this one or by its name."""
        for folder in self.folders:
            for path in (folder / name, folder / f"{name}.yaml"):
                if path.is_file():
                    return path
        return None

    def studies(self) -> list[str]:
        """The names of all files of studies."""
        return sorted({path.stem for path in self._files("studies")})

    def study(self, name: str) -> Part | None:
        """The file of a study, read once; None if there is none of this name."""
        if name not in self._studies:
            found = (path for path in self._files("studies") if path.stem == name)
            path = next(found, None)
            self._studies[name] = None if path is None else whole(self.read(path))
        return self._studies[name]

    def planned(self, budget: str = DEFAULT) -> dict[str, Part]:
        """The studies of our config of a budget; none if there is no such config."""
        files = [path for path in OURS.glob("*.yaml") if path.stem == budget]
        return {name: part for path in files for name, part in self._entries(path)}

    def planned_study(self, name: str, budget: str = DEFAULT) -> PlannedStudy | None:
        """A study of our config of a budget; None if that has none of this name.

        `list studies` prints such names, and some are not those of files: `permuted-digits` of
        config/embedded.yaml stands for the file `permuted-images`.
        """
        entry = self.planned(budget).get(name)
        if entry is None:
            return None
        source, own = entry.get("from"), entry.get("budget")
        file = name if source is None else str(source.data)
        return PlannedStudy(file, own or whole(entry.document).at("budget"), entry)

    def planning(self, name: str) -> list[Path]:
        """Our configs with a study of this name."""
        return [path for path in sorted(OURS.glob("*.yaml")) if name in self.planned(path.stem)]

    def _entries(self, path: Path) -> Iterator[tuple[str, Part]]:
        return whole(self.read(path)).at("studies").named()

    @functools.cached_property
    def methods(self) -> dict[str, Part]:
        """All methods, by name; of two with one name, that beside the config."""
        found: dict[str, Part] = {}
        for _, name, method in self._methods:
            found.setdefault(name, method)
        return found

    def doubled_methods(self) -> Iterator[tuple[Part, str]]:
        """Methods whose name another file of the same folder has too, with what to do."""
        seen: dict[tuple[Path, str], Path] = {}
        for path, name, method in self._methods:
            first = seen.setdefault((path.parent, name), path)
            if first != path:
                yield method, f'the method "{name}" stands in {first.name} too; rename one'

    @functools.cached_property
    def _methods(self) -> list[tuple[Path, str, Part]]:
        """Every method with its file and its name."""
        return [
            (path, name, method)
            for path in self._files("methods")
            for name, method in whole(self.read(path)).items()
            if name != ANCHORS
        ]

    @functools.cached_property
    def claims(self) -> list[Part]:
        """The files of claims."""
        return [whole(self.read(path)) for path in self._files("claims")]

    def _files(self, kind: str) -> list[Path]:
        return [path for one in self.folders for path in sorted((one / kind).glob("*.yaml"))]

    def read(self, path: Path) -> Document:
        """Reads a file, and keeps that it was read."""
        document = yaml_lines.read(path)
        self.documents.append(document)
        return document
