"""The numbers that the papers print (`published.yaml`), found by what they are about."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import xarray as xr
import yaml

from shiftbench.evaluation import provenance


class Row(NamedTuple):
    """One line of a paper's table; numbers: data set -> (mean, printed spread)."""

    learner: str
    metric: str
    label: str
    numbers: dict[str, tuple[float, float]]


class Table(NamedTuple):
    """One table of a paper, about the streams of one family; rows in the paper's order."""

    paper: str
    table: str
    title: str
    family: str
    spread: str
    rows: tuple[Row, ...]


@cache
def tables() -> tuple[Table, ...]:
    """All published tables."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(
        Table(**{**entry, "rows": tuple(Row(**row) for row in entry["rows"])})
        for entry in content["tables"]
    )


def number(stream: xr.Dataset, learner: str, metric: str) -> float | None:
    """The published mean for this learner and metric on the stream's family and data set."""
    family, dataset = provenance.spec(stream)["family"], provenance.dataset(stream)
    for table in tables():
        for row in table.rows:
            about = (table.family, row.learner, row.metric)
            if about == (family, learner, metric) and dataset in row.numbers:
                return row.numbers[dataset][0]
    return None
