"""The numbers that the papers print (`published.yaml`), found by what they are about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import xarray as xr
import yaml

from shiftbench.planning import provenance


class Row(NamedTuple):
    """One line of a paper's table.

    numbers: data set -> (mean, printed spread or NaN); quoted: where the paper has them from,
    empty for what it measured itself.
    """

    learner: str
    metric: str
    label: str
    numbers: dict[str, tuple[float, float]]
    quoted: str = ""


class Table(NamedTuple):
    """One table of a paper, about the streams of one family; rows in the paper's order.

    where: settings that a stream must have for the numbers to be about it.
    """

    paper: str
    table: str
    title: str
    family: str
    spread: str
    rows: tuple[Row, ...]
    where: Mapping[str, Any] = MappingProxyType({})


@cache
def tables() -> tuple[Table, ...]:
    """All published tables."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(
        Table(**{**entry, "rows": tuple(Row(**row) for row in entry["rows"])})
        for entry in content["tables"]
    )


def row(stream: xr.Dataset, learner: str, metric: str) -> Row | None:
    """The published row for this learner and metric on the stream's family and data set."""
    spec, dataset = provenance.spec(stream), provenance.dataset(stream)
    for table in tables():
        if table.family != spec["family"] or not table.where.items() <= spec["settings"].items():
            continue
        for found in table.rows:
            if (found.learner, found.metric) == (learner, metric) and dataset in found.numbers:
                return found
    return None


def number(stream: xr.Dataset, learner: str, metric: str) -> float | None:
    """The published mean for this learner and metric on the stream's family and data set."""
    found, dataset = row(stream, learner, metric), provenance.dataset(stream)
    return None if found is None or dataset is None else found.numbers[dataset][0]
