"""Runs one learner on one stream, for a block of seeds side by side.

The harness owns the order: time update, predict, reveal, observe, predict. A learner is
never given targets that it has not predicted, nor anything that the protocol keeps back.
Scores are taken of the prediction before a task is observed (prequential) or after, on
the task's test data, as each metric says.

A run can be stopped at any time (SIGTERM, 90 % of the time limit, kill -9) and goes on
from the last task that was saved. All randomness is folded from names and numbers, so
the result is the same to the last byte.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import time
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench import _instructions
from shiftbench import seeds as seeding
from shiftbench.combinators._without_rows import unmoved
from shiftbench.interface import (
    Context,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
    Task,
    part,
    prefixed,
)
from shiftbench.planning import components
from shiftbench.running.cost import Meter, versions
from shiftbench.running.progress import Progress
from shiftbench.store import checkpoint

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_CHECKPOINTS = 1.0
SHARE_OF_CHECKPOINTS = 0.05
"""A checkpoint that took a second, as of ten thousands of tasks, is next made in 20 seconds."""
SHARE_OF_TIME_LIMIT = 0.9


class Stopped(Exception):
    """The run was told to stop, and is saved; running it again goes on from there."""


class Records(NamedTuple):
    """What was found in some tasks, on top of what was found before them.

    found: name -> [S, tasks, ...]. A chain and not one array: 20,000 tasks would be copied
    20,000 times; and not a list that grows in place: a signal may come in the middle of a task.
    """

    before: Records | None
    found: dict[str, np.ndarray]


class Position(NamedTuple):
    """Where a run stands: all that the next task depends on, and all that was found so far.

    next_task: the task to come (-1: the warm-up). failures: one reason a seed, empty while it
    is well.
    """

    next_task: int
    state: State
    records: Records | None
    failures: list[str]


def run_job(
    spec: dict,
    stream: xr.Dataset | xr.DataTree,
    scratch: Path,
    minutes: float,
    threads: int = 1,
) -> tuple[xr.Dataset, dict]:
    """The run's store and its cost. Raises Stopped when it has to end before it is done.

    spec: see planning/specs.py. scratch: folder of the checkpoint, keyed by the spec's
    digest; it survives this process and is removed when the run is complete.
    """
    started = time.monotonic()
    os.environ["SHIFTBENCH_THREADS"] = str(threads)
    experiment = Experiment(spec, stream)
    position, meter = _resume(experiment, scratch)
    progress = Progress(experiment.name, experiment.problem.n_tasks, position.next_task)
    due = time.monotonic() + SECONDS_BETWEEN_CHECKPOINTS
    received = _catch_signals()
    try:
        while position.next_task < experiment.problem.n_tasks and not all(position.failures):
            position = experiment.advance(position, meter)
            progress.advance(experiment.note(position))
            if time.monotonic() - started > SHARE_OF_TIME_LIMIT * 60 * minutes:
                raise Stopped(f"{SHARE_OF_TIME_LIMIT:.0%} of the limit of {minutes:g} min is over")
            if (now := time.monotonic()) > due:
                _save(scratch, position, meter)
                took = time.monotonic() - now
                due = now + max(SECONDS_BETWEEN_CHECKPOINTS, took / SHARE_OF_CHECKPOINTS)
    except Stopped as stop:
        _save(scratch, position, meter)
        # TensorFlow wraps what is raised in the middle of a trace, and hides why.
        raise Stopped(received[0] if received else str(stop)) from None
    finally:
        progress.close()
    return experiment.store(position), meter.reading()


class Experiment:
    """The parts of a run, put together from its spec: stream, learner, metrics, seeds."""

    def __init__(self, spec: dict, stream: xr.Dataset | xr.DataTree) -> None:
        self.spec, self.stream = spec, stream
        self.labels = stream if isinstance(stream, xr.Dataset) else stream.to_dataset()
        self.name = f"{spec['study']}/{spec['stream']['name']}/{spec['variant']}"
        self.reader = components.load("streams", spec["stream"]["family"])
        self.problem: Problem = self.reader.problem(stream)
        self.looks_back = hasattr(self.reader, "test")
        first, last = spec["seeds"]
        self.numbers = list(range(first, last + 1))
        realisations = stream.sizes["realisation"]
        self.realisations = [number % realisations for number in self.numbers]
        key = (spec["study"], spec["stream"]["name"], spec["variant"])
        self.seeds = seeding.block(self.numbers, *key)
        self.metrics: dict[str, ModuleType] = {
            name: components.load("metrics", name) for name in spec["metrics"]
        }
        self.refused = ""
        try:
            self.learner = assemble(spec["learner"], spec["model"], self.problem)
        except LearnerError as error:
            self.refused = f"LearnerError: {error}"
            log.error("%s: %s", self.name, error)
        self.needs = {
            need
            for kind, name in _kinds(spec["learner"])
            for need in components.constant(kind, name, "NEEDS", ())
        }

    def start(self) -> Position:
        """The position before the first task; all seeds failed if the learner is refused."""
        if self.refused:
            return Position(0, {}, None, [self.refused] * len(self.numbers))
        warm_up = int(self.stream.attrs["warm_up"])
        state = self.learner.init(seeding.fold_each(self.seeds, "init"))
        return Position(-warm_up, state, None, [""] * len(self.numbers))

    def advance(self, position: Position, meter: Meter) -> Position:
        """One task: drift, predict, reveal, observe, predict; pure in the position."""
        t = position.next_task
        task = self.reader.task(self.stream, self.realisations, t)
        failures = list(position.failures)
        try:
            state, scores, info = self._learn(position.state, task, t, meter)
        except (LearnerError, ArithmeticError) as error:
            log.error("%s: task %d\n%s", self.name, t, traceback.format_exc())
            reason = f"{type(error).__name__} at task {t}: {error}"
            return position._replace(failures=[old or reason for old in failures])
        broken = _not_finite(state, self._judged(scores, task))
        for s in np.flatnonzero(broken.any):
            if not failures[s]:
                failures[s] = f"{broken.where[s]} not finite after task {t}; {REMEDY}"
                log.error("%s: seed %d failed: %s", self.name, self.numbers[s], failures[s])
        if t < 0:
            learnt = {f"{WARM_UP}{k}": np.asarray(values)[:, None] for k, values in info.items()}
            return Position(t + 1, state, Records(None, learnt), failures)
        well = np.array([not reason for reason in failures])
        found = {
            name if name.startswith(TESTED) else f"score/{name}": np.where(well, values.T, np.nan).T
            for name, values in scores.items()
        }
        found |= {f"info/{name}": np.asarray(values) for name, values in info.items()}
        records = Records(position.records, {k: values[:, None] for k, values in found.items()})
        return Position(t + 1, state, records, failures)

    def _judged(self, scores: dict[str, np.ndarray], task: Task) -> dict[str, np.ndarray]:
        """The scores, but 0 for seeds whose rows are all masked: they have none to be judged by."""
        batches = {"before": task.train, "after": None if self.looks_back else task.test}
        judged = dict(scores)
        for stage, batch in batches.items():
            if batch is not None:
                for name in self._staged(stage).keys() & scores.keys():
                    judged[name] = np.where(batch.mask.any(axis=1), scores[name], 0.0)
        return judged

    def _learn(
        self, state: State, task: Task, t: int, meter: Meter
    ) -> tuple[State, dict[str, np.ndarray], Info]:
        def seeds(purpose: str) -> np.ndarray:
            return seeding.fold_each(self.seeds, t, purpose)

        scores: dict[str, np.ndarray] = {}
        with meter:
            if t >= 0:
                state = self.learner.drift(state, seeds("drift"))
            if self.needs:
                state = self.learner.boundary(state, self._context(t), seeds("boundary"))
            if t >= 0 and self._staged("before"):
                predictive = self.learner.predict(state, task.train.inputs, seeds("before"))
                scores |= self._score("before", predictive, task.train)
            state, info = self.learner.observe(state, task.train, seeds("observe"))
            if t >= 0 and self._staged("after"):
                scores |= self._after(state, task, t, seeds("after"))
        return state, scores, info

    def _after(self, state: State, task: Task, t: int, seeds: np.ndarray) -> dict[str, np.ndarray]:
        """Scores on the test data of the task or, where the stream looks back, of all so far.

        Then the score is the mean over tasks, and tested/METRIC [S, n_tasks] holds each
        task's, NaN for those to come.
        """
        if not self.looks_back:
            tests = [] if task.test is None else [task.test]
        else:
            tests = [self.reader.test(self.stream, self.realisations, j) for j in range(t + 1)]
        each = [
            self._score("after", self.learner.predict(state, test.inputs, seeds), test)
            for test in tests
        ]
        if not each:
            return {}
        scores = {name: np.stack([one[name] for one in each], axis=1) for name in each[0]}
        found = {name: values.mean(axis=1) for name, values in scores.items()}
        if self.looks_back:
            to_come = np.full((len(seeds), self.problem.n_tasks - t - 1), np.nan)
            found |= {f"{TESTED}{k}": np.hstack([a, to_come]) for k, a in scores.items()}
        return found

    def _context(self, t: int) -> Context:
        """What the study reveals and the learner declares that it needs; None for the rest."""
        shown = self.needs & set(self.spec["reveals"])
        shift = self.labels["shift"].values[self.realisations]
        boundary = shift[:, max(t, 0)] & (t >= 0) if "boundaries" in shown else None
        if "task_identity" not in shown:
            return Context(boundary, None)
        identity = shift[:, : t + 1].sum(axis=1) if t >= 0 else np.zeros(len(shift), np.int64)
        return Context(boundary, identity)

    def _staged(self, stage: str) -> dict[str, ModuleType]:
        return {name: module for name, module in self.metrics.items() if stage == module.STAGE}

    def _score(self, stage: str, predictive: Predictive, batch) -> dict[str, np.ndarray]:
        return {
            name: module.score(predictive, batch) for name, module in self._staged(stage).items()
        }

    def note(self, position: Position) -> str:
        """The first metric of the last task, for people who watch."""
        last = position.records.found if position.records else {}
        scores = [name for name in last if name.startswith("score/")]
        if not scores:
            return ""
        values = last[scores[0]][:, -1]
        well = values[np.isfinite(values)]
        mean = well.mean() if well.size else np.nan
        return f"{scores[0].removeprefix('score/')} {mean:.3f}"

    def store(self, position: Position) -> xr.Dataset:
        """What is published of the run: scores, infos, status; no times, no host."""
        found = _joined(position.records)
        done = max((array.shape[1] for array in found.values()), default=0)
        names = [f"score/{name}" for name in self.metrics]
        stacked = {k: _filled(array, self.problem.n_tasks) for k, array in found.items()}
        empty = np.full((len(self.numbers), self.problem.n_tasks), np.nan)
        scores = np.array([stacked.get(name, empty) for name in names]).reshape(-1, *empty.shape)
        status = [f"failed: {reason}" if reason else "ok" for reason in position.failures]
        variables: dict[str, tuple] = {
            "score": (("metric", "seed", "task"), scores),
            "status": ("seed", np.array(status, dtype=str)),
            "realisation": ("seed", np.array(self.realisations)),
        }
        after = [name for name in self.metrics if f"{TESTED}{name}" in stacked]
        if after:
            matrix = ("after_metric", "seed", "task", "tested_task")
            variables["tested"] = (matrix, np.array([stacked[f"{TESTED}{m}"] for m in after]))
            variables["after_metric"] = ("after_metric", np.array(after, dtype=str))
        for name, array in stacked.items():
            if name.startswith("info/"):
                variables[f"info_{name[5:]}"] = self._named(name[5:], array, "task")
            elif name.startswith(WARM_UP):
                variables[f"warm_up_{name[8:]}"] = self._named(name[8:], array[:, 0])
        coords = {
            "metric": np.array(list(self.metrics), dtype=str),
            "seed": self.numbers,
            "task": np.arange(self.problem.n_tasks),
        }
        if self.problem.kind == "counts":
            coords["word"] = self.labels["word"].values
        log.info("%s: %d tasks done, status %s", self.name, done, sorted(set(status)))
        attrs = {
            "title": self.name,
            "spec": json.dumps(self.spec, sort_keys=True),
            "code": self.spec["code"],
            "instructions": _instructions.in_force(),
            "versions": json.dumps(versions(), sort_keys=True),
            "licence": self.stream.attrs.get("licence", ""),
            "data": self.stream.attrs.get("data", ""),
        }
        return xr.Dataset(variables, coords=coords, attrs=attrs)

    def _named(self, name: str, array: np.ndarray, *tasks: str) -> tuple:
        """An info with the names of its dimensions; on counts, the first of its own is the word."""
        dims = ["seed", *tasks, "hypothesis" if tasks else "warm_up_hypothesis"]
        dims += [f"{name}_{i}" for i in range(array.ndim - len(dims))]
        if self.problem.kind == "counts" and len(dims) > 2 + len(tasks):
            dims[2 + len(tasks)] = "word"
        return tuple(dims), array


def assemble(pipeline: Sequence, model_spec: Sequence | None, problem: Problem) -> Learner:
    """The learner of a variant: combinators, outermost first, around a learner on a model."""
    *outer, (name, settings) = pipeline
    around = []
    for combinator, combinator_settings in outer:
        module, made = _configured("combinators", combinator, combinator_settings)
        around.append(partial(module.build, made, problem))
        if hasattr(module, "inner_problem"):
            problem = module.inner_problem(made, problem)
    model = None
    if model_spec is not None:
        module, made = _configured("models", *model_spec)
        model = module.build(made, problem)
    module, made = _configured("learners", name, settings)
    learner = unmoved(module.build(made, problem, model))
    for wrap in reversed(around):
        learner = wrap(learner)
    return learner


def _configured(kind: str, name: str, settings: dict) -> tuple[ModuleType, object]:
    module = components.load(kind, name)
    return module, module.Settings(**{k: _tuples(v) for k, v in settings.items()})


def _tuples(value):
    """Lists of a spec (JSON has no other sequence) as the tuples that settings hold."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _kinds(pipeline: Sequence) -> list[tuple[str, str]]:
    *outer, (name, _) = pipeline
    return [("combinators", combinator) for combinator, _ in outer] + [("learners", name)]


