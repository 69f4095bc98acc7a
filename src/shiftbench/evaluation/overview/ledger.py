"""The ledger: every claim of every paper with its verdict, over all studies of some configs.

It joins the tables `claims` of the studies. A claim has a row for each study and stream that judges
it, or one row *not run*; a check that no study judges is *check not run*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from shiftbench.config import bibliography
from shiftbench.evaluation import figure_files, table_files
from shiftbench.evaluation.artefacts import claims
from shiftbench.evaluation.overview import _ledger_figure
from shiftbench.evaluation.scoring import checked_tables, verdicts

FIGURES = (".png", ".svg")
COLUMNS = (*claims.COLUMNS[:4], "config", "study", *claims.COLUMNS[4:])


def collect(
    claims: Sequence[Mapping[str, Any]], tables: Mapping[tuple[str, str], Path]
) -> pd.DataFrame:
    """Return all claims in the order of their files, as texts, with `COLUMNS`.

    tables: the CSV file of each config and study. UserError for a file that is not
    such a table.
    """
    judged = [row for source, path in tables.items() for row in _of_study(path, *source)]
    rows = [
        row
        for claim in claims
        for row in [row for row in judged if row["claim"] == claim["name"]] or [_not_run(claim)]
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).fillna("")


def read(path: Path) -> pd.DataFrame:
    """Return a study's table of claims, tables/claims.csv, as texts with `claims.COLUMNS`.

    UserError for a file that is not such a table.
    """
    return checked_tables.read(path, "a table of claims", claims.COLUMNS)


def by_claim(rows: pd.DataFrame) -> pd.Series:
    """Return the one verdict on each claim [paper, claim], over the studies that judge it.

    rows: of `collect`, or some of them.
    """
    return rows.groupby(["paper", "claim"], sort=False)["verdict"].agg(verdicts.of_claim)


def without_checks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of claims alone: checks, which are proved or hold by definition, are none."""
    return rows[~rows["verdict"].isin(verdicts.CHECKED.values())]


def by_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """Count the claims of each paper [paper, verdict] in the papers' order; checks do not count."""
    judged = by_claim(without_checks(rows))
    counts = judged.groupby(level="paper", sort=False).value_counts().unstack(fill_value=0)
    kinds = list(_ledger_figure.STYLES)
    return counts.reindex(index=rows["paper"].unique(), columns=kinds, fill_value=0)


def write(
    stem: Path,
    claims: Sequence[Mapping[str, Any]],
    tables: Mapping[tuple[str, str], Path],
    figures: bool = True,
) -> list[Path]:
    """Write the ledger to STEM.csv and .md, draw it to STEM.svg and .png; return the paths.

    claims, tables: as for `collect`.
    """
    rows = collect(claims, tables)
    table_files.save(rows, stem, caption(rows), shown(rows))
    if figures:
        figure_files.save(draw(rows), stem, caption(rows), words=True)
    return [stem.with_suffix(kind) for kind in (".csv", ".md", *(FIGURES if figures else ()))]


def caption(rows: pd.DataFrame) -> str:
    """Return a caption with the number of verdicts of each kind, by row and by claim."""
    of_row, of_claim = counted(rows), by_paper(rows).sum().to_dict()
    checks = rows[rows["verdict"].isin(verdicts.CHECKED.values())]
    return (
        f"Claims: {rows['claim'].nunique()}; papers: {rows['paper'].nunique()}. Verdicts of "
        f"{_configs(rows)}, by row: {_words(of_row)}; by claim: {_words(of_claim)}. A claim has a "
        "row for each study and stream that judges it; by claim it counts once, as mixed where "
        "rows at a sufficient budget differ. Checks, which are proved or hold by definition, are "
        f"not counted: {(checks['verdict'] == verdicts.CHECKED[verdicts.REPRODUCED]).sum()} of "
        f"{len(checks)} rows of {checks['claim'].nunique()} hold. "
        "The table has every claim with its numbers."
    )


def draw(rows: pd.DataFrame) -> Figure:
    """Draw a bar for each paper, with the number of its claims by verdict."""
    return _ledger_figure.draw(by_paper(rows), caption(rows))


def counted(rows: pd.DataFrame) -> dict[str, int]:
    """Return how many rows have each verdict."""
    return {name: int((rows["verdict"] == name).sum()) for name in verdicts.VERDICTS}


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the columns for readers: those of `claims.shown`, with the study."""
    return claims.shown(rows).assign(stream=rows["study"] + " " + rows["stream"])


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())


def _configs(rows: pd.DataFrame) -> str:
    names = list(dict.fromkeys(filter(None, rows["config"])))
    return f"config{'s' * (len(names) > 1)} {', '.join(names)}" if names else "no config"


def _of_study(path: Path, config: str, study: str) -> Iterator[dict[str, Any]]:
    for row in read(path).to_dict("records"):
        yield row | {"config": config, "study": study}


def _not_run(claim: Mapping[str, Any]) -> dict[str, str]:
    kept = {key: claim[key] for key in ("where", "read", "says", "metric", "code")}
    about = {"claim": claim["name"], "paper": bibliography.short(claim["work"])}
    why = claim.get("not_run") or claim.get("ours_may", "")
    verdict = verdicts.CHECKED[verdicts.NOT_RUN] if claim.get("check") else verdicts.NOT_RUN
    return about | kept | {"printed": claim["paper"], "verdict": verdict, "ours_may": why}
