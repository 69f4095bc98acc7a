"""Text of scores on the pages: fractions in percent, other numbers with four digits."""

from __future__ import annotations

from functools import partial

from shiftbench.evaluation.scoring import units
from shiftbench.publish.site.collect import Row, SiteStudy

DIGITS = 6
"""Significant digits of scores for sorting and drawing, more than pages show."""

GLOSSES = {
    "acc": "all tasks at the end; from scratch: each by its own network",
    "accuracy": "test rows of tasks, by the last network",
}
"""Explanations of metrics whose names are easily confused."""


def text(metric: str, value: float) -> str:
    """Return the text of a score, with % for a fraction; empty for NaN."""
    return units.with_percent(metric, value, units.LONG)


def with_interval(metric: str, row: Row) -> str:
    """Return mean and 95 % interval of a row of a summary, without an interval if it has none."""
    ends = units.ends(
        row["ci_low"], row["ci_high"], partial(units.text, metric, precision=units.LONG)
    )
    return f"{text(metric, row['mean'])} {ends}".rstrip()


def row_text(study: SiteStudy, stream: str, method: str, metric: str) -> str:
    """Return `with_interval` of a method of a study; empty if it has no such row."""
    of_method = row(study, stream, method, metric)
    return "" if of_method is None else with_interval(metric, of_method)


def row(study: SiteStudy, stream: str, method: str, metric: str) -> Row | None:
    """Return the row of the summary, or None if there is none."""
    return study.rows.get((stream, method, metric))
