"""Files, costs and checksums of a folder of results.

A folder of results is results/CONFIG, or results/published/CONFIG, which has the same layout.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Any

from shiftbench.config import result_paths
from shiftbench.data.store import checksum, manifest
from shiftbench.forecast import records
from shiftbench.publish import store_metadata

CHECKSUMS = "SHA256SUMS"
PROVENANCE = result_paths.PROVENANCE
VERIFIED = "verified"
"""Key of the provenance with the runs that were computed again later, see `verify`."""
PATTERNS = ("summary.csv", "scores.csv", "figures/*.*", "tables/*.*", "choices/*/*.json")
"""Published files below studies/STUDY: those that are small, and those that people look at."""
RUNS, WARM_UPS = result_paths.RUNS, result_paths.WARM_UPS
NONE: frozenset[Path] = frozenset()
OVERVIEW = "overview"
"""Part of the results, beside the studies, with the files about all of them."""


def studies(results: Path) -> list[str]:
    """Return the names of the studies that have a summary."""
    return sorted(path.parent.name for path in results.glob("studies/*/summary.csv"))


def parts(results: Path) -> list[str]:
    """Return the parts that are published separately: the studies, and the overview if any."""
    return [*studies(results), *([OVERVIEW] if of_study(results, OVERVIEW) else [])]


def study_folder(results: Path, study: str) -> Path:
    """Return the folder of a study, or of the overview."""
    return results / OVERVIEW if study == OVERVIEW else results / "studies" / study


def of_study(results: Path, study: str) -> dict[str, Path]:
    """Return the published files of a study, or of the overview, by name below its folder."""
    folder = study_folder(results, study)
    patterns = ("*.csv", "*.md", "*.svg", "*.png") if study == OVERVIEW else PATTERNS
    paths = [path for pattern in patterns for path in folder.glob(pattern)]
    visible = [path for path in paths if not path.name.startswith(".")]
    return {path.relative_to(folder).as_posix(): path for path in sorted(visible)}


def costs(results: Path, study: str, stale: Set[Path] = NONE) -> list[dict[str, Any]]:
    """Return the costs of the runs of a study, but for stale ones; none in a published folder."""
    return _costs(results / RUNS / study, stale)


def costs_of_warm_ups(results: Path, study: str, stale: Set[Path] = NONE) -> list[dict[str, Any]]:
    """Return the costs of the warm-ups of a study, but for stale ones."""
    return _costs(results / WARM_UPS / study, stale)


def times(costs: list[dict[str, Any]]) -> dict[str, str]:
    """Return the first start and last end of jobs; empty if one was not recorded."""
    if not costs or not all("started" in cost and "ended" in cost for cost in costs):
        return {}
    started, ended = ([cost[name] for cost in costs] for name in ("started", "ended"))
    return {"started": min(started), "ended": max(ended)}


def spec_of_scores(results: Path, study: str) -> dict[str, Any]:
    """Return the spec of the scores of a study as `spec`; empty if none was recorded."""
    cube = study_folder(results, study) / f"scores{result_paths.STORE}"
    attributes = store_metadata.attributes(cube) if cube.exists() else {}
    return {"spec": json.loads(attributes["spec"])} if "spec" in attributes else {}


def instructions(results: Path, study: str, stale: Set[Path] = NONE) -> list[str]:
    """Return the kinds of instructions of the runs of a study, portable or native, if known."""
    if of_runs := costs(results, study, stale):
        return sorted({cost.get("instructions", "native") for cost in of_runs})
    return origin(study_folder(results, study)).get("instructions", [])


def gpus(results: Path, study: str, stale: Set[Path] = NONE) -> dict[str, Any]:
    """Return the GPUs of the jobs of a study, and their hours; empty without GPUs."""
    on_gpus = [
        cost
        for cost in [*costs(results, study, stale), *costs_of_warm_ups(results, study, stale)]
        if cost.get("device") == "gpu"
    ]
    if on_gpus:
        hours = sum(cost["wall_seconds"] for cost in on_gpus) / 3600
        return {"gpus": sorted({cost["gpu"] for cost in on_gpus}), "gpu_hours": round(hours, 3)}
    known = origin(study_folder(results, study))
    return {name: known[name] for name in ("gpus", "gpu_hours") if name in known}


def checksums(files: dict[str, Path]) -> str:
    """Return the lines of sha256sum for files by name."""
    return "".join(checksum.line(name, path) for name, path in sorted(files.items()))


def changed(results: Path, study: str, stale: Set[Path] = NONE) -> list[Path]:
    """Return the files of a study that changed or are gone since the workflow wrote them.

    stale: files to leave out.

    According to the checksum file beside each, for files of the study, runs and warm-ups, and to
    the published list of checksums, if there is one. A file in the manifest without a checksum file
    counts as changed.
    """
    folder = study_folder(results, study)
    folders = [folder, results / RUNS / study, results / WARM_UPS / study]
    paths = {path for below in folders for path in checksum.with_one(below)}
    for path in map(results.joinpath, manifest.read(results)):
        if any(path.is_relative_to(below) for below in folders):
            paths.add(path)
    broken = [
        path
        for path in paths - stale
        if not path.is_file() or checksum.sealed(path) != checksum.sha256(path)
    ]
    listed = folder / CHECKSUMS
    if listed.exists():
        now = checksums(of_study(results, study)).splitlines()
        then = listed.read_text(encoding="utf-8").splitlines()
        names = {text.partition("  ")[2] for text in set(now) ^ set(then)}
        broken += [folder / name for name in names]
    return sorted(broken)


def origins(results: Path) -> list[dict[str, Any]]:
    """Return the published provenance of each study."""
    return [origin(study_folder(results, study)) for study in studies(results)]


def origin(study: Path) -> dict[str, Any]:
    """Return the published provenance of a study, by its folder; empty without it."""
    return result_paths.provenance(study)


def verified(origin: dict[str, Any]) -> str:
    """Say which runs of a published study were computed again, and by what; empty if none were.

    origin: its provenance.
    """
    entry = origin.get(VERIFIED)
    if entry is None:
        return ""
    verdicts = Counter(entry["runs"].values())
    counted = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    by = f" by commit {entry['commit']}" if entry["commit"] else ""
    return f"{len(entry['runs'])} of {entry['of']} runs computed again{by}: {counted}"


def cost_file(store: Path) -> Path:
    """Return the file with the cost of a run, by its store."""
    return store.with_name(store.name.removesuffix(result_paths.STORE) + records.COST)


def _costs(folder: Path, stale: Set[Path]) -> list[dict[str, Any]]:
    paths = sorted({*folder.rglob(f"*{records.COST}")} - stale)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]
