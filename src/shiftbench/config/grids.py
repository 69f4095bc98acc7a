"""The axes of a study: its one stream as a grid of streams, one a cell.

An axis is a setting of the stream's family with its values, or a name with several settings that
move together, each with as many values. Cells are ordinary streams, named by the stream and the
value on each axis, of settings that move together by that of the first.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from shiftbench.config import components
from shiftbench.config.library import Part
from shiftbench.core.suggestions import unknown

MAX_CELLS = 1_000
"""Of a grid; far above it nobody would look at a map."""
FORM = "an axis is a list of values, or a mapping of settings to lists of values"
Axes = dict[str, dict[str, list[Any]]]
"""Axes by name, each with its settings and their values; the first setting names the cells."""


class Cell(NamedTuple):
    """One stream of a grid: its name, and the settings that the axes set, where they stand."""

    name: str
    settings: dict[str, Part]

    def stream(self, part: Part) -> dict[str, Any]:
        """The whole stream, made from that of the study."""
        return part.data | {key: value.data for key, value in self.settings.items()}


def problems(streams: Part, stream: Part | None, axes: Part) -> Iterator[tuple[Part, str]]:
    """What is wrong with the axes of a study, with its part of the file.

    stream: the one that the grid is made from, None where the study has none or several.
    """
    form = list(_form(axes))
    yield from form
    if stream is None:
        yield streams, "a study with axes has one stream, which becomes a grid; name one alone"
    elif not form and stream.mapping():
        wrong = list(_settings(axes, stream))
        yield from wrong or _names(axes)


def cells(stream: str, axes: Part) -> list[Cell]:
    """The cells of axes without an error, in the order of the values; the last axis is fastest."""
    found = []
    for place in product(*(range(_length(axis)) for _, axis in axes.items())):
        points = [_at(name, axis, i) for (name, axis), i in zip(axes.items(), place, strict=True)]
        words = [word(next(iter(point.values())).data) for point in points]
        settings = {key: part for point in points for key, part in point.items()}
        found.append(Cell("-".join([stream, *words]), settings))
    return found


def filled(axes: Part) -> Axes:
    """The axes in one form: each a mapping of settings to values."""
    return {
        name: {key: part.data for key, part in _lists(name, axis).items()}
        for name, axis in axes.items()
    }


def word(value: Any) -> str:
    """A value as a part of a name: 0p5 of 0.5, m3 of -3, small letters and hyphens of others."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}".replace("e-", "em").replace("-", "m").replace(".", "p").replace("+", "")
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _lists(name: str, axis: Part) -> dict[str, Part]:
    """The settings of an axis, each with its list of values."""
    return dict(axis.items()) if axis.mapping() else {name: axis}


def _length(axis: Part) -> int:
    return len(next(iter(_lists("", axis).values())).data)


def _at(name: str, axis: Part, place: int) -> dict[str, Part]:
    """The settings of an axis at one of its places."""
    return {key: part.at(place) for key, part in _lists(name, axis).items()}


def _form(axes: Part) -> Iterator[tuple[Part, str]]:
    """Axes that have not the form of one."""
    if not axes.mapping():
        yield axes, "should be a mapping of axes; " + FORM
    for name, axis in axes.items():
        lists = _lists(name, axis)
        if not lists or not all(isinstance(part.data, list) for part in lists.values()):
            yield axis, FORM
        elif not all(part.data for part in lists.values()):
            yield axis, f'the axis "{name}" has no values; write some, or take it out'
        elif len({len(part.data) for part in lists.values()}) > 1:
            told = ", ".join(f"{key} has {len(part.data)}" for key, part in lists.items())
            yield axis, f"settings that move together need as many values each, but {told}"


def _settings(axes: Part, stream: Part) -> Iterator[tuple[Part, str]]:
    """Settings that the stream's family does not have, or that are set twice."""
    family = stream.data.get("family")
    known = components.fields("streams", family) if family in components.names("streams") else None
    seen: set[str] = set()
    for name, axis in axes.items():
        for key, part in _lists(name, axis).items():
            if known is not None and key not in known:
                yield part, unknown(f"setting of {family}", key, known)
            elif key in seen:
                yield part, f'"{key}" is on two axes; take it out of one'
            elif key in stream.data:
                yield part, f'the stream sets "{key}" too; take it out there'
            seen.add(key)


def _names(axes: Part) -> Iterator[tuple[Part, str]]:
    """Grids that are too large, and values that names cannot tell apart."""
    number = math.prod(_length(axis) for _, axis in axes.items())
    if number > MAX_CELLS:
        yield axes, f"a grid of {number:,} streams, but at most {MAX_CELLS:,}; take values away"
    for name, axis in axes.items():
        first = next(iter(_lists(name, axis).values())).data
        for text, times in Counter(map(word, first)).items():
            if times > 1:
                words = f'{times} values that names of streams call "{text}"'
                yield axis, f"{words}; each cell needs a name of its own, so write other values"
            elif not text:
                yield axis, "a value without a letter or a digit, which names of streams need"
