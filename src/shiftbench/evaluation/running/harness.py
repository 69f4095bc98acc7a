"""Runs one learner on one stream, for a block of seeds side by side.

The harness owns the order: time update, predict, reveal, observe, predict; a study may have the
time update after the first prediction. A learner is never given targets that it has not
predicted, nor anything that the protocol keeps back.
Scores are taken of the prediction before a task is observed (prequential) or after, on
the task's test data, as each metric says.

A run can be stopped at any time (SIGTERM, 90 % of the time limit, kill -9) and goes on
from the last task, or step of a long one, that was saved. All randomness is folded from names
and numbers, so the result is the same to the last byte.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core import loop_checkpoint
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Context, Info, LearnerError, Predictive, State, Task
from shiftbench.core.loop_checkpoint import LoopStates
from shiftbench.core.metric import Metric
from shiftbench.evaluation.running import build_run, run_state, run_store, saved_predictions
from shiftbench.evaluation.running.build_run import Run
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.progress import Progress
from shiftbench.evaluation.running.run_state import INFO, SCORE, TESTED, WARM_UP, Position, Records
from shiftbench.evaluation.running.stop_signals import Stopped, Stops
from shiftbench.evaluation.running.warm_up import Warmed
from shiftbench.evaluation.scoring import judging

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_CHECKPOINTS = 1.0
SHARE_OF_CHECKPOINTS = 0.05
"""A checkpoint that took a second, as of ten thousands of tasks, is next made in 20 seconds."""

LOGARITHMS = ("log_weight", "log_joint")
"""Arrays of states with these endings may be -inf, the logarithm of an empty slot's weight."""
REMEDY = "lower the learning rate or look at the data; the run's log has the details"


def run_job(
    spec: dict,
    stream: xr.Dataset | xr.DataTree,
    scratch: Path,
    minutes: float,
    threads: int = 1,
    warmed: Warmed | None = None,
) -> tuple[xr.Dataset, dict]:
    """The run's store and its cost. Raises Stopped when it has to end before it is done.

    spec: see config/specs.py. scratch: folder of the checkpoint, keyed by the spec's
    digest; it survives this process and is removed when the run is complete. warmed: the
    warm-up, if a job did it for several runs.
    """
    os.environ["SHIFTBENCH_THREADS"] = str(threads)
    with Stops(minutes) as stops:
        run = build_run.run(spec, stream, warmed)
        now, meter, loop_states = _resume(run, scratch)
        progress = Progress(run.name, run.problem.n_tasks, now.next_task)
        due = time.monotonic() + SECONDS_BETWEEN_CHECKPOINTS
        interval = loop_checkpoint.PollInterval()
        try:
            while now.next_task < run.problem.n_tasks and not all(now.failures):
                keep = partial(run_state.save, scratch, now, meter, loop_states)
                with loop_checkpoint.monitored(
                    loop_checkpoint.LoopMonitor(loop_states, keep, stops.reason, interval)
                ):
                    now, loop_states = advance(run, now, meter), {}
                progress.advance(_note(now))
                if reason := stops.reason():
                    raise Stopped(reason)
                if (begun := time.monotonic()) > due:
                    run_state.save(scratch, now, meter)
                    took = time.monotonic() - begun
                    due = begun + max(SECONDS_BETWEEN_CHECKPOINTS, took / SHARE_OF_CHECKPOINTS)
        except Exception as error:
            # TensorFlow wraps what is raised in the middle of its work, and hides why.
            reason = stops.reason() or (str(error) if isinstance(error, Stopped) else "")
            if not reason:
                raise
            run_state.save(scratch, now, meter, loop_states)
            raise Stopped(reason) from None
        finally:
            progress.close()
    return run_store.dataset(run, now), meter.reading()


def start(run: Run) -> Position:
    """The position before the first task; all seeds failed if the learner is refused."""
    if run.learner is None:
        return Position(0, {}, None, [run.refused] * len(run.numbers))
    warm_up = int(run.stream.attrs["warm_up"])
    state = run.learner.init(seeding.fold_each(run.seeds, "init"))
    return Position(-warm_up, state, None, [""] * len(run.numbers))


def advance(run: Run, now: Position, meter: Meter) -> Position:
    """One task: drift, predict, reveal, observe, predict; pure in the position."""
    t = now.next_task
    task = run.reader.task(run.stream, run.realisations, t)
    try:
        state, scores, info, rows = _learn(run, now.state, task, t, meter)
    except (LearnerError, ArithmeticError) as error:
        log.error("%s: task %d\n%s", run.name, t, traceback.format_exc())
        reason = f"{type(error).__name__} at task {t}: {error}"
        return now._replace(failures=[old or reason for old in now.failures])
    failures = _failures(run, now, state, _judged(run, scores, task))
    if t < 0:
        learnt = {WARM_UP + name: np.asarray(values)[:, None] for name, values in info.items()}
        return Position(t + 1, state, Records(None, learnt), failures)
    well = np.array([not reason for reason in failures])
    found = {
        name if name.startswith(TESTED) else SCORE + name: np.where(well, values.T, np.nan).T
        for name, values in scores.items()
    }
    found |= {INFO + name: np.asarray(values) for name, values in info.items()} | rows
    records = Records(now.records, {name: values[:, None] for name, values in found.items()})
    return Position(t + 1, state, records, failures)


