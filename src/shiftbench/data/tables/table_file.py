"""Rows of a table of your own, in the order of the file or shuffled: classes, or one real target.

A CSV file (plain, .gz or .xz) whose first line names the columns, or a Parquet file. A task is a
row, so many rows, or the rows that a column of tasks puts together. Features and a real target are
scaled by all rows, those to come included, which is a declared look-ahead; or by the first rows
alone (`history`), which are then no tasks, so that nothing is known ahead. A column of time labels
axes and tables. Other columns of texts are left out, which `check` notes, unless `columns` names
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Lt

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Problem, Task
from shiftbench.data import splits, times
from shiftbench.data.tables import _table_tasks, _user_table
from shiftbench.data.tables._table_tasks import NONE

GIVES = {
    "number": {"kind": ("number",)},
    "classes": {"kind": ("classes",)},
    "two-classes": {"kind": ("two-classes",)},
}
HAS = {
    "one-row": {"rows_per_task": (1,), "task_column": ("",)},
    "tests": {"not test_share": (0.0,)},
    "shifts": {"not shift_column": ("",)},
    "unknown-truth": {"shift_column": ("",)},
}
VARIES = {
    "orders of the rows": {"order": ("shuffled",)},
    "rows held out of each task": (
        {"not test_share": (0.0,)},
        {"not validation_share": (0.0,)},
    ),
}
AHEAD = {
    "features are scaled by all rows": {"not scaling": ("none",), "history": (0,)},
    "targets are scaled by all rows": {
        "kind": ("number",),
        "not target_scaling": ("none",),
        "history": (0,),
    },
}
WRONG = {
    "a column of tasks, of shifts or of time, and a history, are of rows in the order of the file;"
    " take them out, or set order to file": (
        {"order": ("shuffled",), "not time": ("",)},
        {"order": ("shuffled",), "not task_column": ("",)},
        {"order": ("shuffled",), "not shift_column": ("",)},
        {"order": ("shuffled",), "not history": (0,)},
    ),
    "nothing can be held out of tasks of one row; raise rows_per_task, or set test_share and"
    " validation_share to 0": (
        {"rows_per_task": (1,), "task_column": ("",), "not test_share": (0.0,)},
        {"rows_per_task": (1,), "task_column": ("",), "not validation_share": (0.0,)},
    ),
    "rows in the order of the file, with none held out, are the same in all realisations; set"
    " realisations to 1, or order to shuffled": {
        "order": ("file",),
        "test_share": (0.0,),
        "validation_share": (0.0,),
        "not realisations": (1,),
    },
}


@dataclass(frozen=True)
class Settings:
    path: str
    """The table: .csv, .csv.gz, .csv.xz or .parquet, relative to the file that says so."""
    target: str
    """The column that is predicted."""
    kind: Literal["number", "classes", "two-classes"] = "number"
    """What the target is: a real number, or the name of a class, in words or numbers."""
    columns: tuple[str, ...] = ()
    """The columns that are features. If empty: all that have no other role and hold numbers."""
    time: str = ""
    """The column of time, numbers or dates such as 2001-12-31, which must not decrease. It is no
    feature and orders no rows; it labels the axes of figures, and the changes in tables."""
    separator: Literal["comma", "semicolon", "tab"] = "comma"
    """What stands between the values of a CSV file."""
    order: Literal["file", "shuffled"] = "file"
    """Whether rows come in the order of the file, or each realisation has an order of its own."""
    realisations: Annotated[int, Ge(1)] = 1
    """Number of orders, or of choices of what is held out; seed s uses s modulo this."""
    rows_per_task: Annotated[int, Ge(1)] = 1
    """Number of rows in a task; the last one may have fewer. Not used with a column of tasks."""
    task_column: str = ""
    """The column whose value is the same in all rows of a task, which follow each other."""
    shift_column: str = ""
    """A column of 0 and 1, where 1 says that the distribution changed just before this row. It is
    truth: learners never see it."""
    history: Annotated[int, Ge(0)] = 0
    """So many first rows are left out of the tasks, and scaling is by them alone."""
    scaling: Literal["z-score", "min-max", "none"] = "z-score"
    """How each feature is scaled: to mean 0 and standard deviation 1, or to 0..1. A feature that
    is constant in all rows becomes 0."""
    target_scaling: Literal["z-score", "none"] = "z-score"
    """How a real target is scaled; without effect on classes."""
    test_share: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of the rows of each task that are held out for test, drawn at random."""
    validation_share: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of the rows of each task that are held out for validation, drawn at random."""
    sha256: str = ""
    """What the file must have, checked where it is given."""
    title: str = ""
    """What the table is; its file name where this is not said."""
    licence: str = "not stated"
    """Under which licence you have it."""
    citation: str = "not stated"
    """Who made it."""


def look(settings: Settings, path: Path) -> list[str]:
    """Notes on what of the table is not used. UserError where it is not what the settings say."""
    return [note for note in [build(settings, path).attrs["left_out"]] if note]


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store of the file `raw`; see `_table_tasks`.

    UserError, with line and column, where the table is not what the settings say.
    """
    path = Path(raw)
    features, left_out = _features(settings, path)
    words = [settings.task_column, settings.shift_column, settings.time]
    words += [settings.target] * (settings.kind != "number")
    numbers = features + [settings.target] * (settings.kind == "number")
    table = _user_table.read(path, numbers, [word for word in words if word], settings.separator)
    if settings.history >= len(table.places):
        text = f"history is {settings.history}, but the table has {len(table.places)} rows"
        raise UserError(f"{path}: {text}, and none is left for tasks; lower history")
    members = _members(settings, path, table)
    orders = np.stack([_ordered(settings, members, r) for r in range(settings.realisations)])
    parts = _table_tasks.split(path, orders, settings.validation_share, settings.test_share)
    shift = np.tile(_shifts(settings, path, table, members), (settings.realisations, 1))
    rows = _rows(settings, path, table, features)
    about = _about(settings, path, shift) | {"left_out": _note(left_out, settings.time)}
    return _table_tasks.store(rows, parts, shift, about, _time(settings, path, table, members))


