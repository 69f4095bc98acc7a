"""Reader of the nine UCI regression sets with the splits that papers share.

The archive of gal2016dropout has the splits of Hernandez-Lobato and Adams (2015): for each set a
table of numbers, the columns of its features and of its target, and the training and test rows of
each split. Rows count from 0 in the files.
"""

from __future__ import annotations

import io
import lzma
import tarfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.data.splits import Split
from shiftbench.data.store import raw as raw_files
from shiftbench.data.tables._table_files import Table

ARCHIVE = "UCI_Datasets.tar.xz"
UNREADABLE = (tarfile.TarError, lzma.LZMAError, EOFError)


class Source(NamedTuple):
    """Folder of a set in the archive, and name and units of its target."""

    folder: str
    target: str
    units: str = "1"


SETS = {
    "uci-boston": Source("bostonHousing", "median value of the homes", "1000 USD"),
    "uci-concrete": Source("concrete", "compressive strength", "MPa"),
    "uci-energy": Source("energy", "heating load", "kWh/m2"),
    "uci-kin8nm": Source("kin8nm", "distance of the arm's end from a point"),
    "uci-naval": Source("naval-propulsion-plant", "decay of the compressor, 1 is none"),
    "uci-power-plant": Source("power-plant", "electrical output per hour", "MW"),
    "uci-protein": Source("protein-tertiary-structure", "deviation of the structure", "0.1 nm"),
    "uci-wine": Source("wine-quality-red", "quality from 0 to 10"),
    "uci-yacht": Source("yacht", "residuary resistance per weight of the displaced water"),
}


def read(raw: Path, dataset: str) -> tuple[Table, list[Split]]:
    """Read the table of a set in folder `raw`, and its splits, in the order of the files.

    UserError if the archive is missing or damaged, a file in it has anything but numbers, or a
    split names a row that does not exist or is in both of its parts.
    """
    path, source = raw / ARCHIVE, SETS[dataset]
    files = _Files(path, _members(path, f"UCI_Datasets/{source.folder}/data/"))
    values = files.numbers("data.txt")
    features = files.positions("index_features.txt", values.shape[1], "column")
    (target,) = files.positions("index_target.txt", values.shape[1], "column")
    names = [f"column {number}" for number in features]
    table = Table(values[:, features], values[:, target], names, source.target, source.units)
    numbers = range(sum(name.startswith("index_train_") for name in files.content))
    return table, [_split(files, number, len(values)) for number in numbers]


class _Files(NamedTuple):
    """The text files of one set: content by name."""

    archive: Path
    content: dict[str, bytes]

    def numbers(self, name: str) -> np.ndarray:
        """Return the numbers of a file [line, column]."""
        if name not in self.content:
            raise self.wrong(name, "it is missing")
        try:
            values = np.loadtxt(io.BytesIO(self.content[name]), ndmin=2)
        except ValueError as error:
            raise self.wrong(name, str(error)) from None
        if not values.size or not np.isfinite(values).all():
            raise self.wrong(name, "a value is missing or infinite")
        return values

    def positions(self, name: str, size: int, what: str) -> np.ndarray:
        """Return the rows or columns that a file names, each below `size` and once."""
        values = self.numbers(name).ravel()
        for line, value in enumerate(values, 1):
            if not (0 <= value < size and value.is_integer()):
                most = f"{what}s are 0 to {size - 1}"
                raise self.wrong(
                    name, f"line {line} names {what} {value:g}, which does not exist: {most}"
                )
        if len(np.unique(values)) < len(values):
            raise self.wrong(name, f"it names a {what} twice")
        return values.astype(np.int64)

    def wrong(self, name: str, reason: str) -> UserError:
        return raw_files.wrong(self.archive, f"{name}: {reason}")


def _split(files: _Files, number: int, rows: int) -> Split:
    train, test = (
        files.positions(f"index_{part}_{number}.txt", rows, "row") for part in ("train", "test")
    )
    for row in np.intersect1d(train, test)[:1]:
        raise files.wrong(f"index_test_{number}.txt", f"row {row} is a training row as well")
    return Split(train, test)


def _members(path: Path, folder: str) -> dict[str, bytes]:
    """Return the text files in a folder of the archive, by name."""
    try:
        with tarfile.open(path, "r:xz") as archive:
            return {
                entry.name.removeprefix(folder): file.read()
                for entry in archive
                if entry.isfile() and entry.name.startswith(folder)
                if entry.name.endswith(".txt") and (file := archive.extractfile(entry))
            }
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except UNREADABLE as error:
        raise raw_files.wrong(path, str(error)) from None
