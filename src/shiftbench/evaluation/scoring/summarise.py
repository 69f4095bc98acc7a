"""The labelled cube of scores and the summary table of a study, from its runs.

The tree of scores: `/scores` with score[stream, learner, metric, seed] (means over tasks,
or the metric of the whole run), score_by_task[..., task] (NaN for metrics of whole runs)
and status[stream, learner, seed]; `/runs/STREAM/LEARNER` with the run stores, all seeds
together. A failed seed keeps its status; its scores are NaN and enter no mean.

On streams that judge a learner on all tasks so far after each task (runs with `tested`), a
score is the one after the last task, since only that one covers all tasks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import components, provenance
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import paper_numbers, statistics

COLUMNS = (
    "study",
    "stream",
    "learner",
    "metric",
    "mean",
    "sd",
    "ci_low",
    "ci_high",
    "n",
    "published",
    "published_note",
    "status",
)

MAX_REASONS = 3
"""Reasons of failed runs that one text lists."""
ROUNDING = 1e-9
"""Distance by which a score may exceed its bounds."""


def summarise(
    spec: Mapping[str, Any],
    streams: Mapping[str, xr.Dataset | xr.DataTree],
    runs: Sequence[xr.Dataset],
) -> tuple[xr.DataTree, pd.DataFrame]:
    """Return the tree of scores and the summary (a row a stream, learner and metric) of a study.

    Parameters
    ----------
    spec
        The spec of the scores: `study`; `streams`, `learners` and `metrics` in order; `methods`,
        the names of methods by the learners that stand for them; `reference`, the learner that
        starts from scratch, or None.
    streams
        The stream stores by name.
    runs
        The run stores, one a block of seeds, in any order.

    Raises
    ------
    UserError
        Where a learner has no run.
    """
    grouped = {
        (stream, learner): _joined(spec["study"], stream, learner, runs)
        for stream in spec["streams"]
        for learner in spec["learners"]
    }
    scores = _cube(spec, streams, grouped)
    children = {f"/runs/{stream}/{name}": run for (stream, name), run in grouped.items()}
    tree = xr.DataTree.from_dict({"/scores": scores} | children)
    return tree, _table(spec, streams, grouped, scores)


def succeeded(run: xr.Dataset) -> xr.Dataset:
    """Return the seeds of a run that did not fail."""
    return run.isel(seed=run["status"].values == "ok")


def coverage(status: np.ndarray) -> str:
    """Say of the statuses [seed] of a learner's runs how many there are and what failed."""
    return covered(status) + failures(status)


def covered(status: np.ndarray) -> str:
    """Say how many of the runs succeeded."""
    texts = [text for text in np.asarray(status, dtype=str) if text]
    return f"{texts.count('ok')} of {len(texts)} runs"


def failures(status: np.ndarray) -> str:
    """Say how many runs failed, and why, in a text that begins with "; "; empty if none did.

    status: of any shape. Each reason once, the most frequent first; the logs have all in full.
    """
    failed = [text for text in np.ravel(np.asarray(status, dtype=str)) if text not in ("", "ok")]
    reasons = Counter(shorten(text.removeprefix("failed: "), 160) for text in failed)
    if len(reasons) < 2:
        return "".join(f"; {number} failed: {reason}" for reason, number in reasons.items())
    common = reasons.most_common(MAX_REASONS)
    texts = [f"{reason} ({number} run{'s' * (number > 1)})" for reason, number in common]
    if len(reasons) > MAX_REASONS:
        texts.append(f"{len(reasons) - MAX_REASONS} more reasons, which the logs list")
    return f"; {len(failed)} failed: {'; '.join(texts)}"


def _joined(study: str, stream: str, learner: str, runs: Sequence[xr.Dataset]) -> xr.Dataset:
    """Join the blocks of seeds of one learner on one stream to one run, ordered by seed."""
    blocks = [run for run in runs if _about(run) == (stream, learner)]
    if not blocks:
        raise UserError(
            f"study {study}: no run of learner {learner} on stream {stream} among the files "
            "given; run the workflow, which makes them all"
        )
    whole = xr.concat(
        blocks, "seed", data_vars="minimal", coords="minimal", compat="override", join="outer",
        combine_attrs="override",
    ).sortby("seed")  # fmt: skip
    seeds = [int(whole["seed"].min()), int(whole["seed"].max())]
    return whole.assign_attrs(spec=json.dumps(provenance.spec(blocks[0]) | {"seeds": seeds}))


def _about(run: xr.Dataset) -> tuple[str, str]:
    spec = provenance.spec(run)
    return spec["stream"]["name"], spec["method"]


