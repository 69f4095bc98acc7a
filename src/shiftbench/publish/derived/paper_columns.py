"""Derive the papers' numbers in the files of a published study, and the notes on our training.

They depend on settings alone, so they can be derived for studies without source data too. All else
in these files stays as published.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from shiftbench.config import components, result_paths
from shiftbench.config.schema import Config
from shiftbench.core import atomic_files
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import tidy_files
from shiftbench.publish.derived import tables
from shiftbench.publish.derived.tables import WithoutRuns

COLUMNS = ["published", "published_note"]
"""Columns of summary.csv with a paper's number and what differs from its training."""


def derive(study: Path, config: Config, target: Path) -> list[str]:
    """Write the files of a published study whose papers' numbers differ below `target`.

    Returns their names below the study's folder, such as summary.csv.
    """
    if not (study / result_paths.SCORE_TABLE).exists():
        return []
    first = config.studies[study.name].artefacts[0]
    scores = tidy_files.cube(tidy_files.read(study / result_paths.SCORE_TABLE))
    results = tables.results_of(study, config, first, scores)
    names = [result_paths.SUMMARY] if _summary(study, config, results, target) else []
    for path in sorted(study.glob("tables/*.csv")):
        module = components.load("artefacts", path.stem)
        if hasattr(module, "paper_columns") and path.stem not in tables.FROM_SCORES:
            new = module.paper_columns(results)
            if _table(path, new, target / "tables" / path.stem):
                names += [f"tables/{path.stem}.{kind}" for kind in ("csv", "md")]
    return names


def _summary(study: Path, config: Config, results: WithoutRuns, target: Path) -> bool:
    """Write summary.csv if a number or a note of it differs; return whether it does."""
    path = study / result_paths.SUMMARY
    # As texts, so that all digits stay.
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    if not {*COLUMNS, "metric"} <= {*rows.columns}:
        return False
    planned = rows["stream"].isin(config.streams) & rows["learner"].isin(results.method_of)
    new = rows[COLUMNS].copy()
    for place, row in rows[planned].iterrows():
        new.loc[place] = _printed(row, results)
    if new.equals(rows[COLUMNS]):
        return False
    text = rows.assign(**new).to_csv(index=False, lineterminator="\n")
    atomic_files.write(target / result_paths.SUMMARY, text)
    return True


def _printed(row: pd.Series, results: WithoutRuns) -> list[str]:
    """Return the paper's number for a row of summary.csv, and the note on it.

    Where trials search the epochs, only runs know how many won, and both stay as published.
    """
    if results.most_epochs(row["learner"]):
        return row[COLUMNS].tolist()
    number = results.published(row["stream"], row["learner"], row["metric"])
    return [str(float(number.mean)), number.note] if number else ["", ""]


def _table(path: Path, new: pd.DataFrame, stem: Path) -> bool:
    """Write a table if its last columns, of the paper, differ; return whether they do."""
    old = pd.read_csv(path)
    last = [name for name in old.columns if name in new.columns]
    if len(old) != len(new) or old[last].fillna("").astype(str).equals(new.astype(str)):
        return False
    kept = [name for name in old.columns if name not in last]
    *_, caption = table_files.read_markdown(path.with_suffix(".md"))
    table_files.save(pd.concat([old[kept], new], axis=1), stem, caption)
    return True
