"""Average accuracy over tasks beside the numbers that the paper prints.

Table 1 of li2021vbs: its rows, then the learners of the study that it does not have. sd is
the paper's three-stage standard deviation, the interval is over seeds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.artefacts import _tables
from shiftbench.planning import works
from shiftbench.scoring import published, statistics
from shiftbench.scoring.metrics import _shifts
from shiftbench.scoring.results import StudyResults

KIND = "table"
USES = ("accuracy",)

BASELINE = "vcl"
METRIC = "accuracy"


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream and line of the table; accuracies in percent, rounded to 0.01.

    accuracy, ci_low, ci_high: mean over seeds and its 95 % interval; sd: three-stage, mean
    over seeds; minus_vcl: difference to VCL, paired by seed, with its interval; runs: seeds
    that count; then the paper's own numbers. UserError without the metric accuracy.
    """
    study.require_metrics("average-accuracy", METRIC)
    paper = _paper()
    rows = [_row(study, stream, row, paper) for stream in study.streams for row in _rows(study)]
    frame = pd.DataFrame(rows)
    # A column that says the same in every row says nothing.
    return frame.drop(columns="stream") if len(study.streams) == 1 else frame


def caption(study: StudyResults) -> str:
    """What the table shows, what it leaves out, on how many runs, and what is cut."""
    paper, shown = _paper(), {(row.learner, row.metric) for row in _rows(study)}
    absent = [row.label for row in paper.rows if (row.learner, row.metric) not in shown]
    missing = f" Not in this study: {', '.join(absent)}." if absent else ""
    versus = (
        f"difference to {BASELINE}: percentage points, paired by seed, with its interval"
        if BASELINE in study.learners
        else f"no difference to {BASELINE}, which the study does not have"
    )
    return (
        "Average test accuracy over tasks, %: mean over seeds; ci: its 95 % interval (Student t); "
        "sd: standard deviation within segments, averaged over them (of one task: skipped) and "
        f"seeds; {versus}. Columns _paper: {works.short(paper.paper)}, {paper.table}, mean ± "
        f"{paper.spread}, on its own data sets and network.{missing} {study.budget()}"
    )


def _paper() -> published.Table:
    return next(
        table
        for table in published.tables()
        if (table.paper, table.table) == ("li2021vbs", "Table 1")
    )


def _rows(study: StudyResults) -> list[published.Row]:
    """The paper's rows that the study has, then its other learners."""
    paper = _paper().rows
    known = [row for row in paper if row.learner in study.learners and row.metric in study.metrics]
    listed = {row.learner for row in paper}
    others = [name for name in study.learners if name not in listed]
    return known + [published.Row(name, METRIC, name, {}) for name in others]


def _row(
    study: StudyResults, stream: str, row: published.Row, paper: published.Table
) -> dict[str, object]:
    score = 100 * study.score(stream, row.learner, row.metric)
    of_seeds = statistics.interval(score)
    if BASELINE in study.learners and row.learner != BASELINE:
        baseline = 100 * study.score(stream, BASELINE, METRIC)
        versus = statistics.paired_difference(score, baseline)
    else:
        versus = statistics.interval(np.array([]))
    datasets = dict.fromkeys(name for line in paper.rows for name in line.numbers)
    return {
        "stream": stream,
        "method": row.label,
        "accuracy": _rounded(of_seeds.mean),
        "ci_low": _rounded(of_seeds.low),
        "ci_high": _rounded(of_seeds.high),
        "sd": _rounded(100 * _spread(study, stream, row)),
        f"minus_{BASELINE}": _rounded(versus.mean),
        f"minus_{BASELINE}_low": _rounded(versus.low),
        f"minus_{BASELINE}_high": _rounded(versus.high),
        "runs": of_seeds.n,
    } | {f"{name}_paper": _printed(row.numbers.get(name)) for name in datasets}


def _spread(study: StudyResults, stream: str, row: published.Row) -> float:
    """Three-stage standard deviation, mean over the seeds that did not fail."""
    run = study.run(stream, row.learner)
    by_task = run["score"].sel(metric=row.metric).transpose("seed", "task").values
    true = _shifts.truth(run, study.streams[stream])
    spreads = [statistics.three_stage_sd(a, b) for a, b in zip(by_task, true, strict=True)]
    return statistics.interval(np.array(spreads)).mean


def _printed(numbers: tuple[float, float] | None) -> str:
    return "" if numbers is None else _tables.plus_minus(100 * numbers[0], 100 * numbers[1])


def _rounded(value: float) -> float:
    return round(value, 2)
