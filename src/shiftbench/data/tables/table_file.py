"""Rows of your own table, in the order of the file or shuffled: classes, or one real target.

The table is a CSV file (plain, .gz or .xz) whose first line names the columns, or a Parquet file. A
task is a row, a number of rows, or the rows with the same value in a column of tasks. Features and
a real target are scaled by all rows, including later ones, which is a declared look-ahead; or by
the first rows alone (`history`), which are then no tasks, so that nothing is known ahead. A column
of time labels axes and tables, or else the number of the row in the file. Other columns of texts
are left out, and `check` notes it, unless `columns` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data import csv_files, date_gaps
from shiftbench.data.tables import _scaling, _table_tasks, _user_columns, _user_table
from shiftbench.data.tables._table_tasks import NONE
from shiftbench.data.tables._table_tasks import problem as problem
from shiftbench.data.tables._table_tasks import task as task
from shiftbench.data.tables._table_tasks import training_rows as training_rows

FACTS = Facts(
    gives={
        "number": {"kind": ("number",)},
        "classes": {"kind": ("classes",)},
        "two-classes": {"kind": ("two-classes",)},
        "one-row": {"rows_per_task": (1,), "task_column": ("",)},
        "tests": {"not test_share": (0.0,)},
        "shifts": {"not shift_column": ("",)},
        "unknown-truth": {"shift_column": ("",)},
    },
    varies={
        "orders of the rows": {"order": ("shuffled",)},
        "rows held out of each task": (
            {"not test_share": (0.0,)},
            {"not validation_share": (0.0,)},
        ),
    },
    ahead={
        "features are scaled by all rows": {"not scaling": ("none",), "history": (0,)},
        "targets are scaled by all rows": {
            "kind": ("number",),
            "not target_scaling": ("none",),
            "history": (0,),
        },
    },
)


@dataclass(frozen=True)
class Settings:
    path: str
    """The table: .csv, .csv.gz, .csv.xz or .parquet, relative to the file that names it."""
    target: str
    """The column to predict."""
    kind: Literal["number", "classes", "two-classes"] = "number"
    """Kind of the target: a real number, or the name of a class, in words or numbers."""
    columns: tuple[str, ...] = ()
    """The columns that are features. Empty: all columns of numbers that have no other role."""
    time: str = ""
    """The column of time, numbers or dates such as 2001-12-31, which must not decrease. It is no
    feature and orders no rows; it labels the axes of figures, and the changes in tables. If empty,
    row numbers in the file are used, counted from 1 and including `history`."""
    delimiter: Literal[",", ";", "\t"] = ","
    """Character between the values of a row."""
    order: Literal["file", "shuffled"] = "file"
    """Order of the rows: as in the file, or another order in each realisation."""
    realisations: Annotated[int, Ge(1)] = 1
    """Number of orders, or of choices of held-out rows; seed s uses realisation s modulo this."""
    rows_per_task: Annotated[int, Ge(1)] = 1
    """Number of rows in a task; the last task may have fewer. Without effect with task_column."""
    task_column: str = ""
    """The column whose value is the same in all rows of a task, which follow each other."""
    shift_column: str = ""
    """A column of 0 and 1, where 1 says that the distribution changed just before this row. It is
    truth: learners never see it."""
    history: Annotated[int, Ge(0)] = 0
    """Number of first rows that are left out of the tasks; scaling then uses them alone."""
    scaling: Literal["z-score", "min-max", "none"] = "z-score"
    """Scaling of each feature: to mean 0 and standard deviation 1, or to 0..1. A feature that is
    constant in all rows becomes 0."""
    target_scaling: Literal["z-score", "none"] = "z-score"
    """Scaling of a real target; without effect on classes."""
    test_share: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of the rows of each task that are held out for test, drawn at random."""
    validation_share: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of the rows of each task that are held out for validation, drawn at random."""
    sha256: str = ""
    """Checksum of the file. Empty: unchecked."""
    title: str = ""
    """What the table is; empty: its file name."""
    licence: str = "not stated"
    """Licence of the table, which the store carries."""
    citation: str = "not stated"
    """Whom to cite for the table."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    columns = settings.time, settings.task_column, settings.shift_column
    if settings.order == "shuffled" and (any(columns) or settings.history):
        yield (
            "task_column, shift_column, time and history need the rows in the order of the file;"
            " take them out, or set order to file"
        )
    held_out = settings.test_share or settings.validation_share
    if settings.rows_per_task == 1 and not settings.task_column and held_out:
        yield (
            "nothing can be held out of tasks of one row; raise rows_per_task, or set test_share"
            " and validation_share to 0"
        )
    if settings.order == "file" and not held_out and settings.realisations != 1:
        yield (
            "rows in the order of the file, with none held out, are the same in all realisations;"
            " set realisations to 1, or order to shuffled"
        )


