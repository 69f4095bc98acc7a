"""The rows of a CSV file in their order, one a task: features, and one real target."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from shiftbench.interface import Batch, Problem, Task

GIVES = "number"
HAS = ("one-row", "unknown-truth")


@dataclass(frozen=True)
class Settings:
    path: str
    """The CSV file, relative to the config; its first line names the columns."""
    target: str
    """The column that is predicted."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store: inputs [task, feature], target and shift [realisation, task]. raw: the file."""
    with raw.open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != settings.target]
    inputs = np.array([[float(row[name]) for name in names] for row in rows])
    target = np.array([[float(row[settings.target]) for row in rows]])
    return xr.Dataset(
        {
            "inputs": (("task", "feature"), inputs, {"long_name": "features", "units": "1"}),
            "target": (("realisation", "task"), target, {"long_name": "target", "units": "1"}),
            "shift": (
                ("realisation", "task"),
                np.zeros(target.shape, bool),
                {"long_name": "known changes", "units": "1"},
            ),
        },
        coords={
            "feature": ("feature", names, {"long_name": "feature", "units": "1"}),
            "realisation": ("realisation", [0], {"long_name": "realisation", "units": "1"}),
            "task": ("task", range(len(rows)), {"long_name": "row", "units": "1"}),
        },
        attrs={
            "title": raw.name, "licence": "not stated", "warm_up": 0, "change": "none",
        },
    )  # fmt: skip


def problem(store: xr.Dataset) -> Problem:
    """One real target a task."""
    sizes = store.sizes
    return Problem("regression", (sizes["feature"],), 1, n_train=1, n_tasks=sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Row t, the same for all repetitions; nothing is held out."""
    size = len(realisations)
    inputs = np.tile(store["inputs"].values[t], (size, 1, 1))
    targets = store["target"].values[list(realisations), t].reshape(size, 1, 1)
    return Task(Batch(inputs, targets, np.ones((size, 1), bool)), None, None)