def _learn(
    run: Run, state: State, task: Task, t: int, meter: Meter
) -> tuple[State, dict[str, np.ndarray], Info, dict[str, np.ndarray]]:
    """The state after the task, its scores, the learner's info and the predictions to keep."""
    learner = run.learner
    assert learner is not None

    def seeds(purpose: str) -> np.ndarray:
        return seeding.fold_each(run.seeds, t, purpose)

    scores: dict[str, np.ndarray] = {}
    rows: dict[str, np.ndarray] = {}
    with meter:
        before = state
        if t >= 0:
            state = learner.drift(state, seeds("drift"))
        if run.needs:
            state = learner.boundary(state, _context(run, t), seeds("boundary"))
        if t >= 0 and (_staged(run, "before") or run.keeps):
            at = state if run.spec["drift"] == "before-prediction" else before
            predictive = learner.predict(at, task.train.inputs, seeds("before"))
            scores |= _score(run, "before", predictive, task.train)
            rows |= _rows(run, "before", predictive, task.train)
        learn = learner.observe if t >= 0 else learner.begin
        state, info = learn(state, task.train, seeds("observe"))
        if t >= 0 and (_staged(run, "after") or run.keeps):
            tested, last = _after(run, state, task, t, seeds("after"))
            scores, rows = scores | tested, rows | last
    return state, scores, info, rows


def _after(
    run: Run, state: State, task: Task, t: int, seeds: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Scores on the test data of the task or, where the stream looks back, of all so far.

    Then the score is the mean over tasks, and tested/METRIC [S, n_tasks] holds each
    task's, NaN for those to come. Beside them what is kept of the predictions of the last task.
    """
    assert run.learner is not None
    if not run.looks_back:
        tests = [] if task.test is None else [task.test]
    else:
        tests = [run.reader.test(run.stream, run.realisations, j) for j in range(t + 1)]
    if not tests:
        return {}, {}
    each = []
    for test in tests:
        predictive = run.learner.predict(state, test.inputs, seeds)
        each.append(_score(run, "after", predictive, test))
    rows = _rows(run, "after", predictive, test)
    scores = {name: np.stack([one[name] for one in each], axis=1) for name in each[0]}
    found = {name: values.mean(axis=1) for name, values in scores.items()}
    if run.looks_back:
        to_come = np.full((len(seeds), run.problem.n_tasks - t - 1), np.nan)
        found |= {TESTED + name: np.hstack([array, to_come]) for name, array in scores.items()}
    return found, rows


def _rows(run: Run, moment: str, predictive: Predictive, batch: Batch) -> dict[str, np.ndarray]:
    return saved_predictions.arrays(moment, predictive, batch) if run.keeps else {}


def _context(run: Run, t: int) -> Context:
    """What the study reveals and the learner declares that it needs; None for the rest."""
    shown = run.needs & set(run.spec["reveals"])
    shift = run.labels["shift"].values[run.realisations]
    boundary = shift[:, max(t, 0)] & (t >= 0) if "boundaries" in shown else None
    if "task_identity" not in shown:
        return Context(boundary, None)
    identity = shift[:, : t + 1].sum(axis=1) if t >= 0 else np.zeros(len(shift), np.int64)
    return Context(boundary, identity)


def _staged(run: Run, stage: str) -> list[Metric]:
    return [metric for metric in run.metrics if metric.stage == stage]


def _score(run: Run, stage: str, predictive: Predictive, batch: Batch) -> dict[str, np.ndarray]:
    return {one.name: judging.judge(one, predictive, batch) for one in _staged(run, stage)}


def _judged(run: Run, scores: dict[str, np.ndarray], task: Task) -> dict[str, np.ndarray]:
    """The scores, but 0 for seeds whose rows are all masked: they have none to be judged by."""
    batches = {"before": task.train, "after": None if run.looks_back else task.test}
    judged = dict(scores)
    for stage, batch in batches.items():
        if batch is not None:
            for name in {metric.name for metric in _staged(run, stage)} & scores.keys():
                judged[name] = np.where(batch.mask.any(axis=1), scores[name], 0.0)
    return judged


def _failures(run: Run, now: Position, state: State, scores: dict[str, np.ndarray]) -> list[str]:
    """One reason a seed, empty while it is well, after the task of the position."""
    failures, broken = list(now.failures), _not_finite(state, scores)
    for s in np.flatnonzero(broken.any):
        if not failures[s]:
            failures[s] = f"{broken.where[s]} not finite after task {now.next_task}; {REMEDY}"
            log.error("%s: seed %d failed: %s", run.name, run.numbers[s], failures[s])
    return failures


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


def _note(now: Position) -> str:
    """The first metric of the last task, for people who watch."""
    last = now.records.found if now.records else {}
    scores = [name for name in last if name.startswith(SCORE)]
    if not scores:
        return ""
    values = last[scores[0]][:, -1]
    well = values[np.isfinite(values)]
    mean = well.mean() if well.size else np.nan
    return f"{scores[0].removeprefix(SCORE)} {mean:.3f}"


def _resume(run: Run, scratch: Path) -> tuple[Position, Meter, LoopStates]:
    """From the last checkpoint if there is one, else from the start."""
    found = run_state.load(scratch)
    if found is None:
        return start(run), Meter(), {}
    now, _, loop_states = found
    inside = ", within it" if loop_states else ""
    log.info("%s: resumed at task %d%s", run.name, now.next_task, inside)
    return found
