"""Rows of inputs as arrays: by name, in an order that the first row sets, or by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftbench.api.arguments import array, refuse_doubled
from shiftbench.api.input_error import InputError
from shiftbench.config.compatibility_words import listed

LARGEST = 1e60
"""Largest size of a number; squares and products of larger ones may overflow."""


class Inputs:
    """The form of the rows of a stream: their shape, and the names of the features if any.

    shape: () for rows without inputs.
    """

    def __init__(self, shape: tuple[int, ...], names: Sequence[str] | None) -> None:
        self.shape, self.names = shape, None if names is None else tuple(map(_plain, names))
        if 0 in shape:
            raise InputError("a row of no inputs; give None for a series that has none")
        refuse_doubled("inputs", self.names or ())

    @classmethod
    def of_row(cls, x: Any) -> Inputs:
        """Return the form of a row: a mapping of names to numbers, an array, or None."""
        if x is None:
            return cls((), None)
        if hasattr(x, "keys"):
            return cls((len(x),), list(x.keys()))
        return cls(_row(x).shape, None)

    @classmethod
    def of_rows(cls, rows: Any) -> Inputs:
        """Return the form of several rows: a DataFrame, an array [n, ...], or None."""
        if rows is None:
            return cls((), None)
        if hasattr(rows, "columns"):
            return cls((len(rows.columns),), list(rows.columns))
        return cls(_rows(rows).shape[1:], None)

    def row(self, x: Any) -> np.ndarray:
        """Return a row as an array of the shape. InputError for another form, or no finite one."""
        if x is None and not self.shape:
            return np.zeros(())
        if x is None:
            raise InputError("a row without inputs, but earlier rows have some; give x")
        values = self._named(x) if hasattr(x, "keys") else _row(self._unnamed(x))
        if values.shape != self.shape:
            raise InputError(
                f"a row of shape {values.shape}; expected {self.shape}, as wide as earlier rows;"
                " for several rows, call learn_many or predict_many"
            )
        return self._finite(values, axis=0)

    def rows(self, rows: Any, size: int) -> np.ndarray:
        """Return n rows as an array [n, *shape]. InputError for another form, or no finite one.

        size: n, which None stands for.
        """
        if rows is None:
            values = np.zeros(size)
        elif hasattr(rows, "columns"):
            self._refuse_other_names(list(rows.columns))
            values = _array(rows[list(self.names or ())])
        else:
            values = _rows(self._unnamed(rows))
        if values.shape != (size, *self.shape):
            raise InputError(
                f"rows of shape {values.shape}; expected {(size, *self.shape)}, one row for"
                " each target, as wide as earlier rows"
            )
        return self._finite(values, axis=1)

    def _named(self, x: Mapping[str, Any]) -> np.ndarray:
        self._refuse_other_names(list(x.keys()))
        return _array([x[name] for name in self.names or ()])

    def _unnamed(self, x: Any) -> Any:
        if self.names is not None:
            raise InputError(
                f"inputs without names, but earlier rows have the names {listed(self.names)};"
                " give a mapping, or a DataFrame"
            )
        return x

    def _refuse_other_names(self, names: Sequence[str]) -> None:
        known = self.names or ()
        if self.names is None:
            raise InputError("inputs with names, but earlier rows have none; give an array")
        if missing := [str(name) for name in known if name not in names]:
            found = f"it has {listed(map(str, names))}" if names else "it is empty"
            raise InputError(f"the row has no {listed(missing)}; {found}")
        if others := [str(name) for name in names if name not in known]:
            raise InputError(f"{listed(others)}: earlier rows had no such input; leave it out")
        if len(names) > len(known):
            refuse_doubled("inputs", names)

    def _finite(self, values: np.ndarray, axis: int) -> np.ndarray:
        usable = np.abs(values) <= LARGEST
        if not usable.all():
            place = np.argwhere(~usable)[0]
            which = int(place[axis])
            name = self.names[which] if self.names else which
            wrong = values[tuple(place)]
            remedy = "scale the inputs" if np.isfinite(wrong) else "fill gaps"
            raise InputError(f"input {name} is {wrong}; {remedy} before a row is learnt")
        return values


def _row(x: Any) -> np.ndarray:
    """Return the inputs of a row. InputError for a number, which has no axis of inputs."""
    values = _array(x)
    if not values.ndim:
        raise InputError(f"x is the number {values}; give [x], or a mapping of its name to it")
    return values


def _rows(rows: Any) -> np.ndarray:
    """Return the inputs of rows. InputError where there is no axis of inputs."""
    values = _array(rows)
    if values.ndim < 2:
        raise InputError(
            f"X has the shape {values.shape}; give [rows, inputs], as np.reshape(X, (-1, 1)) does"
            " for one input"
        )
    return values


def _plain(name: Any) -> Any:
    """Convert a NumPy scalar to an object of Python, which `save` can write."""
    return name.item() if isinstance(name, np.generic) else name


def _has_others(objects: np.ndarray) -> bool:
    """Return whether objects have times or complex numbers that NumPy takes for real numbers."""
    others = (np.datetime64, np.timedelta64, complex, np.complexfloating)
    return any(isinstance(one, others) for one in objects.ravel())


def _array(values: Any) -> np.ndarray:
    """Return values as real numbers. InputError for others."""
    if hasattr(values, "toarray"):
        raise InputError("the inputs are sparse; give an array, as X.toarray()")
    try:
        found = array("x", values)
        if found.dtype == float:
            return found
        types = values.dtypes if hasattr(values, "columns") else [getattr(values, "dtype", None)]
        kinds = {getattr(one, "kind", "") for one in [*types, found.dtype]}
        if not kinds.isdisjoint("mMc") or (found.dtype == object and _has_others(found)):
            raise InputError(
                "inputs are real numbers; convert dates and complex numbers to real numbers"
            )
        return np.asarray(found, float)
    except InputError:  # it is a ValueError, too
        raise
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(values, Sequence) and any(isinstance(row, Mapping) for row in values):
            raise InputError("X is a list of mappings; give pandas.DataFrame(X)") from None
        raise InputError(f"inputs are numbers; {error}; encode words as numbers") from None
