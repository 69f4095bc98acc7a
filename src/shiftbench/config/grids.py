"""Grids of streams: a study with axes has one stream, which becomes a stream for each cell.

An axis is a setting of the stream's family with its values, or a name with several settings that
move together, each with the same number of values. Cells are ordinary streams, named by the stream
and its value on each axis; the first setting of an axis gives the value. Data sets of a package
that is not installed are left out, unless none would be left.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import product
from typing import Any, NamedTuple

from shiftbench.config import components
from shiftbench.config.library import YamlValue
from shiftbench.core.suggestions import unknown
from shiftbench.data.store import raw

MAX_CELLS = 1_000
"""The most cells of a grid; nobody could read a larger map."""
FORM = "an axis is a list of values, or a mapping of settings to lists of values"
DATASET = "dataset"
"""The setting that names a raw data set."""
Axes = dict[str, dict[str, list[Any]]]
"""Axes by name, each with its settings and their values; the first setting names the cells."""


class Cell(NamedTuple):
    """A stream of a grid: its name, and the settings from the axes."""

    name: str
    settings: dict[str, YamlValue]

    @property
    def dataset(self) -> Any:
        """The raw data set, None if no axis names one."""
        return self.settings[DATASET].data if DATASET in self.settings else None

    def stream(self, definition: YamlValue) -> dict[str, Any]:
        """Return the definition of the grid's stream with the settings of this cell."""
        return definition.data | {key: value.data for key, value in self.settings.items()}


def issues(
    streams: YamlValue, stream: YamlValue | None, axes: YamlValue
) -> Iterator[tuple[YamlValue, str]]:
    """Check the axes of a study; yield file values with messages.

    streams: the study's streams. stream: the definition that the grid is made from, None if the
    study has no stream or several.
    """
    form_issues = list(_form_issues(axes))
    yield from form_issues
    if stream is None:
        yield streams, "a study with axes has one stream, which becomes a grid; name one alone"
    elif not form_issues and stream.is_mapping():
        setting_issues = list(_setting_issues(axes, stream))
        yield from setting_issues or _name_issues(axes)


def absent(axes: YamlValue) -> dict[Any, str]:
    """Return why data sets of valid axes cannot be read; empty if no data set would be left."""
    lists = dict(pair for name, axis in axes.items() for pair in _value_lists(name, axis).items())
    datasets = lists[DATASET].data if DATASET in lists else []
    reasons = {one: why for one in datasets if isinstance(one, str) and (why := raw.absent(one))}
    return reasons if len(reasons) < len(datasets) else {}


def cells(stream: str, axes: YamlValue) -> list[Cell]:
    """Return the cells of valid axes in the order of the values; the last axis varies fastest."""
    grid = []
    for positions in product(*(range(_length(axis)) for _, axis in axes.items())):
        points = [
            {key: values.at(position) for key, values in _value_lists(name, axis).items()}
            for (name, axis), position in zip(axes.items(), positions, strict=True)
        ]
        words = [word(next(iter(point.values())).data) for point in points]
        settings = {key: value for point in points for key, value in point.items()}
        grid.append(Cell("-".join([stream, *words]), settings))
    return grid


def filled(axes: YamlValue, without: Collection[Any] = ()) -> Axes:
    """Return the axes in one form: each a mapping of settings to values.

    without: data sets that are left out, with the values that move together with them.
    """
    form: Axes = {}
    for name, axis in axes.items():
        lists = _value_lists(name, axis)
        datasets = lists[DATASET].data if DATASET in lists else [None] * _length(axis)
        form[name] = {
            key: [
                one for one, data in zip(values.data, datasets, strict=True) if data not in without
            ]
            for key, values in lists.items()
        }
    return form


def word(value: Any) -> str:
    """Return a value as part of a name: 0p5 for 0.5, m3 for -3, small letters and hyphens else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}".replace("e-", "em").replace("-", "m").replace(".", "p").replace("+", "")
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _value_lists(name: str, axis: YamlValue) -> dict[str, YamlValue]:
    """Return the settings of an axis, each with its list of values."""
    return dict(axis.items()) if axis.is_mapping() else {name: axis}


def _length(axis: YamlValue) -> int:
    return len(next(iter(_value_lists("", axis).values())).data)


def _form_issues(axes: YamlValue) -> Iterator[tuple[YamlValue, str]]:
    """Find axes that are not lists of values."""
    if not axes.is_mapping():
        yield axes, "should be a mapping of axes; " + FORM
    for name, axis in axes.items():
        lists = _value_lists(name, axis)
        if not lists or not all(isinstance(values.data, list) for values in lists.values()):
            yield axis, FORM
        elif not all(values.data for values in lists.values()):
            yield axis, f'the axis "{name}" has no values; write some, or take it out'
        elif len({len(values.data) for values in lists.values()}) > 1:
            lengths = ", ".join(f"{key} has {len(values.data)}" for key, values in lists.items())
            yield axis, f"settings that move together need as many values each, but {lengths}"


def _setting_issues(axes: YamlValue, stream: YamlValue) -> Iterator[tuple[YamlValue, str]]:
    """Find settings that the stream's family does not have, or that are set twice."""
    family = stream.data.get("family")
    fields = components.fields("streams", family) if family in components.names("streams") else None
    seen: set[str] = set()
    for name, axis in axes.items():
        for key, values in _value_lists(name, axis).items():
            if fields is not None and key not in fields:
                yield values, unknown(f"setting of {family}", key, fields)
            elif key in seen:
                yield values, f'"{key}" is on two axes; take it out of one'
            elif key in stream.data:
                yield values, f'the stream sets "{key}" too; take it out there'
            seen.add(key)


def _name_issues(axes: YamlValue) -> Iterator[tuple[YamlValue, str]]:
    """Find grids that are too large, and values whose cells would have the same name or none."""
    number = math.prod(_length(axis) for _, axis in axes.items())
    if number > MAX_CELLS:
        yield axes, f"a grid of {number:,} streams, but at most {MAX_CELLS:,}; take values away"
    for name, axis in axes.items():
        first = next(iter(_value_lists(name, axis).values())).data
        for text, times in Counter(map(word, first)).items():
            if times > 1:
                message = f'{times} values that names of streams call "{text}"'
                yield axis, f"{message}; each cell needs a name of its own, so write other values"
            elif not text:
                yield axis, "a value without a letter or a digit, which names of streams need"
