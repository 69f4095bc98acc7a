"""One table, split into training, validation and test rows: a benchmark of papers, not a stream.

Source: farquhar2020radial, appendix E, on nine UCI regression sets with the 20 splits (protein: 5)
of Hernandez-Lobato and Adams (2015), and 4.1 on diseased and healthy eyes, of which the Messidor
features are a small counterpart. Realisation r is split r. Sets without published splits are split
at random, with each class in proportion.

There is one task, or `repeats` tasks that show the same rows again, for further training. Rows are
scaled by statistics of the training rows of their split alone. Targets are scaled as well; the
store keeps their mean and standard deviation, so that metrics can use the units of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le, Lt

from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Problem, Task
from shiftbench.data import splits
from shiftbench.data.attributes import about
from shiftbench.data.splits import SPLITS, Parts
from shiftbench.data.store import raw as raw_files
from shiftbench.data.tables import _arff, _scaling, _table_files, _uci
from shiftbench.data.tables._table_files import Table

FACTS = Facts(
    gives={
        "classes": {"dataset": ("breast-cancer", "messidor-features")},
        "image": {"dataset": ("digits",)},
        "number": {"not dataset": ("breast-cancer", "messidor-features", "digits")},
        "tests": True,
    },
    varies=("splits into training and test rows",),
)

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
    """Name of the data in the table of raw data. Names with uci have published splits."""
    realisations: Annotated[int, Ge(1)] = 20
    """Number of splits; seed s uses split s modulo this. 20 are published, 5 of uci-protein."""
    first_realisation: Annotated[int, Ge(0)] = 0
    """Number of the first split, so that tuning can see splits that are not judged. Training rows
    of these include test rows of judged splits, unless test_pool is below 1. Published splits have
    no others; tuning is then judged on validation rows."""
    repeats: Annotated[int, Ge(1)] = 1
    """Number of tasks, which all show the same rows."""
    test_share: Annotated[float, Gt(0), Lt(1)] = 0.2
    """Share of the rows that are for test, for data without published splits."""
    test_pool: Annotated[float, Gt(0), Le(1)] = 1.0
    """Share of the rows from which the test rows of all splits are drawn, for data without
    published splits. Below 1, tuning sees none of these rows: with judge_on validation, training
    and validation rows come from the others."""
    validation: Annotated[int, Ge(0)] = 0
    """Number of training rows that are set apart for validation."""
    judge_on: Literal["test", "validation"] = "test"
    """Rows on which learners are judged; validation is for tuning, which never sees test rows
    of its own split. With test_pool below 1 it sees the test rows of no split."""
    scaling: Literal["z-score", "min-max", "none"] = "z-score"
    """Scaling of features by the training rows of a split: to mean 0 and standard deviation 1, or
    to 0..1, which suits the pixels of digits. A feature that is constant there becomes 0. Unless it
    is none, real targets get mean 0 and standard deviation 1."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store: inputs [row, feature] and target [row] as in the data, and the splits.

    Each realisation has the rows of its split and their scales: learners see (inputs -
    feature_origin) x feature_factor and (target - target_mean) / target_sd. UserError if a raw file
    is wrong, there are too few splits, or the training rows of a split have one class or a constant
    target.
    """
    table, published = _table(settings, Path(raw))
    if settings.dataset in _uci.SETS:
        _refuse_other_splits(settings, len(published))
    split_of = published.__getitem__ if published else _drawing(settings, table.target)
    files = list(raw_files.table()[settings.dataset].files)
    source = str(Path(raw) / files[0]) if files else settings.dataset
    parts = splits.parts(settings, split_of, table.target, source)
    store = _rows_part(settings, table).merge(splits.stored(parts, len(table.target)))
    store = store.merge(_scales(settings, table, list(parts.values())))
    shift = np.zeros((len(parts), settings.repeats), bool)
    store["shift"] = (
        ("realisation", "task"),
        shift,
        about("whether the distribution changed before this task"),
    )
    tasks = np.arange(settings.repeats)
    return store.assign_coords({"task": ("task", tasks, about("number of the task"))})


def _drawing(settings: Settings, target: np.ndarray) -> Callable[[int], splits.Split]:
    """Return the function that draws a split by its number.

    With a test pool below 1, trials, which are judged on validation rows, never see rows of it.
    With all rows in the pool, they train on some test rows of other splits.
    """
    name, share = settings.dataset, settings.test_share
    if settings.test_pool == 1:
        return partial(splits.at_random, name, target, share)
    pool = splits.test_pool(name, target, settings.test_pool)
    if round(share * len(target)) > len(pool):
        raise UserError(
            f"Stream of {name}: test_share is {share:g}, but test rows come from a test_pool of"
            f" {settings.test_pool:g} of the rows. Raise test_pool, or lower test_share."
        )

    def split_of(number: int) -> splits.Split:
        split = splits.from_pool(name, target, share, pool, number)
        if settings.judge_on == "test":
            return split
        return split._replace(train=np.setdiff1d(split.train, pool))

    return split_of


def problem(store: xr.Dataset) -> Problem:
    """Return classification or regression of one real target, of images if rows are images."""
    size = store.sizes["train"]
    shape = SHAPES.get(store.attrs["dataset"], (store.sizes["feature"],))
    classes = int(store.attrs["classes"])
    kind: Literal["classification", "regression"] = "classification" if classes else "regression"
    return Problem(kind, shape, classes or 1, size, store.sizes["task"])


def task(store: xr.Dataset, realisations: Sequence[int], t: int) -> Task:
    """Return the rows of each split, the same for all t: inputs [S, n, *shape] float32, scaled.

    targets: labels [S, n] int32, or scaled real values [S, n, 1] float32. If the store judges on
    validation, the validation rows are the test data.
    """
    train, validation, test = (
        _batch(store, realisations, part) if store.sizes[part] else None for part in SPLITS
    )
    assert train is not None  # `build` refuses a split without training rows
    return splits.judged(store, Task(train, validation, test))


def _table(settings: Settings, raw: Path) -> tuple[Table, list[splits.Split]]:
    """Return the table of the data set, and its published splits."""
    if settings.dataset in _uci.SETS:
        return _uci.read(raw, settings.dataset)
    if settings.dataset == "messidor-features":
        return _arff.messidor(raw), []
    if settings.dataset == "digits":
        return _digits(), []
    return _table_files.bundled(settings.dataset), []


def _digits() -> Table:
    """Return scikit-learn's digits, levels from 0 to 16 row by row from the top."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return Table(data.data, data.target.astype(np.int32), data.feature_names, "digit")


