"""Rows of a table in random order, one a task: two classes, or one real target.

Source: the experiments of cherief2019online (Cherief-Abdellatif, Alquier and Khan, ACML 2019),
which read each data set once, in one random order; here each realisation has its own order. The
authors do not say how they scale the data.

Scaling uses statistics of all rows, including later ones: a declared look-ahead, recorded in the
attribute `scaling` of the store. Cover type is class 2 (lodgepole pine) against the rest. Zeros
that stand for missing values in Pima are kept.

The simulated classification is the paper's: label 1 with probability 2/3, x given 1 is
N((1, 1), [[1, 1], [1, 3]]), x given 0 is N((-1, -1), I). The simulated regression is not in the
paper: x is N(0, I), y is the sum of (-1)^j x_j / (j + 1), j from 0, and Gaussian noise.
Realisations are orders of the same rows, which are drawn once, or each has rows of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Interval

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data.attributes import about
from shiftbench.data.store import raw as raw_files
from shiftbench.data.tables import _scaling, _table_files
from shiftbench.data.tables._table_files import Table

FACTS = Facts(
    gives={
        "two-classes": {
            "dataset": ("breast-cancer", "simulated-classification", "pima", "covertype-subset")
        },
        "number": {"dataset": ("diabetes", "simulated-regression", "boston", "california")},
        "one-row": True,
        "table": True,
        "shifts": {"change": ("middle",)},
        "plane": (
            {"dataset": ("simulated-classification",), "intercept": (False,)},
            {"dataset": ("simulated-regression",), "simulated_features": (1,)},
            {
                "dataset": ("simulated-regression",),
                "simulated_features": (2,),
                "intercept": (False,),
            },
        ),
    },
    varies={
        "orders of the rows": {"simulated_tables": ("one",)},
        "rows": {"simulated_tables": ("each",)},
    },
    ahead={
        "features are scaled by all rows": {"not scaling": ("none",)},
        "targets are scaled by all rows": {
            "dataset": ("diabetes", "simulated-regression", "boston", "california"),
            "not target_scaling": ("none",),
        },
    },
)

LOOK_AHEAD = {
    "z-score": "z-score: mean and standard deviation of all rows, also of those to come",
    "min-max": "min-max: smallest and largest value of all rows, also of those to come",
    "none": "none",
}


@dataclass(frozen=True)
class Settings:
    dataset: Literal[
        "breast-cancer",
        "diabetes",
        "simulated-classification",
        "simulated-regression",
        "pima",
        "boston",
        "california",
        "covertype-subset",
    ] = "breast-cancer"
    """Name of the data in the table of raw data."""
    realisations: Annotated[int, Ge(1)] = 20
    """Number of random orders; seed s uses order s modulo this. The paper has one."""
    rows: Annotated[int, Ge(0)] = 0
    """Number of tasks, the first rows of each order, so that each order has its own random subset;
    0: all rows."""
    scaling: Literal["z-score", "min-max", "none"] = "z-score"
    """Scaling of each feature by statistics of all rows: to mean 0 and standard deviation 1, or to
    0..1. A constant feature becomes 0."""
    target_scaling: Literal["z-score", "none"] = "z-score"
    """Scaling of a real target by statistics of all rows; without effect on classes."""
    intercept: bool = False
    """Whether a constant feature of 1, which is not scaled, is appended."""
    change: Literal["none", "middle"] = "none"
    """middle: labels are swapped, or real targets negated, in the second half of each order. The
    paper has no change."""
    simulated_rows: Annotated[int, Ge(2)] = 5000
    """Number of rows of a simulated table; the paper has 10000, its figure shows 5000."""
    simulated_tables: Literal["one", "each"] = "one"
    """one: realisations are orders of the same simulated rows; each: every realisation has rows of
    its own, as a repetition of the experiment has. Without effect on real tables."""
    simulated_covariance: Annotated[float, Interval(ge=-1.7, le=1.7)] = 1.0
    """Covariance of the two features in class 1 of the simulated classification. The paper prints
    1; the losses in its figure appear with -1."""
    simulated_features: Annotated[int, Ge(1)] = 5
    """Number of features of the simulated regression; the classification has 2."""
    simulated_noise_sd: Annotated[float, Gt(0)] = 0.5
    """Standard deviation of the noise of the simulated regression."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: inputs [row, feature], target [row], order and flipped [realisation, task].

    The target of task t is target[order[t]]; if flipped[t], a label y becomes 1 - y and a real
    number its negative. shift is truth and reaches no learner. Realisation r does not depend on the
    number of realisations. UserError if the raw file is wrong or has too few rows.
    """
    tables = _tables(settings, Path(raw))
    available = len(tables[0].target)
    if settings.rows > available:
        raise UserError(
            f"Stream tabular: rows is {settings.rows}, but {settings.dataset} has {available}."
            " Lower rows; 0 takes all."
        )
    order = np.stack(
        [
            seeds.generator(seeds.fold("tabular", "order", number)).permutation(available)
            for number in range(settings.realisations)
        ]
    )[:, : settings.rows or available]
    order = order + available * (np.arange(len(order)) % len(tables))[:, np.newaxis]
    table = _joined(tables)
    return _rows_part(settings, table).merge(_tasks_part(settings, order, len(table.target)))


def problem(store: xr.Dataset) -> Problem:
    """Return the problem of one row a task: two classes, or one real target."""
    kind = store.attrs["kind"]
    outputs = 2 if kind == "classification" else 1
    return Problem(kind, (store.sizes["feature"],), outputs, 1, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return row t of each order: inputs [S, 1, d] float64; nothing is held out.

    targets: labels [S, 1] int32, or real values [S, 1, 1].
    """
    return Task(training_rows(store, realisations, range(t, t + 1)), None, None)


