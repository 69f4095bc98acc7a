"""Overview of all published results, over every config: ledger, ranks and costs.

Computed from the published files of each study alone, so that a clone can compute it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from shiftbench.config import result_paths
from shiftbench.config.tuning import TRIALS
from shiftbench.evaluation import figure_files, table_files
from shiftbench.evaluation.overview import ledger, ranks
from shiftbench.evaluation.scoring import tidy_files
from shiftbench.publish.derived import costs


def write(
    published: Path,
    claims: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    bounds: Collection[str] = (),
    figures: bool = True,
) -> list[Path]:
    """Write ledger, costs and, if there are enough studies, ranks; return the files.

    Parameters
    ----------
    published
        Folder of configs, such as results/published.
    claims
        Claims of the library, as in the spec of a ledger.
    labels
        Labels of methods in figures.
    bounds
        Methods without a rank.
    figures
        Write .svg and .png, besides .csv and .md.
    """
    tables = {
        (path.parents[3].name, path.parents[1].name): path
        for path in sorted(published.glob(f"*/{result_paths.STUDIES}/*/tables/claims.csv"))
    }
    files = ledger.write(published / "ledger", claims, tables, figures)
    spent = costs.collect(published)
    table_files.save(spent, published / "costs", costs.caption(spent), costs.shown(spent))
    files += [published / "costs.csv", published / "costs.md"]
    scores = tuned_scores(published) if figures else None
    if scores is not None and ranks.possible(scores, bounds):
        caption = ranks.caption(ranks.shared(scores, bounds))
        figure_files.save(ranks.draw(scores, labels, bounds), published / "ranks", caption)
        files += [published / "ranks.png", published / "ranks.svg"]
    return files


def tuned_scores(published: Path) -> pd.DataFrame:
    """Return the scores of all studies with trials, whose methods are all tuned.

    `study` is CONFIG/STUDY, because studies of two configs may have the same name.
    """
    tuned = [
        path
        for path in sorted(published.glob(f"*/{result_paths.STUDIES}/*/{result_paths.SCORE_TABLE}"))
        if path.parent.with_name(path.parent.name + TRIALS).is_dir()
    ]
    columns = ["study", "stream", "method", "metric", "score"]
    tables = [
        tidy_files.read(path).assign(study=f"{path.parents[2].name}/{path.parent.name}")
        for path in tuned
    ]
    return pd.concat(tables) if tables else pd.DataFrame(columns=columns)
