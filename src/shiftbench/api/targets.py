"""Targets as arrays: real values, or labels as numbers of classes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.api.arguments import array, shown, whole
from shiftbench.api.input_error import InputError
from shiftbench.api.inputs import LARGEST
from shiftbench.config.compatibility_words import listed

MOST_CLASSES = 10**6
"""The largest number of classes."""
_UNORDERED = (str, bytes, Mapping, set, frozenset)
"""Types whose elements are not labels, or have no order."""


class Values:
    """Real targets, `size` of them a row; single: a number rather than an array of one."""

    def __init__(self, size: int, single: bool) -> None:
        self.size, self.single = size, single

    @classmethod
    def like(cls, y: Any) -> Values:
        """Return the form of the targets of a row. InputError for labels."""
        values = _numbers(y)
        if values.ndim > 1 or values.size == 0:
            raise InputError(
                f"the targets of a row have the shape {values.shape}; give a number, or a list of"
                " numbers"
            )
        return cls(values.size, values.ndim == 0)

    def rows(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return targets [n, size] and whether a row has all of them, [n] bool.

        A missing value is NaN or None.
        """
        plain = self.single and type(y) is list and len(y) == 1 and isinstance(y[0], float)
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
        self.known: list[Hashable] = []
        if isinstance(classes, Integral):
            self.most = whole("classes", classes, 2, MOST_CLASSES)
        else:
            self.known = _listed(classes)
            self.most = len(self.known)
        if self.most < 2 or len(set(self.known)) != len(self.known):
            raise InputError(f"classes: {shown(classes)}; give two labels or more, each once")
        self._numbers = {label: number for number, label in enumerate(self.known)}

    @property
    def plain(self) -> list[Hashable]:
        """The labels so far by number, those of NumPy as Python's own."""
        return [one.item() if isinstance(one, np.generic) else one for one in self.known]

    def number(self, label: Any) -> int:
        """Return the number of a label. InputError for one that is not among the classes."""
        try:
            found = self._numbers.get(label)
        except TypeError:  # it has no hash
            raise InputError(f"a label is a word or a number, not {shown(label)}") from None
        return self._added(label) if found is None else found

    def forget(self, known: int) -> None:
        """Forget all labels but the first `known`."""
        for label in self.known[known:]:
            del self._numbers[label]
        del self.known[known:]

    def rows(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of labels [n], 0 where missing, and which are there [n] bool."""
        labels = np.asarray(y, object).tolist()
        seen = np.array([not is_missing(label) for label in labels], bool)
        pairs = zip(labels, seen, strict=True)
        return np.array([self.number(label) if ok else 0 for label, ok in pairs], int), seen

    def _added(self, label: Any) -> int:
        if len(self.known) == self.most:
            raise InputError(
                f"unknown class {shown(label)}; the method has {listed(map(repr, self.known))}, and"
                " takes no more: give `classes` with all labels, or a larger number"
            )
        self._numbers[label] = len(self.known)
        self.known.append(label)
        return self._numbers[label]


def _listed(classes: Any) -> list[Hashable]:
    """Return given labels as a list. InputError if they have no order or are not labels."""
    try:
        labels = [] if isinstance(classes, _UNORDERED) else [*classes]
        hash(tuple(labels))
    except TypeError:
        labels = []
    if not labels or any(map(is_missing, labels)):
        raise InputError(f"classes: {shown(classes)}; give a list of labels, or their number")
    return labels


def is_missing(y: Any) -> bool:
    """Return whether a value is missing: None, NaN, or NA or NaT of pandas."""
    if isinstance(y, Decimal):
        return y.is_nan()
    return y is None or y is pd.NA or y is pd.NaT or (isinstance(y, float | np.floating) and y != y)


def _numbers(y: Any) -> np.ndarray:
    """Return targets as real numbers. InputError for labels."""
    values = array("targets", y)
    if values.dtype == object:
        values = _plain(values)
    if values.dtype.kind not in "iuf":
        example = values.ravel()[:1].tolist()
        raise InputError(
            f"targets such as {shown(example)} are labels; name the classes when the method is"
            " made: sb.method(..., classes=[...])"
        )
    return values.astype(float)


def _plain(objects: np.ndarray) -> np.ndarray:
    """Return objects as real numbers, NaN where one is missing, if all are numbers."""
    flat = [np.nan if is_missing(one) else one for one in objects.ravel()]
    if not all(isinstance(one, Real | Decimal) and not isinstance(one, bool) for one in flat):
        return objects
    try:
        return np.array([float(one) for one in flat]).reshape(objects.shape)
    except OverflowError:
        raise InputError("a target is too large; scale the targets") from None
