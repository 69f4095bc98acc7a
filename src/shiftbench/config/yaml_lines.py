"""YAML files whose values remember the line that they stand on."""

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
from shiftbench.core import file_errors
from shiftbench.core.errors import UserError

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the top of the file to a value."""
Issue = tuple[KeyPath, str]
"""A place, and a message: what is wrong there and what to do."""
FOLDER = "folder"
"""The key of a config that says where its relative paths start, if not beside the config."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tabs and line ends, Unicode's separators, and marks of direction."""
TEXT, MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


class Document(NamedTuple):
    """A YAML file: its data, the node tree that knows the lines, and issues with its keys.

    Do not change it: reading a file again returns the same document. A document that comes from
    no file has no node and no lines.
    """

    path: Path
    data: Any
    node: yaml.Node | None
    key_issues: list[Issue]

    @property
    def folder(self) -> Path:
        """The folder where relative paths start: that of the file, or as its key `folder` says.

        Computed from the names alone: the folder need not exist, and links are not followed.
        """
        setting = self.data.get(FOLDER) if isinstance(self.data, dict) else None
        folder = setting if isinstance(setting, str) else "."
        return Path(os.path.normpath(self.path.parent / folder))

    def line(self, place: KeyPath) -> int:
        """Return the line of the deepest part of `place` in the file; 0 without a file."""
        if self.node is None and self.data:
            return 0
        node, line = self.node, 1
        for key in place:
            child = _child(node, key)
            if child is None:
                break
            line, node = child
        return line


class _Loader(yaml.CSafeLoader):
    """The safe loader, with the numbers of YAML 1.2: 1e-3 is a number, not a text."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Add the line to the error for a malformed value, such as the date 2001-13-45."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, AttributeError) as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from None


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def without_quotes(text: str) -> Any:
    """Return the value of a text in a config without quotes; the text itself if it is not YAML."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError:
        return text


NO_COLON = "could not find expected ':'"
INDENT = "begin the line below the first letter of the key or dash that it goes with"
REMEDIES = {
    NO_COLON: "write a colon and a space after the key",
    "did not find expected key": INDENT,
    "did not find expected '-' indicator": INDENT,
    "mapping values are not allowed in this context": f"{INDENT}, and quote a value with a colon",
    "found character that cannot start any token": (
        "indent with spaces, not with tabs, and quote a value that begins with @, % or `"
    ),
}
"""Remedies for the most common errors of the YAML parser, by its message."""


_read: set[Path] = set()


def paths_read() -> list[Path]:
    """Return the files that this process has read so far."""
    return sorted(_read)


def read(path: Path) -> Document:
    """Read a YAML file. UserError if it is missing, not YAML, or larger than the limits."""
    _read.add(path.absolute())
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise UserError(f"{path}: this is {kind}; name a YAML file")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file; check its path") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from None
    except OSError as error:
        raise UserError(file_errors.message(error, path)) from None
    try:
        return _document(path, text)
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, error.problem or ""
        if problem == NO_COLON:  # the parser notices it on the next line
            mark = error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        words = " ".join(filter(None, [error.context, problem]))
        remedy = f"; {REMEDIES[problem]}" if problem in REMEDIES else ""
        raise UserError(f"{path}{line}: not valid YAML: {words}{remedy}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None


# Each config of one process reads the files of the library again.
@functools.lru_cache(maxsize=256)
def _document(path: Path, text: str) -> Document:
    refuse_explosive(path, text)
    if found := re.search("</script", text, re.IGNORECASE):
        line = text.count("\n", 0, found.start()) + 1
        message = "would end a script in the report, which shows this text; write it in other words"
        raise UserError(f"{path}, line {line}: {found[0]} {message}")
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        _refuse_control_characters(path, node)
        # Before construction, which merges `<<` into the node tree.
        key_issues = list(_key_issues(node, ()))
        data = loader.construct_document(node) if node else {}
    finally:
        loader.dispose()
    # Values that JSON does not have, such as dates, become texts.
    return Document(path, json.loads(json.dumps(data, default=str)), node, key_issues)


def _refuse_control_characters(path: Path, node: yaml.Node | None) -> None:
    """Raise UserError for a control character in a key or a value."""
    if isinstance(node, yaml.ScalarNode) and (found := CONTROL.search(node.value)):
        where = f"{path}, line {node.start_mark.line + 1}: {json.dumps(found[0])}"
        message = "is a control character, which no page and no figure can show; take it out"
        raise UserError(f"{where} {message}")
    if isinstance(node, yaml.CollectionNode):
        for child in node.value:
            for part in child if isinstance(child, tuple) else (child,):
                _refuse_control_characters(path, part)


def _child(node: yaml.Node | None, key: str | int) -> tuple[int, yaml.Node] | None:
    """Return line and node of the value under a key, None if the node has no such key."""
    if isinstance(node, yaml.MappingNode):
        # The last one wins: what `<<` merged in comes first.
        for name, value in reversed(node.value):
            if name.value == str(key):
                return name.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    return None


def _key_issues(node: yaml.Node | None, place: KeyPath) -> Iterator[Issue]:
    """Find repeated keys, and keys that are not texts, which this turns into texts."""
    if isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            yield from _key_issues(value, (*place, position))
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for position, (key, value) in enumerate(node.value):
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if key.tag not in (TEXT, MERGE):
                node.value[position] = yaml.ScalarNode(TEXT, name, key.start_mark), value
                yield (*place, name), "a key must be a text; put it in quotes"
            elif name in seen and key.tag != MERGE:
                yield (*place, name), "this key occurs twice"
            seen.add(name)
            yield from _key_issues(value, (*place, name))
