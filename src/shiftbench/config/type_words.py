"""Types of keys and settings in plain words, for readers of YAML."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import AfterValidator, BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from shiftbench.config import components, yaml_lines
from shiftbench.config.schema import Component, one_line

ONE = {
    int: "a whole number",
    float: "a number",
    str: "text",
    Any: "anything",
    dict: "keys with values",
    list: "a list",
}
MANY = {int: "whole numbers", float: "numbers", str: "texts", Any: "values"}
COUNTS = ("no", "one", "two", "three", "four")
SHOWN_BARE = re.compile(r"[\w.+-]+")
"""Texts that need no quotes in YAML, unless it reads them as a number, a truth value or null."""
OF_SETTINGS = {
    ("streams", "table-file", "target"): "the name of a column",
    ("streams", "table-file", "time"): "the name of a column",
    ("streams", "series-file", "time"): "the name of a column",
    ("streams", "series-file", "annotations"): "a file, or `annotator: [positions]`",
}
"""Types in words of settings, by kind, component and key, that the annotation cannot express."""


def of_key(field: FieldInfo) -> str:
    """Return the type of a key of a model."""
    return _bounded(field.annotation, field.metadata, many=False)


def of_setting(kind: str, name: str, key: str) -> str:
    """Return the type of a setting of a component.

    TypeError for a type that has no words, unless the component is a user's.
    """
    if of_meaning := OF_SETTINGS.get((kind, name, key)):
        return of_meaning
    hints = typing.get_type_hints(components.settings(kind, name), include_extras=True)
    try:
        return words(hints[key])
    except TypeError:
        if components.package_of(kind, name) == components.OURS:
            raise
        return getattr(hints[key], "__name__", str(hints[key]))


def words(annotation: Any, many: bool = False) -> str:
    """Return a type in words; many: in the plural, as in "whole numbers".

    TypeError for a type that has none.
    """
    if annotation == Component:
        return (
            "names, each alone or as `name: {settings}`"
            if many
            else "a name, or `name: {settings}`"
        )
    if annotation is bool:
        return "`true` or `false`"
    if annotation in (MANY if many else ONE):
        return (MANY if many else ONE)[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _bounded(arguments[0], arguments[1:], many)
    if origin is typing.Literal:
        return _either([f"`{_shown(value)}`" for value in arguments])
    if origin in (list, tuple):
        return _list(arguments, "")
    if origin is dict:
        return f"names, each with {words(arguments[1])}" if arguments[1] is not Any else ONE[dict]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a mapping, see below"
    if origin not in (typing.Union, types.UnionType):
        raise TypeError(f"no words for the type {annotation!r}; add them to {__name__}")
    inner = [words(argument, many) for argument in arguments if argument is not type(None)]
    return ", or ".join(inner)


def _bounded(base: Any, metadata: Sequence[Any], many: bool) -> str:
    """Return a type with the bounds of its values or of its length."""
    metadata = list(_flat(metadata))
    if any(isinstance(one, StringConstraints) for one in metadata):
        return "names" if many else "a name"
    if any(isinstance(one, AfterValidator) and one.func is one_line for one in metadata):
        return "one line of text"
    if base == Component:
        return words(base, many)
    if typing.get_origin(base) in (list, tuple):
        least, most = _bound(metadata, "min_length"), _bound(metadata, "max_length")
        exact = least is not None and least == most
        count = f"{_count(least)} " if exact else f"{_count(least)} or more " if least else ""
        return _list(typing.get_args(base), count)
    limits = {name: _bound(metadata, name) for name in ("ge", "gt", "le", "lt")}
    given = {name: f"{value:,}" for name, value in limits.items() if value is not None}
    if given.keys() == {"ge", "le"}:
        return f"{words(base, many)} from {given['ge']} to {given['le']}"
    said = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    text = " and ".join(f"{said[name]} {value}" for name, value in given.items())
    of = "of " if text.startswith("at ") else ""
    return f"{words(base, many)} {of}{text}".rstrip()


def _list(items: Sequence[Any], count: str) -> str:
    """Return a list in words; items: the type of each, or one type and an ellipsis."""
    if len(items) == 1 or items[1] is Ellipsis:
        inner = words(items[0], many=True)
        if typing.get_origin(items[0]) is typing.Literal and not count:
            only, *others = typing.get_args(items[0])
            return f"a list with any of {inner}" if others else f"`[{_shown(only)}]` or `[]`"
        return f"a list of {count}{inner}"
    if len(set(items)) == 1:
        return f"a list of {_count(len(items))} {words(items[0], many=True)}"
    return f"a list of {' and '.join(map(words, items))}"


def _flat(metadata: Sequence[Any]) -> Iterator[Any]:
    """Yield the parts of an annotation, with those of pydantic's `Field`."""
    for one in metadata:
        yield from one.metadata if isinstance(one, FieldInfo) else [one]


def _bound(metadata: Sequence[Any], name: str) -> Any:
    return next((v for one in metadata if (v := getattr(one, name, None)) is not None), None)


def _count(number: int) -> str:
    return COUNTS[number] if number < len(COUNTS) else str(number)


def _shown(value: Any) -> str:
    """Return a value as a config has it, a text in quotes where YAML needs them."""
    text = isinstance(value, str) and SHOWN_BARE.fullmatch(value)
    return value if text and yaml_lines.without_quotes(value) == value else json.dumps(value)


def _either(values: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))
