"""Recompute runs of published results by the config and code of today, and compare their scores.

Published results have the scores of every seed, and no runs. A run that the config plans is
computed as the workflow would compute it, with the settings that the published trials chose; its
scores are compared with the published ones of its seeds. Metrics that compare a learner with the
study's reference are left out.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shiftbench.config import components, jobs, specs
from shiftbench.config.jobs import Job
from shiftbench.config.schema import Config
from shiftbench.config.spec_files import Spec
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import summarise, tidy
from shiftbench.forecast.estimate import Estimator
from shiftbench.publish import result_files, study_copy, verify
from shiftbench.publish.recompute import Again, Candidate
from shiftbench.runtime import cached_jobs

KEY = ["stream", "learner", "metric", "seed"]


class PublishedRun(NamedTuple):
    """A run that the config plans, of which scores are published. spec: before any choice."""

    study: str
    name: str
    job: Job

    @property
    def spec(self) -> Spec:
        """Return the spec that the config gives."""
        return self.job.spec


class Draw(NamedTuple):
    """What computes runs again, when, and the seed by which these runs are drawn."""

    commit: str
    date: str
    seed: int


def draw_of(seed: int) -> Draw:
    """Return the draw of a seed by the code here, before anything is written that git tracks."""
    return Draw(study_copy.commit(), datetime.now(UTC).strftime("%Y-%m-%d"), seed)


class PublishedResults:
    """Published results with their config, by which their runs are computed again."""

    def __init__(self, folder: Path, plan: Config) -> None:
        self.folder, self.plan = folder, plan
        datasets = [one.settings.get("dataset") for one in plan.streams.values()]
        self.raw = cached_jobs.raw_folder(next(filter(None, datasets), None))
        self.jobs = jobs.of_config(plan, folder, folder.name, self.raw)
        self._makers = {output: job for job in self.jobs for output in job.outputs}

    def candidates(self, known: Estimator) -> list[Candidate[PublishedRun]]:
        """Return all planned runs with published scores, and what they would cost here."""
        found = []
        published = {
            name: {(stream, learner) for stream, learner, *_ in self._scores(name).index}
            for name in result_files.studies(self.folder)
        }
        for job in self.jobs:
            if job.rule == "run_learner" and job.wildcards[1:3] in published.get(job.study, ()):
                run = PublishedRun(job.study, job.name, job)
                found.append(Candidate(run, known.of(job.spec).cpu, _obstacle(job.spec)))
        return found

    def again(self, one: PublishedRun) -> Again:
        """Compute a run again and compare its scores. UserError where it cannot be computed."""
        places = cached_jobs.made(self._needed(one.job), self.raw)
        stream, method = one.job.wildcards[1:3]
        store, made = places[one.job.inputs[0]], places[one.job.outputs[0]]
        spec = specs.scores(self.plan, one.study)
        alone = {
            "streams": [stream],
            "learners": {method: spec["learners"][method]},
            "metrics": [name for name in spec["metrics"] if _is_of_one_learner(name)],
            "reference": None,
        }
        streams, runs = {stream: zarr_zip.read_any(store)}, [zarr_zip.read(made)]
        cube, _ = summarise.summarise(spec | alone, streams, runs)
        ours = tidy.tidy(spec | alone, cube).set_index(KEY)
        return Again(one.name, *_compared(ours, self._scores(one.study)))

    def _needed(self, job: Job) -> list[Job]:
        """Return a job after all those that it needs, but for choices, which are published."""
        needed: dict[tuple[str, ...], Job] = {}

        def add(one: Job) -> None:
            for file in one.inputs:
                maker = self._makers.get(file)
                if maker is not None and maker.rule != "choose_settings":
                    add(maker)
            needed[one.key] = one

        add(job)
        return list(needed.values())

    def _scores(self, study: str) -> pd.DataFrame:
        """Return the published scores and statuses of a study by stream, learner, metric, seed."""
        path = result_files.study_folder(self.folder, study) / "scores.csv"
        try:
            rows = pd.read_csv(path, dtype={"score": str}, keep_default_na=False)
            return rows.set_index(KEY)[["score", "status"]]
        except (OSError, KeyError, ValueError) as error:
            raise UserError(f"{path}: not a table of scores ({error})") from None


def record(results: Path, study: str, found: list[Again], planned: int, draw: Draw) -> None:
    """Write into the provenance of a published study what was computed again.

    found: what was, of all `planned` runs of the study.
    """
    path = result_files.study_folder(results, study) / result_files.PROVENANCE
    verdict = max((one.verdict for one in found), key=verify.VERDICTS.index)
    entry = draw._asdict() | {"runs": len(found), "of": planned, "verdict": verdict}
    origin = result_files.origin(path.parent) | {result_files.VERIFIED: entry}
    atomic_files.write(path, json.dumps(origin, indent=1, sort_keys=True) + "\n")


def _obstacle(spec: Spec) -> str:
    return "it ran on a GPU" if spec.get("device", "cpu") != "cpu" else ""


def _is_of_one_learner(metric: str) -> bool:
    return "reference" not in components.metric(metric).study


def _compared(ours: pd.DataFrame, published: pd.DataFrame) -> tuple[str, str]:
    """Return the worst verdict on the scores that both have, and what it is about."""
    both = ours.join(published.add_suffix("_published"), how="inner").reset_index()
    rows = both.to_dict("records")
    if not rows:
        return "different", "no score of it is published"
    verdicts = [_of_scores(row) for row in rows]
    worst = max(verdicts, key=verify.VERDICTS.index)
    if worst == "identical":
        return worst, f"all {len(rows)} scores"
    first = rows[verdicts.index(worst)]
    return worst, (
        f"{verdicts.count(worst)} of {len(rows)} scores, the first {first['metric']} of seed"
        f" {first['seed']}: {first['score']:.9g}, published {first['score_published'] or 'nothing'}"
    )


def _of_scores(row: dict[Hashable, Any]) -> str:
    if row["status"] != row["status_published"]:
        return "different"
    return verify.of_pair(row["score"], float(row["score_published"] or "nan"))