def problem(store: xr.Dataset) -> Problem:
    """Rows of features, each of one of several classes or with one real target."""
    return _table_tasks.problem(store)


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """The rows of task t: inputs [S, n, d] float64, and labels [S, n] or values [S, n, 1]."""
    return _table_tasks.task(store, realisations, t)


def _features(settings: Settings, path: Path) -> tuple[list[str], list[str]]:
    """The columns that are features, and those of texts that are left out.

    UserError where a column is unknown or has another role.
    """
    known = _user_table.header(path, settings.separator)
    roles = {"target": settings.target, "time": settings.time}
    roles |= {"task_column": settings.task_column, "shift_column": settings.shift_column}
    named = [column for column in roles.values() if column]
    _user_table.refuse_unknown(path, [*named, *settings.columns], known)
    chosen = list(settings.columns) or [name for name in known if name not in named]
    used = [*named, *chosen]
    for column in used:
        if used.count(column) > 1:
            roles_of = [role for role, name in roles.items() if name == column]
            told = " and ".join(roles_of + ["columns"] * chosen.count(column))
            raise UserError(f'{path}: column "{column}" is named by {told}; let one name it')
    candidates = [] if settings.columns else chosen
    left_out = _user_table.without_numbers(path, candidates, settings.separator)
    chosen = [name for name in chosen if name not in left_out]
    if not chosen:
        told = ", ".join([*named, *left_out])
        raise UserError(f"{path}: it has no column of numbers beside {told} to learn from")
    return chosen, left_out


def _note(left_out: Sequence[str], time: str) -> str:
    """Says which columns are left out; empty for none."""
    if not left_out:
        return ""
    names = ", ".join(f'"{name}"' for name in left_out)
    if len(left_out) == 1:
        what = f"Column {names} has no numbers and is left out"
    else:
        what = f"Columns {names} have no numbers and are left out"
    return f"{what}{'' if time else '; if one holds dates, set `time` to its name'}"


def _time(
    settings: Settings, path: Path, table: _user_table.Rows, members: np.ndarray
) -> _table_tasks.Time | None:
    """The time of the first row of each task, if a column has it. UserError if it decreases."""
    if not settings.time:
        return None
    cells = table.words[settings.time]
    labels = times.labels(
        cells,
        lambda row: _user_table.where(path, table.places[row], settings.time),
        lambda row: _user_table.line(path, table.places[row]),
        repeats=True,
    )
    return _table_tasks.Time(settings.time, labels[members[:, 0]])


def _members(settings: Settings, path: Path, table: _user_table.Rows) -> np.ndarray:
    """The rows of each task [task, place] in the order of the file."""
    rows = np.arange(settings.history, len(table.places))
    if not settings.task_column:
        return _table_tasks.blocks(rows, settings.rows_per_task)
    labels = np.array(table.words[settings.task_column])[rows]
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    _, first = np.unique(labels[starts], return_index=True)
    for again in sorted({*range(len(starts))} - {*first.tolist()})[:1]:
        row = rows[starts[again]]
        text = (
            f"task {str(labels[starts[again]])!r} comes again; the rows of a task follow each other"
        )
        raise _user_table.wrong(path, table.places[row], text, settings.task_column)
    return _table_tasks.filled(np.split(rows, starts[1:]))


