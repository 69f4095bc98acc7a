"""YAML that remembers on which line each value stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from shiftbench.errors import UserError

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the file to a value."""


class Document(NamedTuple):
    """The data of a YAML file, with its node tree for the lines."""

    data: Any
    node: yaml.Node | None
    duplicates: list[Place]

    def line(self, place: Place) -> int:
        """The line of the deepest part of `place` that the file has."""
        node, line = self.node, 1
        for key in place:
            found = _child(node, key)
            if found is None:
                break
            line, node = found
        return line


class _Loader(yaml.CSafeLoader):
    """The safe loader, with YAML 1.2's numbers: 1e-3 is a number, not a text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def read(path: Path) -> Document:
    """Reads a YAML file. UserError if it is missing or no YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        # Before construction, which merges `<<` into the node tree.
        duplicates = list(_duplicates(node, ()))
        data = loader.construct_document(node) if node else {}
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    finally:
        loader.dispose()
    return Document(data, node, duplicates)


def _child(node: yaml.Node | None, key: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        # The last one wins: what `<<` merged in comes first.
        for name, value in reversed(node.value):
            if name.value == str(key):
                return name.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    return None


def _duplicates(node: yaml.Node | None, place: Place) -> Iterator[Place]:
    if isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            yield from _duplicates(value, (*place, position))
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for name, value in node.value:
            if name.value in seen and name.value != "<<":
                yield (*place, name.value)
            seen.add(name.value)
            yield from _duplicates(value, (*place, name.value))
