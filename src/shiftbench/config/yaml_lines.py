"""YAML that remembers on which line each value stands."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.constructor import ConstructorError

from shiftbench.config.yaml_limits import refuse_explosive
from shiftbench.core.errors import UserError

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the file to a value."""


FOLDER = "folder"
"""The key of a config that says where its relative paths start, if not beside it."""
TEXT, MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


class Document(NamedTuple):
    """The data of a YAML file, with its node tree for the lines, and what is wrong with keys.

    It is to read only: who reads the file again has the same one. One that comes from no file has
    no node, and no lines.
    """

    path: Path
    data: Any
    node: yaml.Node | None
    wrong_keys: list[tuple[Place, str]]

    @property
    def folder(self) -> Path:
        """Where relative paths start: the folder of the file, or what its key `folder` says.

        By the words alone: the file's own folder need not be there, and may be a link.
        """
        said = self.data.get(FOLDER) if isinstance(self.data, dict) else None
        inside = said if isinstance(said, str) else "."
        return Path(os.path.normpath(self.path.parent / inside))

    def line(self, place: Place) -> int:
        """The line of the deepest part of `place` that the file has; 0 where there is no file."""
        if self.node is None and self.data:
            return 0
        node, line = self.node, 1
        for key in place:
            found = _child(node, key)
            if found is None:
                break
            line, node = found
        return line


class _Loader(yaml.CSafeLoader):
    """The safe loader, with YAML 1.2's numbers: 1e-3 is a number, not a text."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """As it was, but with the line of what only looks like a value, such as 2001-13-45."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, AttributeError) as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from None


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def read(path: Path) -> Document:
    """Reads a YAML file. UserError if it is missing, no YAML, or asks for too much."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    try:
        return _document(path, text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        words = " ".join(filter(None, [error.context, error.problem]))
        raise UserError(f"{path}{line}: not valid YAML: {words}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None


# The files of the library are read for every config.
@functools.lru_cache(maxsize=256)
def _document(path: Path, text: str) -> Document:
    refuse_explosive(path, text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        # Before construction, which merges `<<` into the node tree.
        wrong_keys = list(_wrong_keys(node, ()))
        data = loader.construct_document(node) if node else {}
    finally:
        loader.dispose()
    # What JSON has not, such as dates, are texts.
    return Document(path, json.loads(json.dumps(data, default=str)), node, wrong_keys)


def _child(node: yaml.Node | None, key: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        # The last one wins: what `<<` merged in comes first.
        for name, value in reversed(node.value):
            if name.value == str(key):
                return name.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    return None


def _wrong_keys(node: yaml.Node | None, place: Place) -> Iterator[tuple[Place, str]]:
    """Keys that are no text, which the tree has as texts from then on, and those written twice."""
    if isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            yield from _wrong_keys(value, (*place, position))
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for position, (key, value) in enumerate(node.value):
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if key.tag not in (TEXT, MERGE):
                node.value[position] = yaml.ScalarNode(TEXT, name, key.start_mark), value
                yield (*place, name), "a key must be a text; put it in quotes"
            elif name in seen and key.tag != MERGE:
                yield (*place, name), "this key stands here twice"
            seen.add(name)
            yield from _wrong_keys(value, (*place, name))
