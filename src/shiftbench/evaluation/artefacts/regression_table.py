"""Test log likelihood and root mean squared error by data set, beside the published numbers.

Table 2 of farquhar2020radial: data sets down, our methods and then the paper's columns across.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from shiftbench.config import bibliography, provenance
from shiftbench.evaluation.scoring import paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"
TAKES = ("number",)
REQUIRES = ("tests",)
USES = ("test_log_likelihood", "rmse")

PAPER = "farquhar2020radial"
SCORES = {"test_log_likelihood": "log likelihood", "rmse": "RMSE"}
FEWEST, MOST = 2, 5
"""Decimals of our numbers, of which there are fewest for large ones."""
MISPRINT = ("pbp-mv", "test_log_likelihood", "uci-boston")
"""Printed as 02.54 ± 0.08."""
SIC = "(sic)"


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a score and stream; "mean ± standard error" over splits, in the units of the data.

    n: splits behind our numbers; a method with fewer says so in its cell. Columns in brackets are
    the paper's; those without any number are left out. note: what differs from its training.
    UserError where a metric is missing.
    """
    study.require_metrics("regression-table", *SCORES)
    rows = [_row(study, metric, stream) for metric in SCORES for stream in study.streams]
    frame = pd.DataFrame(rows)
    optional = [*_paper_columns().values(), "note"]
    return frame.drop(columns=[name for name in optional if not frame[name].any()])


def caption(study: StudyResults) -> str:
    """What the cells are, on how many runs, and what is cut."""
    shown, paper = tabulate(study), ""
    if any(name.startswith("[") for name in shown):
        paper = (
            f"In brackets: {bibliography.short(PAPER)}, Table 2, where all but MFVI and Radial "
            "are quoted "
            "from other papers, with other searches for settings; -: none is printed. "
        )
    if shown.map(lambda cell: SIC in str(cell)).any(axis=None):
        paper += f"{SIC}: printed as 02.54, must be -2.54. "
    return (
        "Mean ± standard error over splits, on test rows, in the units of the data. Log "
        "likelihood: mean log density of a row in nats, higher is better; RMSE: root mean squared "
        f"error, lower is better. {paper}{study.budget()}"
    )


def _row(study: StudyResults, metric: str, stream: str) -> dict[str, object]:
    of_methods = {
        learner: statistics.interval(study.score(stream, learner, metric))
        for learner in study.learners
    }
    most = max(one.n for one in of_methods.values())
    places = _places(list(of_methods.values()))
    ours = {study.label(name): _cell(one, places, most) for name, one in of_methods.items()}
    units = study.streams[stream]["target"].attrs["units"]
    return {
        "score": SCORES[metric],
        "data set": stream,
        "unit": "nats" if metric == "test_log_likelihood" else units,
        "n": most,
        **ours,
        **_paper(study, metric, stream),
    }


def _places(of_methods: Sequence[statistics.Interval]) -> int:
    """Decimals of a row: two digits of the standard error in the middle of those of its methods."""
    errors = [one.sd / math.sqrt(one.n) for one in of_methods if one.n > 1 and one.sd > 0]
    if not errors:
        return FEWEST
    return min(max(1 - math.floor(math.log10(np.median(errors))), FEWEST), MOST)


def _cell(of_splits: statistics.Interval, places: int, most: int) -> str:
    """Mean ± standard error, and the number of splits where it is not that of the others."""
    if not of_splits.n:
        return ""
    few = f" (n = {of_splits.n})" if of_splits.n < most else ""
    if of_splits.n == 1:
        return f"{of_splits.mean:.{places}f}{few}"
    error = of_splits.sd / math.sqrt(of_splits.n)
    return f"{of_splits.mean:.{places}f} ± {error:.{places}f}{few}"


def _paper(study: StudyResults, metric: str, stream: str) -> dict[str, str]:
    """The paper's numbers on a data set by the names of their columns, and what differs."""
    run = study.run(stream, study.learners[0])
    found = {
        column: paper_numbers.number(study.streams[stream], run, method, metric)
        for method, column in _paper_columns().items()
    }
    cells = {column: _printed(number) for column, number in found.items()}
    column = _paper_columns()[MISPRINT[0]]
    if cells[column] and (metric, provenance.dataset(study.streams[stream])) == MISPRINT[1:]:
        cells[column] += f" {SIC}"
    notes = dict.fromkeys(number.note for number in found.values() if number)
    return cells | {"note": "; ".join(filter(None, notes))}


def _paper_columns() -> dict[str, str]:
    """The names of the paper's columns by method, in its order."""
    return {row.method: f"[{row.label}]" for row in _paper_rows()}


def _paper_rows() -> list[paper_numbers.Row]:
    tables = [table for table in paper_numbers.tables() if table.paper == PAPER]
    return [row for table in tables for row in table.rows if row.metric in SCORES]


def _printed(number: paper_numbers.Number | None) -> str:
    if number is None:
        return ""
    return "withheld" if number.shown is None else f"{number.mean:.2f} ± {number.spread:.2f}"
