"""Files written by `OnlineMethod.save`; reading checks their content and runs no code from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shiftbench.api.arguments import shown
from shiftbench.api.input_error import InputError
from shiftbench.config import form_errors
from shiftbench.core.interface import State
from shiftbench.data.store import checkpoint

DAMAGED = (*checkpoint.DAMAGED, AttributeError, MemoryError)
"""Errors of a file that is damaged, or whose parts do not go together."""
Word = str | bool | int | float
Number = Annotated[int, Field(ge=0)]


class _Meta(BaseModel):
    """What is known of a method before its first row."""

    model_config = ConfigDict(extra="forbid", strict=True)
    method: dict[str, Any]
    classes: list[Word]
    all_classes: bool

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        known, most = len(set(self.classes)), self.method.get("number of classes") or 0
        if len(self.classes) != known or known > most or (self.all_classes and known < most):
            raise ValueError(f"the classes {self.classes} are not those of such a method")
        return self


class _Learnt(_Meta):
    """What is known after the first row; form: (input shape, outputs, classes or not, rows)."""

    form: tuple[list[Number], Number, bool, Number]
    names: list[Word] | None
    single: bool
    done: Number

    @model_validator(mode="after")
    def _fits(self) -> Self:
        shape, outputs, classes, _ = self.form
        most = self.method.get("number of classes")
        if classes != (most is not None) or outputs != (most or outputs) or not outputs:
            raise ValueError("the form has other outputs than such a method")
        if self.single and (classes or outputs > 1):
            raise ValueError("single does not go with the form")
        if self.names is not None and [len(set(self.names))] != shape:
            raise ValueError("the names are not as many as the inputs in the form")
        return self


def write(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Write the state of a method to a file, which is replaced when the new one is complete.

    InputError for labels and names of inputs that cannot be written.
    """
    for one in [*meta["classes"], *(meta.get("names") or ())]:
        if not isinstance(one, str | int | float):
            raise InputError(
                f"{shown(one)} is a {type(one).__name__}; to save a method, use texts or"
                " numbers as labels and names of inputs"
            )
    if not path.parent.is_dir() or path.is_dir():
        what = "a folder" if path.is_dir() else f"in the folder {path.parent}, which does not exist"
        raise InputError(f"{path} is {what}; give a file in a folder that exists")
    new = path.parent / f".{path.name}.new"
    try:
        checkpoint.write(new, arrays, meta)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and meta data of a file; InputError if `save` did not write it."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {what}; give a file that `save` wrote")
    with errors_about(path):
        arrays, meta = checkpoint.read(path)
        form = _Learnt if "form" in meta else _Meta
        form.model_validate_json(json.dumps(meta))
        return arrays, meta


@contextmanager
def errors_about(path: Path) -> Iterator[None]:
    """Raise InputError with the file for any error that its content causes."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) + ": " if first["loc"] else ""
        raise _wrong(path, where + form_errors.message(first)) from None
    except DAMAGED as error:
        raise _wrong(path, str(error) or type(error).__name__) from None


def refuse_other(path: Path, found: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """Raise InputError where a file's meta data are of another method, or of other classes.

    mine: what is known of the method before its first row.
    """
    ours, other = mine["method"], found["method"]
    if ours != other:
        keys = [key for key in {**ours, **other} if ours.get(key, ours) != other.get(key, ours)]
        raise InputError(
            f"{path} was saved by a method with another {keys[0]}; load it into a method with the"
            " same name and settings"
        )
    if mine["all_classes"] and found["classes"] != mine["classes"]:
        raise InputError(f"{path} is of a method with other classes: {found['classes']}")


def refuse_unlike(arrays: Mapping[str, np.ndarray], fresh: State) -> None:
    """Raise ValueError for a state that is not of the kind of another one.

    fresh: that before the first row; only the number of hypotheses may differ.
    """
    for name in {**fresh, **arrays}:
        mine, other = fresh.get(name), arrays.get(name)
        if mine is None or other is None:
            raise ValueError(f"state.{name} is {'missing' if other is None else 'not expected'}")
        if (mine.dtype, _fixed(mine)) != (other.dtype, _fixed(other)):
            raise ValueError(
                f"state.{name} is {other.dtype} {other.shape}, not like {mine.dtype} {mine.shape}"
            )


def _fixed(array: np.ndarray) -> tuple[int, ...]:
    """Return the shape without the axis of hypotheses."""
    return (*array.shape[:1], *array.shape[2:])


def _wrong(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is damaged, or not what `save` wrote ({why}); restore it, or save the method again"
    )
