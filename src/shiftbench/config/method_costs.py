"""Measured costs of methods, of method_costs.yaml beside this file, which `make perf-costs` writes.

A method of a network has the cost of a step beside one of Adam alone, any other that of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from shiftbench.config.library import OURS, YamlValue

FILE = Path(__file__).with_suffix(".yaml")
ROWS = 256
"""The number of rows of a step."""


class Step(NamedTuple):
    """Microseconds of a step and of a step of Adam; times: the median of their ratios."""

    own: float
    adam: float
    times: float


class Costs(NamedTuple):
    """What was measured, by method; how: by which command, on which machine, when."""

    how: str
    steps: Mapping[str, Step]
    rows: Mapping[str, float]
    """Microseconds of a row that is a task: time update, prediction and update."""
    not_measured: Mapping[str, str]
    """Reasons."""


@cache
def measured() -> Costs:
    """Return all measured costs."""
    return parsed(yaml.load(FILE.read_text(encoding="utf-8"), yaml.CSafeLoader))


def parsed(data: Mapping[str, Any]) -> Costs:
    """Return the content of the file as numbers."""
    steps = {name: Step(**entry) for name, entry in data["steps"].items()}
    return Costs(data["how"], steps, data["rows"], data["not_measured"])


def sentence(name: str, method: YamlValue) -> str:
    """Return the cost of a method in words, or why it was not measured; empty for a user's own."""
    if not method.document.path.resolve().is_relative_to(OURS.resolve()):
        return ""
    if step := measured().steps.get(name):
        return f"{ROWS} rows cost {digits(step.times)} times a step of Adam"
    if row := measured().rows.get(name):
        return f"a row takes {digits(row)} microseconds"
    reason = measured().not_measured.get(name)
    return f"cost not measured: {reason}" if reason else ""


def short(name: str) -> str:
    """Return the cost of a method of the library for a cell of a table; empty if not measured."""
    if step := measured().steps.get(name):
        return f"{digits(step.times)} x Adam"
    row = measured().rows.get(name)
    return f"{digits(row)} us a row" if row else ""


def digits(value: float) -> str:
    """Return a number with two digits, never as a power of ten: 2.0, 13, 420."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:#.2g}" if rounded < 10 else f"{rounded:.0f}"
