"""Costs of published studies, of their trials of settings, and of 20 seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shiftbench.config import result_paths
from shiftbench.config.tuning import TRIALS
from shiftbench.evaluation.scoring import tidy_files
from shiftbench.publish import result_files

SEEDS = 20
"""Largest number of seeds in the papers."""
LEAST = 0.001
"""The unit of recorded core-hours, to which they are rounded."""
COLUMNS = (
    "config", "study", "seeds", "runs", "core_hours", "trials", "at_20_seeds", "commit", "verified",
)  # fmt: skip


def collect(published: Path) -> pd.DataFrame:
    """Return one row per study with recorded costs, from the folder of published configs.

    core_hours: processor time of all runs; trials: of the study's trials, or NaN; at_20_seeds: of
    both, if the runs had 20 seeds; verified: the runs that were computed again later.
    """
    studies = [
        path for path in sorted(published.glob(f"*/{result_paths.STUDIES}/*")) if path.is_dir()
    ]
    rows = [row for path in studies if not path.name.endswith(TRIALS) for row in _row(path)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the table for reading, with hours to three digits."""
    hours = rows[["core_hours", "trials"]].map(
        lambda value: "" if pd.isna(value) else core_hours_text(value)
    )
    more = (SEEDS / rows["seeds"]).clip(lower=1)
    at_20_seeds = [core_hours_text(*pair) for pair in zip(rows["at_20_seeds"], more, strict=True)]
    return rows.assign(**hours, at_20_seeds=at_20_seeds)


def core_hours_text(hours: float, times: float = 1) -> str:
    """Return core-hours to three digits; a recorded zero, which was rounded, as an upper bound.

    times: the factor by which recorded core-hours were multiplied.
    """
    return f"{hours:.3g}" if hours else f"under {LEAST * times:.1g}"


def caption(rows: pd.DataFrame) -> str:
    """Describe the columns, and give their sum."""
    total = rows["core_hours"].sum() + rows["trials"].sum()
    return (
        "Core-hours: processor time of all runs of a study; trials: of the choice of its settings;"
        f" at_20_seeds: both, if the study had {SEEDS} seeds. Together {total:.1f}."
        f" {_verified(rows)}Machines and versions stand in each study's provenance.json."
    )


def _verified(rows: pd.DataFrame) -> str:
    """Say of how many studies `verify` has computed runs again, and with which verdicts."""
    done = rows[rows["verified"] != ""]
    if done.empty:
        return ""
    found = done["verified"].str.extractall(r"(?P<runs>\d+) (?P<verdict>[a-z]+)(?=,|$)")
    counts = found["runs"].astype(int).groupby(found["verdict"]).sum()
    first, *others = [f"{number} runs {verdict}" for verdict, number in counts.items()]
    counted = ", ".join([first, *(text.replace(" runs", "") for text in others)])
    return (
        f"Runs of {len(done)} of the {len(rows)} studies were computed again later by `shiftbench"
        f" verify`: {counted}. "
    )


def _row(study: Path) -> Iterator[dict[str, Any]]:
    origin, scores = result_files.origin(study), study / result_paths.SCORE_TABLE
    if "core_hours" not in origin or not scores.exists():
        return
    seeds = tidy_files.read(scores)["seed"].nunique()
    of_trials = result_files.origin(study.with_name(study.name + TRIALS))
    trials = of_trials.get("core_hours", float("nan"))
    own = origin["core_hours"]
    at_20_seeds = own * SEEDS / seeds + (0 if pd.isna(trials) else trials)
    yield {
        "config": study.parents[1].name,
        "study": study.name,
        "seeds": seeds,
        "runs": origin["runs"],
        "core_hours": own,
        "trials": trials,
        "at_20_seeds": round(at_20_seeds, 3),
        "commit": origin["commit"],
        "verified": result_files.verified(origin),
    }