TESTED = "tested/"
"""Before the names of scores of each task so far."""
WARM_UP = "warm_up/"
"""Before the names of infos of the warm-up, of which there is one at most."""
LOGARITHMS = ("log_weight", "log_joint")
"""Arrays of states with these endings may be -inf, the logarithm of an empty slot's weight."""
REMEDY = "lower the learning rate or look at the data; the run's log has the details"


class _Broken(NamedTuple):
    any: np.ndarray
    where: list[str]


def _not_finite(state: State, scores: dict[str, np.ndarray]) -> _Broken:
    """Which seeds [S] hold a NaN, or an infinity that is not a log of zero, and where."""
    size = len(next(iter(state.values())))
    where = [""] * size
    named = [(f"state '{k}'", a, k.endswith(LOGARITHMS)) for k, a in state.items()]
    named += [(f"metric '{k}'", a, False) for k, a in scores.items() if not k.startswith(TESTED)]
    for name, array, logarithm in named:
        if array.dtype.kind != "f":
            continue
        bad = np.isnan(array) | (array == np.inf) if logarithm else ~np.isfinite(array)
        for s in np.flatnonzero(bad.reshape(size, -1).any(axis=1)):
            where[s] = where[s] or name
    return _Broken(np.array([bool(w) for w in where]), where)


