"""Targets as arrays: real values, or labels as numbers of classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from shiftbench.api.input_error import InputError
from shiftbench.api.inputs import LARGEST
from shiftbench.config.compatibility_words import listed


class Values:
    """Real targets, `size` of them a row; single: a number rather than an array of one."""

    def __init__(self, size: int, single: bool) -> None:
        self.size, self.single = size, single

    @classmethod
    def like(cls, y: Any) -> Values:
        """Return the form of the targets of a row. InputError for labels."""
        values = _numbers(y)
        if values.ndim > 1 or values.size == 0:
            raise InputError(f"the targets of a row have the shape {values.shape}; give a number")
        return cls(values.size, values.ndim == 0)

    def rows(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return targets [n, size] and whether a row has all of them, [n] bool.

        A missing value is NaN or None.
        """
        plain = self.single and type(y) is list and len(y) == 1 and type(y[0]) is float
        if plain and abs(y[0]) <= LARGEST:
            return np.array([y]), np.ones(1, bool)  # what follows takes ten times as long
        values = _numbers(y)
        expected = (len(values),) if self.single else (len(values), self.size)
        if values.shape != expected:
            raise InputError(f"targets of shape {values.shape}; expected {expected}")
        values = values.reshape(-1, self.size)
        size = np.abs(values)
        if (size <= LARGEST).all():
            return values, np.ones(len(values), bool)
        if np.isinf(values).any():
            raise InputError("a target is infinite; leave its row out")
        if (size > LARGEST).any():
            raise InputError(f"a target is {values[size > LARGEST][0]}; scale the targets")
        seen = ~np.isnan(values).any(axis=1)
        return np.where(seen[:, None], values, 0.0), seen


class Labels:
    """Labels of classes; `known` grows up to `most` as they come, unless all are given."""

    def __init__(self, classes: Sequence[Hashable] | int) -> None:
        number = classes if isinstance(classes, Integral) else None
        self.known: list[Hashable] = [] if number is not None else [*classes]  # type: ignore[misc]
        self.most = len(self.known) if number is None else int(number)
        if self.most < 2 or len(set(self.known)) != len(self.known):
            raise InputError(f"classes: {classes!r}; give two labels or more, each once")
        self._numbers = {label: number for number, label in enumerate(self.known)}

    def number(self, label: Any) -> int:
        """Return the number of a label. InputError for one that is not among the classes."""
        found = self._numbers.get(label)
        if found is None:
            found = self._added(label)
        return found

    def forget(self, known: int) -> None:
        """Forget all labels but the first `known`."""
        for label in self.known[known:]:
            del self._numbers[label]
        del self.known[known:]

    def rows(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of labels [n], 0 where missing, and which are there [n] bool."""
        labels = np.asarray(y, object).tolist()
        seen = np.array([not _is_missing(label) for label in labels], bool)
        pairs = zip(labels, seen, strict=True)
        return np.array([self.number(label) if ok else 0 for label, ok in pairs], int), seen

    def _added(self, label: Any) -> int:
        if not isinstance(label, Hashable):
            raise InputError(f"a label is a word or a number, not {label!r}")
        if len(self.known) == self.most:
            raise InputError(
                f"unknown class {label!r}; the method has {listed(map(repr, self.known))}, and"
                " takes no more: give `classes` with all labels, or a larger number"
            )
        self._numbers[label] = len(self.known)
        self.known.append(label)
        return self._numbers[label]


def _is_missing(y: Any) -> bool:
    return y is None or (isinstance(y, float) and y != y)


def _numbers(y: Any) -> np.ndarray:
    """Return targets as real numbers. InputError for labels."""
    array = np.asarray(y)
    if array.dtype == object:
        array = np.array([np.nan if one is None else one for one in array.ravel()]).reshape(
            array.shape
        )
    if array.dtype.kind not in "iuf":
        example = array.ravel()[:1].tolist()
        raise InputError(
            f"targets such as {example} are labels; name the classes when the method is made:"
            " sb.method(..., classes=[...])"
        )
    return array.astype(float)
