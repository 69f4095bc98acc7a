"""The rows and numbers that methods keep, from their pipelines and stream."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.evaluation.scoring import kept_rows
from tests.evaluation.scoring import continual_stores

TASKS, ROWS = 5, 600
STORE = continual_stores.stream(tasks=TASKS, rows=ROWS)
MAP = ["map", {"epochs": 1}]
OF_ROW = 1 + 1
"""The numbers per row: the single pixel of the stream's images, and the label."""


def run_of(*pipeline):
    """Return a run of a method with two seeds."""
    accuracies = np.where(np.tri(TASKS) > 0, 0.9, np.nan)
    run = continual_stores.run(STORE, "joint", np.stack([accuracies] * 2))
    spec = json.loads(run.attrs["spec"]) | {"learner": [list(part) for part in pipeline]}
    return run.assign_attrs(spec=json.dumps(spec))


@pytest.mark.parametrize(
    ("pipeline", "rows", "of_row"),
    [
        ([MAP], 0, 0),
        ([["coreset", {"size": 20, "method": "random"}], MAP], 100, OF_ROW),
        ([["coreset", {"size": 500, "method": "random"}], MAP], TASKS * ROWS // 2, OF_ROW),
        ([["rehearsal", {"size": 20}]], 100, OF_ROW),
        ([["rehearsal", {"size": 20, "memory": "reservoir"}]], 100, OF_ROW),
        ([["rehearsal", {"size": 20, "loss": "der++"}]], 100, OF_ROW + 10),
        ([["joint", {"capacity": 0}], MAP], TASKS * ROWS, OF_ROW),
    ],
)
def test_rows_and_numbers_follow_from_the_pipeline(pipeline, rows, of_row):
    run = run_of(*pipeline)
    for name, expected in (("memory_rows", rows), ("memory_numbers", rows * of_row)):
        score = components.load_metric(name).score(run, STORE)
        assert score.tolist() == [expected] * 2
    assert kept_rows.of_run(run, STORE).partial == (0 < rows < TASKS * ROWS)


def test_methods_that_differ_in_the_size_of_their_memory_alone_are_one():
    small, large = (run_of(["rehearsal", {"size": size, "loss": "er"}]) for size in (5, 20))
    other = run_of(["rehearsal", {"size": 20, "loss": "a-gem"}])
    assert kept_rows.without_size(small) == kept_rows.without_size(large)
    assert kept_rows.without_size(large) != kept_rows.without_size(other)
    slow, fast = (run_of(["rehearsal", {"size": 5, "learning_rate": r}]) for r in (0.01, 0.1))
    assert kept_rows.without_size(slow) != kept_rows.without_size(fast)
    tried = {"rehearsal.learning_rate"}
    assert kept_rows.without_size(slow, tried) == kept_rows.without_size(fast, tried)
    # For a component without a memory, the size counts.
    ensembles = (kept_rows.without_size(run_of(["ensemble", {"size": n}], MAP)) for n in (3, 5))
    assert next(ensembles) != next(ensembles)
