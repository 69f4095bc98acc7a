"""Losses, regrets and bounds at the end of the stream, beside those in the paper's figure.

cherief2019online prints no numbers: `paper` is read off the right ends of its curves, to about 3 %.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import hindsight, paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(
    uses=(
        "average_cumulative_loss",
        "average_cumulative_expected_loss",
        "regret",
        "expected_regret",
        "regret_bound",
        "regret_bound_worst_case",
    ),
    rows=("best-fixed",),
)

LOSS = "average_cumulative_loss"
EXPECTED = "average_cumulative_expected_loss"
SUMS = ("regret", "expected_regret", "regret_bound", "regret_bound_worst_case")


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream and method, and one for the best fixed predictor of the stream.

    loss, expected_loss: averages per row, "mean [95 % interval]"; regrets and bounds: sums over
    the stream, means over orders; below_bound: orders in which both bounds hold, "20 of 20".
    Raises UserError without one of the metrics.
    """
    study.require_metrics("regret-table", LOSS, EXPECTED, *SUMS)
    rows = []
    for stream in study.streams:
        rows += [_row(study, stream, method) for method in study.methods]
        best = hindsight.loss(study, stream)
        rows += [] if best is None else [_best_fixed(stream, best)]
    return pd.DataFrame(rows)


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    return (
        "Prequential losses per row (hinge for two classes, squared for real values), mean over "
        f"random orders, in brackets its {statistics.described(LOSS, EXPECTED)}. "
        f"{hindsight.LABEL}: the best fixed predictor in hindsight, which knows all rows. "
        "regret: sum of losses minus that of the best fixed predictor; expected_regret: the same "
        "of the expected loss; bounds: right sides of the theorems minus the same; -: no theorem "
        "applies. below_bound: orders in which the expected regret is below regret_bound and the "
        "regret below the worst case. "
        f"paper: {bibliography.short('cherief2019online')}, average loss at the right end of the "
        "figure, "
        "read off to about 3 %; it does not say how real features are scaled. "
        f"{study.basis()}"
    )


def _row(study: StudyResults, stream: str, method: str) -> dict[str, object]:
    scores = {metric: study.score(stream, method, metric) for metric in (LOSS, EXPECTED, *SUMS)}
    sums = {
        metric: round(statistics.interval(scores[metric], statistics.bounds(metric)).mean, 1)
        for metric in SUMS
    }
    return {
        "stream": stream,
        "learner": study.label(method),
        "loss": table_files.mean_and_interval(scores[LOSS], LOSS),
        "expected_loss": table_files.mean_and_interval(scores[EXPECTED], EXPECTED),
        **sums,
        "below_bound": _bounds_hold(scores),
        "paper": _printed(study.published(stream, method, LOSS)),
    }


def _best_fixed(stream: str, loss: np.ndarray) -> dict[str, object]:
    """Return the row of the best fixed predictor, from its losses [seed]: it is a point."""
    text = table_files.mean_and_interval(loss, LOSS)
    sums = dict.fromkeys(SUMS, np.nan) | {"regret": 0.0, "expected_regret": 0.0}
    of_stream = {"stream": stream, "learner": hindsight.LABEL}
    return {
        **of_stream,
        "loss": text,
        "expected_loss": text,
        **sums,
        "below_bound": "",
        "paper": "",
    }


def _printed(number: paper_numbers.PaperNumber | None) -> str:
    if number is None:
        return ""
    return f"{number.mean:g} ({number.note})" if number.note else f"{number.mean:g}"


def _bounds_hold(scores: dict[str, np.ndarray]) -> str:
    """Return in how many orders both bounds hold, in words; empty without a bound."""
    bounded = ~np.isnan(scores["regret_bound"])
    if not bounded.any():
        return ""
    pairs = hindsight.BOUNDS.items()
    below = np.all([scores[regret] <= scores[bound] for regret, bound in pairs], axis=0)
    return f"{int(below[bounded].sum())} of {int(bounded.sum())}"
