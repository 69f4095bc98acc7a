"""The numbers that papers print (paper_numbers.yaml), for a method on a paper's stream.

A number is shown beside ours where the study has the method of that name under the paper's
protocol: the stream's family, data set and settings. Where a study trains on less than `LEAST` of
what the paper trains on, the number is withheld, and the reason stands in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import xarray as xr
import yaml

from shiftbench.config import provenance

LEAST = 0.05
"""Share of the paper's training below which a number is withheld."""


class PaperRow(NamedTuple):
    """One line of a paper's table.

    numbers: data set -> (mean, printed spread or NaN); quoted: where the paper has them from,
    empty for what it measured itself; epochs: passes over each task, None where neither paper nor
    public code says how many.
    """

    method: str
    metric: str
    label: str
    numbers: dict[str, tuple[float, float]]
    quoted: str = ""
    epochs: float | None = None


class PaperTable(NamedTuple):
    """One table of a paper, about the streams of one family; rows in the paper's order.

    where: settings that a stream must have for the numbers to be about it. trained: data set ->
    training rows of all tasks together, in the paper.
    """

    paper: str
    table: str
    title: str
    family: str
    spread: str
    rows: tuple[PaperRow, ...]
    trained: Mapping[str, int]
    where: Mapping[str, Any] = MappingProxyType({})


class PaperNumber(NamedTuple):
    """A printed number: mean, spread or NaN, and where the paper has it from.

    share: our training rows times epochs as a share of the paper's, at most 1; rows alone where
    its epochs are unknown.
    """

    mean: float
    spread: float
    quoted: str
    share: float

    @property
    def shown(self) -> float | None:
        """The mean; None where it is withheld."""
        return self.mean if self.share >= LEAST else None

    @property
    def note(self) -> str:
        """A note on what differs; empty where the training is the paper's."""
        if self.share >= 1:
            return ""
        words = f"{self.share:.2g} of the paper's training"
        return words if self.shown is not None else f"withheld: {words}, less than {LEAST:g}"


@cache
def tables() -> tuple[PaperTable, ...]:
    """Return all published tables."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    content = yaml.load(text, yaml.CSafeLoader)  # in C: most jobs that train nothing read this
    return tuple(
        PaperTable(**{**entry, "rows": tuple(PaperRow(**row) for row in entry["rows"])})
        for entry in content["tables"]
    )


def number(
    stream: xr.Dataset, run: xr.Dataset, method: str | None, metric: str
) -> PaperNumber | None:
    """Return what a paper prints for a method and metric on a run's stream, or None."""
    dataset = provenance.dataset(stream)
    for table in about(stream):
        for row in table.rows:
            if (row.method, row.metric) == (method, metric) and dataset in row.numbers:
                mean, spread = row.numbers[dataset]
                share = _share(stream, run, table.trained[dataset], row.epochs)
                return PaperNumber(mean, spread, row.quoted, share)
    return None


def share(stream: xr.Dataset, run: xr.Dataset, paper: str, method: str) -> float:
    """Return our share of what a paper trains a method on, at most 1.

    The share of its rows alone where its epochs are unknown, and 1 for a stream that it does not
    have. On another data set, the share of the data set on which the paper trains least.
    """
    dataset = provenance.dataset(stream)
    of_paper = [table for table in about(stream) if table.paper == paper]
    tables = [table for table in of_paper if dataset in table.trained] or of_paper
    of_method = [
        (table, row.epochs) for table in tables for row in table.rows if row.method == method
    ]
    for table, epochs in (*of_method, *((table, None) for table in tables)):
        trained = table.trained.get(str(dataset), min(table.trained.values()))
        return _share(stream, run, trained, epochs)
    return 1.0


def about(stream: xr.Dataset) -> list[PaperTable]:
    """Return the tables on streams of this family and with these settings."""
    spec = provenance.spec(stream)
    return [
        table
        for table in tables()
        if table.family == spec["family"] and table.where.items() <= spec["settings"].items()
    ]


def _share(stream: xr.Dataset, run: xr.Dataset, trained: int, epochs: float | None) -> float:
    problem = provenance.reader(stream).problem(stream)
    share = problem.n_train * problem.n_tasks / trained
    if epochs is not None:
        share *= _epochs(run) / epochs
    return min(share, 1.0)


def _epochs(run: xr.Dataset) -> float:
    """Return the passes over a task; 1 for learners without such a setting."""
    pipeline = provenance.spec(run)["learner"]
    return max([settings.get("epochs", 1) for _, settings in pipeline])