def _cube(
    spec: Mapping[str, Any],
    streams: Mapping[str, xr.Dataset],
    grouped: Mapping[tuple[str, str], xr.Dataset],
) -> xr.Dataset:
    """Return score, score_by_task and status of all runs, under common labels."""
    by_stream = []
    for stream in spec["streams"]:
        peers = {name: succeeded(grouped[stream, name]) for name in spec["learners"]}
        parts = [
            _scored(
                grouped[stream, learner],
                streams[stream],
                spec["metrics"],
                peers.get(spec["reference"]),
            )
            for learner in spec["learners"]
        ]
        labels = pd.Index(list(spec["learners"]), name="learner")
        by_stream.append(_stacked(parts, labels))
    cube = _stacked(by_stream, pd.Index(list(spec["streams"]), name="stream"))
    cube["status"] = cube["status"].astype(str)
    order = ("stream", "learner", "metric", "seed", "task")
    cube = cube.transpose(*order).assign_attrs(study=spec["study"])
    cube["metric"].attrs = {"long_name": "name of the metric"}
    cube["score"].attrs = {"long_name": "score of a run", "units": "those of the metric"}
    cube["score_by_task"].attrs = {"long_name": "score of a task", "units": "those of the metric"}
    return cube


def _stacked(parts: Sequence[xr.Dataset], labels: pd.Index) -> xr.Dataset:
    return xr.concat(
        parts, labels, data_vars="all", coords="minimal", compat="override", join="outer",
        fill_value={"score": np.nan, "score_by_task": np.nan, "status": ""},
    )  # fmt: skip


def _scored(
    run: xr.Dataset,
    stream: xr.Dataset,
    metrics: Sequence[str],
    reference: xr.Dataset | None,
) -> xr.Dataset:
    """Return score [metric, seed], score_by_task [metric, seed, task] and status [seed].

    reference: the run of the study's reference on this stream, without the seeds that failed.
    """
    good = succeeded(run)
    blank = xr.DataArray(
        np.full((run.sizes["seed"], run.sizes["task"]), np.nan),
        {"seed": run["seed"].values, "task": run["task"].values},
        ("seed", "task"),
    )
    score, by_task = [], []
    for metric in metrics:
        if components.metric(metric).stage == "run":
            values = _of_run(metric, good, stream, reference)
            mean = xr.DataArray(values, {"seed": good["seed"].values}, ("seed",))
            tasks = blank
        else:
            tasks = good["score"].sel(metric=metric, drop=True).reindex_like(blank)
            mean = tasks.isel(task=-1, drop=True) if _of_all(run, metric) else tasks.mean("task")
        _refuse_outside(metric, mean.values)
        score.append(mean.reindex(seed=blank["seed"]))
        by_task.append(tasks.transpose("seed", "task"))
    labels = pd.Index(list(metrics), name="metric")
    return xr.Dataset(
        {
            "score": xr.concat(score, labels, coords="minimal", compat="override"),
            "score_by_task": xr.concat(by_task, labels, coords="minimal", compat="override"),
            "status": ("seed", run["status"].values.astype(object)),
        }
    )


def _of_run(
    metric: str, run: xr.Dataset, stream: xr.Dataset, reference: xr.Dataset | None
) -> np.ndarray:
    """Return a metric of a finished run [seed], with the reference if it compares with that."""
    row = components.load_metric(metric)
    others = (reference,) if "reference" in row.study else ()
    if components.package_of("metrics", metric) != components.OURS:
        run = run.copy(deep=True)  # a metric may change it, and others need it unchanged
    values, seeds = np.asarray(row.score(run, stream, *others)), run.sizes["seed"]
    if values.shape != (seeds,) or values.dtype.kind not in "bif":
        raise UserError(
            f"{_named(metric)}: the score has the shape {values.shape} and the type"
            f" {values.dtype}; return real numbers of the shape ({seeds},), one for each seed"
        )
    return values


def _refuse_outside(metric: str, values: np.ndarray) -> None:
    """Raise UserError for a score that the bounds of its metric exclude, but for rounding."""
    low, high = statistics.bounds(metric)
    below = low is not None and np.nanmin(values, initial=low) < low - ROUNDING
    if below or (high is not None and np.nanmax(values, initial=high) > high + ROUNDING):
        raise UserError(
            f"{_named(metric)}: a score is {np.nanmin(values) if below else np.nanmax(values):g},"
            f" and its bounds are {low} and {high}; correct the score, or the bounds"
        )


def _named(metric: str) -> str:
    return f'metric "{metric}" ({components.module_name("metrics", metric)})'


def _of_all(run: xr.Dataset, metric: str) -> bool:
    """Return whether a task's score is the mean over all tasks so far."""
    return "tested" in run and metric in run["after_metric"].values


def _table(
    spec: Mapping[str, Any],
    streams: Mapping[str, xr.Dataset],
    grouped: Mapping[tuple[str, str], xr.Dataset],
    scores: xr.Dataset,
) -> pd.DataFrame:
    rows = []
    for stream in spec["streams"]:
        for learner in spec["learners"]:
            status = coverage(scores["status"].sel(stream=stream, learner=learner).values)
            for metric in spec["metrics"]:
                labels = {"stream": stream, "learner": learner, "metric": metric}
                ours = statistics.interval(
                    scores["score"].sel(labels).values, statistics.bounds(metric)
                )
                run, method = grouped[stream, learner], spec["methods"].get(learner)
                paper = paper_numbers.number(streams[stream], run, method, metric)
                published = (paper.mean, paper.note) if paper else (None, "")
                rows.append((spec["study"], *labels.values(), *ours, *published, status))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"published": float, "n": int})
