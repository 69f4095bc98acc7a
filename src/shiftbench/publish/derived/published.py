"""The overview of all published results: ledger, ranks and costs, over every config.

Made from what is published of each study, so that it can be made again from a clone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from shiftbench.config.tuning import TRIALS
from shiftbench.evaluation import figure_style, table_files
from shiftbench.evaluation.overview import ledger, ranks
from shiftbench.publish.derived import costs


def write(
    published: Path,
    claims: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    bounds: Collection[str] = (),
    figures: bool = True,
) -> list[Path]:
    """Write ledger.csv, .md, .svg and .png, costs.csv and .md; where they can be, ranks.svg, .png.

    published: a folder of configs, such as results/published. claims: those of the library, as in
    the spec of a ledger; labels: what figures call methods; bounds: those that have no rank.
    figures: whether .svg and .png are written.
    """
    tables = {
        _place(path): path for path in sorted(published.glob("*/studies/*/tables/claims.csv"))
    }
    made = ledger.write(published / "ledger", claims, tables, figures)
    spent = costs.collect(published)
    table_files.save(spent, published / "costs", costs.caption(spent), costs.shown(spent))
    made += [published / "costs.csv", published / "costs.md"]
    scores = tuned_scores(published) if figures else None
    if scores is not None and ranks.possible(scores, bounds):
        told = ranks.caption(ranks.shared(scores, bounds))
        figure_style.save(ranks.draw(scores, labels, bounds), published / "ranks", told)
        made += [published / "ranks.png", published / "ranks.svg"]
    return made


def tuned_scores(published: Path) -> pd.DataFrame:
    """The scores of all studies whose methods are tuned alike, those with a study of trials."""
    tuned = [
        path
        for path in sorted(published.glob("*/studies/*/scores.csv"))
        if path.parent.with_name(path.parent.name + TRIALS).is_dir()
    ]
    columns = ["study", "stream", "method", "metric", "score"]
    return pd.concat(map(pd.read_csv, tuned)) if tuned else pd.DataFrame(columns=columns)


def _place(table: Path) -> tuple[str, str]:
    """Config and study of a table."""
    study = table.parents[1]
    return study.parents[1].name, study.name
