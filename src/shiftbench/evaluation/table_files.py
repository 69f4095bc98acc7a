"""Text of table cells, and tables as files: CSV for programs, Markdown for people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.evaluation.output_files import write_together
from shiftbench.evaluation.scoring import statistics, units
from shiftbench.evaluation.scoring.paper_numbers import PaperNumber

BAR = re.compile(r"(?<!\\)\|")
"""A bar between two cells."""


def mean_and_interval(scores: np.ndarray, metric: str, factor: float = 1, decimals: int = 3) -> str:
    """Return "mean [low, high]" of scores [seed], times `factor`; empty without a score."""
    of_seeds = statistics.interval(scores, statistics.bounds(metric)).times(factor)
    if not of_seeds.n:
        return ""
    return units.interval(of_seeds.mean, of_seeds.low, of_seeds.high, units.decimals(decimals))


def published_percent(number: PaperNumber | None) -> str:
    """Return a paper's number as "mean ± spread" in percent, with its note in brackets."""
    if number is None:
        return ""
    note = f" ({number.note})" if number.note else ""
    return f"{100 * number.mean:.1f} ± {100 * number.spread:.1f}{note}"


def without_constant(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return the frame without those columns that have the same value in every row."""
    return frame.drop(columns=[name for name in columns if frame[name].nunique() == 1])


def save(
    frame: pd.DataFrame, stem: Path, caption: str, readable: pd.DataFrame | None = None
) -> None:
    """Write STEM.csv, and STEM.md with the caption below the table, together.

    readable: the table in STEM.md, if it differs from `frame`.
    """
    table = frame if readable is None else readable
    align = ["right" if pd.api.types.is_numeric_dtype(kind) else "left" for kind in table.dtypes]
    cells = table.map(_cell).astype(str).map(_escaped).rename(columns=_escaped)
    text = cells.to_markdown(index=False, colalign=align, disable_numparse=True)
    write_together(
        Path(stem),
        {
            "csv": lambda path: frame.to_csv(path, index=False, lineterminator="\n"),
            "md": lambda path: path.write_text(f"{text}\n\n{caption}\n", encoding="utf-8"),
        },
    )


def read_markdown(path: Path) -> tuple[list[str], list[list[str]], str]:
    """Return head, rows and caption of a table that `save` has written for people."""
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    head, _, *rows = (
        [cell.strip().replace(r"\|", "|") for cell in BAR.split(line[1:-1])] for line in table
    )
    caption = " ".join(line for line in lines if not line.startswith("|")).strip()
    return head, rows, caption


def _escaped(cell: Any) -> str:
    """Return the text of a cell or a head whose bars do not end it."""
    return str(cell).replace("|", r"\|")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.1f}"
    return "-" if value is None or value == "" else str(value)
