"""Cover and F1 of changepoints by series, beside the published table (vandenburg2020tcpd).

The published scores are those with default settings or, for a study with `configurations`, the
best of a grid for each series. Ours are means over seeds or, for such a study, the best of the
configurations: an oracle, which sees what it is judged on.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation.artefacts import _detectors, _series
from shiftbench.evaluation.metrics import changepoints
from shiftbench.evaluation.scoring import blind_detectors, paper_numbers
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(
    requires=("series", "shifts"),
    refuses=("blocks",),
    from_learner=("changes",),
    uses=("cover", "f1"),
)

PAPER = "vandenburg2020tcpd"
ORACLE = "-oracle"
"""Ending in paper_numbers.yaml of methods with the best score of a grid."""
SCORES = {"cover": "cover", "f1": "F1"}
SHOWN = " / "


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per series: cover and F1 of our methods, blind detectors, published methods.

    Blind detectors (`scoring.blind_detectors`) do not look: `never` has no changepoint. Names of
    published methods are in brackets. The last row is the mean over the series without a
    missing score.
    """
    rows = [_row(study, stream) for stream in study.streams]
    frame = pd.DataFrame(rows)
    scores = frame.columns[2:]
    frame = frame.drop(columns=[name for name in scores if frame[name].isna().all()])
    scores = frame.columns[2:]
    complete = frame[scores].notna().all(axis=1)
    mean = {"series": f"mean of {complete.sum()}", "values": None}
    mean |= frame.loc[complete, scores].mean().to_dict()
    return pd.concat([frame.astype({"values": object}), pd.DataFrame([mean])], ignore_index=True)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for reading, with cover and F1 in one cell."""
    names = [column.removesuffix(" cover") for column in table if column.endswith(" cover")]
    cells = {
        name: [
            SHOWN.join(_cell(value) for value in pair)
            for pair in table[[f"{name} {score}" for score in SCORES.values()]].values
        ]
        for name in names
    }
    return table[["series", "values"]].assign(**cells)


def caption(study: StudyResults) -> str:
    """Describe the cells, the number of runs and the reductions."""
    of = (
        f"the best of {len(study.configurations)} settings for each series, which an oracle chooses"
        " that sees the marks"
        if study.configurations
        else "the mean over seeds"
    )
    paper = ""
    if any(column.startswith("[") for column in tabulate(study)):
        what = "its oracle over a larger grid" if study.configurations else "its default settings"
        paper = f" In brackets: {bibliography.short(PAPER)}, {what}; -: it has no number."
    return (
        f"Cover / F1 with a margin of {changepoints.MARGIN}, against all annotators, higher is"
        f" better; {of}. {blind_detectors.SAYS} Last row: mean over the series for which every"
        f" column has a number.{paper}"
        f" {study.basis()}"
    )


def _row(study: StudyResults, stream: str) -> dict[str, object]:
    columns = {study.label(name): _ours(study, stream, name) for name in study.methods}
    columns |= _blind(study, stream) | _published(study, stream)
    scores = {
        f"{column} {SCORES[metric]}": of_column.get(metric, np.nan)
        for column, of_column in columns.items()
        for metric in SCORES
    }
    values = study.streams[stream].sizes["time"]
    return {"series": _series.short_name(study, stream), "values": values, **scores}


def _ours(study: StudyResults, stream: str, method: str) -> dict[str, float]:
    """Return means over seeds, or the best of the configurations, of the metrics with a score."""
    scores = {metric: study.score(stream, method, metric) for metric in SCORES}
    summary = np.nanmax if study.configurations else np.nanmean
    return {k: float(summary(v)) for k, v in scores.items() if not np.isnan(v).all()}


def _blind(study: StudyResults, stream: str) -> dict[str, dict[str, float]]:
    """Return the scores of the detectors that do not look; they are the same for every seed."""
    runs = _detectors.blind(study, stream)
    rows = [row for row in changepoints.METRICS if row.name in SCORES]
    scores = {
        name: {row.name: _detectors.scored(study, stream, run, row) for row in rows}
        for name, run in runs.items()
    }
    return {
        name: {k: float(np.nanmean(v)) for k, v in of_one.items() if not np.isnan(v).all()}
        for name, of_one in scores.items()
    }


def _published(study: StudyResults, stream: str) -> dict[str, dict[str, float]]:
    """Return the benchmark's numbers on the same data, by the names of their columns."""
    dataset, columns = str(provenance.dataset(study.streams[stream])), {}
    for table in paper_numbers.about(study.streams[stream]):
        for row in table.rows if table.paper == PAPER else ():
            if row.method.endswith(ORACLE) == bool(study.configurations):
                number, _ = row.numbers.get(dataset, (np.nan, np.nan))
                columns.setdefault(f"[{row.label}]", {})[row.metric] = number
    return columns


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"
