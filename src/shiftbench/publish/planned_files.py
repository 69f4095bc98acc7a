"""The files of each study that its config plans, compared with those in a folder of results."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from shiftbench.config import jobs, result_paths
from shiftbench.config.schema import Config
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum
from shiftbench.publish import crate_files, result_files
from shiftbench.publish.result_files import OVERVIEW


def by_part(config: Config, results: Path) -> dict[str, set[str]]:
    """Return the published files of each study, and of the overview, by name below its folder."""
    found: dict[str, set[str]] = {}
    for job in jobs.of_config(config, ".", results.name):
        for output in map(PurePosixPath, job.outputs):
            match output.parts:
                case ("studies", study, *_) if not output.name.endswith(result_paths.STORE):
                    name = output.relative_to("studies", study)
                    found.setdefault(study, set()).add(name.as_posix())
                case ("overview", name):
                    found.setdefault(OVERVIEW, set()).add(name)
    return found


def incomplete(config: Config, results: Path) -> dict[str, str]:
    """Return a missing file of each part that has some of its files, but not all.

    A part without any file was not asked for. Raises UserError for files that no job of the config
    makes, and for those without a checksum.
    """
    planned = by_part(config, results)
    there = {part: result_files.of_study(results, part) for part in _parts(results, planned)}
    _refuse_foreign(planned, there)
    _refuse_unprotected([path for files in there.values() for path in files.values()])
    lacking = {part: sorted(planned[part] - {*files}) for part, files in there.items() if files}
    return {part: names[0] for part, names in lacking.items() if names}


def refuse_incomplete(config: Config, results: Path, is_published: bool) -> None:
    """Raise UserError unless results have all that the config plans for its studies.

    An overview may be missing as a whole. is_published: as a copy, which has no runs.
    """
    planned = by_part(config, results)
    there = {part: result_files.of_study(results, part) for part in _parts(results, planned)}
    _refuse_foreign(planned, there)
    if not is_published:
        _refuse_unprotected([path for files in there.values() for path in files.values()])
    lacking = [
        result_files.study_folder(results, part) / name
        for part, names in planned.items()
        if part != OVERVIEW or there[part]
        for name in sorted(names - there[part].keys())
    ]
    if not is_published:
        lacking += [path for path in _runs(config, results) if not path.is_file()]
    if lacking:
        raise UserError(
            f"{results}: lacks {crate_files.some([str(path) for path in lacking])}, which the"
            " config plans; run the workflow to its end, or name a config without these studies"
            " with --config"
        )


def stale(config: Config, results: Path) -> frozenset[Path]:
    """Return the files of runs and warm-ups that the config does not plan, or no longer."""
    jobs_of = jobs.of_config(config, results, results.name)
    planned = {Path(path) for job in jobs_of for path in job.outputs}
    kinds = (result_files.RUNS, result_files.WARM_UPS)
    there = {path for kind in kinds for path in (results / kind).rglob("[!.]*") if path.is_file()}
    return frozenset(there - planned)


def _runs(config: Config, results: Path) -> list[Path]:
    """Return the stores and costs of all runs of a config."""
    planned = jobs.of_config(config, results, results.name)
    return [Path(path) for job in planned if job.rule == "run_learner" for path in job.outputs]


def _parts(results: Path, planned: dict[str, set[str]]) -> list[str]:
    """Return the parts that are planned or have a folder."""
    folders = [path.name for path in sorted(results.glob("studies/*")) if path.is_dir()]
    return [*dict.fromkeys([*planned, *folders, OVERVIEW])]


def _refuse_foreign(planned: dict[str, set[str]], there: dict[str, dict[str, Path]]) -> None:
    """Raise UserError for files that no job of the config makes."""
    foreign = [
        str(path)
        for part, files in there.items()
        for name, path in files.items()
        if name not in planned.get(part, set())
    ]
    if foreign:
        raise UserError(
            f"{crate_files.some(foreign)}: the config plans no such file. Delete it, or name the"
            " config of these results with --config. Nothing was published."
        )


def _refuse_unprotected(paths: list[Path]) -> None:
    """Raise UserError for files without the checksum that the workflow writes beside each."""
    bare = [str(path) for path in paths if not checksum.is_there(path)]
    if bare and not os.environ.get(checksum.OFF):
        raise UserError(
            f"{', '.join(bare)}: without the checksum file that the workflow writes beside it, so"
            " nobody knows whether it was changed. Delete it and start the workflow again, which"
            " makes it again. Nothing was published."
        )
