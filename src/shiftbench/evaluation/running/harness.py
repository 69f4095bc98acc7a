"""The harness: it runs one learner on one stream, for a block of seeds side by side.

The harness owns the order: time update, what the protocol reveals, predict, observe, predict. In a
study with `drift: after-prediction` the first prediction is from the state before the first two. A
learner is never given targets that it has not predicted, nor anything that the protocol keeps back.
Each metric scores the prediction before a task is observed (prequential), or the prediction
of its test data afterwards.

A run can be stopped at any time (SIGTERM, 90 % of the time limit, kill -9). It resumes after the
last task, or the last step of a long one, that was saved. All randomness is folded from names
and numbers, so the result is the same to the last byte.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

from shiftbench.core import loop_checkpoint, prediction_checks
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Context, Info, LearnerError, Predictive, State, Task
from shiftbench.core.metric import Metric
from shiftbench.evaluation.running import build_run, run_state, run_store, saved_predictions
from shiftbench.evaluation.running.build_run import Run
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.failures import Flaws, note, reasons
from shiftbench.evaluation.running.progress import Progress
from shiftbench.evaluation.running.row_blocks import RowBlocks
from shiftbench.evaluation.running.run_state import (
    INFO,
    LOOKED,
    SCORE,
    TESTED,
    WARM_UP,
    Inside,
    Position,
    Records,
)
from shiftbench.evaluation.running.stop_signals import Stopped, StopSignals
from shiftbench.evaluation.running.warm_up import Warmed
from shiftbench.evaluation.scoring import judging

log = logging.getLogger("shiftbench")

SECONDS_BETWEEN_CHECKPOINTS = 1.0
SHARE_OF_CHECKPOINTS = 0.05
"""Share of the time for checkpoints: after one of a second, the next is due in 20 seconds."""


def run_job(
    spec: dict,
    stream: xr.Dataset | xr.DataTree,
    scratch: Path,
    minutes: float,
    threads: int = 1,
    warmed: Warmed | None = None,
) -> tuple[xr.Dataset, dict]:
    """Run a spec and return the store and the cost of the run.

    Parameters
    ----------
    spec
        See config/specs.py.
    stream
        The stream's store.
    scratch
        Folder of the checkpoint, keyed by the spec's digest. It survives this process, and is
        removed when the run is complete.
    minutes
        Time limit; the run stops at 90 % of it.
    threads
        Threads for the learner.
    warmed
        The warm-up, if a job did it for several runs.

    Raises
    ------
    Stopped
        When the run has to end before it is done; its position is saved.
    """
    os.environ["SHIFTBENCH_THREADS"] = str(threads)
    with StopSignals(minutes) as stops:
        run = build_run.run(spec, stream, warmed)
        now, meter, inside = _resume(run, scratch)
        progress = Progress(run.name, run.problem.n_tasks, now.next_task)
        due = time.monotonic() + SECONDS_BETWEEN_CHECKPOINTS
        interval, blocks = loop_checkpoint.PollInterval(), RowBlocks(run)
        try:
            while now.next_task < run.problem.n_tasks and not all(now.failures):
                save = partial(run_state.save, scratch, now, meter, inside)
                with loop_checkpoint.monitored(
                    loop_checkpoint.LoopMonitor(inside.loops, save, stops.reason, interval)
                ):
                    after = blocks.advance(now, meter) or advance(run, now, meter, inside)
                    now, inside = after, Inside({}, [])
                progress.advance(_note(now), now.next_task - progress.done)
                if reason := stops.reason():
                    raise Stopped(reason)
                due = _save_if_due(due, partial(run_state.save, scratch, now, meter))
        except Exception as error:
            # TensorFlow wraps an exception that is raised while it works, and hides the reason.
            reason = stops.reason() or (str(error) if isinstance(error, Stopped) else "")
            if not reason:
                raise
            run_state.save(scratch, now, meter, inside)
            raise Stopped(reason) from None
        finally:
            progress.close()
    return run_store.dataset(run, now), meter.reading()


def _save_if_due(due: float, save: Callable[[], None]) -> float:
    """Save if it is time to; return when the next checkpoint is due."""
    if (begun := time.monotonic()) <= due:
        return due
    save()
    took = time.monotonic() - begun
    return begun + max(SECONDS_BETWEEN_CHECKPOINTS, took / SHARE_OF_CHECKPOINTS)


def start(run: Run) -> Position:
    """Return the position before the first task; all seeds failed if the learner is refused."""
    if run.learner is None:
        return Position(0, {}, None, [run.refused] * len(run.numbers))
    warm_up = int(run.stream.attrs["warm_up"])
    state = run.learner.init(seeding.fold_each(run.seeds, "init"))
    return Position(-warm_up, state, None, [""] * len(run.numbers))


def advance(run: Run, now: Position, meter: Meter, inside: Inside | None = None) -> Position:
    """Advance by one task: drift, reveal, predict, observe, predict. Pure in the position.

    inside: progress of an earlier attempt inside the task. Looks need it, and a monitor.
    """
    t = now.next_task
    task = run.reader.task(run.stream, run.realisations, t)
    flaws: Flaws = {}
    try:
        done = inside or Inside({}, [])
        state, scores, info, rows = _learn(run, now.state, task, t, meter, done, flaws)
    except (LearnerError, ArithmeticError) as error:
        log.error("%s: task %d\n%s", run.name, t, traceback.format_exc())
        reason = f"{type(error).__name__} at task {t}: {error}"
        return now._replace(failures=[old or reason for old in now.failures])
    failures = reasons(run, now, state, _judged(run, scores, task), flaws)
    if t < 0:
        learnt = {WARM_UP + name: np.asarray(values)[:, None] for name, values in info.items()}
        return Position(t + 1, state, Records(None, learnt), failures)
    succeeded = np.array([not reason for reason in failures])
    arrays = {
        name if name.startswith((TESTED, LOOKED)) else SCORE + name: np.where(
            succeeded, values.T, np.nan
        ).T
        for name, values in scores.items()
    }
    arrays |= {INFO + name: np.asarray(values) for name, values in info.items()} | rows
    records = Records(now.records, {name: values[:, None] for name, values in arrays.items()})
    return Position(t + 1, state, records, failures)


def _learn(
    run: Run, state: State, task: Task, t: int, meter: Meter, inside: Inside, flaws: Flaws
) -> tuple[State, dict[str, np.ndarray], Info, dict[str, np.ndarray]]:
    """Return the state after a task, its scores, the learner's info and the kept predictions.

    What is wrong with its predictions is added to `flaws`.
    """
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
            scores |= _score(run, "before", predictive, task.train, flaws)
            rows |= _rows(run, "before", predictive, task.train)
        looked = _looks(run, state, task, t, inside) if t >= 0 and run.looks > 1 else []
        learn = learner.observe if t >= 0 else learner.begin
        state, info = learn(state, task.train, seeds("observe"))
        if t >= 0 and (_staged(run, "after") or run.keeps):
            tested, last = _after(run, state, task, t, seeds("after"), flaws)
            scores, rows = scores | tested, rows | last
    if looked:
        each = [*looked, _of_look(run, scores)]
        scores |= {LOOKED + k: np.stack([one[k] for one in each], axis=1) for k in looked[0]}
    return state, scores, info, rows


def _looks(
    run: Run, state: State, task: Task, t: int, inside: Inside
) -> list[dict[str, np.ndarray]]:
    """Return the scores at the looks inside a task, without the last look, which is its end.

    For each look the learner observes the task again from the same state, up to a larger share of
    its steps; the steps of its first loop are not repeated. Looks do not change what it learns.
    """
    assert run.learner is not None
    learn, after = (seeding.fold_each(run.seeds, t, name) for name in ("observe", "after"))
    for number in range(len(inside.looks) + 1, run.looks):
        with loop_checkpoint.look(Fraction(number, run.looks)):
            at, _ = run.learner.observe(state, task.train, learn)
            scores, _ = _after(run, at, task, t, after, {})
        inside.looks.append(_of_look(run, scores))
    return inside.looks


def _of_look(run: Run, scores: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scores of a look by metric: of each task so far, or of the task that is judged."""
    after = [metric.name for metric in _staged(run, "after")]
    return {name: scores[TESTED + name] if run.looks_back else scores[name] for name in after}


