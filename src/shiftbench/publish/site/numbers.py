"""Text of scores on the pages: fractions in percent, other numbers with four digits."""

from __future__ import annotations

import math

from shiftbench.config import components
from shiftbench.publish.site.collect import Row, SiteStudy

DIGITS = 6
"""Significant digits of scores that pages sort by and draw, more than they show."""

GLOSSES = {
    "acc": "all tasks at the end; from scratch: each by its own network",
    "accuracy": "test rows of tasks, by the last network",
}
"""What tells the names of two metrics apart."""


def unit(metric: str) -> str:
    """Return the unit of a metric as shown; empty where it has none."""
    found = components.metric(metric).unit
    return "%" if found == "fraction" else found


def text(metric: str, value: float) -> str:
    """Return the text of a score, with % for a fraction; empty for NaN."""
    if math.isnan(value):
        return ""
    return f"{100 * value:.2f} %" if unit(metric) == "%" else f"{value:.4g}"


def short(metric: str, value: float) -> str:
    """Return a score in a column whose head names the unit: percent with one decimal."""
    return f"{100 * value:.1f}" if unit(metric) == "%" else f"{value:.3g}"


def with_interval(metric: str, row: Row) -> str:
    """Return mean and 95 % interval of a row of a summary, without an interval if it has none."""
    if math.isnan(row["ci_low"]):
        return text(metric, row["mean"])
    ends = (text(metric, row[end]).removesuffix(" %") for end in ("ci_low", "ci_high"))
    return f"{text(metric, row['mean'])} [{', '.join(ends)}]"


def row_text(study: SiteStudy, stream: str, learner: str, metric: str) -> str:
    """Return `with_interval` of a learner of a study; empty if it has no such row."""
    of_learner = row(study, stream, learner, metric)
    return "" if of_learner is None else with_interval(metric, of_learner)


def row(study: SiteStudy, stream: str, learner: str, metric: str) -> Row | None:
    """Return the row of the summary, or None if there is none."""
    return study.rows.get((stream, learner, metric))
