"""The numbers that papers print (paper_numbers.yaml), for a method on a paper's stream.

A number is shown beside ours where the study has the method of that name under the paper's
protocol: the stream's family, data set and settings. A note says which share of the paper's
training a study has, as computed by `config.paper_training`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import xarray as xr
import yaml

from shiftbench.config import paper_training, provenance
from shiftbench.config.paper_training import LEAST, OurTraining
from shiftbench.config.spec_files import Spec


class PaperRow(NamedTuple):
    """One line of a paper's table.

    numbers: data set -> (mean, printed spread or NaN); quoted: where the paper has them from,
    empty for what it measured itself.
    """

    method: str
    metric: str
    label: str
    numbers: dict[str, tuple[float, float]]
    quoted: str = ""


class PaperTable(NamedTuple):
    """One table of a paper, about the streams of one family; rows in the paper's order.

    where: settings that a stream must have for the numbers to be about it.
    """

    paper: str
    table: str
    title: str
    family: str
    spread: str
    rows: tuple[PaperRow, ...]
    where: Mapping[str, Any] = MappingProxyType({})


class PaperNumber(NamedTuple):
    """A printed number: mean, spread or NaN, and where the paper has it from.

    share: of the paper's training, see `share`.
    """

    mean: float
    spread: float
    quoted: str
    share: float | None

    @property
    def comparable(self) -> bool:
        """Whether we train on enough of what the paper trains on for a verdict."""
        return self.share is not None and self.share >= LEAST

    @property
    def note(self) -> str:
        """A note on what differs; empty where the training is the paper's."""
        if self.share is None:
            return "an unknown share of the paper's training"
        return "" if self.share >= 1 else f"{self.share:.2g} of the paper's training"


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

    def ours(paper: str) -> float | None:
        return share(stream, run, paper, str(method), metric)

    return on_stream(provenance.spec(stream), method, metric, ours)


def on_stream(
    stream: Spec, method: str | None, metric: str, share_of: Callable[[str], float | None]
) -> PaperNumber | None:
    """Return what a paper prints for a method and metric on a stream, given its spec, or None.

    share_of: returns our share of the training of a paper, given its key.
    """
    dataset = stream["settings"].get("dataset")
    for table in _about(stream):
        for row in table.rows:
            if (row.method, row.metric) == (method, metric) and dataset in row.numbers:
                return PaperNumber(*row.numbers[dataset], row.quoted, share_of(table.paper))
    return None


def share(
    stream: xr.Dataset, run: xr.Dataset, paper: str, method: str, metric: str
) -> float | None:
    """Return our share of what a paper trains a method on; None if it is unknown."""
    spec = provenance.spec(run)
    ours = OurTraining(provenance.spec(stream), spec["learner"], spec.get("model"))
    return paper_training.share(paper, method, metric, ours)


def about(stream: xr.Dataset) -> list[PaperTable]:
    """Return the tables on streams of this family and with these settings."""
    return _about(provenance.spec(stream))


def _about(stream: Spec) -> list[PaperTable]:
    return [
        table
        for table in tables()
        if table.family == stream["family"] and table.where.items() <= stream["settings"].items()
    ]
