"""Average accuracy over tasks, beside the numbers of li2021vbs, Table 1, on the same data.

The rows of the paper come first, then the other methods of the study. sd is the paper's
three-stage standard deviation, the interval is over seeds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import paper_numbers, shift_matching, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("accuracy",))

METRIC = "accuracy"


class _TableLine(NamedTuple):
    """One line of the table. of_paper: the library's name of a method that the paper has."""

    method: str
    of_paper: str | None
    metric: str
    label: str


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream and line of the table; accuracies in percent, rounded to 0.01.

    accuracy, ci_low, ci_high: mean over seeds and its 95 % interval; sd: three-stage, mean over
    seeds; minus_BASELINE: difference to the study's baseline, paired by seed, with its interval;
    runs: seeds without failure; paper: its number on these data, if any. Raises UserError without
    the metric accuracy.
    """
    study.require_metrics("average-accuracy", METRIC)
    rows = [_row(study, stream, line) for stream in study.streams for line in _lines(study)]
    return table_files.without_constant(pd.DataFrame(rows), ("stream", "paper"))


def paper_columns(study: StudyResults) -> pd.DataFrame:
    """Return the last column of the table, which depends on settings alone."""
    cells = [_printed(study, stream, line) for stream in study.streams for line in _lines(study)]
    return table_files.without_constant(pd.DataFrame({"paper": cells}), ("paper",))


def caption(study: StudyResults) -> str:
    """Describe the columns, absent rows, the number of runs and the reductions."""
    paper, shown = _paper(), {(line.of_paper, line.metric) for line in _lines(study)}
    absent = [row.label for row in paper.rows if (row.method, row.metric) not in shown]
    missing = f" Not in this study: {', '.join(absent)}." if absent else ""
    versus = (
        f"difference to {study.label(study.baseline)}: percentage points, paired by seed, with its "
        "interval"
        if study.baseline
        else "no difference, as the study names no baseline"
    )
    return (
        "Average test accuracy over tasks, %: mean over seeds; ci: its "
        f"{statistics.described(METRIC)}; sd: standard deviation within segments, "
        f"averaged over them (of one task: skipped) and seeds; {versus}. "
        f"Rows of {bibliography.short(paper.paper)}, {paper.table}, whose numbers are "
        f"shown on its own data sets only: mean ± {paper.spread}.{missing} {study.basis()}"
    )


def _paper() -> paper_numbers.PaperTable:
    return next(
        table
        for table in paper_numbers.tables()
        if (table.paper, table.table) == ("li2021vbs", "Table 1")
    )


def _lines(study: StudyResults) -> list[_TableLine]:
    """Return the paper's rows that the study has, then its other methods."""
    row_of = {method: row for row, method in study.method_of.items()}
    printed = [
        _TableLine(row_of[row.method], row.method, row.metric, row.label)
        for row in _paper().rows
        if row.method in row_of and row.metric in study.metrics
    ]
    listed = {line.method for line in printed}
    others = [name for name in study.methods if name not in listed]
    return printed + [_TableLine(name, None, METRIC, study.label(name)) for name in others]


def _row(study: StudyResults, stream: str, line: _TableLine) -> dict[str, object]:
    score = study.score(stream, line.method, line.metric)
    within = statistics.bounds(line.metric)
    of_seeds = statistics.interval(score, within).times(100)
    versus = statistics.interval(np.array([]))
    if study.baseline and line.method != study.baseline:
        baseline = study.score(stream, study.baseline, METRIC)
        versus = statistics.paired_difference(score, baseline, within).times(100)
    minus = f"minus_{study.baseline}"
    difference = {
        minus: _rounded(versus.mean),
        f"{minus}_low": _rounded(versus.low),
        f"{minus}_high": _rounded(versus.high),
    }
    return {
        "stream": stream,
        "method": line.label,
        "accuracy": _rounded(of_seeds.mean),
        "ci_low": _rounded(of_seeds.low),
        "ci_high": _rounded(of_seeds.high),
        "sd": _rounded(100 * _spread(study, stream, line)),
        **(difference if study.baseline else {}),
        "runs": of_seeds.n,
        "paper": _printed(study, stream, line),
    }


def _printed(study: StudyResults, stream: str, line: _TableLine) -> str:
    return table_files.published_percent(study.published(stream, line.method, line.metric))


def _spread(study: StudyResults, stream: str, line: _TableLine) -> float:
    """Return the three-stage standard deviation, mean over the seeds that did not fail."""
    run = study.run(stream, line.method)
    by_task = run["score"].sel(metric=line.metric).transpose("seed", "task").values
    true = shift_matching.truth(run, study.streams[stream])
    spreads = [statistics.three_stage_sd(a, b) for a, b in zip(by_task, true, strict=True)]
    return statistics.interval(np.array(spreads)).mean


def _rounded(value: float) -> float:
    return round(value, 2)
