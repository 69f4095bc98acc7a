"""Our share of what a paper trains on, which decides whether claims get verdicts.

The share is the product of three shares: of the training rows of the tasks, of the passes over
them, and of the weights of the network. Each is at most 1, so that none makes up for another. Below
`LEAST` there is no verdict. paper_training.yaml has the training of the papers. The share is
computed from settings alone, without a store, so that published scores can be judged again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import Field, TypeAdapter

from shiftbench.config import stream_sizes
from shiftbench.config.base_model import Model
from shiftbench.config.claim_schema import alternatives
from shiftbench.config.spec_files import Spec
from shiftbench.core import shapes
from shiftbench.core.interface import Problem

LEAST = 0.25
"""Share of a paper's training below which there is no verdict."""
WHOLE_TABLES = {"digits": 1797}
"""Rows of data sets that streams use as tables; raw_files.yaml counts their training images."""
ANY = "all"
"""Stands for any data set or any method."""


class PaperTraining(Model):
    """Training of one experiment of a paper; `paper_training.yaml` explains each key."""

    place: str
    family: str | list[str]
    where: dict[str, Any] = Field(default_factory=dict)
    metrics: list[str] = Field(default_factory=list)
    rows: dict[str, int | Literal["whole"]] = Field(default_factory=dict)
    epochs: dict[str, float] = Field(default_factory=dict)
    weights: int | dict[str, int] | None = None
    untrained: bool = False


class OurTraining(NamedTuple):
    """Training of a method in a study: stream, pipeline and model, in the form of specs."""

    stream: Spec
    pipeline: Sequence[Sequence[Any]]
    model: Sequence[Any] | None


@cache
def works() -> dict[str, list[PaperTraining]]:
    """Return the training of each work by its key."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, list[PaperTraining]]).validate_python(
        yaml.load(text, yaml.CSafeLoader)
    )


def find(work: str, stream: Spec, metric: str) -> PaperTraining | None:
    """Return what a work trains on in the experiment that a stream is about; None if unknown."""
    for entry in works().get(work, []):
        fits = all(
            stream["settings"].get(key) in alternatives(wanted)
            for key, wanted in entry.where.items()
        )
        about = not entry.metrics or metric in entry.metrics
        if stream["family"] in alternatives(entry.family) and fits and about:
            return entry
    return None


def share(work: str, method: str, metric: str, ours: OurTraining) -> float | None:
    """Return our share of what a work trains a method on, from 0 to 1; None if it is unknown."""
    paper = find(work, ours.stream, metric)
    if paper is None:
        return None
    factors = [_of_weights(paper, ours)]
    if not paper.untrained:
        factors += [_of_rows(paper, ours.stream), _of_passes(paper, method, ours)]
    return None if None in factors else math.prod(min(one, 1.0) for one in factors if one)


def _of_rows(paper: PaperTraining, stream: Spec) -> float | None:
    dataset = str(stream["settings"].get("dataset"))
    numbers = [rows for rows in paper.rows.values() if isinstance(rows, int)]
    trained = paper.rows.get(dataset, paper.rows.get(ANY, min(numbers, default=None)))
    if trained is None:
        return None
    return _rows(stream) / trained if isinstance(trained, int) else 1.0


def _rows(stream: Spec) -> int:
    """Return the training rows of all tasks together; a table that is repeated counts once."""
    sizes, given = stream_sizes.of_stream(stream), stream["settings"]
    if stream["family"] == "table-splits":
        rows = WHOLE_TABLES.get(given["dataset"], sizes.rows)
        held_out = 0.0 if given["dataset"].startswith("uci-") else given.get("test_share", 0.2)
        return round(rows * (1 - held_out)) - given.get("validation", 0)
    if "rows_per_task" in given:  # the rows are values of a series, however many are in a task
        return sizes.tasks
    return sizes.tasks * sizes.rows


def _of_passes(paper: PaperTraining, method: str, ours: OurTraining) -> float:
    """Return the share of passes over the rows; 1 where the paper does not say how many."""
    epochs = paper.epochs.get(method, paper.epochs.get(ANY))
    passes = max(settings.get("epochs", 1) for _, settings in ours.pipeline)
    return 1.0 if epochs is None else passes * ours.stream["settings"].get("repeats", 1) / epochs


def _of_weights(paper: PaperTraining, ours: OurTraining) -> float | None:
    """Return the share of the weights; 1 where the paper is about no network."""
    weights = paper.weights
    if isinstance(weights, dict):
        weights = weights.get(str(ours.stream["settings"].get("dataset")), min(weights.values()))
    if weights is None:
        return 1.0
    trained = _weights(ours)
    return None if trained is None else trained / weights


def _weights(ours: OurTraining) -> int | None:
    """Return the weights of our network, or the numbers of all word vectors; None without any."""
    if "vocabulary_size" in ours.stream["settings"]:
        dimension = max(settings.get("dimension", 0) for _, settings in ours.pipeline)
        return int(ours.stream["settings"]["vocabulary_size"] * dimension)
    if ours.model is None:
        return None
    name, settings = ours.model
    sizes = stream_sizes.of_stream(ours.stream)
    shape = sizes.image_shape if "filters" in settings else (sizes.inputs,)
    kind: Literal["classification", "regression"] = (
        "classification" if sizes.outputs > 1 else "regression"
    )
    problem = Problem(kind, shape, sizes.outputs, sizes.rows, sizes.tasks)
    return shapes.describe(name, settings, problem).size
