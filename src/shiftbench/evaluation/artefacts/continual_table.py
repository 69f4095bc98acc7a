"""Average accuracy, backward and forward transfer of each method, beside published numbers.

Tables 1 and 2 of eschenhagen2019vogn, with negative log-likelihood and calibration of
predictions added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring import paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy", "acc", "bwt"))

TRANSFERS = ("bwt", "fwt")
PAPER = ("acc_paper", "bwt_paper", "fwt_paper", "source")
LEARNT = "learning_accuracy"
"""Further column, if the study has the metric."""
FURTHER = {"nll": (1, 3), "ece": (100, 2)}
"""Further columns of scores after the last task, if the study has the metric: factor, decimals."""
KEPT = {"memory_rows": "rows", "memory_numbers": "numbers"}
"""Further columns of what a method keeps, if the study has the metric."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream and method; "mean [95 % interval]", accuracies in percent.

    acc, bwt, fwt: eq. 64 to 66 of eschenhagen2019vogn, transfers in percentage points;
    learning_accuracy: percent, of each task just learnt; nll: nats per example; ece: percent, both
    means over all tasks after the last. For methods that start each task from scratch, acc, nll
    and ece are of each task just learnt, and transfers are empty. rows, numbers: rows of the stream
    that the method keeps, and the numbers in them. tuned: settings changed by the best trial;
    runs: seeds behind acc; *_paper: number in eschenhagen2019vogn, mean ± standard deviation;
    source: who measured it. Raises UserError without accuracy, acc or bwt.
    """
    _continual.check(study, "continual-table", (_continual.METRIC, "acc", "bwt"))
    rows = [_row(study, stream, method) for stream in study.streams for method in study.methods]
    return table_files.without_constant(pd.DataFrame(rows), ("stream", "tuned", *PAPER))


def paper_columns(study: StudyResults) -> pd.DataFrame:
    """Return the last columns of the table, which depend on settings alone."""
    rows = [_paper(study, stream, method) for stream in study.streams for method in study.methods]
    return table_files.without_constant(pd.DataFrame(rows), PAPER)


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    shown = [name for name in ("acc", LEARNT, *TRANSFERS, *FURTHER) if name in study.metrics]
    learnt = f"{LEARNT}, accuracy on each task just learnt, %. " if LEARNT in shown else ""
    against = (
        f"against {study.label(study.reference)}, which starts each task from scratch"
        if study.reference
        else "not known, because the study names no reference"
    )
    forward = f"; fwt, forward, {against}" if "fwt" in study.metrics else ""
    kept = (
        "rows: of the stream, kept by the end of it, with so many numbers in all. "
        if set(KEPT) <= set(study.metrics)
        else ""
    )
    return (
        f"Mean over seeds, in brackets its {statistics.described(*shown)}. After the last task, "
        "over all tasks: acc, average accuracy, %; nll, nats per example; ece, %, 15 bins. "
        f"Transfers in percentage points: bwt, backward, negative is forgetting{forward}. "
        f"{learnt}{kept}{_paper_columns(study)}-: not known or does not apply. "
        f"{_continual.from_scratch(study)}{study.basis()}"
    )


def _paper_columns(study: StudyResults) -> str:
    """Return the sentence on columns of published numbers; empty if the study has none."""
    if not _continual.has_published(study):
        return ""
    return (
        f"Columns _paper: {bibliography.short(_continual.SOURCE)}, Tables 1 and 2, mean ± standard "
        "deviation over runs, on its own budgets; source: measured there or quoted there. "
    )


def _row(study: StudyResults, stream: str, method: str) -> dict[str, object]:
    scratch = _continual.forgets(study, stream, method)
    average = _at_end(study, stream, method, _continual.METRIC)
    further = {
        metric: table_files.mean_and_interval(
            _at_end(study, stream, method, metric), metric, factor, decimals
        )
        for metric, (factor, decimals) in FURTHER.items()
        if metric in study.metrics
    }
    percent = {
        metric: table_files.mean_and_interval(study.score(stream, method, metric), metric, 100, 2)
        for metric in (LEARNT, *TRANSFERS)
        if metric in study.metrics
    }
    if scratch:
        percent |= dict.fromkeys(percent.keys() & set(TRANSFERS), "")
    memory = {
        name: _kept(study.score(stream, method, metric))
        for metric, name in KEPT.items()
        if metric in study.metrics
    }
    return {
        "stream": stream,
        "learner": study.label(method),
        **memory,
        "tuned": _tuned(study.tuned(stream, method)),
        "acc": table_files.mean_and_interval(average, _continual.METRIC, 100, 2),
        **percent,
        **further,
        "runs": statistics.interval(average).n,
        **_paper(study, stream, method),
    }


def _tuned(point: Mapping[str, Any] | None) -> str:
    """Return the settings changed by the best trial, in words; empty without trials."""
    if point is None:
        return ""
    words = (f"{key.partition('.')[2]}: {json.dumps(value)}" for key, value in point.items())
    return ", ".join(words) or "as configured"


def _at_end(study: StudyResults, stream: str, method: str, metric: str) -> np.ndarray:
    """Return the mean over tasks [seed] of the scores after the last task."""
    return _continual.at_end(study, stream, method, metric).mean(axis=1)


def _paper(study: StudyResults, stream: str, method: str) -> dict[str, str]:
    """Return the paper's numbers for this method, and who measured them."""
    metrics = (_continual.published_metric(study, stream, method), *TRANSFERS)
    numbers = [study.published(stream, method, metric) for metric in metrics]
    sources = [
        ", ".join(
            filter(None, [f"quoted: {number.quoted}" if number.quoted else "measured", number.note])
        )
        for number in numbers
        if number
    ]
    cells = [_printed(number) if number else "" for number in numbers]
    return dict(zip(PAPER, [*cells, sources[0] if sources else ""], strict=True))


def _printed(number: paper_numbers.PaperNumber) -> str:
    mean, spread = round(100 * number.mean, 2), round(100 * number.spread, 2)
    return f"{mean:g}" if np.isnan(spread) else f"{mean:g} ± {spread:g}"


def _kept(numbers: np.ndarray) -> int | str:
    """Return what a method keeps, which all seeds share; empty where every seed failed."""
    known = numbers[~np.isnan(numbers)]
    return int(known[0]) if known.size else ""