def look(settings: Settings, path: Path) -> list[str]:
    """Return notes on unused columns and missing dates.

    UserError if the table does not fit the settings.
    """
    attributes = build(settings, path).attrs
    return [attributes[name] for name in ("left_out", "gaps") if attributes[name]]


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store of the file `raw`; see `_table_tasks`.

    UserError, with line and column, if the table does not fit the settings.
    """
    path = Path(raw)
    roles = {"target": settings.target, "time": settings.time}
    roles |= {"task_column": settings.task_column, "shift_column": settings.shift_column}
    features, left_out = _user_columns.features(path, settings.delimiter, roles, settings.columns)
    words = [settings.task_column, settings.shift_column, settings.time]
    words += [settings.target] * (settings.kind != "number")
    numbers = features + [settings.target] * (settings.kind == "number")
    table = _user_table.read(path, numbers, [word for word in words if word], settings.delimiter)
    if settings.history >= len(table.places):
        text = f"history is {settings.history}, but the table has {len(table.places)} rows"
        raise UserError(f"{path}: {text}, and none is left for tasks; lower history")
    members = _members(settings, path, table)
    orders = np.stack([_ordered(settings, members, r) for r in range(settings.realisations)])
    parts = _table_tasks.split(path, orders, settings.validation_share, settings.test_share)
    shift = np.tile(_shifts(settings, path, table, members), (settings.realisations, 1))
    rows = _rows(settings, path, table, features)
    labels, name = _user_columns.labels(settings.time, path, table)
    notes = {
        "left_out": _user_columns.note(left_out, settings.time),
        "gaps": date_gaps.note(labels, name),
    }
    in_order = settings.order == "file"
    time = _table_tasks.Time(name, labels[members[:, 0]]) if in_order else None
    attrs = _attributes(settings, path, shift) | notes
    return _table_tasks.store(rows, parts, shift, attrs, time)


def _members(settings: Settings, path: Path, table: _user_table.Rows) -> np.ndarray:
    """Return the rows of each task [task, place] in the order of the file."""
    rows = np.arange(settings.history, len(table.places))
    if not settings.task_column:
        return _table_tasks.blocks(rows, settings.rows_per_task)
    labels = np.array(table.words[settings.task_column])[rows]
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    _, first = np.unique(labels[starts], return_index=True)
    for repeated in sorted({*range(len(starts))} - {*first.tolist()})[:1]:
        start = starts[repeated]
        text = f"task {str(labels[start])!r:.80} comes again; the rows of a task follow each other"
        raise _user_table.wrong(path, table.places[rows[start]], text, settings.task_column)
    return _table_tasks.padded(np.split(rows, starts[1:]))


def _ordered(settings: Settings, members: np.ndarray, realisation: int) -> np.ndarray:
    """Return the rows of each task [task, place] in the order of a realisation."""
    if settings.order == "file":
        return members
    random = seeds.generator(seeds.fold("table-file", "order", realisation))
    return _table_tasks.blocks(random.permutation(members[members != NONE]), members.shape[1])


def _shifts(
    settings: Settings, path: Path, table: _user_table.Rows, members: np.ndarray
) -> np.ndarray:
    """Return whether the distribution changed before or in a task [task]; False for the first."""
    if not settings.shift_column:
        return np.zeros(len(members), bool)
    words = table.words[settings.shift_column]
    for place, word in zip(table.places, words, strict=True):
        if word not in ("0", "1"):
            text = f"{word!r:.80} is neither 0 nor 1, which says that the distribution changed"
            raise _user_table.wrong(path, place, text, settings.shift_column)
    changed = (np.array(words) == "1")[members] & (members != NONE)
    return changed.any(axis=1) & (np.arange(len(members)) > 0)


def _rows(
    settings: Settings, path: Path, table: _user_table.Rows, features: Sequence[str]
) -> _table_tasks.Rows:
    """Return the rows, scaled, with real targets or numbers of classes."""
    size = len(features)
    inputs = _scaled(settings, path, table.numbers[:, :size], settings.scaling, features)
    units = "as in the file" if settings.scaling == "none" else "1"
    rows = partial(_table_tasks.Rows, inputs, features=features, input_units=units)
    if settings.kind != "number":
        target, classes = _classes(settings, path, table.words[settings.target])
        return rows(target=target, classes=classes, target_units="1")
    real = table.numbers[:, size:]
    if np.ptp(real) == 0:
        raise _nothing_to_learn(settings, path, f"has the value {real[0, 0]:g} in all rows")
    if settings.target_scaling == "none":
        return rows(target=real[:, 0], target_units="as in the file")
    target = _scaled(settings, path, real, settings.target_scaling, [settings.target])[:, 0]
    history = real[: settings.history or None]
    scale = float(history.mean()), float(history.std())
    return rows(target=target, target_units="1", target_scale=scale)


def _scaled(
    settings: Settings, path: Path, values: np.ndarray, scaling: str, columns: Sequence[str]
) -> np.ndarray:
    """Scale columns [row, column] by the statistics of all rows, or of the history."""
    origin, factor = _scaling.scale(values[: settings.history or None], scaling)
    for column in np.flatnonzero((factor == 0) & (np.ptp(values, axis=0) > 0))[:1]:
        name = columns[column]
        text = f'column "{name}" is constant in the first {settings.history} rows'
        setting = "target_scaling" if name == settings.target else "scaling"
        remedy = f"raise history, or set {setting}: none"
        raise UserError(f"{path}: {text}, so it has no scale; {remedy}")
    return (values - origin) * factor


def _classes(settings: Settings, path: Path, words: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return the number of each row's class [row] int32, and the names of the classes.

    Names are sorted, as numbers if all are numbers. UserError for a single class, or more than two
    if the settings want two.
    """
    classes = sorted(set(words))
    if all(csv_files.is_number(word) for word in classes):
        classes.sort(key=Decimal)  # float would take two large ones as equal
        _refuse_equal_numbers(settings, path, classes)
    if len(classes) == 1:
        raise _nothing_to_learn(settings, path, f"has one class only, {classes[0]!r}")
    if settings.kind == "two-classes" and len(classes) > 2:
        shown = ", ".join(classes[:4]) + (", ..." if len(classes) > 4 else "")
        text = f'column "{settings.target}" has {len(classes)} classes ({shown})'
        raise UserError(f"{path}: {text}, not two; set kind to classes, or take another target")
    number = {word: place for place, word in enumerate(classes)}
    return np.array([number[word] for word in words], np.int32), classes


