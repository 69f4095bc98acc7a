"""Losses, regrets and bounds at the end of the stream, beside what the paper's figure shows.

cherief2019online prints no numbers; `paper` is read off the right ends of its curves, to about 3 %.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"
USES = (
    "average_cumulative_loss",
    "average_cumulative_expected_loss",
    "regret",
    "expected_regret",
    "regret_bound",
    "regret_bound_worst_case",
)

LOSS = "average_cumulative_loss"
EXPECTED = "average_cumulative_expected_loss"
SUMS = ("regret", "expected_regret", "regret_bound", "regret_bound_worst_case")


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream and learner.

    loss, expected_loss: averages per row, "mean [95 % interval]"; the rest sums over the
    stream, means over orders; below_bound: in how many orders both bounds hold, "20 of 20".
    UserError where a metric is missing.
    """
    study.require_metrics("regret-table", LOSS, EXPECTED, *SUMS)
    return pd.DataFrame(
        [_row(study, stream, learner) for stream in study.streams for learner in study.learners]
    )


def caption(study: StudyResults) -> str:
    """What the columns are, on how many runs, and what is cut."""
    return (
        "Prequential losses per row (hinge for two classes, squared for real values), mean over "
        f"random orders, in brackets its {statistics.described(LOSS, EXPECTED)}. "
        "regret: sum of losses minus that of the best fixed predictor; expected_regret: the same "
        "of the expected loss; bounds: right sides of the theorems minus the same; -: no theorem "
        "applies. below_bound: orders in which the expected regret is below regret_bound and the "
        "regret below the worst case. "
        f"paper: {bibliography.short('cherief2019online')}, average loss at the right end of the "
        "figure, "
        "read off to about 3 %; it does not say how real features are scaled. "
        f"{study.budget()}"
    )


def _row(study: StudyResults, stream: str, learner: str) -> dict[str, object]:
    scores = {metric: study.score(stream, learner, metric) for metric in (LOSS, EXPECTED, *SUMS)}
    of_orders = {
        metric: statistics.interval(values, statistics.bounds(metric))
        for metric, values in scores.items()
    }
    paper = study.published(stream, learner, LOSS)
    sums = {metric: round(of_orders[metric].mean, 1) for metric in SUMS}
    return {
        "stream": stream,
        "learner": study.label(learner),
        "loss": _cell(of_orders[LOSS]),
        "expected_loss": _cell(of_orders[EXPECTED]),
        **sums,
        "below_bound": _holds(scores),
        "paper": _printed(paper),
    }


def _printed(number: paper_numbers.Number | None) -> str:
    if number is None or number.shown is None:
        return number.note if number else ""
    return f"{number.mean:g}"


def _holds(scores: dict[str, np.ndarray]) -> str:
    known = ~np.isnan(scores["regret_bound"])
    if not known.any():
        return ""
    below = scores["expected_regret"] <= scores["regret_bound"]
    below &= scores["regret"] <= scores["regret_bound_worst_case"]
    return f"{int(below[known].sum())} of {int(known.sum())}"


def _cell(of_orders: statistics.Interval) -> str:
    if not of_orders.n:
        return ""
    return table_files.interval(of_orders.mean, of_orders.low, of_orders.high)
