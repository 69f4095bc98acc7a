"""A folder of results compared with what its config plans."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from shiftbench.config import jobs, result_paths, specs
from shiftbench.config.job import Job
from shiftbench.config.schema import Config
from shiftbench.config.spec_files import Spec
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, manifest
from shiftbench.publish import crate_files, result_files, store_metadata
from shiftbench.publish.result_files import OVERVIEW, RUNS, WARM_UPS


class ResultsFolder:
    """A folder of results, published or not; its files are listed once, at first use.

    plan: its config; without one, all existing files count as planned.
    """

    def __init__(self, folder: Path, plan: Config | None = None) -> None:
        self.folder = folder
        self.plan = plan
        self.jobs: list[Job] = jobs.of_config(plan, ".", folder.name) if plan else []
        """The jobs of the config, with paths below the folder."""

    @cached_property
    def planned(self) -> dict[str, set[str]]:
        """The files to publish of each study, and of the overview, by name below its folder."""
        found: dict[str, set[str]] = {}
        for job in self.jobs:
            for output in map(PurePosixPath, job.outputs):
                match output.parts:
                    case (result_paths.STUDIES, study, *names) if not _is_store(output):
                        found.setdefault(study, set()).add("/".join(names))
                    case (result_paths.OVERVIEW, name):
                        found.setdefault(OVERVIEW, set()).add(name)
        return found

    @cached_property
    def present(self) -> dict[str, dict[str, Path]]:
        """The files to publish that are there, of each part that is planned or has a folder."""
        folders = (self.folder / result_paths.STUDIES).glob("*")
        there = [path.name for path in sorted(folders) if path.is_dir()]
        parts = dict.fromkeys([*self.planned, *there, OVERVIEW])
        return {part: result_files.of_study(self.folder, part) for part in parts}

    @cached_property
    def stale(self) -> frozenset[Path]:
        """The files of runs and warm-ups that the config does not plan, or no longer."""
        if self.plan is None:
            return frozenset()
        planned = {self.folder / path for job in self.jobs for path in job.outputs}
        below = [self.folder / kind for kind in (RUNS, WARM_UPS)]
        there = {path for one in below for path in one.rglob("[!.]*") if path.is_file()}
        return frozenset(there - planned)

    def incomplete(self) -> dict[str, str]:
        """Return a missing file of each part that has some of its files, but not all.

        A part without any file was not requested. Raises UserError for files that no job of the
        config makes, and for those without a checksum.
        """
        if self.plan is None:
            return {}
        self._refuse_others()
        begun = {part: files for part, files in self.present.items() if files}
        lacking = {part: sorted(self.planned[part] - {*files}) for part, files in begun.items()}
        return {part: names[0] for part, names in lacking.items() if names}

    def refuse_incomplete(self) -> None:
        """Raise UserError unless the folder has everything that the config plans for its studies.

        An overview may be missing as a whole, and the runs of a published folder.
        """
        if self.plan is None:
            return
        self._refuse_others()
        lacking = [
            result_files.study_folder(self.folder, part) / name
            for part, names in self.planned.items()
            if part != OVERVIEW or self.present[part]
            for name in sorted(names - self.present[part].keys())
        ]
        if not result_files.is_published(self.folder):
            runs = [job for job in self.jobs if job.rule == "run_method"]
            places = [self.folder / path for job in runs for path in job.outputs]
            lacking += [path for path in places if not path.is_file()]
        if lacking:
            raise UserError(
                f"{self.folder}: lacks {crate_files.some([str(path) for path in lacking])}, which"
                " the config plans; run the workflow to its end, or name a config without these"
                " studies with --config"
            )

    def stores(self, kind: str, study: str) -> list[Path]:
        """Return the stores of the planned runs or warm-ups of a study. kind: RUNS, WARM_UPS."""
        below = store_metadata.below(self.folder / kind / study)
        return [path for path in below if path not in self.stale]

    def runs(self) -> list[Path]:
        """Return the stores of all runs of finished studies, and of the warm-ups they share."""
        return [
            path
            for kind in (RUNS, WARM_UPS)
            for study in result_paths.finished(self.folder)
            for path in self.stores(kind, study)
        ]

    def unplanned(self, but_for: Collection[str] = ()) -> list[str]:
        """Return the runs and warm-ups that were computed from another spec than the plan's.

        but_for: keys of specs that may differ. Without a config there is no plan to compare with.
        """
        if self.plan is None:
            return []
        jobs = {self.folder / file: job for job in self.jobs for file in job.outputs}
        return [
            str(path)
            for path in self.runs()
            if not _is_planned(jobs[path].spec, store_metadata.spec(path), but_for)
        ]

    def cost_files(self, kind: str, study: str) -> list[Path]:
        """Return the files with the costs of planned runs or warm-ups; none if published."""
        below = (self.folder / kind / study).rglob(f"*{result_paths.COST}")
        return sorted({*below} - self.stale)

    def costs(self, kind: str, study: str) -> list[dict[str, Any]]:
        """Return the costs of the planned runs or warm-ups of a study; none if published."""
        files = self.cost_files(kind, study)
        return [json.loads(path.read_text(encoding="utf-8")) for path in files]

    def instructions(self, study: str) -> list[str]:
        """Return the kinds of instructions of the runs of a study, portable or native, if known."""
        if of_runs := self.costs(RUNS, study):
            return sorted({cost.get("instructions", "native") for cost in of_runs})
        return self._origin(study).get("instructions", [])

    def gpus(self, study: str) -> dict[str, Any]:
        """Return the GPUs of the jobs of a study, and their hours; empty without GPUs."""
        costs = [*self.costs(RUNS, study), *self.costs(WARM_UPS, study)]
        if on_gpus := [cost for cost in costs if cost.get("device") == "gpu"]:
            hours = sum(cost["wall_seconds"] for cost in on_gpus) / 3600
            return {"gpus": sorted({cost["gpu"] for cost in on_gpus}), "gpu_hours": round(hours, 3)}
        known = self._origin(study)
        return {name: known[name] for name in ("gpus", "gpu_hours") if name in known}

    def changed(self, study: str) -> list[Path]:
        """Return the files of a study that changed or are gone since the workflow wrote them.

        According to the checksum file beside each, and to the published list of checksums, if
        there is one. Runs and warm-ups that are not planned are left out. A file in the manifest
        without a checksum file counts as changed.
        """
        folder = result_files.study_folder(self.folder, study)
        folders = [folder, *(self.folder / kind / study for kind in (RUNS, WARM_UPS))]
        paths = {path for below in folders for path in checksum.with_one(below)}
        for path in map(self.folder.joinpath, manifest.read(self.folder)):
            if any(path.is_relative_to(below) for below in folders):
                paths.add(path)
        broken = [
            path
            for path in paths - self.stale
            if not path.is_file() or checksum.sealed(path) != checksum.sha256(path)
        ]
        listed = folder / result_files.CHECKSUMS
        if listed.exists():
            files = result_files.of_study(self.folder, study) | result_files.source_data(folder)
            now = result_files.checksums(files).splitlines()
            then = listed.read_text(encoding="utf-8").splitlines()
            names = {text.partition("  ")[2] for text in set(now) ^ set(then)}
            broken += [folder / name for name in names]
        return sorted(broken)

    def _origin(self, study: str) -> dict[str, Any]:
        return result_files.origin(result_files.study_folder(self.folder, study))

    def _refuse_others(self) -> None:
        """Raise UserError for files that no job of the config makes.

        Also for those without the checksum that the workflow writes beside each; a published
        folder lists its checksums.
        """
        foreign = [
            str(path)
            for part, files in self.present.items()
            for name, path in files.items()
            if name not in self.planned.get(part, set())
        ]
        if foreign:
            raise UserError(
                f"{crate_files.some(foreign)}: the config plans no such file. Delete it, or name"
                " the config of these results with --config. Nothing was published."
            )
        if result_files.is_published(self.folder) or os.environ.get(checksum.OFF):
            return
        paths = [path for files in self.present.values() for path in files.values()]
        if bare := [str(path) for path in paths if not checksum.is_there(path)]:
            raise UserError(
                f"{', '.join(bare)}: without the checksum file that the workflow writes beside it,"
                " so nobody knows whether it was changed. Delete it and start the workflow again,"
                " which makes it again. Nothing was published."
            )


def _is_planned(planned: Spec, spec: Spec, but_for: Collection[str]) -> bool:
    """Return whether a run, or a warm-up, has the planned spec, but for some keys."""
    if "tuned" in spec:
        planned = specs.with_choice(planned, spec["tuned"])
    left, right = (
        {key: value for key, value in each.items() if key not in but_for}
        for each in (planned, spec)
    )
    return left == right


def _is_store(path: PurePosixPath) -> bool:
    return path.name.endswith(result_paths.STORE)