def _ordered(settings: Settings, members: np.ndarray, realisation: int) -> np.ndarray:
    """The rows of each task [task, place] in the order of a realisation."""
    if settings.order == "file":
        return members
    random = seeds.generator(seeds.fold("table-file", "order", realisation))
    return _table_tasks.blocks(random.permutation(members[members != NONE]), members.shape[1])


def _shifts(
    settings: Settings, path: Path, table: _user_table.Rows, members: np.ndarray
) -> np.ndarray:
    """Whether the distribution changed before or in a task [task]; never of the first."""
    if not settings.shift_column:
        return np.zeros(len(members), bool)
    words = table.words[settings.shift_column]
    for place, word in zip(table.places, words, strict=True):
        if word not in ("0", "1"):
            text = f"{word!r} is neither 0 nor 1, which says that the distribution changed"
            raise _user_table.wrong(path, place, text, settings.shift_column)
    changed = (np.array(words) == "1")[members] & (members != NONE)
    return changed.any(axis=1) & (np.arange(len(members)) > 0)


def _rows(
    settings: Settings, path: Path, table: _user_table.Rows, features: Sequence[str]
) -> _table_tasks.Rows:
    """The rows, scaled, with real targets or numbers of classes."""
    size = len(features)
    inputs = _scaled(settings, path, table.numbers[:, :size], settings.scaling, features)
    units = "as in the file" if settings.scaling == "none" else "1"
    if settings.kind != "number":
        target, classes = _classes(settings, path, table.words[settings.target])
        return _table_tasks.Rows(inputs, target, features, classes, units, "1")
    real = table.numbers[:, size:]
    if np.ptp(real) == 0:
        raise _useless(settings, path, f"has the value {real[0, 0]:g} in all rows")
    if settings.target_scaling == "none":
        return _table_tasks.Rows(inputs, real[:, 0], features, (), units, "as in the file")
    target = _scaled(settings, path, real, settings.target_scaling, [settings.target])[:, 0]
    known = real[: settings.history or None]
    scale = float(known.mean()), float(known.std())
    return _table_tasks.Rows(inputs, target, features, (), units, "1", scale)


def _scaled(
    settings: Settings, path: Path, values: np.ndarray, scaling: str, columns: Sequence[str]
) -> np.ndarray:
    """Columns [row, column] by the statistics of all rows, or of the history."""
    known = values[: settings.history or None]
    origin, factor = splits.scale(known, scaling)
    for column in np.flatnonzero((factor == 0) & (np.ptp(values, axis=0) > 0))[:1]:
        text = f'column "{columns[column]}" is constant in the first {settings.history} rows'
        raise UserError(f"{path}: {text}, so it has no scale; raise history, or set scaling: none")
    return (values - origin) * factor


def _classes(settings: Settings, path: Path, words: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The number of each row's class [row] int32, and their names: sorted, as numbers if all are.

    UserError where there is one class, or more than two and the settings say so.
    """
    found = sorted(set(words))
    if all(_user_table.is_number(word) for word in found):
        found.sort(key=float)
    if len(found) == 1:
        raise _useless(settings, path, f"has one class alone, {found[0]!r}")
    if settings.kind == "two-classes" and len(found) > 2:
        shown = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
        text = f'column "{settings.target}" has {len(found)} classes ({shown})'
        raise UserError(f"{path}: {text}, not two; set kind to classes, or take another target")
    number = {word: place for place, word in enumerate(found)}
    return np.array([number[word] for word in words], np.int32), found


def _useless(settings: Settings, path: Path, reason: str) -> UserError:
    text = f'{path}: the target, column "{settings.target}", {reason}'
    return UserError(f"{text}, so there is nothing to learn; take another target or table")


def _about(settings: Settings, path: Path, shift: np.ndarray) -> dict[str, str]:
    """What the store says of the table."""
    by = f"the first {settings.history}" if settings.history else "all"
    ahead = "" if settings.history else ", also of those to come"
    told = {
        name: scaling if scaling == "none" else f"{scaling}: by statistics of {by} rows{ahead}"
        for name, scaling in (
            ("scaling", settings.scaling),
            ("target_scaling", settings.target_scaling if settings.kind == "number" else "none"),
        )
    }
    return told | {
        "target": settings.target,
        "title": settings.title or path.name,
        "licence": settings.licence,
        "citation": settings.citation,
        "change": "marked" if shift.any() else "none",
        "truth": "known" if settings.shift_column else "unknown",
    }
