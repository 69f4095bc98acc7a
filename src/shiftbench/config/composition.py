"""A config as one document assembled from many files, in which each value keeps its origin."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config.compatibility_words import listed
from shiftbench.config.library import Library, YamlValue
from shiftbench.config.schema import Config
from shiftbench.config.yaml_lines import Document, KeyPath


class FileIssue(NamedTuple):
    """A place of a file, and a message: what is wrong there and what to do."""

    document: Document
    place: KeyPath
    message: str


@dataclass
class _Origin:
    """The file value behind a value; None if only values inside it were set."""

    value: YamlValue | None = None
    inner: dict[str | int, _Origin] = dataclasses.field(default_factory=dict)


@dataclass
class Composition:
    """The whole config: its data, the origin of each value, and the issues found on the way."""

    library: Library
    document: Document
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    issues: list[FileIssue] = dataclasses.field(default_factory=list)
    cells: dict[str, str] = dataclasses.field(default_factory=dict)
    """The streams of grids, each with the stream that the grid was made from."""
    component_folders: list[Path] = dataclasses.field(default_factory=list)
    """The folders of the user's components."""
    budgets: dict[str, str] = dataclasses.field(default_factory=dict)
    """The budget of each study, and the file of the study, in words."""
    unresolved: list[KeyPath] = dataclasses.field(default_factory=list)
    """Places in the data that are incomplete because a name in the files is unknown."""
    absent: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """Data sets that are not installed, each with reason and remedy, and the studies that lack
    them."""
    config: Config | None = None
    """The config with all defaults filled in, once it has been checked and has no issue."""
    methods: dict[str, YamlValue] = dataclasses.field(default_factory=dict)
    """All methods that studies can pick, by name."""
    _origins: _Origin = dataclasses.field(default_factory=_Origin)

    def put(self, place: KeyPath, value: YamlValue, data: Any = None) -> None:
        """Set the data at a place to a file value, or to `data` that were made from it.

        No-op if a parent is not a mapping or a list; that error is reported elsewhere.
        """
        parent: Any = self.data
        origin = self._origins
        for key, next_key in pairwise(place):
            parent = parent.setdefault(key, {}) if isinstance(parent, dict) else parent[key]
            if not isinstance(parent, list if isinstance(next_key, int) else dict):
                return
            origin = origin.inner.setdefault(key, _Origin())
        data = value.data if data is None else data
        parent[place[-1]] = copy.deepcopy(data) if isinstance(data, dict | list) else data
        origin.inner[place[-1]] = _Origin(value)

    def origin(self, place: KeyPath) -> tuple[Document, KeyPath]:
        """Return the file that the value at a place comes from, and its place in the file."""
        nearest, origin = (self.document, place), self._origins
        for size, key in enumerate(place, start=1):
            if key not in origin.inner:
                break
            origin = origin.inner[key]
            if value := origin.value:
                nearest = value.document, (*value.place, *place[size:])
        return nearest

    def add_issue(self, value: YamlValue, message: str) -> None:
        """Record an issue with a value of a file."""
        self.issues.append(FileIssue(value.document, value.place, message))

    def entries(self, names: YamlValue | None) -> list[tuple[str, YamlValue]]:
        """Return the names in a list or mapping with their values.

        Other forms, and repeated names, become issues.
        """
        if names is None:
            return []
        if not isinstance(names.data, list | dict):
            self.add_issue(names, "should be a list of names, or a mapping")
        seen = set()
        for element in names.elements():
            item = element.data
            if not (isinstance(item, str) or (isinstance(item, dict) and len(item) == 1)):
                message = "write a name, or one name with its changes, as {name: {...}}"
                self.add_issue(element, message)
                continue
            (name,) = [item] if isinstance(item, str) else item
            if name in seen:
                self.add_issue(element, f'"{name}" is listed twice')
            seen.add(name)
        return list(names.named())

    def left_out(self) -> Iterator[str]:
        """Yield notes on data that studies leave out, since a package is not installed."""
        for data, studies in self.absent.items():
            yield f"{listed(studies)} {'is' if len(studies) == 1 else 'are'} without {data}"

    def may_follow(self, place: KeyPath) -> bool:
        """Return whether an unresolved name may be the only cause of an issue at this place."""
        emptied = bool(self.unresolved) and place == ("studies",)
        return emptied or any(place[: len(cause)] == cause for cause in self.unresolved)
