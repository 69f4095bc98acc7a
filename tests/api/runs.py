"""Small streams in files, and runs of the harness on them to compare the library with."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from shiftbench.api.definition import Definition
from shiftbench.api.online_method import OnlineMethod
from shiftbench.config import components
from shiftbench.core.interface import State
from shiftbench.evaluation.running import build_run, harness, run_state
from shiftbench.evaluation.running.cost import Meter

ROWS, TASK = 7, 6
"""The number of tasks in a stream, and of rows in a task with several."""
KEY = ("study", "stream", "method")


class Done(NamedTuple):
    """The last state of a run of the harness; scores and infos by task [1, task, ...]."""

    state: State
    records: dict[str, np.ndarray]


class Stream(NamedTuple):
    """A stream as the harness reads it, with its rows as users have them.

    x: [n, features], or None. y: [n]. classes: labels, None for real values.
    """

    family: str
    store: xr.Dataset
    metric: str
    x: np.ndarray | None
    y: np.ndarray
    classes: int | None
    rows: int = 1


def streams(folder: Path) -> dict[str, Stream]:
    """Return a stream for each kind of problem that rows from Python can have."""
    numbers = np.random.default_rng(0)
    x, n = numbers.normal(size=(ROWS * TASK, 3)), ROWS * TASK
    level = numbers.normal(size=n) + np.where(np.arange(n) > 3, 4.0, 0.0)
    label = (x[:, 0] > 0).astype(int)
    three = np.where(x[:, 1] > 0.5, 2, label)
    table = partial(_table, folder, x)
    return {
        "number": table(level[:ROWS], None),
        "two-classes": table(label[:ROWS], 2),
        "classes": table(np.array([0, 1, 2, 0, 2, 1, 0]), 3),
        "value": _series("toy-step", _built("toy-step", None, realisations=1, points=ROWS)),
        "design": _series("series-file", _built("series-file", _written(folder, level[:ROWS]))),
        "tasks of classes": table(three, 3, TASK),
        "tasks of numbers": table(level, None, TASK),
    }


def _built(family: str, path: Path | None, **settings: Any) -> xr.Dataset:
    module = components.load("streams", family)
    own = {"path": str(path)} if path else {}
    return module.build(module.Settings(**own, **settings), path or Path())


def _table(
    folder: Path, x: np.ndarray, y: np.ndarray, classes: int | None, rows: int = 1
) -> Stream:
    path, x = folder / f"{classes}-{rows}.csv", x[: len(y)]
    of_file = y if classes is None else [f"c{one}" for one in y]
    rows_of_file = zip(x.tolist(), of_file, strict=True)
    lines = [",".join([*map(repr, row), str(target)]) for row, target in rows_of_file]
    path.write_text("\n".join(["a,b,c,target", *lines]) + "\n")
    kind = {None: "number", 2: "two-classes"}.get(classes, "classes")
    given = {"kind": kind, "rows_per_task": rows, "scaling": "none", "target_scaling": "none"}
    store = _built("table-file", path, target="target", **given)
    metric = "absolute_error" if classes is None else "prequential_error"
    return Stream("table-file", store, metric, x, y, classes, rows)


def _written(folder: Path, y: np.ndarray) -> Path:
    """Write values to a file of a series; return its path."""
    path = folder / "series.csv"
    path.write_text("\n".join(["value", *map(repr, y.tolist())]) + "\n")
    return path


def _series(family: str, store: xr.Dataset) -> Stream:
    """Return a stream with the values as learners see them, which a store may have scaled."""
    task = components.load("streams", family).task
    tasks = range(store.sizes["task"])
    y = np.concatenate([task(store, [0], t).train.targets[0, :, 0] for t in tasks])
    return Stream(family, store, "absolute_error", None, y, None)


def of_harness(definition: Definition, stream: Stream) -> Done:
    """Run a method on a stream by the harness, task by task."""
    spec = {
        "study": KEY[0],
        "stream": {"name": KEY[1], "family": stream.family},
        "method": KEY[2],
        "learner": [list(item) for item in definition.pipeline],
        "model": definition.model and list(definition.model),
        "seeds": [0, 0],
        "reveals": [],
        "drift": "before-prediction",
        "metrics": [stream.metric],
    }
    run = build_run.run(spec, stream.store)
    now, meter = harness.start(run), Meter()
    while now.next_task < run.problem.n_tasks and not all(now.failures):
        now = harness.advance(run, now, meter)
    assert now.failures == [""]
    return Done(now.state, run_state.joined(now.records))


def of_library(definition: Definition, stream: Stream) -> OnlineMethod:
    """Return a method of the library with the seeds of `of_harness`."""
    tasks = stream.store.sizes["task"]
    return OnlineMethod(definition, classes=_labels(stream), tasks=tasks, key=KEY)


def _labels(stream: Stream) -> list[int] | None:
    return None if stream.classes is None else list(range(stream.classes))


def learnt(method: OnlineMethod, stream: Stream) -> list[Any]:
    """Learn a stream task by task; return the prediction before each."""
    predicted = []
    for first in range(0, len(stream.y), stream.rows):
        part = slice(first, first + stream.rows)
        x, y = None if stream.x is None else stream.x[part], stream.y[part]
        if method.tasks_done == 0:
            predicted.append(None)
        elif stream.rows == 1:
            predicted.append(method.predict_one(None if x is None else x[0]))
        else:
            predicted.append(method.predict_many(x))
        if stream.rows == 1:
            method.learn_one(None if x is None else x[0], y[0])
        else:
            method.learn_many(x, y)
    return predicted