def _refuse_other_splits(settings: Settings, published: int) -> None:
    if settings.test_pool < 1:
        raise UserError(
            f"Stream table-splits: {settings.dataset} has published splits, so test_pool must be 1."
        )
    first, number = settings.first_realisation, settings.realisations
    if first + number > published:
        raise UserError(
            f"Stream table-splits: {settings.dataset} has {published} published splits, 0 to"
            f" {published - 1}, but first_realisation is {first} and realisations {number}. Lower"
            " them."
        )


def _rows_part(settings: Settings, table: Table) -> xr.Dataset:
    """Return the part that all realisations share: the rows as in the data."""
    entry = raw_files.table()[settings.dataset]
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
            **entry.attributes(),
            "title": f"{entry.title}; one task",
            "dataset": settings.dataset,
            "classes": classes,
            "judge_on": settings.judge_on,
            "scaling": settings.scaling,
            "change": "none",
            "warm_up": 0,
        },
    )


def _scales(settings: Settings, table: Table, parts: Sequence[Parts]) -> xr.Dataset:
    """Return the scales of the rows of each realisation, from its training rows."""
    pairs = [_scaling.scale(table.inputs[split.train], settings.scaling) for split in parts]
    origin, factor = (np.stack(arrays) for arrays in zip(*pairs, strict=True))
    by_feature = ("realisation", "feature")
    store = xr.Dataset(
        {
            "feature_origin": (by_feature, origin, about("what scaling takes off a feature")),
            "feature_factor": (by_feature, factor, about("what scaling multiplies it by then")),
        }
    )
    if table.target.dtype.kind == "f":
        train = [table.target[split.train] for split in parts]
        scaled = settings.scaling != "none"
        mean = np.array([values.mean() if scaled else 0.0 for values in train])
        sd = np.array([values.std() if scaled else 1.0 for values in train])
        text = "of the training rows' targets, by which all are scaled"
        of_sd = about(f"standard deviation {text}", table.units)
        store["target_mean"] = ("realisation", mean, about(f"mean {text}", table.units))
        store["target_sd"] = ("realisation", sd, of_sd)
    return store


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
