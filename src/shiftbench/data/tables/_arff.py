"""Reader of the Messidor features: an ARFF file of numbers, the class in the last column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.io import arff

from shiftbench.data.store import raw as raw_files
from shiftbench.data.tables._table_files import Table

FILE = "messidor_features.arff"
FEATURES = (
    "quality", "pre-screening",
    *(f"microaneurysms {level}" for level in range(1, 7)),
    *(f"exudates {level}" for level in range(1, 9)),
    "distance of macula and optic disc", "diameter of the optic disc", "AM/FM",
)  # fmt: skip
"""In the order of the columns, as the UCI repository describes them."""


def messidor(raw: Path) -> Table:
    """Read the 19 features of each image, and whether it has signs of diabetic retinopathy.

    UserError if the file in folder `raw` is missing or has other content.
    """
    path = raw / FILE
    try:
        columns, _ = arff.loadarff(path)
        values = np.array([columns[name] for name in columns.dtype.names]).T.astype(float)
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except (arff.ArffError, ValueError, StopIteration, NotImplementedError, IndexError) as error:
        raise raw_files.wrong(path, str(error)) from None
    if values.shape[1] != len(FEATURES) + 1:
        raise raw_files.wrong(path, f"{values.shape[1]} columns, not {len(FEATURES) + 1}")
    label = values[:, -1]
    for row in np.flatnonzero(~np.isin(label, (0, 1)))[:1]:
        raise raw_files.wrong(path, f"row {row + 1} of the data: {label[row]:g} is not a class")
    for row in np.flatnonzero(~np.isfinite(values).all(axis=1))[:1]:
        raise raw_files.wrong(path, f"row {row + 1} of the data: a value is missing or infinite")
    target = "eye: 1 has signs of diabetic retinopathy, 0 has none"
    return Table(values[:, :-1], label.astype(np.int32), list(FEATURES), target)
