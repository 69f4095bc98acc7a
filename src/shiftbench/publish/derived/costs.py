"""What published studies did cost, trials of settings counted apart, and would at 20 seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shiftbench.config.tuning import TRIALS

SEEDS = 20
"""As many as the papers with most of them have."""
COLUMNS = ("config", "study", "seeds", "runs", "core_hours", "trials", "at_20_seeds", "commit")


def collect(published: Path) -> pd.DataFrame:
    """One row a study of the folder of published configs that says what it did cost.

    core_hours: of processor time of all runs; trials: of the study's trials, or NaN; at_20_seeds:
    of both, with the study's runs for 20 seeds.
    """
    rows = [row for path in _studies(published) for row in _row(path)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """What people read of it: hours to three digits."""
    hours = ["core_hours", "trials", "at_20_seeds"]
    return rows.assign(
        **{name: rows[name].map(lambda one: "" if pd.isna(one) else f"{one:.3g}") for name in hours}
    )


def caption(rows: pd.DataFrame) -> str:
    """What the columns are, and their sums."""
    total = rows["core_hours"].sum() + rows["trials"].sum()
    return (
        "Core-hours: processor time of all runs of a study; trials: of the choice of its settings;"
        f" at_20_seeds: both, if the study had {SEEDS} seeds. Together {total:.1f}. Machines and"
        " versions stand in each study's provenance.json."
    )


def _studies(published: Path) -> Iterator[Path]:
    for path in sorted(published.glob("*/studies/*")):
        if path.is_dir() and not path.name.endswith(TRIALS):
            yield path


def _row(study: Path) -> Iterator[dict[str, Any]]:
    origin, scores = _origin(study), study / "scores.csv"
    if "core_hours" not in origin or not scores.exists():
        return
    seeds = pd.read_csv(scores)["seed"].nunique()
    trials = _origin(study.with_name(study.name + TRIALS)).get("core_hours", float("nan"))
    own = origin["core_hours"]
    whole = own * SEEDS / seeds + (0 if pd.isna(trials) else trials)
    known = {"seeds": seeds, "runs": origin["runs"], "core_hours": own, "trials": trials}
    place = {"config": study.parents[1].name, "study": study.name}
    yield place | known | {"at_20_seeds": round(whole, 3), "commit": origin["commit"]}


def _origin(study: Path) -> dict[str, Any]:
    path = study / "provenance.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
