"""Readers of tables of numbers: scikit-learn's, and text files with one row a line."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from shiftbench.data.store import raw as raw_files

OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}
UNREADABLE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError)


class Table(NamedTuple):
    """Rows of a data set, not scaled.

    inputs: [row, feature] float64; target: [row], int32 labels 0 and 1 (classification) or
    float64 (regression); features: [feature] names; about, units: name and units of the target.
    """

    inputs: np.ndarray
    target: np.ndarray
    features: list[str]
    about: str
    units: str = "1"


@dataclass(frozen=True)
class Format:
    """A text file of numbers, the target in the last column.

    rows: number of rows. columns: their names; columns in `ignored` are not used. separator: None
    is white space. header: whether the first line has the names. labels: values of the target,
    empty for a real number; the label `positive` becomes 1, all others 0.
    """

    file: str
    rows: int
    columns: tuple[str, ...]
    about: str
    units: str = "1"
    separator: str | None = ","
    header: bool = False
    ignored: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()
    positive: int = 1


FORMATS = {
    "pima": Format(
        "pima-indians-diabetes.csv",
        768,
        ("pregnancies", "glucose", "blood pressure", "skin fold", "insulin", "body mass index",
         "pedigree", "age", "diabetes"),
        "diabetes: 1 is tested positive",
        labels=(0, 1),
    ),
    "boston": Format(
        "housing.data",
        506,
        ("CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B",
         "LSTAT", "MEDV"),
        "median value of the homes",
        "1000 USD",
        separator=None,
    ),
    "california": Format(
        "cal_housing.data.xz",
        20640,
        ("longitude", "latitude", "housingMedianAge", "totalRooms", "totalBedrooms",
         "population", "households", "medianIncome", "medianHouseValue"),
        "median value of the homes",
        "USD",
    ),
    "covertype-subset": Format(
        "train.csv.gz",
        15120,
        ("Id", "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology",
         "Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am",
         "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points",
         *(f"Wilderness_Area{number}" for number in range(1, 5)),
         *(f"Soil_Type{number}" for number in range(1, 41)), "Cover_Type"),
        "forest cover: 1 is type 2 (lodgepole pine), 0 is any other type",
        header=True,
        ignored=("Id",),
        labels=(1, 2, 3, 4, 5, 6, 7),
        positive=2,
    ),
}  # fmt: skip


def bundled(dataset: str) -> Table:
    """Return scikit-learn's breast-cancer (569 x 30) or diabetes (442 x 10) in original units."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    if dataset == "breast-cancer":
        data, target = load_breast_cancer(), "tumour: 1 is benign, 0 is malignant"
        return Table(data.data, data.target.astype(np.int32), list(data.feature_names), target)
    data = load_diabetes(scaled=False)
    target = "progression of the disease one year after baseline"
    return Table(data.data, data.target, list(data.feature_names), target)


def from_file(raw: Path, layout: Format) -> Table:
    """Read the table of one text file in folder `raw`. UserError if the file is wrong."""
    path = raw / layout.file
    values = _numbers(path, layout)
    used = [at for at, name in enumerate(layout.columns[:-1]) if name not in layout.ignored]
    target = values[:, -1]
    if layout.labels:
        for at in np.flatnonzero(~np.isin(target, layout.labels))[:1]:
            raise raw_files.wrong(path, f"{target[at]:g} is not a class", at + 1 + layout.header)
        target = (target == layout.positive).astype(np.int32)
    features = [layout.columns[at] for at in used]
    return Table(values[:, used], target, features, layout.about, layout.units)


def _numbers(path: Path, layout: Format) -> np.ndarray:
    """Return all numbers of the file, [row, column]."""
    lines = _lines(path)
    if layout.header and lines[:1] != [",".join(layout.columns)]:
        raise raw_files.wrong(path, "it does not hold the names of the columns", 1)
    first = int(layout.header)
    rows = [
        _row(path, number, line.split(layout.separator), len(layout.columns))
        for number, line in enumerate(lines[first:], first + 1)
    ]
    if len(rows) != layout.rows:
        reason = f"it ends after {len(rows)} of {layout.rows} rows"
        raise raw_files.wrong(path, reason, len(lines))
    return np.array(rows)


def _row(path: Path, number: int, fields: list[str], columns: int) -> list[float]:
    if len(fields) != columns:
        raise raw_files.wrong(path, f"{len(fields)} columns, not {columns}", number)
    try:
        row = [float(field) for field in fields]
    except ValueError as error:
        raise raw_files.wrong(path, str(error), number) from None
    if not np.isfinite(row).all():
        raise raw_files.wrong(path, "a value is missing or infinite", number)
    return row


def _lines(path: Path) -> list[str]:
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except UNREADABLE as error:
        raise raw_files.wrong(path, str(error), 1) from None