def _refuse_equal_numbers(settings: Settings, path: Path, classes: Sequence[str]) -> None:
    """Raise UserError if two classes, sorted as numbers, are one number in two forms."""
    for one, other in pairwise(classes):
        if Decimal(one) == Decimal(other):
            text = f'{path}, column "{settings.target}": the classes {one!r} and {other!r}'
            raise UserError(f"{text} are the same number; write it in one form")


def _nothing_to_learn(settings: Settings, path: Path, reason: str) -> UserError:
    text = f'{path}: the target, column "{settings.target}", {reason}'
    return UserError(f"{text}, so there is nothing to learn; take another target or table")


def _attributes(settings: Settings, path: Path, shift: np.ndarray) -> dict[str, str]:
    """Return the attributes of the store."""
    by = f"the first {settings.history}" if settings.history else "all"
    ahead = "" if settings.history else ", also of those to come"
    scalings = {
        name: scaling if scaling == "none" else f"{scaling}: by statistics of {by} rows{ahead}"
        for name, scaling in (
            ("scaling", settings.scaling),
            ("target_scaling", settings.target_scaling if settings.kind == "number" else "none"),
        )
    }
    return scalings | {
        "target": settings.target,
        "title": settings.title or path.name,
        "licence": settings.licence,
        "citation": settings.citation,
        "change": "marked" if shift.any() else "none",
        "truth": "known" if settings.shift_column else "unknown",
    }
