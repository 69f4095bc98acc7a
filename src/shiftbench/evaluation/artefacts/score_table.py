"""Every metric of every method: mean over seeds and 95 % interval.

For any study: the numbers of summary.csv in a form for reading.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shiftbench.config import components
from shiftbench.config.compatibility_words import listed
from shiftbench.evaluation.scoring import comparison, statistics, units
from shiftbench.evaluation.scoring.results import StudyResults


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream and method, one column per metric: "mean [low, high]".

    A number from fewer seeds than the method has runs states them: "(n = 3)". A cell is empty if
    the metric does not apply to the method.
    """
    rows = []
    for (stream, method), of_method in study.summary.groupby(["stream", "learner"], sort=False):
        most = int(of_method["n"].max())
        cells = {_header(study, row.metric): _cell(row, most) for row in of_method.itertuples()}
        rows.append({"stream": stream, "learner": method, "runs": most} | cells)
    return pd.DataFrame(rows)


def caption(study: StudyResults) -> str:
    """Describe the cells, the number of runs and the reductions."""
    better = [
        f"{name} ({'higher' if up else 'lower'} is better)"
        for name in study.metrics
        if (up := components.metric(name).higher_is_better) is not None
    ]
    return (
        f"Mean over seeds, in brackets its {statistics.described(*study.metrics)}, if seeds"
        " differ; (n = ...): seeds with a score, if some have none; -: no score. Metrics:"
        f" {', '.join(better)}. {_alike(study)}{study.basis()}"
    )


def _alike(study: StudyResults) -> str:
    """Say which methods have the same scores with all seeds, however many; empty for none."""
    found = [
        f"{method} on {stream}"
        for stream in study.streams
        for method in study.methods
        if _are_equal([study.score(stream, method, metric) for metric in study.metrics])
    ]
    if not found:
        return ""
    text = "All seeds give the same scores, so that there is no interval, for"
    return f"{text}: {listed(found)}. "


def _are_equal(scores: list[np.ndarray]) -> bool:
    """Return whether every metric has the same score for all seeds.

    At least one metric must have two seeds or more.
    """
    finite = [of_metric[~np.isnan(of_metric)] for of_metric in scores]
    several = any(len(of_metric) > 1 for of_metric in finite)
    return several and all(map(comparison.is_constant, finite))


def _header(study: StudyResults, metric: str) -> str:
    unit = units.unit(metric, study.streams)
    return metric if unit in ("", "fraction") else f"{metric} ({unit})"


def _cell(row: Any, most: int) -> str:
    if row.n == 0:
        return ""
    text = units.interval(row.mean, row.ci_low, row.ci_high, units.exact)
    return text if row.n == most else f"{text} (n = {row.n})"
