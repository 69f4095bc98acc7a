"""Recompute runs of published results by the config and code of today, and compare their scores.

Published results have the scores of every seed, and no runs. A run that the config plans is
computed as the workflow would compute it, with the settings that the published trials chose; its
scores are compared with the published ones of its seeds. Not compared are metrics that relate a
method to the study's reference, summaries, tables and figures.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from shiftbench.config import components, jobs, result_paths, specs
from shiftbench.config.job import Job
from shiftbench.config.schema import Config
from shiftbench.config.spec_files import Spec
from shiftbench.config.tuning import TRIALS
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import summarise, tidy, tidy_files
from shiftbench.forecast.estimate import Estimator
from shiftbench.publish import result_files, study_copy, verify
from shiftbench.publish.recompute import Again, Candidate
from shiftbench.publish.results_folder import ResultsFolder
from shiftbench.runtime import cached_jobs

KEY = [*tidy_files.DIMENSIONS]


class PublishedRun(NamedTuple):
    """A run that the config plans, of which scores are published. spec: before any choice."""

    study: str
    name: str
    job: Job

    @property
    def spec(self) -> Spec:
        """Return the spec that the config gives."""
        return self.job.spec

    @property
    def method(self) -> str:
        """Return the method."""
        return self.place[1]

    @property
    def place(self) -> tuple[str, str]:
        """Return stream and method."""
        _, stream, method, *_ = self.job.wildcards
        return stream, method

    @property
    def seeds(self) -> range:
        """Return the seeds of the run."""
        first, last = map(int, self.job.wildcards[3:])
        return range(first, last + 1)


class Verifier(NamedTuple):
    """The code that computes runs again, by its commit; the date; and the seed of the sample."""

    commit: str
    date: str
    seed: int


def verifier(seed: int) -> Verifier:
    """Return the code here as a verifier."""
    return Verifier(study_copy.commit(), datetime.now(UTC).strftime("%Y-%m-%d"), seed)


class PlannedResults:
    """Published results with their config, from which runs of some studies are computed again."""

    def __init__(self, folder: Path, plan: Config, studies: list[str] | None = None) -> None:
        """Check the files of the studies. UserError where one was changed after publishing.

        studies: all that are published and in the config, if None.
        """
        self.folder, self.plan = folder, plan
        self.jobs = jobs.of_config(plan, folder, folder.name)
        self._makers = {output: job for job in self.jobs for output in job.outputs}
        self.studies = self._known(studies)
        for study in self.studies:
            self._refuse_changed(study)
        self.scores = cache(self._scores)

    def candidates(self, known: Estimator) -> list[Candidate[PublishedRun]]:
        """Return all planned runs with published scores, and what they would cost here."""
        found = []
        for job in self.jobs:
            if job.rule == "run_method" and job.study in self.studies:
                run = PublishedRun(job.study, job.name, job)
                if self._places(run.study).issuperset((*run.place, seed) for seed in run.seeds):
                    found.append(Candidate(run, known.of(job.spec).cpu, self._obstacle(run)))
        return found

    def unplanned(self, study: str, found: list[Candidate[PublishedRun]]) -> int:
        """Count pairs of method and stream with published scores but without a run in `found`."""
        planned = {one.run.place for one in found if one.run.study == study}
        return len({(stream, method) for stream, method, _ in self._places(study)} - planned)

    def again(self, one: PublishedRun) -> Again:
        """Compute a run again and compare its scores.

        UserError or RuntimeError where it cannot be computed.
        """
        stream, method = one.place
        places = cached_jobs.made(self._needed(one.job))
        store, made = places[one.job.inputs[0]], places[one.job.outputs[0]]
        spec, published = specs.scores(self.plan, one.study), self.scores(one.study)
        known = published.index.unique("metric")
        alone = spec | {
            "streams": [stream],
            "learners": {method: spec["learners"][method]},
            "metrics": [name for name in spec["metrics"] if name in known and _is_alone(name)],
            "reference": None,
        }
        cube, _ = summarise.summarise(
            alone, {stream: zarr_zip.read_any(store)}, [zarr_zip.read(made)]
        )
        ours = tidy.tidy(alone, cube).set_index(KEY)[["score", "status"]]
        of_run = pd.MultiIndex.from_product([[stream], [method], alone["metrics"], one.seeds])
        theirs = published[published.index.isin(of_run)]
        return Again(one.name, *_compared(ours, theirs))

    def _known(self, studies: list[str] | None) -> list[str]:
        """Return the studies to verify. UserError for one that is not published or not planned."""
        published = result_paths.finished(self.folder)
        if studies is None:
            return [name for name in published if name in self.plan.studies]
        for name in studies:
            refuse_unknown(f"published study of {self.folder}", name, published)
            refuse_unknown("study of the config", name, list(self.plan.studies))
        return studies

    def _refuse_changed(self, study: str) -> None:
        """Raise UserError where files of a study, or of its trials, are not as published."""
        tuned = self.plan.studies[study].tuning is not None
        for name in (study, study + TRIALS) if tuned else (study,):
            sums = result_files.study_folder(self.folder, name) / result_files.CHECKSUMS
            broken = ResultsFolder(self.folder).changed(name) if sums.exists() else [sums]
            if broken:
                raise UserError(
                    f"{', '.join(map(str, broken))}: changed or removed after it was published;"
                    " publish it again"
                )

    def _obstacle(self, run: PublishedRun) -> str:
        if run.spec.get("device", "cpu") != "cpu":
            return "it ran on a GPU"
        makers = {file: self._makers.get(file) for file in run.job.inputs}
        choices = [file for file, job in makers.items() if job and job.rule == "choose_settings"]
        absent = [file for file in choices if not Path(file).is_file()]
        return f"{absent[0]} is not published" if absent else ""

    def _needed(self, job: Job) -> list[Job]:
        """Return a job after all jobs that it needs, except for choices, which are published."""
        needed: dict[tuple[str, ...], Job] = {}

        def add(one: Job) -> None:
            for file in one.inputs:
                maker = self._makers.get(file)
                if maker is not None and maker.rule != "choose_settings":
                    add(maker)
            needed[one.key] = one

        add(job)
        return list(needed.values())

    def _places(self, study: str) -> set[tuple[str, str, int]]:
        """Return stream, method and seed of all published scores."""
        return {(stream, method, seed) for stream, method, _, seed in self.scores(study).index}

    def _scores(self, study: str) -> pd.DataFrame:
        """Return the published scores and statuses of a study by stream, method, metric, seed."""
        path = result_files.study_folder(self.folder, study) / result_paths.SCORE_TABLE
        if not path.exists():
            raise UserError(f"{path}: is missing; publish the study again")
        return tidy_files.read(path).set_index(KEY)[["score", "status"]]


def record(results: Path, study: str, found: Again, planned: int, by: Verifier) -> None:
    """Write the verdict on a run that was computed again into the provenance of its study.

    planned: the number of runs of the study. Verdicts of the same commit stay, and of two on one
    run the worse.
    """
    path = result_files.study_folder(results, study) / result_files.PROVENANCE
    origin = result_files.origin(path.parent)
    before = origin.get(result_files.VERIFIED, {})
    runs = dict(before["runs"]) if before.get("commit") == by.commit else {}
    both = found.verdict, runs.get(found.name, found.verdict)
    runs[found.name] = max(both, key=verify.VERDICTS.index)
    origin[result_files.VERIFIED] = by._asdict() | {"of": planned, "runs": runs}
    atomic_files.write(path, json.dumps(origin, indent=1, sort_keys=True) + "\n")


def _is_alone(metric: str) -> bool:
    """Return whether a metric is about one method, without the study's reference."""
    return "reference" not in components.metric(metric).study


def _compared(ours: pd.DataFrame, published: pd.DataFrame) -> tuple[str, str]:
    """Return the worst verdict on the scores, and its details."""
    if len(other := ours.index.symmetric_difference(published.index)):
        _, _, metric, seed = other[0]
        where = "published" if other[0] in ours.index else "computed"
        return "different", f"not {where}: {len(other)} scores, the first {metric} of seed {seed}"
    if ours.empty:
        return "different", "no score of it is published"
    pairs = list(zip(ours.values, published.reindex(ours.index).values, strict=True))
    verdicts = [verify.of_pair(a, b) if c == d else "different" for (a, c), (b, d) in pairs]
    worst = max(verdicts, key=verify.VERDICTS.index)
    if worst == "identical":
        return worst, f"all {len(pairs)} scores"
    first = verdicts.index(worst)
    _, _, metric, seed = ours.index[first]
    mine, theirs = (repr(score) if status == "ok" else status for score, status in pairs[first])
    return worst, (
        f"{verdicts.count(worst)} of {len(pairs)} scores, the first {metric} of seed {seed}:"
        f" {mine}, published {theirs}"
    )