def _after(
    run: Run, state: State, task: Task, t: int, seeds: np.ndarray, flaws: Flaws
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return scores on the test data after a task, and the kept predictions of the task.

    Where the stream looks back, a score is the mean over all tasks so far, and tested/METRIC
    [S, n_tasks] has that of each task, NaN for tasks to come.
    """
    assert run.learner is not None
    if not run.looks_back:
        tests = [] if task.test is None else [task.test]
    else:
        tests = [run.reader.test(run.stream, run.realisations, j) for j in range(t + 1)]
    if not tests:
        return {}, {}
    by_task = []
    for test in tests:
        predictive = run.learner.predict(state, test.inputs, seeds)
        by_task.append(_score(run, "after", predictive, test, flaws))
    rows = _rows(run, "after", predictive, test)
    stacked = {name: np.stack([one[name] for one in by_task], axis=1) for name in by_task[0]}
    scores = {name: values.mean(axis=1) for name, values in stacked.items()}
    if run.looks_back:
        to_come = np.full((len(seeds), run.problem.n_tasks - t - 1), np.nan)
        scores |= {TESTED + name: np.hstack([array, to_come]) for name, array in stacked.items()}
    return scores, rows


def _rows(run: Run, moment: str, predictive: Predictive, batch: Batch) -> dict[str, np.ndarray]:
    return saved_predictions.arrays(moment, predictive, batch) if run.keeps else {}


def _context(run: Run, t: int) -> Context:
    """Return what the study reveals and the learner needs; None for the rest."""
    revealed = run.needs & set(run.spec["reveals"])
    shift = run.labels["shift"].values[run.realisations]
    boundary = shift[:, max(t, 0)] & (t >= 0) if "boundaries" in revealed else None
    if "task_identity" not in revealed:
        return Context(boundary, None)
    return Context(boundary, _identity(run, shift, max(t, 0)))


def _identity(run: Run, shift: np.ndarray, t: int) -> np.ndarray:
    """Return the number of the distribution [S] of task t, in the order of first appearance.

    A stream whose distributions come back has their names as `concept`; those of other streams are
    new with each shift. The warm-up counts as the first task.
    """
    if "concept" not in run.labels:
        return shift[:, : t + 1].sum(axis=1)
    so_far = run.labels["concept"].values[run.realisations, : t + 1]
    first = (so_far == so_far[:, -1:]).argmax(axis=1)
    return np.array([len(set(one[:n])) for one, n in zip(so_far, first, strict=True)])


def _staged(run: Run, stage: str) -> list[Metric]:
    return [metric for metric in run.metrics if metric.stage == stage]


def _score(
    run: Run, stage: str, predictive: Predictive, batch: Batch, flaws: Flaws
) -> dict[str, np.ndarray]:
    """Return the scores of a prediction by metric; NaN for seeds that predict nothing usable."""
    metrics = _staged(run, stage)
    if not metrics:
        return {}
    good = prediction_checks.usable(predictive)
    scores = {
        one.name: np.where(good, judging.judge(one, predictive, batch), np.nan) for one in metrics
    }
    note(flaws, predictive, scores)
    return scores


def _judged(run: Run, scores: dict[str, np.ndarray], task: Task) -> dict[str, np.ndarray]:
    """Return the scores, but 0 for seeds without unmasked rows, whose NaN is not a failure."""
    batches = {"before": task.train, "after": None if run.looks_back else task.test}
    judged = dict(scores)
    for stage, batch in batches.items():
        if batch is not None:
            for name in {metric.name for metric in _staged(run, stage)} & scores.keys():
                judged[name] = np.where(batch.mask.any(axis=1), scores[name], 0.0)
    return judged


def _note(now: Position) -> str:
    """Return the first metric of the last task, for the progress bar."""
    last = now.records.arrays if now.records else {}
    scores = [name for name in last if name.startswith(SCORE)]
    if not scores:
        return ""
    values = last[scores[0]][:, -1]
    finite = values[np.isfinite(values)]
    mean = finite.mean() if finite.size else np.nan
    return f"{scores[0].removeprefix(SCORE)} {mean:.3f}"


def _resume(run: Run, scratch: Path) -> tuple[Position, Meter, Inside]:
    """Return position and cost of the last checkpoint, and the progress inside the next task."""
    saved = run_state.load(scratch)
    if saved is None:
        return start(run), Meter(), Inside({}, [])
    now, _, inside = saved
    where = ", within it" if any(inside) else ""
    log.info("%s: resumed at task %d%s", run.name, now.next_task, where)
    return saved
