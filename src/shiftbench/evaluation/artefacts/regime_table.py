"""Numbers behind the map of regimes: one row per method and cell of a study with axes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftbench.core.facts import Facts
from shiftbench.evaluation.artefacts import _regimes
from shiftbench.evaluation.artefacts._regimes import DETECTION
from shiftbench.evaluation.scoring import comparison, ranking, statistics, study_ranking, units
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(study=("axes", "baseline"))

DIGITS = 6


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per cell and method, best first; scores and differences in the metric's unit.

    The value on each axis; place in the ranking; score, low, high: mean over seeds with its
    interval; lead...: of the leader over this method, with p (Holm over the pairs of methods of the
    cell) and equivalent (probability of a difference that does not matter); lead_over_map_p: in the
    leader's row, of its lead over all others, by Holm's method over the cells; minus_BASELINE...:
    of this method, p by Holm's method over the methods of the cell; means of metrics of shift
    detection; seeds. Raises UserError without axes, or a metric with a better direction.
    """
    _regimes.grid(study, "regime-table")
    metric = study_ranking.leading_metric(study, "regime-table")
    cells = list(_regimes.cells(study, metric).values())
    over_map = _regimes.over_map(cells)
    rows = [
        row
        for cell, p in zip(cells, over_map, strict=True)
        for row in _rows(study, metric, cell, float(p))
    ]
    return pd.DataFrame(rows)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for reading: numbers with intervals in one cell, three digits."""
    readable = table[
        [name for name in table.columns if not name.endswith(("_low", "_high"))]
    ].copy()
    for name in readable.columns:
        if f"{name}_low" in table:
            ends = zip(table[name], table[f"{name}_low"], table[f"{name}_high"], strict=True)
            readable[name] = [
                "" if np.isnan(mean) else units.interval(mean, low, high, units.decimals(3))
                for mean, low, high in ends
            ]
        elif pd.api.types.is_float_dtype(readable[name]):
            readable[name] = ["" if np.isnan(value) else f"{value:.3g}" for value in table[name]]
    return readable


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    metric = study_ranking.leading_metric(study, "regime-table")
    return (
        f"score: mean {metric} over seeds, in brackets its {statistics.described(metric)}. lead: "
        "of the leader of the cell over this method, paired by seed; p: paired t test, Holm's "
        "method over the pairs of methods of the cell; equivalent: posterior probability (Student "
        "t, reference prior) of a difference below "
        f"{'1 point' if units.factor(metric) > 1 else '1 % of the mean'}; lead_over_map_p: of "
        "the lead over all others, by Holm's method over the cells. minus: this method minus the "
        f"baseline, p over the methods of the cell. {study.basis()}"
    )


def _rows(
    study: StudyResults, metric: str, cell: StreamRanking, over_map: float
) -> list[dict[str, object]]:
    minus = _minus_baseline(study, metric, cell)
    return [
        {
            **study.cells[cell.stream],
            "method": name,
            "place": place,
            **_with_ends("score", statistics.interval(scores, statistics.bounds(metric))),
            **_lead(cell, name),
            "lead_over_map_p": _rounded(over_map if name == cell.leader else np.nan),
            **minus.get(name, {}),
            **{
                metric: _rounded(statistics.interval(study.score(cell.stream, name, metric)).mean)
                for metric in DETECTION
                if metric in study.metrics
            },
            "seeds": int((~np.isnan(scores)).sum()),
        }
        for place, (name, scores) in enumerate(cell.scores.items(), start=1)
    ]


def _lead(cell: StreamRanking, name: str) -> dict[str, object]:
    """Return the lead of the leader over a method; NaN in the leader's own row."""
    lead = cell.leads.get(name)
    nothing = Interval(np.nan, np.nan, np.nan, np.nan, 0)
    return {
        **_with_ends("lead", lead.over.difference if lead else nothing),
        "lead_p": _rounded(lead.p if lead else np.nan),
        "lead_equivalent": _rounded(lead.over.equivalent if lead else np.nan),
    }


def _minus_baseline(
    study: StudyResults, metric: str, cell: StreamRanking
) -> dict[str, dict[str, object]]:
    """Return the columns of differences from the baseline, by method of the cell."""
    baseline = cell.scores.get(str(study.baseline))
    if baseline is None:
        return {}
    others = [name for name in cell.scores if name != study.baseline]
    comparisons = [ranking.better(metric, cell.scores[name], baseline) for name in others]
    p = comparison.corrected([pair.p for pair in comparisons])
    key = f"minus_{study.baseline}"
    return {
        name: {**_with_ends(key, pair.difference), f"{key}_p": _rounded(float(corrected))}
        for name, pair, corrected in zip(others, comparisons, p, strict=True)
    }


def _with_ends(name: str, of: Interval) -> dict[str, object]:
    columns = {name: of.mean, f"{name}_low": of.low, f"{name}_high": of.high}
    return {key: _rounded(value) for key, value in columns.items()}


def _rounded(value: float) -> float:
    return round(value, DIGITS)
