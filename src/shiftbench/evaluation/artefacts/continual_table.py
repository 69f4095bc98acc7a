"""Average accuracy, backward and forward transfer of each learner, beside the published numbers.

Tables 1 and 2 of eschenhagen2019vogn, with the negative log-likelihood and the calibration of
predictions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring import paper_numbers, statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"
USES = ("accuracy", "acc", "bwt", "fwt")
REQUIRES = ("earlier-tests",)

TRANSFERS = ("bwt", "fwt")
PAPER = ("acc_paper", "bwt_paper", "fwt_paper", "source")
LEARNT = "learning_accuracy"
"""A further column, where the study has the metric."""
FURTHER = {"nll": (1, 3), "ece": (100, 2)}
"""Such columns of scores after the last task: factor of the scores, and decimals."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a stream and learner; "mean [95 % interval]", accuracies in percent.

    acc, bwt, fwt: eq. 64 to 66 of eschenhagen2019vogn, transfers in percentage points;
    learning_accuracy: percent, of each task just learnt; nll: nats per example; ece: percent, both
    means over all tasks after the last. Of learners that start each task from scratch, acc, nll and
    ece are of each task just learnt, and transfers are empty.
    tuned: what the best trial changed; runs: seeds behind acc; *_paper: what eschenhagen2019vogn
    prints, mean ± standard deviation; source: who measured that. UserError where a metric is
    missing.
    """
    _continual.check(study, "continual-table", (_continual.METRIC, "acc", *TRANSFERS))
    rows = [_row(study, stream, learner) for stream in study.streams for learner in study.learners]
    frame = pd.DataFrame(rows)
    # A column that says the same in every row says nothing.
    optional = ("stream", "tuned", *PAPER)
    return frame.drop(columns=[name for name in optional if frame[name].nunique() == 1])


def caption(study: StudyResults) -> str:
    """What the columns are, on how many runs, and what is cut."""
    shown = [name for name in ("acc", LEARNT, *TRANSFERS, *FURTHER) if name in study.metrics]
    learnt = f"{LEARNT}, accuracy on each task just learnt, %. " if LEARNT in shown else ""
    against = (
        f"against {study.label(study.reference)}, which starts each task from scratch"
        if study.reference
        else "not known, because the study names no reference"
    )
    return (
        f"Mean over seeds, in brackets its {statistics.described(*shown)}. After the last task, "
        "over all tasks: acc, average accuracy, %; nll, nats per example; ece, %, 15 bins. "
        "Transfers in percentage points: bwt, backward, negative is forgetting; fwt, forward, "
        f"{against}. {learnt}{_paper_columns(study)}-: not known or does not apply. "
        f"{_continual.from_scratch(study)}{study.budget()}"
    )


def _paper_columns(study: StudyResults) -> str:
    """Words for the columns of published numbers; empty where the study has none."""
    if not _continual.has_published(study):
        return ""
    return (
        f"Columns _paper: {bibliography.short(_continual.SOURCE)}, Tables 1 and 2, mean ± standard "
        "deviation over runs, on its own budgets; source: measured there or quoted there. "
    )


def _row(study: StudyResults, stream: str, learner: str) -> dict[str, object]:
    scratch = _continual.forgets(study, stream, learner)
    average = _at_end(study, stream, learner, _continual.METRIC)
    further = {
        metric: _cell(_at_end(study, stream, learner, metric), metric, factor, decimals)
        for metric, (factor, decimals) in FURTHER.items()
        if metric in study.metrics
    }
    learnt = (
        {LEARNT: _cell(study.score(stream, learner, LEARNT), LEARNT)}
        if LEARNT in study.metrics
        else {}
    )
    transfers = {
        metric: "" if scratch else _cell(study.score(stream, learner, metric), metric)
        for metric in TRANSFERS
    }
    return {
        "stream": stream,
        "learner": study.label(learner),
        "tuned": _tuned(study.tuned(stream, learner)),
        "acc": _cell(average, _continual.METRIC),
        **learnt,
        **transfers,
        **further,
        "runs": statistics.interval(average).n,
        **_paper(study, stream, learner),
    }


def _tuned(point: Mapping[str, Any] | None) -> str:
    """What the best trial changed, in words; empty where nothing was tried."""
    if point is None:
        return ""
    words = (f"{key.partition('.')[2]}: {json.dumps(value)}" for key, value in point.items())
    return ", ".join(words) or "as configured"


def _at_end(study: StudyResults, stream: str, learner: str, metric: str) -> np.ndarray:
    """Mean over tasks [seed] of the scores after the last task."""
    return _continual.at_end(study, stream, learner, metric).mean(axis=1)


def _cell(values: np.ndarray, metric: str, factor: float = 100, decimals: int = 2) -> str:
    of_seeds = statistics.interval(values, statistics.bounds(metric)).times(factor)
    if not of_seeds.n:
        return ""
    mean, low, high = (f"{number:.{decimals}f}" for number in of_seeds[:1] + of_seeds[2:4])
    return mean if np.isnan(of_seeds.low) else f"{mean} [{low}, {high}]"


def _paper(study: StudyResults, stream: str, learner: str) -> dict[str, str]:
    """What the paper prints about this learner, and who measured it."""
    metrics = (_continual.published_metric(study, stream, learner), *TRANSFERS)
    numbers = [study.published(stream, learner, metric) for metric in metrics]
    sources = [
        ", ".join(filter(None, [f"quoted: {one.quoted}" if one.quoted else "measured", one.note]))
        for one in numbers
        if one
    ]
    cells = [_printed(one) if one else "" for one in numbers]
    return dict(zip(PAPER, [*cells, sources[0] if sources else ""], strict=True))


def _printed(number: paper_numbers.Number) -> str:
    if number.shown is None:
        return "withheld"
    mean, spread = (round(100 * one, 2) for one in (number.mean, number.spread))
    return f"{mean:g}" if np.isnan(spread) else f"{mean:g} ± {spread:g}"
