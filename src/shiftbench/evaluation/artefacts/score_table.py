"""Every metric of every learner: mean over seeds and 95 % interval.

For any study; the numbers are those of summary.csv, in a form to read.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from shiftbench.config import components
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import statistics, units
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream and learner, one column a metric: "mean [low, high]".

    A number that rests on fewer seeds than the learner has runs says so: "(n = 3)". Empty
    where the metric does not apply to the learner.
    """
    rows = []
    for (stream, learner), of_learner in study.summary.groupby(["stream", "learner"], sort=False):
        most = int(of_learner["n"].max())
        cells = {_header(study, row.metric): _cell(row, most) for row in of_learner.itertuples()}
        rows.append({"stream": stream, "learner": learner, "runs": most} | cells)
    return pd.DataFrame(rows)


def caption(study: StudyResults) -> str:
    """What the cells are, on how many runs, and what is cut."""
    better = [
        f"{name} ({'higher' if up else 'lower'} is better)"
        for name in study.metrics
        if (up := components.constant("metrics", name, "HIGHER_IS_BETTER")) is not None
    ]
    return (
        f"Mean over seeds, in brackets its {statistics.described(*study.metrics)}; "
        "(n = ...): seeds for which "
        f"the metric is defined, where not all; -: does not apply. Metrics: {', '.join(better)}. "
        f"{study.budget()}"
    )


def _header(study: StudyResults, metric: str) -> str:
    unit = units.unit(metric, study.streams)
    return metric if unit in ("", "fraction") else f"{metric} ({unit})"


def _cell(row: Any, most: int) -> str:
    if row.n == 0:
        return ""
    words = table_files.interval(row.mean, row.ci_low, row.ci_high)
    return words if row.n == most else f"{words} (n = {row.n})"
