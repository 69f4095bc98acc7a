"""Checks of arguments that several functions of the library take."""

from __future__ import annotations

import json
import os
import reprlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Set
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.api.input_error import InputError
from shiftbench.config import one_stream
from shiftbench.config.compatibility_words import listed

MOST = 2**63 - 1
"""Largest whole number of an argument."""
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: Any) -> str:
    """Return a value for a message: short, in one line, and however deep it is."""
    return " ".join(_SHORT.repr(value).split())


def whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """Return an argument as a whole number. InputError for anything else, and for another size."""
    number = value if isinstance(value, Integral) and not isinstance(value, bool) else None
    if number is None or not least <= int(number) <= most:
        raise InputError(f"{name}: {shown(value)}; give a whole number from {least} to {most}")
    return int(number)


def text(name: str, value: Any) -> str:
    """Return an argument that is a text. InputError for anything else."""
    if not isinstance(value, str):
        raise InputError(f"{name}: {shown(value)}; give a text")
    return value


def file_path(name: str, value: Any) -> Path:
    """Return the path of a file or a folder. InputError if it is not a path."""
    found = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
    if not isinstance(found, str) or not found or "\0" in found:
        raise InputError(f"{name}: {shown(value)}; give a path, as a text or a Path")
    return Path(found)


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return settings by their names; empty for None. InputError for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name}: {shown(value)}; give a mapping of names to values")
    return value


def plain(name: str, value: Any) -> Any:
    """Return a value as a config file would hold it. InputError if a file cannot hold it."""
    try:
        found = one_stream.plain(value)
        written = json.dumps(found, ensure_ascii=False)
        written.encode()
        if "\\u0000" in written:
            raise ValueError("a text has a NUL character")
        return found
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{name}: {error}; give texts, numbers, lists, and mappings with texts as names"
        ) from None


def array(name: str, values: Any) -> np.ndarray:
    """Return values as an array, NaN where one is masked. InputError if they do not form one."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(object), np.nan)
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        kind = f"a {type(values).__name__} with rows of different lengths, or without rows"
        raise InputError(f"{name}: {kind}; give a list or an array of numbers") from None


def length(name: str, rows: Any) -> int:
    """Return the number of rows. InputError if the rows have no order."""
    if not isinstance(rows, str | bytes | Mapping | Set):
        try:
            return len(rows)
        except TypeError:  # such as a generator, a number, a sparse matrix
            pass
    raise InputError(f"{name} is a {type(rows).__name__}; give rows as a list or an array")


def refuse_doubled(what: str, names: Iterable[Hashable]) -> None:
    """Raise InputError where two columns, inputs or series have one name."""
    if twice := [str(name) for name, number in Counter(names).items() if number > 1]:
        raise InputError(f"several {what} are called {listed(twice)}; rename them")
