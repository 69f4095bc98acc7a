"""The store of a table and its tasks: each row once, and the rows that each task shows.

The rows of a part of a task are positions, padded with -1 to the size of the largest part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.attributes import about
from shiftbench.data.splits import SPLITS

NONE = -1


class Rows(NamedTuple):
    """Rows as learners see them.

    inputs: [row, feature] float64; target: [row] float64, or int32 numbers of `classes`, which is
    empty for real values; target_scale: mean and standard deviation by which a real target was
    scaled, if it was.
    """

    inputs: np.ndarray
    target: np.ndarray
    features: Sequence[str]
    classes: Sequence[str] = ()
    input_units: str = "as in the raw data"
    target_units: str = "as in the raw data"
    target_scale: tuple[float, float] | None = None


class Time(NamedTuple):
    """The time of the first row of each task, labels [task], and the name of its column."""

    column: str
    labels: np.ndarray


def blocks(rows: np.ndarray, size: int) -> np.ndarray:
    """Return rows [n] in tasks of `size` rows, [task, place]; the last task may have fewer."""
    result = np.full(-(-len(rows) // size) * size, NONE)
    result[: len(rows)] = rows
    return result.reshape(-1, size)


def padded(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of each part [part, place], padded with NONE to the same size."""
    result = np.full((len(parts), max(map(len, parts))), NONE)
    for line, rows in zip(result, parts, strict=True):
        line[: len(rows)] = rows
    return result


def split(
    path: Path, orders: np.ndarray, validation_share: float, test_share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw training, validation and test rows [realisation, task, place] within each task.

    orders: all rows of the tasks, [realisation, task, place]. UserError, with the path, if a task
    has too few rows.
    """
    none = np.empty((*orders.shape[:2], 0), int)
    if not validation_share and not test_share:
        return orders, none, none
    drawn = [
        _drawn(path, orders[r, t], (validation_share, test_share), r, t)
        for r, t in np.ndindex(*orders.shape[:2])
    ]
    train, validation, test = (
        padded(part).reshape(*orders.shape[:2], -1) for part in zip(*drawn, strict=True)
    )
    return train, validation, test


def store(
    rows: Rows,
    parts: Sequence[np.ndarray],
    shift: np.ndarray,
    attrs: Mapping[str, object],
    time: Time | None = None,
) -> xr.Dataset:
    """Return the store of rows and of the tasks that show them.

    Parameters
    ----------
    rows : all rows
    parts : training, validation and test rows, [realisation, task, place] each
    shift : [realisation, task] bool, truth that reaches no learner
    attrs : attributes of the store
    time : label of each task, if the table has time
    """
    target = about("number of the class" if rows.classes else "target", rows.target_units)
    by_part = {
        f"{name}_rows": (
            ("realisation", "task", f"{name}_place"),
            part.astype(np.min_scalar_type(-len(rows.target))),
            about(f"row in the {name} part of the task; {NONE}: none"),
        )
        for name, part in zip(SPLITS, parts, strict=True)
    }
    scale = {}
    if rows.target_scale:
        mean, sd = (np.full(len(shift), number) for number in rows.target_scale)
        text = "by which targets are scaled"
        scale["target_mean"] = ("realisation", mean, about(f"mean {text}"))
        scale["target_sd"] = ("realisation", sd, about(f"standard deviation {text}"))
    result = xr.Dataset(
        {
            "inputs": (("row", "feature"), rows.inputs, about("features", rows.input_units)),
            "target": ("row", rows.target, target),
            "shift": (
                ("realisation", "task"),
                shift,
                about("whether the distribution changed before this task"),
            ),
            **by_part,
            **scale,
        },
        coords={
            "row": ("row", np.arange(len(rows.target)), about("number of the row")),
            "feature": ("feature", np.array(rows.features, str), about("name of the feature")),
            "class": ("class", np.array(rows.classes, str), about("name of the class")),
            "realisation": ("realisation", np.arange(len(shift)), about("realisation")),
            "task": ("task", np.arange(shift.shape[1]), about("number of the task")),
        },
        attrs={"warm_up": 0, **attrs},
    )
    if time is None:
        return result
    attributes = about(f"{time.column} of the first row of a task") | {"column": time.column}
    return result.assign_coords(time=("task", time.labels, attributes))


def problem(store: xr.Dataset) -> Problem:
    """Return the problem of rows of features, with a class or one real target each."""
    classes, size = store.sizes["class"], store.sizes["train_place"]
    kind: Literal["classification", "regression"] = "classification" if classes else "regression"
    return Problem(kind, (store.sizes["feature"],), classes or 1, size, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return the rows of task t: inputs [S, n, d] float64; missing rows are 0 and masked.

    targets: labels [S, n] int32, or real values [S, n, 1].
    """
    train, validation, test = (_batch(store, realisations, t, name) for name in SPLITS)
    assert train is not None
    return Task(train, validation, test)


def training_rows(store: xr.Dataset, realisations: Sequence[int], tasks: range) -> Batch | None:
    """Return the training rows of some tasks one after the other; None if tasks have others."""
    if any(store.sizes[f"{name}_place"] for name in SPLITS[1:]):
        return None
    shown = store.variables["train_rows"].values[np.asarray(realisations), tasks.start : tasks.stop]
    return _shown(store, shown.reshape(len(shown), -1))


def _drawn(
    path: Path, rows: np.ndarray, shares: tuple[float, float], realisation: int, t: int
) -> list[np.ndarray]:
    """Draw training, validation and test rows of a task [place], each in their order."""
    rows = rows[rows != NONE]
    held_out = [round(share * len(rows)) for share in shares]
    sizes = [len(rows) - sum(held_out), *held_out]
    is_wanted = [True, *(share > 0 for share in shares)]
    if any(size < 1 for size, wanted in zip(sizes, is_wanted, strict=True) if wanted):
        raise UserError(
            f"{path}: task {t} has {len(rows)} rows, which give {sizes[0]} for training,"
            f" {sizes[1]} for validation and {sizes[2]} for test; give it more rows, or change"
            " validation_share and test_share"
        )
    random = seeds.generator(seeds.fold("table-tasks", "held-out", realisation, t))
    part_of = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return [rows[part_of == part] for part in range(len(sizes))]


def _batch(store: xr.Dataset, realisations: Sequence[int], t: int, part: str) -> Batch | None:
    rows = store.variables[f"{part}_rows"].values[np.asarray(realisations), t]
    return _shown(store, rows) if rows.shape[1] else None


def _shown(store: xr.Dataset, rows: np.ndarray) -> Batch:
    """Return the batch of the rows [S, n] with these numbers; NONE marks padding."""
    values = store.variables  # cheaper than store[...], and read for thousands of tasks
    mask = rows != NONE
    inputs = np.where(mask[:, :, np.newaxis], values["inputs"].values[rows], 0)
    targets = np.where(mask, values["target"].values[rows], 0)
    return Batch(inputs, targets if store.sizes["class"] else targets[:, :, np.newaxis], mask)
