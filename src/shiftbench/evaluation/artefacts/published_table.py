"""Our scores beside the numbers that papers print for the same methods, to four digits.

For any study, of every metric for which a paper prints a number; those of methods that the paper
does not have stand there as well, so that they can be compared.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.config import components
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream, metric and learner.

    ours: "mean [95 % interval]"; paper: what is printed; difference: ours minus that; note: what
    differs. UserError where no paper prints anything.
    """
    printed = [
        (stream, metric)
        for stream in study.streams
        for metric in study.metrics
        if any(study.published(stream, learner, metric) for learner in study.learners)
    ]
    if not printed:
        raise study.lacking("published-table", "a method and a metric that a paper has numbers of")
    return pd.DataFrame(
        [
            _row(study, stream, metric, learner)
            for stream, metric in printed
            for learner in study.learners
        ]
    )


def caption(study: StudyResults) -> str:
    """What the columns are, on how many runs, and what is cut."""
    return (
        "ours: mean over seeds, in brackets, of two or more, its "
        f"{statistics.described(*study.metrics)}; paper: what is printed for the method on this"
        f" stream; -: nothing is. {study.budget()}"
    )


def _row(study: StudyResults, stream: str, metric: str, learner: str) -> dict[str, str]:
    scores = study.score(stream, learner, metric)
    ours = statistics.interval(scores, statistics.bounds(metric))
    number = study.published(stream, learner, metric)
    paper = number.shown if number else None
    spread = "" if np.isnan(ours.low) else f" [{ours.low:.4f}, {ours.high:.4f}]"
    unit = components.constant("metrics", metric, "UNIT", "")
    return {
        "stream": stream,
        "metric": f"{metric} ({unit})" if unit else metric,
        "learner": study.label(learner),
        "ours": f"{ours.mean:.4f}{spread}",
        "paper": "" if paper is None else f"{paper:.4g}",
        # Plus 0: no minus before a difference that is 0 to four digits.
        "difference": "" if paper is None else f"{round(ours.mean - paper, 4) + 0:+.4f}",
        "note": number.note if number else "",
    }
