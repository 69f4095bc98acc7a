"""The figure of the ledger: a row a claim, grouped by paper, with the verdict by its marker."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shiftbench.artefacts import _style
from shiftbench.scoring import verdicts

LOOKS: Mapping[str, dict[str, Any]] = {
    verdicts.REPRODUCED: {"color": _style.COLOURS["blue"], "marker": "o"},
    verdicts.CONTRADICTED: {"color": _style.COLOURS["red"], "marker": "X"},
    verdicts.UNRESOLVED: {"color": _style.COLOURS["purple"], "marker": "D"},
    verdicts.TOO_LITTLE: {"color": _style.COLOURS["grey"], "marker": "s"},
    verdicts.NOT_RUN: {"color": _style.COLOURS["grey"], "marker": "s", "mfc": "white"},
}
"""Colour and marker of each verdict."""
COLUMNS = {"claim": (1.6, 62), "study": (37, 26), "paper": (50.5, 30), "ours": (83.5, 32)}
"""Where each column of text begins, in percent of the width, and its characters a line."""
CHART = (67.0, 82.0)
"""Where the column of the numbers begins and ends."""
ROW, GAP, SMALL = 0.33, 1.1, 0.55
"""Height of a row in inches; rows that a paper's heading takes, and a claim that was not run."""
SHADE = "0.88"


@_style.styled
def draw(rows: pd.DataFrame, foot: str) -> Figure:
    """The figure of the rows of `ledger.collect`, with foot lines below."""
    groups = list(rows.groupby("paper", sort=False))
    height = rows["verdict"].map(_height).sum() + GAP * len(groups)
    drawn = _style.figure(ROW * (height + 1) + 0.5, foot)
    axes = drawn.subplots()
    axes.set(xlim=(0, 100), ylim=(height - 0.4, -1.3))
    axes.set_axis_off()
    _head(axes)
    place = 0.0
    for paper, group in groups:
        axes.text(0, place, str(paper), weight="bold", va="center", size=9)
        axes.axhline(place + 0.5, color=_style.MUTED, lw=0.6)
        place += GAP - 0.5
        for _, row in group.iterrows():
            place += _height(row["verdict"])
            _draw_row(axes, place - _height(row["verdict"]) / 2, row)
        place += 0.5
    _legend(drawn, rows)
    return drawn


def _head(axes: Axes) -> None:
    titles = {
        "claim": "claim",
        "study": "study, stream",
        "paper": "paper's numbers",
        "ours": "ours",
    }
    for column, (left, _) in COLUMNS.items():
        axes.text(left, -0.9, titles[column], color=_style.MUTED, va="center", size=8)
    middle = sum(CHART) / 2
    axes.text(middle, -0.9, "claimed, ours", color=_style.MUTED, va="center", ha="center", size=8)


def _draw_row(axes: Axes, place: float, row: pd.Series) -> None:
    axes.plot(0.5, place, ls="", ms=6, **LOOKS[row["verdict"]])
    texts = {
        "claim": f"{row['where']}: {row['says']}",
        "study": "\n".join(dict.fromkeys([row["study"], row["stream"]])),
        "paper": row["printed"] or "-",
        "ours": _ours(row),
    }
    judged = row["verdict"] != verdicts.NOT_RUN
    for column, text in texts.items():
        left, characters = COLUMNS[column]
        # What was not run has one line, and no study beside it.
        lines, wide = (2, characters) if judged else (1, characters + 24 * (column == "claim"))
        axes.text(left, place, _wrapped(text, wide, lines), va="center", size=7)
    if row["ours"]:
        _draw_numbers(axes, place, row)


def _ours(row: pd.Series) -> str:
    """The number that decides, and what it is."""
    if not row["ours"]:
        return "" if row["verdict"] == verdicts.NOT_RUN else "failed"
    between = f" [{row['low']}, {row['high']}]" if row["low"] not in ("", row["ours"]) else ""
    share = f", share {row['share']}" * (row["verdict"] == verdicts.TOO_LITTLE)
    return f"{row['ours']}{between}\n{row['measured']}{share}"


def _draw_numbers(axes: Axes, place: float, row: pd.Series) -> None:
    """Where the claim puts the number, and where ours is, on a scale of the row's own."""
    wanted = _number(row["from"]), _number(row["to"])
    ours, low, high = (_number(row[name]) for name in ("ours", "low", "high"))
    known = [value for value in (*wanted, ours, low, high) if math.isfinite(value)]
    least, most = min(known), max(known)
    margin = 0.15 * (most - least) or 1.0

    def across(value: float, edge: float) -> float:
        share = (value - least + margin) / (most - least + 2 * margin)
        return edge if math.isnan(value) else float(np.interp(share, (0, 1), CHART))

    left, right = across(wanted[0], CHART[0]), across(wanted[1], CHART[1])
    box = {"height": 0.6, "color": SHADE, "lw": 0}
    axes.barh(place, right - left, left=left, **box)
    for value, edge in ((wanted[0], left), (wanted[1], right)):
        if not math.isnan(value):
            axes.plot([edge, edge], [place - 0.3, place + 0.3], color=_style.MUTED, lw=1)
            align = "right" if value is wanted[0] else "left"
            axes.text(edge, place - 0.33, f"{value + 0.0:g}", color=_style.MUTED, size=6, ha=align)
    look = LOOKS[row["verdict"]]
    if not math.isnan(low):
        ends = [across(low, CHART[0]), across(high, CHART[1])]
        axes.plot(ends, [place, place], color=look["color"], lw=1.6)
    axes.plot(across(ours, CHART[0]), place, ls="", ms=4.5, **look)


def _number(text: str) -> float:
    """NaN for no number."""
    return float(text) if text else math.nan


def _height(verdict: str) -> float:
    return SMALL if verdict == verdicts.NOT_RUN else 1.0


def _wrapped(text: str, characters: int, most: int) -> str:
    """At most so many lines, with a mark where something is left out."""
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, characters)]
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] = _cut(kept[-1], characters)
    return "\n".join(kept)


def _cut(line: str, characters: int) -> str:
    whole = line if len(line) <= characters - 4 else line[: characters - 3].rpartition(" ")[0]
    return whole.rstrip(" ,;:") + " ..."


def _legend(drawn: Figure, rows: pd.DataFrame) -> None:
    """What the markers are, with how many rows have each."""
    counts = rows["verdict"].value_counts()
    handles = [
        Line2D([], [], ls="", ms=7, label=f"{name}: {counts.get(name, 0)}", **look)
        for name, look in LOOKS.items()
    ]
    drawn.legend(handles=handles, loc="outside upper center", ncols=len(handles))
