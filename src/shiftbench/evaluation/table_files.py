"""Cells of tables, and tables as files: CSV for programs, Markdown for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.evaluation.output_files import write_beside


def interval(mean: float, low: float, high: float) -> str:
    """ "mean [low, high]" to three decimals; without interval where it is NaN."""
    return f"{mean:.3f}" if np.isnan(low) else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def plus_minus(mean: float, spread: float) -> str:
    """ "mean ± spread" to one decimal, as the papers print it."""
    return f"{mean:.1f} ± {spread:.1f}"


def save(frame: pd.DataFrame, stem: Path, caption: str, shown: pd.DataFrame | None = None) -> None:
    """Writes STEM.csv, and STEM.md with the caption below the table, each at once.

    shown: what STEM.md has, if not the same.
    """
    read = frame if shown is None else shown
    align = ["right" if pd.api.types.is_numeric_dtype(kind) else "left" for kind in read.dtypes]
    cells = read.map(_cell).astype(str)
    text = cells.to_markdown(index=False, colalign=align, disable_numparse=True)
    write_beside(
        Path(stem),
        {
            "csv": lambda path: frame.to_csv(path, index=False, lineterminator="\n"),
            "md": lambda path: path.write_text(f"{text}\n\n{caption}\n", encoding="utf-8"),
        },
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.1f}"
    return "-" if value is None or value == "" else str(value)
