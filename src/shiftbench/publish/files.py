"""Which files of a folder of results are published, and their checksums.

A folder of results is results/CONFIG, or results/published/CONFIG, which has the same layout.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shiftbench.data.store import checksum
from shiftbench.publish import stores

CHECKSUMS = "SHA256SUMS"
PROVENANCE = "provenance.json"
PATTERNS = ("summary.csv", "scores.csv", "figures/*.*", "tables/*.*", "choices/*/*.json")
"""Below studies/STUDY: what is small, and what people look at."""
RUNS, WARM_UPS = "runs", "warm-ups"
COST = ".cost.json"
"""The ending of what a run did cost, beside its store."""
OVERVIEW = "overview"
"""What is made of all studies: a part of its own beside them, whose files are all published."""


def studies(results: Path) -> list[str]:
    """Names of the studies that have a summary."""
    return sorted(path.parent.name for path in results.glob("studies/*/summary.csv"))


def parts(results: Path) -> list[str]:
    """What is published each for itself: the studies, and the overview where there is one."""
    return [*studies(results), *([OVERVIEW] if of_study(results, OVERVIEW) else [])]


def place(results: Path, study: str) -> Path:
    """The folder of a study, or of the overview."""
    return results / OVERVIEW if study == OVERVIEW else results / "studies" / study


def of_study(results: Path, study: str) -> dict[str, Path]:
    """The published files of a study, or of the overview, by their names below its folder."""
    folder = place(results, study)
    patterns = ("*.csv", "*.md", "*.svg", "*.png") if study == OVERVIEW else PATTERNS
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    visible = [path for path in found if not path.name.startswith(".")]
    return {path.relative_to(folder).as_posix(): path for path in sorted(visible)}


def costs(results: Path, study: str) -> list[dict[str, Any]]:
    """What the runs of a study did cost, and where; none in a published folder."""
    return _costs(results / RUNS / study)


def costs_of_warm_ups(results: Path, study: str) -> list[dict[str, Any]]:
    """The same of the warm-ups that runs of the study share, or did with other settings."""
    return _costs(results / WARM_UPS / study)


def times(costs: list[dict[str, Any]]) -> dict[str, str]:
    """When the first of some jobs started and the last ended; nothing where one did not say."""
    if not costs or not all("started" in cost and "ended" in cost for cost in costs):
        return {}
    started, ended = ([cost[name] for cost in costs] for name in ("started", "ended"))
    return {"started": min(started), "ended": max(ended)}


def spec_of_scores(results: Path, study: str) -> dict[str, Any]:
    """The spec that the scores of a study were made from; nothing where none was recorded."""
    cube = place(results, study) / f"scores{stores.SUFFIX}"
    told = stores.attributes(cube) if cube.exists() else {}
    return {"spec": json.loads(told["spec"])} if "spec" in told else {}


def instructions(results: Path, study: str) -> list[str]:
    """The instructions that the runs of a study had, portable or native; empty if unknown."""
    if found := costs(results, study):
        return sorted({cost.get("instructions", "native") for cost in found})
    return _origin(results, study).get("instructions", [])


def gpus(results: Path, study: str) -> dict[str, Any]:
    """The GPUs that jobs of a study had, and for how many hours; nothing where none had one."""
    had = [
        cost
        for cost in [*costs(results, study), *costs_of_warm_ups(results, study)]
        if cost.get("device") == "gpu"
    ]
    if had:
        hours = sum(cost["wall_seconds"] for cost in had) / 3600
        return {"gpus": sorted({cost["gpu"] for cost in had}), "gpu_hours": round(hours, 3)}
    origin = _origin(results, study)
    return {name: origin[name] for name in ("gpus", "gpu_hours") if name in origin}


def checksums(files: dict[str, Path]) -> str:
    """The lines of sha256sum for files by name."""
    return "".join(checksum.line(name, path) for name, path in sorted(files.items()))


def changed(results: Path, study: str) -> list[Path]:
    """Files of a study that are not what was made: by their seals, or by the published list.

    Also its runs, their warm-ups and its cube, where they are there; and files that were sealed
    and are gone.
    """
    folder = place(results, study)
    folders = [folder, results / RUNS / study, results / WARM_UPS / study]
    sealed = [seal for one in folders for seal in one.rglob(".*.sha256")]
    made = [path.with_name(path.name[1:].removesuffix(".sha256")) for path in sealed]
    broken = [path for path in made if checksum.is_broken(path)]
    listed = folder / CHECKSUMS
    if listed.exists():
        now = checksums(of_study(results, study)).splitlines()
        then = listed.read_text(encoding="utf-8").splitlines()
        names = {text.partition("  ")[2] for text in set(now) ^ set(then)}
        broken += [folder / name for name in names]
    return sorted(broken)


def _origin(results: Path, study: str) -> dict[str, Any]:
    """What was published about where a study comes from; nothing where it was not."""
    told = place(results, study) / PROVENANCE
    return json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}


def _costs(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.rglob(f"*{COST}"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]
