"""How much a YAML file may ask for: a few lines of aliases can stand for more than any memory.

Aliases are free, but what one stands for counts wherever it stands. Judged by the parser's
events, one after the other: to build the tree of a file is to recurse into it already.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from shiftbench.core.errors import UserError

MAX_CHARACTERS = 1_000_000
"""Of all keys and values, with aliases written out; forty times the largest of ours."""
MAX_LEVELS = 50
"""Lists and mappings inside each other, with aliases written out; the deepest of ours has 10."""


@dataclass
class _Part:
    """A value: its characters and the levels of lists and mappings in it, as far as read."""

    anchor: str | None = None
    characters: int = 1
    levels: int = 0


def refuse_explosive(path: Path, text: str) -> None:
    """UserError for a file whose aliases stand for too much, or for themselves.

    yaml.YAMLError for what is no YAML.
    """
    known: dict[str | None, _Part] = {}
    inside = [_Part()]  # the lists and mappings that are open, from the outermost
    for event in yaml.parse(text, yaml.CSafeLoader):
        assert event.start_mark
        place = f"{path}, line {event.start_mark.line + 1}"
        if isinstance(event, yaml.CollectionStartEvent):
            inside.append(_Part(event.anchor))
            _refuse_large(place, inside)
        elif part := _ended(place, event, known, inside):
            known[part.anchor] = part
            inside[-1].characters += part.characters
            inside[-1].levels = max(inside[-1].levels, part.levels + 1)
            _refuse_large(place, inside)


def _ended(
    place: str, event: yaml.Event, known: dict[str | None, _Part], inside: list[_Part]
) -> _Part | None:
    """The value that ends with an event, if one does."""
    if isinstance(event, yaml.ScalarEvent):
        return _Part(event.anchor, 1 + len(event.value))
    if isinstance(event, yaml.CollectionEndEvent):
        return inside.pop()
    if isinstance(event, yaml.AliasEvent):
        if event.anchor in [part.anchor for part in inside]:
            anchor = event.anchor
            raise UserError(
                f"{place}: *{anchor} stands inside &{anchor}, so for itself; write it out"
            )
        return known.get(event.anchor)
    return None


def _refuse_large(place: str, inside: list[_Part]) -> None:
    if len(inside) + inside[-1].levels - 2 > MAX_LEVELS:
        raise UserError(f"{place}: more than {MAX_LEVELS} lists and mappings inside each other")
    if inside[-1].characters > MAX_CHARACTERS:
        raise UserError(
            f"{place}: up to here, with aliases written out, more than {MAX_CHARACTERS:,}"
            " characters; shorten it, or use fewer aliases of aliases"
        )
