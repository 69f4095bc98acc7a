"""Our scores beside the numbers that papers print for the same methods, to four digits.

For any study, for each metric with a printed number; methods that the paper does not have are
listed as well, for comparison.
"""

from __future__ import annotations

import pandas as pd

from shiftbench.config import components
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream, metric and method.

    ours: "mean [95 % interval]"; paper: the printed number; difference: ours minus paper; note:
    differences in protocol. Cells without a number are empty. Raises UserError without a printed
    number.
    """
    printed = [
        (stream, metric)
        for stream in study.streams
        for metric in study.metrics
        if any(study.published(stream, method, metric) for method in study.methods)
    ]
    if not printed:
        raise study.lacking("published-table", "a method and a metric that a paper has numbers of")
    return pd.DataFrame(
        [
            _row(study, stream, metric, method)
            for stream, metric in printed
            for method in study.methods
        ]
    )


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    return (
        "ours: mean over seeds, in brackets, of two or more, its "
        f"{statistics.described(*study.metrics)}; paper: what is printed for the method on this"
        f" stream; -: nothing is. {study.basis()}"
    )


def _row(study: StudyResults, stream: str, metric: str, method: str) -> dict[str, str]:
    scores = study.score(stream, method, metric)
    ours = statistics.interval(scores)
    number = study.published(stream, method, metric)
    paper = number.mean if number else None
    unit = components.metric(metric).unit
    return {
        "stream": stream,
        "metric": f"{metric} ({unit})" if unit else metric,
        "learner": study.label(method),
        "ours": table_files.mean_and_interval(scores, metric, decimals=4),
        "paper": "" if paper is None else f"{paper:.4g}",
        "difference": "" if paper is None or not ours.n else _signed(ours.mean - paper),
        "note": number.note if number else "",
    }


def _signed(difference: float) -> str:
    """Return a difference with its sign; adding 0 turns -0 into 0."""
    return f"{round(difference, 4) + 0:+.4f}"
