"""Files, checksums and provenance of a folder of results.

A folder of results is results/CONFIG, or results/published/CONFIG, which has the same layout.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from shiftbench.config import result_paths
from shiftbench.core import atomic_files
from shiftbench.data.store import checksum
from shiftbench.publish import store_metadata

CHECKSUMS = "SHA256SUMS"
PROVENANCE = result_paths.PROVENANCE
VERIFIED = "verified"
"""Key of the provenance for runs that were computed again later, see `verify`."""
PATTERNS = (
    result_paths.SUMMARY, result_paths.SCORE_TABLE, "figures/*.*", "tables/*.*",
    f"{result_paths.CHOICES}/*/*.json",
)  # fmt: skip
"""Published files below studies/STUDY: those that are small, and those that people look at."""
RUNS, WARM_UPS = result_paths.RUNS, result_paths.WARM_UPS
OVERVIEW = result_paths.OVERVIEW
"""Part of the results with the files about all studies."""


def is_published(results: Path) -> bool:
    """Return whether a folder of results is a published one, with provenance."""
    return any(results.glob(f"{result_paths.STUDIES}/*/{PROVENANCE}"))


def parts(results: Path) -> list[str]:
    """Return the parts that are published separately: the studies, and the overview if any."""
    return [*result_paths.finished(results), *([OVERVIEW] if of_study(results, OVERVIEW) else [])]


def study_folder(results: Path, study: str) -> Path:
    """Return the folder of a study, or of the overview."""
    return results / OVERVIEW if study == OVERVIEW else result_paths.study(results, study)


def of_study(results: Path, study: str) -> dict[str, Path]:
    """Return the published files of a study, or of the overview, by name below its folder."""
    folder = study_folder(results, study)
    patterns = ("*.csv", "*.md", "*.svg", "*.png") if study == OVERVIEW else PATTERNS
    paths = [path for pattern in patterns for path in folder.glob(pattern)]
    visible = [path for path in paths if not path.name.startswith(".")]
    return {path.relative_to(folder).as_posix(): path for path in sorted(visible)}


def source_data(folder: Path) -> dict[str, Path]:
    """Return the file with the source data of a published study, by name; empty without one.

    folder: the study's.
    """
    path = folder / result_paths.SOURCE_DATA
    return {path.name: path} if path.exists() else {}


def times(costs: list[dict[str, Any]]) -> dict[str, str]:
    """Return the first start and last end of jobs; empty if one was not recorded."""
    if not costs or not all("started" in cost and "ended" in cost for cost in costs):
        return {}
    started, ended = ([cost[name] for cost in costs] for name in ("started", "ended"))
    return {"started": min(started), "ended": max(ended)}


def spec_of_scores(results: Path, study: str) -> dict[str, Any]:
    """Return the spec of the scores of a study as `spec`; empty if none was recorded."""
    cube = study_folder(results, study) / result_paths.SCORES
    attributes = store_metadata.attributes(cube) if cube.exists() else {}
    return {"spec": json.loads(attributes["spec"])} if "spec" in attributes else {}


def checksums(files: dict[str, Path]) -> str:
    """Return the lines of sha256sum for files by name."""
    return "".join(checksum.line(name, path) for name, path in sorted(files.items()))


def update_checksums(folder: Path, names: list[str]) -> None:
    """Write the checksums of files in the published list of a folder; other lines stay.

    Names of files that are gone are taken off the list.
    """
    listed = folder / CHECKSUMS
    lines = listed.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = {line.rstrip("\n").partition("  ")[2]: line for line in lines}
    new = {name: checksum.line(name, folder / name) for name in names if (folder / name).exists()}
    others = {name: line for name, line in kept.items() if name not in names}
    atomic_files.write(listed, "".join(line for _, line in sorted((others | new).items())))


def origins(results: Path) -> list[dict[str, Any]]:
    """Return the published provenance of each study."""
    return [origin(study_folder(results, study)) for study in result_paths.finished(results)]


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