def _joined(records: Records | None) -> dict[str, np.ndarray]:
    """All that was found: name -> [S, tasks, ...] in the order of the tasks."""
    pieces: dict[str, list[np.ndarray]] = {}
    while records:
        for name, values in records.found.items():
            pieces.setdefault(name, []).append(values)
        records = records.before
    return {name: np.concatenate(values[::-1], axis=1) for name, values in pieces.items()}


def _filled(array: np.ndarray, n_tasks: int) -> np.ndarray:
    """[S, task, ...] of all tasks, NaN where a run ended early."""
    missing = n_tasks - array.shape[1]
    if missing == 0:
        return array
    filler = np.full((array.shape[0], missing, *array.shape[2:]), np.nan)
    return np.concatenate([array.astype(float), filler], axis=1)


def _resume(experiment: Experiment, scratch: Path) -> tuple[Position, Meter]:
    found = checkpoint.load(scratch)
    if found is None:
        return experiment.start(), Meter()
    arrays, meta = found
    records = Records(None, part(arrays, "records/"))
    log.info("%s: resumed at task %d", experiment.name, meta["next_task"])
    position = Position(meta["next_task"], part(arrays, "state/"), records, meta["failures"])
    return position, Meter(meta["cost"])


def _save(scratch: Path, position: Position, meter: Meter) -> None:
    arrays = prefixed(position.state, "state/") | prefixed(_joined(position.records), "records/")
    meta = {
        "next_task": position.next_task,
        "failures": position.failures,
        "cost": meter.reading(),
    }
    checkpoint.save(scratch, arrays, meta)
    log.info("saved before task %d", position.next_task)


def _catch_signals() -> list[str]:
    """Lets signals to stop raise Stopped; the list that will hold which one came."""
    received: list[str] = []

    def stop(number: int, _frame: object) -> None:
        received.append(f"signal {signal.Signals(number).name}")
        raise Stopped(received[0])

    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, stop)
    return received
