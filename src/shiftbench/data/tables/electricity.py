"""The Australian electricity market in time order (Elec2): the relative price of each half-hour.

Source: li2021vbs, version of NeurIPS 2021, and its public code (real_data). The target is the share
of the 48 half-hours before in which the price was lower, as log-odds, -4 and 4 at its ends.
Features are the weekday, one of seven, and the seven numbers of the file; learners add a constant.
The first 4,049 rows are left out: 48 have no such share, and the authors begin later. That leaves
41,263 tasks of one row; no rows precede the first task.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import Ge

from shiftbench.core import log_odds
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.data.store import raw as raw_files
from shiftbench.data.tables import _table_tasks, _user_table
from shiftbench.data.tables._table_tasks import problem as problem
from shiftbench.data.tables._table_tasks import task as task
from shiftbench.data.tables._table_tasks import training_rows as training_rows

FACTS = Facts(
    gives=("number", "one-row", "unknown-truth", "log-odds"),
    ahead={"features are scaled by the whole table, in the file itself": True},
)

FILE = "electricity-normalized.csv.xz"
NUMBERS = ("period", "date", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
WINDOW, LEFT_OUT, WEEKDAYS = 48, 49 + 4000, 7


@dataclass(frozen=True)
class Settings:
    dataset: Literal["elec2"] = "elec2"
    """Name of the data in the table of raw data."""
    rows: Annotated[int, Ge(0)] = 0
    """Number of tasks, the first ones; 0: all."""


def build(settings: Settings, raw: Path) -> xr.Dataset:
    """Return the store; see `_table_tasks`. UserError if the raw file is wrong or too short."""
    table = _user_table.read(Path(raw) / FILE, ("day", *NUMBERS)).numbers
    available = len(table) - LEFT_OUT
    if settings.rows > available:
        raise UserError(
            f"Stream electricity: rows is {settings.rows}, but {settings.dataset} has {available}"
            f" after the first {LEFT_OUT}, which are not used. Lower rows; 0 takes all."
        )
    weekday, others = np.eye(WEEKDAYS)[table[:, 0].astype(int) - 1], table[:, 1:]
    target = log_odds.of_share(_share_below(others[:, NUMBERS.index("nswprice")]))
    chosen = slice(LEFT_OUT, LEFT_OUT + settings.rows if settings.rows else None)
    rows = _table_tasks.Rows(
        np.hstack([weekday, others])[chosen],
        target[chosen],
        [*(f"weekday {number}" for number in range(1, WEEKDAYS + 1)), *NUMBERS],
        input_units="1",
        target_units="log-odds",
    )
    size = len(rows.target)
    train, none = np.arange(size).reshape(1, size, 1), np.empty((1, size, 0), int)
    attrs = {
        **raw_files.table()[settings.dataset].attributes(),
        "scaling": "features by the whole table, in the file itself",
        "change": "none",
        "truth": "unknown",
    }
    return _table_tasks.store(rows, (train, none, none), np.zeros((1, size), bool), attrs)


def _share_below(price: np.ndarray) -> np.ndarray:
    """Return the share of the 48 half-hours before with a lower price [row]; 0 if unknown."""
    before = np.lib.stride_tricks.sliding_window_view(price, WINDOW)[:-1]
    below = (before < price[WINDOW:, np.newaxis]).mean(axis=1)
    return np.append(np.zeros(WINDOW), below)
