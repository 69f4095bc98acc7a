"""The layout of a folder of results: results/CONFIG, or results/published/CONFIG.

The second has only small files: the studies and the overview of the first, with their provenance.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shiftbench.core.errors import UserError

RESULTS = Path("results")
PUBLISHED = "published"
ALL_PUBLISHED = RESULTS / PUBLISHED
"""The folder with the published results of all configs."""
STORE = ".zarr.zip"
COST = ".cost.json"
"""Ending of the file with the cost of a run or warm-up, beside its store."""
STUDIES, STREAMS, RUNS, WARM_UPS, OVERVIEW = "studies", "streams", "runs", "warm-ups", "overview"
SCORES, SUMMARY, SCORE_TABLE = f"scores{STORE}", "summary.csv", "scores.csv"
"""Files of a study: the cube of scores, the summary over seeds, and the table of scores."""
SOURCE_DATA = f"source-data{STORE}"
"""Published file of a study with the arrays that its figures and tables are made of."""
CHOICES = "choices"
"""Folder of the settings that trials chose, in the study of the trials."""
PROVENANCE = "provenance.json"


def of_config(name: str) -> Path:
    """Return the folder of what a run of a config makes."""
    return RESULTS / name


def published(name: str) -> Path:
    """Return the folder of the published results of a config."""
    return ALL_PUBLISHED / name


def study(results: Path | str, name: str) -> Path:
    """Return the folder of a study."""
    return Path(results, STUDIES, name)


def finished(results: Path) -> list[str]:
    """Return the names of the studies that have a summary."""
    return sorted(path.parent.name for path in results.glob(f"{STUDIES}/*/{SUMMARY}"))


def stream(results: Path | str, name: str) -> Path:
    """Return the store of a stream."""
    return Path(results, STREAMS, f"{name}{STORE}")


def seeds(
    results: Path | str, kind: str, study: str, stream: str, name: str, block: tuple[int, int]
) -> Path:
    """Return the store of a run or a warm-up.

    kind: RUNS or WARM_UPS. name: of the method, or of the warm-up. block: first and last seed.
    """
    return Path(results, kind, study, stream, name, f"{block[0]}-{block[1]}{STORE}")


def published_beside(results: Path) -> Path:
    """Return where the published copy of a folder of results stands."""
    return results.parent / PUBLISHED / results.name


def choice(stream: str, method: str) -> str:
    """Return where the choice of settings of a method stands, below the study of its trials."""
    return f"{CHOICES}/{stream}/{method}.json"


def cost(store: str) -> str:
    """Return where the cost of a run or a warm-up stands, beside its store."""
    return store.removesuffix(STORE) + COST


def provenance(study: Path) -> dict[str, Any]:
    """Return the published provenance of a study, by its folder; empty without it.

    UserError where the file is damaged.
    """
    path = study / PROVENANCE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError as error:
        raise UserError(_damaged(path, str(error))) from None
    if not isinstance(found, dict):
        raise UserError(_damaged(path, "it holds no object"))
    return found


def _damaged(path: Path, why: str) -> str:
    return f"{path} is not valid provenance ({why}); restore the file, or publish its study again"
