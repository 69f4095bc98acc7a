"""Words updated in a period and the error of dating, beside binning (li2021vbs, Fig. 5).

The numbers of the figure rate-distortion. Binning is a formula, see `evaluation/theory/binning.py`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.theory import binning

FACTS = Facts(
    uses=("updates_per_period", "dating_error", "dating_error_of_binning"), rows=("binning-words",)
)

RATE, ERROR, AT_RATE = FACTS.uses
LENGTHS = (1, 2, 4, 8, 16)
"""Lengths of the bins that have a row, if the stream is as long."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return a row for each method, and for binning with each length of its bins.

    words: updated in a period; error: of dating held-out documents, in periods; of_binning: the
    error of binning with as many updates. Each is "mean [95 % interval]" over seeds. as_printed:
    the error of binning as the paper has it.
    """
    study.require_metrics("rate-distortion-table", RATE, ERROR, AT_RATE)
    rows = []
    for stream in study.streams:
        rows += [_of_method(study, stream, method) for method in study.methods]
        rows += _of_binning(study, stream)
    return pd.DataFrame(rows)


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    return (
        "words: words updated in a period; error: distance in periods between the period that a"
        " held-out document is dated to and its own; of_binning: the error of binning that updates"
        " as many words. Mean over seeds, in brackets its"
        f" {statistics.described(RATE, ERROR, AT_RATE)}. Binning dates each document to a random"
        f" period of the right bin; as_printed: its error as {bibliography.short('li2021vbs')} have"
        f" it. {study.basis()}"
    )


def _of_method(study: StudyResults, stream: str, method: str) -> dict[str, object]:
    names = {"words": RATE, "error": ERROR, "of_binning": AT_RATE}
    scores = {
        column: table_files.mean_and_interval(study.score(stream, method, metric), metric)
        for column, metric in names.items()
    }
    return {"stream": stream, "learner": study.label(method), **scores, "as_printed": ""}


def _of_binning(study: StudyResults, stream: str) -> list[dict[str, object]]:
    sizes = study.streams[stream].sizes
    lengths = np.array([length for length in LENGTHS if length <= sizes["task"]])
    errors, printed = binning.error(lengths), binning.error_as_printed(lengths)
    return [
        {
            "stream": stream,
            "learner": f"Binning, {length} period{'s' if length > 1 else ''}",
            "words": f"{sizes['word'] / length:.3f}",
            "error": f"{error:.3f}",
            "of_binning": f"{error:.3f}",
            "as_printed": f"{of_paper:.3f}",
        }
        for length, error, of_paper in zip(lengths, errors, printed, strict=True)
    ]