def training_rows(store: xr.Dataset, realisations: Sequence[int], tasks: range) -> Batch:
    """Return some rows of each order, [S, n, ...]; see `task`."""
    values = store.variables  # cheaper than store[...], and read for thousands of tasks
    place = np.asarray(realisations), slice(tasks.start, tasks.stop)
    row, flipped = values["order"].values[place], values["flipped"].values[place]
    target = values["target"].values[row]
    if store.attrs["kind"] == "classification":
        targets = target ^ flipped
    else:
        targets = np.where(flipped, -target, target)[..., np.newaxis]
    return Batch(values["inputs"].values[row], targets, np.ones(row.shape, bool))


def _tables(settings: Settings, raw: Path) -> list[Table]:
    """Return the table, or simulated ones of all realisations."""
    name = settings.dataset
    if simulate := SIMULATED.get(name):
        if settings.simulated_tables == "one":
            return [simulate(settings, seeds.generator(seeds.fold("tabular", name)))]
        return [
            simulate(settings, seeds.generator(seeds.fold("tabular", name, number)))
            for number in range(settings.realisations)
        ]
    if name in _table_files.FORMATS:
        return [_table_files.from_file(raw, _table_files.FORMATS[name])]
    return [_table_files.bundled(name)]


def _joined(tables: Sequence[Table]) -> Table:
    """Return one table with the rows of all, one table after the other."""
    first = tables[0]
    inputs, target = (
        np.concatenate([getattr(one, part) for one in tables]) for part in ("inputs", "target")
    )
    return first._replace(inputs=inputs, target=target)


def _simulated_classification(settings: Settings, random: np.random.Generator) -> Table:
    label = (random.random(settings.simulated_rows) < 2 / 3).astype(np.int32)
    noise = random.standard_normal((settings.simulated_rows, 2))
    covariance = settings.simulated_covariance
    factor = np.linalg.cholesky([[1, covariance], [covariance, 3]])
    inputs = np.where(label[:, np.newaxis], 1 + noise @ factor.T, -1 + noise)
    return Table(inputs, label, ["x0", "x1"], "class")


def _simulated_regression(settings: Settings, random: np.random.Generator) -> Table:
    number = np.arange(settings.simulated_features)
    inputs = random.standard_normal((settings.simulated_rows, len(number)))
    noise = settings.simulated_noise_sd * random.standard_normal(settings.simulated_rows)
    target = inputs @ ((-1.0) ** number / (number + 1)) + noise
    return Table(inputs, target, [f"x{j}" for j in number], "target")


SIMULATED = {
    "simulated-classification": _simulated_classification,
    "simulated-regression": _simulated_regression,
}
"""Function that draws a table, by the name of the data."""


def _scaled(values: np.ndarray, scaling: str) -> np.ndarray:
    """Scale the columns of `values`, or its one column; a constant column becomes 0."""
    if scaling == "none":
        return values
    origin, width = _scaling.origin_and_width(values, scaling)
    return np.where(width == 0, 0.0, (values - origin) / np.where(width == 0, 1.0, width))


def _rows_part(settings: Settings, table: Table) -> xr.Dataset:
    """Return the part that all realisations share: the rows, scaled."""
    entry = raw_files.table()[settings.dataset]
    kind = "classification" if table.target.dtype.kind == "i" else "regression"
    scaled_target = kind == "regression" and settings.target_scaling == "z-score"
    target = _scaled(table.target, "z-score") if scaled_target else table.target
    inputs, features = _scaled(table.inputs, settings.scaling), table.features
    if settings.intercept:
        inputs, features = np.insert(inputs, inputs.shape[1], 1.0, axis=1), [*features, "intercept"]
    input_units = "1" if settings.scaling != "none" else "as in the raw data"
    return xr.Dataset(
        {
            "inputs": (("row", "feature"), inputs, about("features", input_units)),
            "target": ("row", target, about(table.about, "1" if scaled_target else table.units)),
        },
        coords={
            "row": ("row", np.arange(len(target)), about("position in the original data")),
            "feature": ("feature", np.array(features), about("name of the feature")),
        },
        attrs={
            **entry.attributes(),
            "title": f"{entry.title}, in random order, one row a task (cherief2019online)",
            "kind": kind,
            "scaling": LOOK_AHEAD[settings.scaling],
            "target_scaling": LOOK_AHEAD["z-score" if scaled_target else "none"],
            "change": settings.change,
            "warm_up": 0,
        },
    )


def _tasks_part(settings: Settings, order: np.ndarray, available: int) -> xr.Dataset:
    """Return the order that each realisation draws, and the tasks with changed targets."""
    realisations, tasks = (np.arange(size) for size in order.shape)
    second_half = (2 * tasks >= len(tasks)) & (tasks > 0) & (settings.change == "middle")
    flipped = np.tile(second_half, (len(realisations), 1))
    shift = np.diff(flipped, axis=1, prepend=False)
    by_task = ("realisation", "task")
    text = "whether the label is swapped or the target negated"
    return xr.Dataset(
        {
            "order": (
                by_task,
                order.astype(np.min_scalar_type(available - 1)),
                about("row that a task shows, by position"),
            ),
            "flipped": (by_task, flipped, about(text)),
            "shift": (by_task, shift, about("whether the targets changed just before this task")),
        },
        coords={
            "realisation": ("realisation", realisations, about("number of the realisation")),
            "task": ("task", tasks, about("number of the task")),
        },
    )
