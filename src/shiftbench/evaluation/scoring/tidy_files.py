"""Read the files scores.csv, tables of `scoring.tidy`, and arrange their rows as a cube.

Separate from `scoring.tidy`, so that an edit here does not make scores of runs out of date.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.evaluation.scoring import checked_tables
from shiftbench.evaluation.scoring.tidy import COLUMNS

DIMENSIONS = ("stream", "learner", "metric", "seed")


def read(path: Path) -> pd.DataFrame:
    """Return the rows of a file scores.csv, with at least the columns of `scoring.tidy`.

    Scores keep every digit of the file; an empty one is NaN. All columns but scores and seeds are
    text. UserError for a file that cannot be read, that is damaged, or that has a score twice.
    """
    return checked_tables.read(
        path,
        "a table of scores",
        COLUMNS,
        {"seed": checked_tables.WHOLE, "score": checked_tables.NUMBER},
        filled=["status"],
        key=DIMENSIONS,
    )


def cube(rows: pd.DataFrame) -> xr.Dataset:
    """Return score [stream, method, metric, seed] and status [stream, method, seed] of a study.

    rows: of `read`; labels keep their order, and seeds are sorted. The score of a run that is not
    there is NaN, and its status "".
    """
    order = {name: pd.unique(rows[name]).astype(str) for name in DIMENSIONS[:3]}
    order["seed"] = np.sort(rows["seed"].unique())
    scores = rows.set_index([*DIMENSIONS])["score"].to_xarray().reindex(order)
    of_run = [name for name in DIMENSIONS if name != "metric"]
    words = rows.drop_duplicates(of_run).set_index(of_run)["status"].to_xarray()
    labels = {name: order[name] for name in of_run}
    status = words.reindex(labels, fill_value="").fillna("").astype(str)
    return xr.Dataset({"score": scores.astype(float), "status": status})
