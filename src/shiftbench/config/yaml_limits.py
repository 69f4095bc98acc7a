"""Limits on YAML files, in which a few lines of aliases can expand to more than any memory holds.

An alias costs nothing itself; its value counts at every place that repeats it. The limits are
checked on the parser's events, in order, because building the tree of a file already recurses
into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from shiftbench.core.errors import UserError

MAX_CHARACTERS = 1_000_000
"""The most characters of keys and values, with aliases written out: 40 times our largest file."""
MAX_LEVELS = 50
"""The most levels of nested lists and mappings, with aliases written out; our files have 10."""


@dataclass
class _Size:
    """The size of a value as far as it is read: characters, and levels of nesting."""

    anchor: str | None = None
    characters: int = 1
    levels: int = 0


def refuse_explosive(path: Path, text: str) -> None:
    """Refuse a file whose aliases expand to too much, or to themselves.

    Raises UserError for such a file and yaml.YAMLError for text that is not YAML.
    """
    anchored: dict[str | None, _Size] = {}
    open_collections = [_Size()]  # from the outermost inwards
    for event in yaml.parse(text, yaml.CSafeLoader):
        assert event.start_mark
        where = f"{path}, line {event.start_mark.line + 1}"
        if isinstance(event, yaml.CollectionStartEvent):
            open_collections.append(_Size(event.anchor))
            _refuse_large(where, open_collections)
        elif value := _finished_value(where, event, anchored, open_collections):
            anchored[value.anchor] = value
            parent = open_collections[-1]
            parent.characters += value.characters
            parent.levels = max(parent.levels, value.levels + 1)
            _refuse_large(where, open_collections)


def _finished_value(
    where: str,
    event: yaml.Event,
    anchored: dict[str | None, _Size],
    open_collections: list[_Size],
) -> _Size | None:
    """Return the size of the value that ends with an event, None if no value ends there."""
    if isinstance(event, yaml.ScalarEvent):
        return _Size(event.anchor, 1 + len(event.value))
    if isinstance(event, yaml.CollectionEndEvent):
        return open_collections.pop()
    if isinstance(event, yaml.AliasEvent):
        if event.anchor in [collection.anchor for collection in open_collections]:
            anchor = event.anchor
            raise UserError(
                f"{where}: *{anchor} is inside &{anchor}, whose value would contain itself; replace"
                f" *{anchor} by a value"
            )
        return anchored.get(event.anchor)
    return None


def _refuse_large(where: str, open_collections: list[_Size]) -> None:
    innermost = open_collections[-1]
    if len(open_collections) + innermost.levels - 2 > MAX_LEVELS:
        raise UserError(
            f"{where}: more than {MAX_LEVELS} lists and mappings inside each other; nest them less"
        )
    if innermost.characters > MAX_CHARACTERS:
        raise UserError(
            f"{where}: up to here, with aliases written out, more than {MAX_CHARACTERS:,}"
            " characters; shorten it, or use fewer aliases of aliases"
        )
