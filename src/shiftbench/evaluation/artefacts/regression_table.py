"""Test log likelihood and root mean squared error by data set, beside published numbers.

Table 2 of farquhar2020radial: rows are data sets, columns our methods and then the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation.scoring import paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(takes=("number",), requires=("tests",), uses=("test_log_likelihood", "rmse"))

PAPER = "farquhar2020radial"
SCORES = {"test_log_likelihood": "log likelihood", "rmse": "RMSE"}
FEWEST, MOST = 2, 5
"""Smallest and largest number of decimals of our numbers."""
MISPRINT = ("pbp-mv", "test_log_likelihood", "uci-boston")
"""Printed as 02.54 ± 0.08."""
SIC = "(sic)"


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per score and stream; "mean ± standard error" over splits, in data units.

    n: splits behind our numbers; the cell of a method with fewer splits states their number.
    Columns in brackets are the paper's; those without any number are left out. note: differences
    from its training. Raises UserError without one of the metrics.
    """
    study.require_metrics("regression-table", *SCORES)
    rows = [_row(study, metric, stream) for metric in SCORES for stream in study.streams]
    frame = pd.DataFrame(rows)
    optional = [*_paper_columns().values(), "note"]
    return frame.drop(columns=[name for name in optional if not frame[name].any()])


def caption(study: StudyResults) -> str:
    """Describe the cells, the number of runs and the reductions."""
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
        f"error, lower is better. {paper}{study.basis()}"
    )


def _row(study: StudyResults, metric: str, stream: str) -> dict[str, object]:
    of_methods = {
        method: statistics.interval(study.score(stream, method, metric)) for method in study.methods
    }
    most = max(of_splits.n for of_splits in of_methods.values())
    decimals = _decimals(list(of_methods.values()))
    ours = {study.label(name): _cell(each, decimals, most) for name, each in of_methods.items()}
    units = study.streams[stream]["target"].attrs["units"]
    return {
        "score": SCORES[metric],
        "data set": stream,
        "unit": "nats" if metric == "test_log_likelihood" else units,
        "n": most,
        **ours,
        **_paper(study, metric, stream),
    }


def _decimals(of_methods: Sequence[statistics.Interval]) -> int:
    """Return the decimals of a row, which show two digits of the median standard error."""
    errors = [each.sd / math.sqrt(each.n) for each in of_methods if each.n > 1 and each.sd > 0]
    if not errors:
        return FEWEST
    return min(max(1 - math.floor(math.log10(np.median(errors))), FEWEST), MOST)


def _cell(of_splits: statistics.Interval, decimals: int, most: int) -> str:
    """Return mean ± standard error, with the number of splits if it is less than `most`."""
    if not of_splits.n:
        return ""
    few = f" (n = {of_splits.n})" if of_splits.n < most else ""
    if of_splits.n == 1:
        return f"{of_splits.mean:.{decimals}f}{few}"
    error = of_splits.sd / math.sqrt(of_splits.n)
    return f"{of_splits.mean:.{decimals}f} ± {error:.{decimals}f}{few}"


def _paper(study: StudyResults, metric: str, stream: str) -> dict[str, str]:
    """Return the paper's numbers on a data set by the names of their columns, and a note."""
    run = study.run(stream, study.methods[0])
    numbers = {
        column: paper_numbers.number(study.streams[stream], run, method, metric)
        for method, column in _paper_columns().items()
    }
    cells = {column: _printed(number) for column, number in numbers.items()}
    column = _paper_columns()[MISPRINT[0]]
    if cells[column] and (metric, provenance.dataset(study.streams[stream])) == MISPRINT[1:]:
        cells[column] += f" {SIC}"
    notes = dict.fromkeys(number.note for number in numbers.values() if number)
    return cells | {"note": "; ".join(filter(None, notes))}


def _paper_columns() -> dict[str, str]:
    """Return the names of the paper's columns by method, in its order."""
    tables = [table for table in paper_numbers.tables() if table.paper == PAPER]
    rows = [row for table in tables for row in table.rows if row.metric in SCORES]
    return {row.method: f"[{row.label}]" for row in rows}


def _printed(number: paper_numbers.PaperNumber | None) -> str:
    return "" if number is None else f"{number.mean:.2f} ± {number.spread:.2f}"
