"""Read the files scores.csv, tables of `scoring.tidy`, and arrange their rows as a cube.

This is no part of `scoring.tidy`: an edit here makes no scores of runs out of date.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config.compatibility_words import listed
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring.tidy import COLUMNS

DIMENSIONS = ("stream", "learner", "metric", "seed")
WHOLE = "whole number"
LARGEST_SEED = 2**53
"""The whole numbers up to it are exact."""


def read(path: Path) -> pd.DataFrame:
    """Return the rows of a file scores.csv, with at least the columns of `scoring.tidy`.

    seed: whole numbers; score: exactly the numbers that were written, NaN where there is none. All
    else is text: a learner may be called "nan". UserError for a file that cannot be read, that is
    damaged, or that has a score twice.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    except ValueError as error:  # of pandas, or another encoding
        raise _damaged(path, str(error)) from None
    _refuse_incomplete(path, table)
    for name, kind in (("seed", WHOLE), ("score", "number")):
        table[name] = _numbers(path, table[name], kind)
    if (twice := table.duplicated([*DIMENSIONS])).any():
        raise _damaged(path, f"line {int(twice.argmax()) + 2}: a line above has the same labels")
    return table.astype({"seed": int})


def cube(rows: pd.DataFrame) -> xr.Dataset:
    """Return score [stream, learner, metric, seed] and status [stream, learner, seed] of a study.

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


def _refuse_incomplete(path: Path, table: pd.DataFrame) -> None:
    """Raise UserError for a table without a column or a row, and for lines of another length."""
    if lacking := [name for name in COLUMNS if name not in table]:
        raise _damaged(path, f"no column {listed(lacking)}")
    if table.empty:
        raise _damaged(path, "no row")
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes the first columns for labels
        raise _damaged(path, "its lines have more fields than the first one")
    if (cut := table["status"] == "").any():
        raise _damaged(path, f'line {int(cut.argmax()) + 2}, column "status": it is empty')


def _numbers(path: Path, texts: pd.Series, kind: str) -> list[float]:
    """Return texts as numbers, NaN for an empty score. UserError for one that is not of a kind."""
    numbers = [_number(text) for text in texts]
    for place, (text, number) in enumerate(zip(texts, numbers, strict=True)):
        if kind == WHOLE:
            fits = number % 1 == 0 and abs(number) <= LARGEST_SEED
        else:
            fits = not (text and math.isnan(number))
        if not fits:
            what = f'line {place + 2}, column "{texts.name}": "{text}" is not a {kind}'
            raise _damaged(path, what)
    return numbers


def _number(text: str) -> float:
    """Return the number in a text, exactly; NaN for any other text."""
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(
        f"{path} is not a table of scores ({reason}); restore it, or delete it and run the"
        " workflow again"
    )
