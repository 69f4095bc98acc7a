"""Publish studies: copy their files to results/published/CONFIG, with checksums and provenance.

The workflow writes only to results/CONFIG, which git ignores. A study whose files equal the
published ones to the byte is left alone, with its provenance.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from shiftbench.config import result_paths
from shiftbench.config.compatibility_words import listed
from shiftbench.config.tuning import TRIALS
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.data.store import scratch
from shiftbench.evaluation.scoring import tidy_files
from shiftbench.forecast import records
from shiftbench.publish import crate_files, result_files, source_data
from shiftbench.publish.result_files import PROVENANCE
from shiftbench.publish.results_folder import ResultsFolder

OF_CODE = ("code", "environment", "digest")
"""Keys of specs that tell code and packages; the provenance of published results names both."""


def publish(
    results: ResultsFolder, target: Path, dry_run: bool = False, with_source: bool = False
) -> dict[str, str]:
    """Copy the finished studies of a folder of results, and their overview.

    Parameters
    ----------
    results
        The folder with its config, or a published folder.
    target
        The folder to copy them to.
    dry_run
        Write nothing.
    with_source
        Publish source data of each study as well, but not of trials, see `source_data.write`.

    Returns
    -------
    dict
        For each study "published" or "unchanged", and "left out" with the file that it lacks. The
        text also names streams that only the study published before has, and, with `with_source`,
        says whether there are source data.

    Raises
    ------
    UserError
        Without a finished study; with a file that changed since the workflow wrote it, that has no
        checksum, or that the plan does not have; with a run of other settings than the plan's.
        Nothing is copied then.
    """
    folder, lacking = results.folder, results.incomplete()
    names = [name for name in result_files.parts(folder) if name not in lacking]
    if not {*names} - {result_files.OVERVIEW}:
        raise UserError(f"{folder}: no study is finished there; run the workflow first")
    broken = [str(path) for name in names for path in results.changed(name)]
    if broken:
        raise UserError(
            f"{', '.join(broken)}: changed or gone since the workflow made it; start the workflow"
            " again, which makes it again. Nothing was published."
        )
    if others := results.unplanned(but_for=OF_CODE):
        raise UserError(
            f"{crate_files.some(others)}: computed with other settings than the config has now;"
            " start the workflow again, or restore the config. Nothing was published."
        )
    new = [name for name in names if not _is_unchanged(folder, target, name)]
    done = {
        name: f"published{_lost_streams(folder, target, name)}" if name in new else "unchanged"
        for name in names
    }
    code = commit()  # before anything is written, because git tracks published files
    for name in [] if dry_run else new:
        _publish_study(results, target, name, code)
    for name in [] if dry_run else names:
        _write_costs(results, name, result_files.study_folder(target, name) / records.TABLE)
    for name in names if with_source and not dry_run else ():
        if name != result_files.OVERVIEW and not name.endswith(TRIALS):
            done[name] += _write_source(results, name, result_files.study_folder(target, name))
    left_out = {name: f"left out, without {file}" for name, file in lacking.items()}
    return dict(sorted((done | left_out).items()))


def target_of(results: Path, to: str | None) -> Path:
    """Return the folder to publish to: `to`, or else published/CONFIG beside the results.

    Raises UserError for a folder with anything but published results, and for results that are
    published themselves if no other folder is named.
    """
    if to is None and result_files.is_published(results):
        raise UserError(f"{results}: is published already; name a folder for a copy with --to")
    target = Path(to) if to else result_paths.published_beside(results)
    if target.exists() and not target.is_dir():
        raise UserError(f"{target}: is not a folder; name another with --to")
    others = {path.name for path in target.glob("*")} - {
        result_paths.STUDIES,
        result_files.OVERVIEW,
    }
    if others:
        raise UserError(
            f"{target}: holds {min(others)}, so it is not a folder of published results; name"
            " another with --to"
        )
    return target


def _is_unchanged(results: Path, target: Path, study: str) -> bool:
    """Return whether the target has the same files of a study, with checksums and provenance."""
    place = result_files.study_folder(target, study)
    if not all((place / name).exists() for name in (result_files.CHECKSUMS, PROVENANCE)):
        return False
    ours, published = (result_files.of_study(side, study) for side in (results, target))
    return result_files.checksums(ours) == result_files.checksums(published)


def _lost_streams(results: Path, target: Path, study: str) -> str:
    """Return words on streams with published scores and none in the results, if there are any."""
    before, kept = _streams(target, study), _streams(results, study)
    lost = [name for name in before if kept and name not in kept]
    return f"; no longer has the streams {', '.join(lost)}" if lost else ""


def _streams(folder: Path, study: str) -> list[str]:
    """Return the streams with scores; none without a table of scores, or with a damaged one."""
    path = result_files.of_study(folder, study).get(result_paths.SCORE_TABLE)
    try:
        return [] if path is None else list(tidy_files.read(path)["stream"].unique())
    except UserError:  # the files published now replace it
        return []


def _publish_study(results: ResultsFolder, target: Path, study: str, code: str) -> None:
    files = result_files.of_study(results.folder, study)
    files |= result_files.source_data(result_files.study_folder(results.folder, study))
    place = result_files.study_folder(target, study)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{study}.", dir=place.parent) as folder:
        new = Path(folder, study)
        for name, path in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, new / name)
        (new / result_files.CHECKSUMS).write_text(result_files.checksums(files), encoding="utf-8")
        _write_provenance(results, study, code, new / PROVENANCE)
        if (place / records.TABLE).exists():
            shutil.copyfile(place / records.TABLE, new / records.TABLE)
        scratch.replace(place, new)


def _write_source(results: ResultsFolder, study: str, target: Path) -> str:
    """Write the source data of a study with their checksum, and say so, or why they are left out.

    target: the published folder of the study.
    """
    assert results.plan is not None, "only results of a run get source data"
    reason = source_data.write(results.folder, study, results.plan, target / source_data.FILE)
    result_files.update_checksums(target, [source_data.FILE])
    if reason:
        return f", without source data: {reason}"
    suffice = source_data.artefacts(target)
    lacking = [name for name in results.plan.studies[study].artefacts if name not in suffice]
    return f", with source data{f', but not for {listed(lacking)}' if lacking else ''}"


def _write_costs(results: ResultsFolder, study: str, target: Path) -> None:
    """Write the cost of each run, from which `plan` estimates.

    They are the costs of the runs or, for published results, the costs published with them. Costs
    published earlier stay if they are of the same kinds of runs (see `records.alike`).
    """
    kinds = (result_files.RUNS, result_files.WARM_UPS)
    costs = records.of_files(path for kind in kinds for path in results.cost_files(kind, study))
    table = result_files.study_folder(results.folder, study) / records.TABLE
    costs = costs or list(records.of_table(table))
    kinds_of_runs, known = (
        {one.alike for one in each} for each in (costs, records.of_table(target))
    )
    if costs and kinds_of_runs != known:
        records.write(target, costs)


def _write_provenance(results: ResultsFolder, study: str, code: str, target: Path) -> None:
    """Write the provenance of a study, or copy it if `results` is itself a published folder."""
    published = result_files.study_folder(results.folder, study) / PROVENANCE
    if published.exists():
        shutil.copyfile(published, target)
        return
    origin = json.dumps(provenance(results, study, code), indent=1, sort_keys=True)
    target.write_text(origin + "\n", encoding="utf-8")


def provenance(results: ResultsFolder, study: str, code: str) -> dict[str, Any]:
    """Return commit, number of runs, cost, times, processors, GPUs and versions of a study.

    Also the spec of its scores: methods with all settings, metrics, digest of the code. code: the
    commit, see `commit`.
    """
    costs = results.costs(result_files.RUNS, study)
    all_costs = [*costs, *results.costs(result_files.WARM_UPS, study)]
    return {
        "commit": code,
        "runs": len(costs),
        "core_hours": round(sum(cost["cpu_seconds"] for cost in all_costs) / 3600, 3),
        "processors": sorted({cost["processor"] for cost in all_costs}),
        "instructions": results.instructions(study),
        "versions": costs[0]["versions"] if costs else {},
        **results.gpus(study),
        **result_files.times(all_costs),
        **result_files.spec_of_scores(results.folder, study),
    }


def commit() -> str:
    """Return the commit of the code's checkout, marked if it has changes; empty without git.

    The working directory, and a folder above an installed package, may be of the user's repository.
    Published results do not count as changes: they are written from the code of the commit.
    """
    describe = ("describe", "--always", "--abbrev=12", "--exclude=*")
    ours = f":(top,exclude){result_paths.ALL_PUBLISHED}"
    changes = ("status", "--porcelain", "--untracked-files=no", "--", ":/", ours)
    if not (checkout.HOME / ".git").exists():
        return ""
    try:
        name, changed = map(_git, (describe, changes))
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name}-dirty" if changed else name


def _git(words: tuple[str, ...]) -> str:
    command = ["git", "-C", str(checkout.HOME), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()
