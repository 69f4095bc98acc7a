"""One table, split into training, validation and test rows: no stream, but what papers test on.

Source: farquhar2020radial, appendix E, on nine UCI regression sets with the 20 splits (protein: 5)
of Hernandez-Lobato and Adams (2015), and 4.1 on telling diseased eyes from healthy ones, of which
the Messidor features are a small counterpart. Realisation r is split r. Sets without published
splits are split at random, with each class in proportion.

There is one task, or `repeats` tasks that show the same rows again, for training that goes on.
All statistics by which rows are scaled are of the training rows of that split alone. Targets are
scaled as well; the store keeps their mean and standard deviation, so that metrics can speak in
the units of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.splits import SPLITS, Parts
from shiftbench.data.store import raw as raw_data
from shiftbench.data.tables import _arff, _table_files, _uci

GIVES = {
    "classes": {"dataset": ("breast-cancer", "messidor-features")},
    "image": {"dataset": ("digits",)},
    "number": {"not dataset": ("breast-cancer", "messidor-features", "digits")},
}
HAS = ("tests",)
VARIES = ("splits into training and test rows",)

SHAPES = {"digits": (8, 8, 1)}
"""Shape of a row where it is an image."""


@dataclass(frozen=True)
class Settings:
    dataset: Literal[
        "breast-cancer",
        "digits",
        "messidor-features",
        "diabetes",
        "uci-boston",
        "uci-concrete",
        "uci-energy",
        "uci-kin8nm",
        "uci-naval",
        "uci-power-plant",
        "uci-protein",
        "uci-wine",
        "uci-yacht",
    ] = "breast-cancer"
    """The table; an entry of the table of raw data. Those named uci have published splits."""
    realisations: Annotated[int, Ge(1)] = 20
    """Number of splits; seed s uses split s modulo this. 20 are published, 5 of uci-protein."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first split, so that tuning can see others than those that are judged. Of
    published splits there are no others: there tuning is judged on validation rows."""
    repeats: Annotated[int, Ge(1)] = 1
    """Number of tasks, which all show the same rows."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the rows that are for test, where no splits are published."""
    validation: Annotated[int, Ge(0)] = 0
    """So many of the training rows are set apart for validation."""
    judge_on: Literal["test", "validation"] = "test"
    """The rows on which learners are judged: validation is for tuning, which never sees test
    rows."""
    scaling: Literal["z-score", "min-max", "none"] = "z-score"
    """How features are scaled by the training rows of a split: to mean 0 and standard deviation
    1, or to 0..1, which suits the pixels of digits. A feature that is constant there becomes 0.
    Real targets get mean 0 and standard deviation 1, but for none."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """The store: inputs [row, feature] and target [row] as in the data, the rows of each split.

    Of each realisation also how its rows are scaled: (inputs - feature_origin) x feature_factor,
    (target - target_mean) / target_sd. UserError where a raw file is wrong, where there are not
    so many splits, or where the training rows of one have one class or a constant target.
    """
    table, published = _table(settings, Path(raw))
    last = settings.first_realisation + settings.realisations
    numbers = list(range(settings.first_realisation, last))
    if settings.dataset in _uci.SETS:
        _refuse_more_splits(settings, len(published))
    parts = []
    for number in numbers:
        split = (
            published[number]
            if published
            else splits.at_random(settings.dataset, table.target, settings.test_share, number)
        )
        part = splits.with_validation(settings, split, table.target, number)
        splits.refuse_useless(f"{_place(settings, raw)}, split {number}", part, table.target)
        parts.append(part)
    store = _rows_part(settings, table)
    store = store.merge(splits.stored(parts, numbers, len(table.target)))
    return store.merge(_scales(settings, table, parts)).merge(_tasks_part(settings, numbers))


def problem(store: xr.Dataset) -> Problem:
    """Classification, or regression of one real target; images where rows are images."""
    size = store.sizes["train"]
    shape = SHAPES.get(store.attrs["dataset"], (store.sizes["feature"],))
    classes = int(store.attrs["classes"])
    kind = "classification" if classes else "regression"
    return Problem(kind, shape, classes or 1, size, store.sizes["task"])  # type: ignore[arg-type]


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """The rows of each split, the same for all t: inputs [S, n, *shape] float32, scaled.

    targets: labels [S, n] int32, or scaled real values [S, n, 1] float32. Where the store says to
    judge on validation, those are the test rows, and there are no others.
    """
    train, validation, test = (
        _batch(store, realisations, part) if store.sizes[part] else None for part in SPLITS
    )
    assert train is not None  # `build` has seen that there are training rows
    if store.attrs["judge_on"] == "validation":
        validation, test = None, validation
    return Task(train, validation, test)


def _table(settings: Settings, raw: Path) -> tuple[_table_files.Table, list[splits.Split]]:
    """The table of the data set, and its published splits."""
    if settings.dataset in _uci.SETS:
        return _uci.read(raw, settings.dataset)
    if settings.dataset == "messidor-features":
        return _arff.messidor(raw), []
    if settings.dataset == "digits":
        return _digits(), []
    return _table_files.bundled(settings.dataset), []


def _digits() -> _table_files.Table:
    """scikit-learn's digits, levels from 0 to 16 row by row from the top."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return _table_files.Table(data.data, data.target.astype(np.int32), data.feature_names, "digit")


