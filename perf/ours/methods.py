"""A training step of a method of the catalogue, with its own settings, on one network.

It is of the second task, in which a method has a memory, a prior and a teacher.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from perf import problems
from perf.work import Work
from shiftbench.config import components, config_file
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Problem
from shiftbench.evaluation.running.pipeline import assemble

CASE = problems.WIDE
CONFIG = """\
studies:
  steps:
    title: Steps
    streams: {{digits: {{family: permuted-images, dataset: digits}}}}
    seeds: 1
    metrics: [accuracy]
    artefacts: [score-table]
    model: {{mlp: {{hidden: [100, 100]}}}}
    methods: [{method}]
"""


def steps(method: str, epochs: tuple[int, int]) -> Work:
    """Steps of some epochs less those of a few, so the end of a task does not count."""
    few, many = (_observing(method, number) for number in epochs)
    return Work(many, (epochs[1] - epochs[0]) * -(-CASE.rows // CASE.batch), few)


def _observing(method: str, epochs: int) -> Callable[[], object]:
    problem = Problem("classification", CASE.inputs, 10, CASE.rows, 2)
    *outer, (name, settings) = _pipeline(method)
    fields = components.fields("learners", name)
    length = {"epochs": epochs, "batch_size": CASE.batch}
    trained = (name, settings | {key: length[key] for key in length if key in fields})
    model = ("mlp", {"hidden": list(CASE.hidden or ())})
    learner = assemble([*outer, trained], model, problem)
    inputs, labels = problems.rows_of(CASE)
    batch = Batch(inputs, labels, labels == labels)
    key = seeding.block(range(CASE.seeds), "perf")
    before, _ = learner.observe(learner.init(key), batch, key)
    return partial(learner.observe, before, batch, key)


def _pipeline(method: str) -> list[tuple[str, dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "steps.yaml")
        file.write_text(CONFIG.format(method=method))
        return config_file.load(file).studies["steps"].pipelines[method]
