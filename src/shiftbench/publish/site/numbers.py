"""Scores as the pages write them: fractions in percent, all else to four digits."""

from __future__ import annotations

import math

from shiftbench.config import components
from shiftbench.publish.site.collect import Row, Study


def unit(metric: str) -> str:
    """The unit of a metric as shown; empty where it has none."""
    found = components.metric(metric).unit
    return "%" if found == "fraction" else found


def text(metric: str, value: float) -> str:
    """A score, with % where it is a fraction; empty for NaN."""
    if math.isnan(value):
        return ""
    return f"{100 * value:.2f} %" if unit(metric) == "%" else f"{value:.4g}"


def with_interval(metric: str, row: Row) -> str:
    """Mean and 95 % interval of a row of a summary; without interval where it has none."""
    if math.isnan(row["ci_low"]):
        return text(metric, row["mean"])
    ends = (text(metric, row[end]).removesuffix(" %") for end in ("ci_low", "ci_high"))
    return f"{text(metric, row['mean'])} [{', '.join(ends)}]"


def row_text(study: Study, stream: str, learner: str, metric: str) -> str:
    """The same of a learner of a study; empty where it has no such row."""
    found = row(study, stream, learner, metric)
    return "" if found is None else with_interval(metric, found)


def row(study: Study, stream: str, learner: str, metric: str) -> Row | None:
    """The row of the summary; None where there is none."""
    return study.rows.get((stream, learner, metric))