def _place(settings: Settings, raw: Path) -> str:
    """Where the rows are from: the raw file, or the name of a set that a dependency carries."""
    files = list(raw_data.table()[settings.dataset].files)
    return str(Path(raw) / files[0]) if files else settings.dataset


def _refuse_more_splits(settings: Settings, there: int) -> None:
    first, number = settings.first_realisation, settings.realisations
    if first + number > there:
        raise UserError(
            f"Stream table-splits: {settings.dataset} has {there} published splits, 0 to"
            f" {there - 1}, but first_realisation is {first} and realisations {number}. Lower them."
        )


def _rows_part(settings: Settings, table: _table_files.Table) -> xr.Dataset:
    """What all realisations share: the rows as in the data."""
    entry = raw_data.table()[settings.dataset]
    classes = int(table.target.max()) + 1 if table.target.dtype.kind == "i" else 0
    inputs = about("features", "as in the raw data")
    return xr.Dataset(
        {
            "inputs": (("row", "feature"), table.inputs, inputs),
            "target": ("row", table.target, about(table.about, table.units)),
        },
        coords={
            "row": ("row", np.arange(len(table.target)), about("position in the original data")),
            "feature": ("feature", np.array(table.features), about("name of the feature")),
        },
        attrs={
            "title": f"{entry.title}; one task",
            "licence": entry.licence,
            "citation": entry.citation,
            "dataset": settings.dataset,
            "classes": classes,
            "judge_on": settings.judge_on,
            "scaling": settings.scaling,
            "change": "none",
            "warm_up": 0,
        },
    )


def _scales(settings: Settings, table: _table_files.Table, parts: Sequence[Parts]) -> xr.Dataset:
    """How the rows of each realisation are scaled, by its training rows."""
    pairs = [splits.scale(table.inputs[split.train], settings.scaling) for split in parts]
    origin, factor = (np.stack(arrays) for arrays in zip(*pairs, strict=True))
    by_feature = ("realisation", "feature")
    store = {
        "feature_origin": (by_feature, origin, about("what scaling takes off a feature")),
        "feature_factor": (by_feature, factor, about("what scaling multiplies it by then")),
    }
    if table.target.dtype.kind == "f":
        train = [table.target[split.train] for split in parts]
        scaled = settings.scaling != "none"
        mean = np.array([values.mean() if scaled else 0.0 for values in train])
        sd = np.array([values.std() if scaled else 1.0 for values in train])
        of_rows = "of the training rows' targets, by which all are scaled"
        store["target_mean"] = ("realisation", mean, about(f"mean {of_rows}", table.units))
        store["target_sd"] = (
            "realisation",
            sd,
            about(f"standard deviation {of_rows}", table.units),
        )
    return xr.Dataset(store)


def _tasks_part(settings: Settings, numbers: Sequence[int]) -> xr.Dataset:
    """The tasks, none of which begins with a shift."""
    shift = np.zeros((len(numbers), settings.repeats), bool)
    told = about("whether the distribution changed before this task")
    return xr.Dataset(
        {"shift": (("realisation", "task"), shift, told)},
        coords={"task": ("task", np.arange(settings.repeats), about("number of the task"))},
    )


def _batch(store: xr.Dataset, realisations: Sequence[int], part: str) -> Batch:
    numbers = list(realisations)
    rows = store[f"{part}_rows"].values[numbers]
    origin = store["feature_origin"].values[numbers, np.newaxis]
    factor = store["feature_factor"].values[numbers, np.newaxis]
    inputs = ((store["inputs"].values[rows] - origin) * factor).astype(np.float32)
    shape = SHAPES.get(store.attrs["dataset"], inputs.shape[2:])
    target = store["target"].values[rows]
    if not store.attrs["classes"]:
        mean, sd = (store[f"target_{name}"].values[numbers, np.newaxis] for name in ("mean", "sd"))
        target = ((target - mean) / sd).astype(np.float32)[..., np.newaxis]
    return Batch(inputs.reshape(*rows.shape, *shape), target, np.ones(rows.shape, bool))
