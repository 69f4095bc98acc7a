"""Publishing: an act of its own, which copies what is published to results/published/CONFIG.

A run writes to results/CONFIG only, which is ignored. A study whose files are the published ones
to the byte is left alone, with the provenance that it has.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from shiftbench.core.errors import UserError
from shiftbench.forecast import records
from shiftbench.publish import files


def publish(results: Path, target: Path, dry_run: bool = False) -> dict[str, str]:
    """Copies the studies of a folder of results, and the overview of them.

    For each what was done, or with `dry_run` would be: published, unchanged.

    UserError where there is nothing to publish, or a file is not what the workflow made; then
    nothing is copied.
    """
    names = files.parts(results)
    if not files.studies(results):
        raise UserError(f"{results}: no study is finished there; run the workflow first")
    if broken := [str(path) for name in names for path in files.changed(results, name)]:
        raise UserError(
            f"{', '.join(broken)}: changed or gone since the workflow made it; delete what is left"
            " and start the workflow again. Nothing was published."
        )
    news = [name for name in names if not _is_published(results, target, name)]
    code = commit()  # before anything is written: what is published is tracked by git too
    for name in [] if dry_run else news:
        _publish_study(results, target, name, code)
    for name in [] if dry_run else names:
        _write_costs(results, name, files.place(target, name) / records.TABLE)
    return {name: "published" if name in news else "unchanged" for name in names}


def _is_published(results: Path, target: Path, study: str) -> bool:
    """Whether the target has the same files of a study, and where they come from."""
    place = files.place(target, study)
    ours, theirs = (files.checksums(files.of_study(side, study)) for side in (results, target))
    complete = (place / files.CHECKSUMS).exists() and (place / files.PROVENANCE).exists()
    return complete and ours == theirs


def _publish_study(results: Path, target: Path, study: str, code: str) -> None:
    made, place = files.of_study(results, study), files.place(target, study)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{study}.", dir=place.parent) as scratch:
        new = Path(scratch, study)
        for name, path in made.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, new / name)
        (new / files.CHECKSUMS).write_text(files.checksums(made), encoding="utf-8")
        _write_provenance(results, study, code, new / files.PROVENANCE)
        if place.exists():
            place.rename(Path(scratch, "old"))
        new.rename(place)


def _write_costs(results: Path, study: str, target: Path) -> None:
    """What each run did cost, from which `plan` estimates; costs alone are no reason to publish."""
    found = records.of_study(results, study)
    if found and not target.exists():
        records.write(target, found)


def _write_provenance(results: Path, study: str, code: str, target: Path) -> None:
    """Where a study comes from; what was published once keeps the provenance that it has."""
    told = files.place(results, study) / files.PROVENANCE
    if told.exists():
        shutil.copyfile(told, target)
        return
    origin = json.dumps(provenance(results, study, code), indent=1, sort_keys=True)
    target.write_text(origin + "\n", encoding="utf-8")


def provenance(results: Path, study: str, code: str) -> dict[str, Any]:
    """Commit of the code; how many runs, when, on which processors and GPUs, and versions.

    Of a study also the spec of its scores: methods with all settings, metrics, digest of the code.
    code: the commit, see `commit`.
    """
    costs = files.costs(results, study)
    all_costs = [*costs, *files.costs_of_warm_ups(results, study)]
    return {
        "commit": code,
        "runs": len(costs),
        "core_hours": round(sum(cost["cpu_seconds"] for cost in all_costs) / 3600, 3),
        "processors": sorted({cost["processor"] for cost in all_costs}),
        "instructions": files.instructions(results, study),
        "versions": costs[0]["versions"] if costs else {},
        **files.gpus(results, study),
        **files.times(all_costs),
        **files.spec_of_scores(results, study),
    }


def commit() -> str:
    """The commit of the working tree, with a mark where it has changes; empty without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
