"""The words that components declare about themselves, in literal constants read without import.

A constant holds one word, a tuple of words, or a mapping from each word to when it holds: True,
or the settings that it takes, {"setting": (values), "not other": (values)}, of which all must
hold; or a tuple of such mappings, of which one must. `planning.fit` says what the words mean.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from shiftbench.config import components

When = bool | Mapping[str, tuple] | tuple[Mapping[str, tuple], ...]
NOT = "not "
"""Before the name of a setting that must have none of the values."""


def words(kind: str, name: str, constant: str, settings: Mapping[str, Any]) -> frozenset[str]:
    """The words of a component's constant that hold with these settings, all filled in."""
    conditions = possible(kind, name, constant).items()
    return frozenset(word for word, when in conditions if holds(when, settings))


def possible(kind: str, name: str, constant: str) -> Mapping[str, When]:
    """The words that a component's constant may hold, and when."""
    value = literal(kind, name, constant) or ()
    if isinstance(value, Mapping):
        return value
    return dict.fromkeys([value] if isinstance(value, str) else value, True)


@functools.cache
def literal(kind: str, name: str, constant: str) -> Any:
    """The value of the constant, None where the component does not have it."""
    return components.constant(kind, name, constant)


def holds(when: When, settings: Mapping[str, Any]) -> bool:
    """Whether settings are such that a word holds."""
    if isinstance(when, bool):
        return when
    if isinstance(when, Mapping):
        return all(_holds(key, values, settings) for key, values in when.items())
    return any(holds(one, settings) for one in when)


def _holds(key: str, values: tuple, settings: Mapping[str, Any]) -> bool:
    value = settings.get(key.removeprefix(NOT))
    found = (tuple(value) if isinstance(value, list) else value) in values
    return found != key.startswith(NOT)
