"""Comparison of each method with the next in the ranking, paired by seed.

For any study: methods are ordered by the mean of its leading metric, best first.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from shiftbench.config import components, metric_words
from shiftbench.evaluation.scoring import neighbours, statistics, study_ranking, units
from shiftbench.evaluation.scoring.neighbours import Pair
from shiftbench.evaluation.scoring.results import StudyResults

COLUMNS = (
    "stream",
    "learner",
    "next",
    "difference",
    "p",
    "resolved",
    "equivalent",
    "smallest",
    "seeds",
)
PRECISION = units.Precision(decimals=2, digits=3)


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per pair of neighbours: method minus next, in points for fractions.

    difference: "mean [95 % interval]"; p: paired t test, by Holm's method over the pairs of the
    stream; resolved: whether p < 0.05 and the difference is in favour of the method; equivalent:
    posterior probability that they differ by less than the region; smallest: the difference that
    as many seeds resolve with power 80 %; seeds: number with both scores. Raises UserError without
    a metric with a better direction.
    """
    metric = study_ranking.leading_metric(study, "neighbours")
    rows = [row for stream in study.streams for row in _rows(study, stream, metric)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.drop(columns=["stream"] if len(study.streams) == 1 else [])


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    metric = study_ranking.leading_metric(study, "neighbours")
    unit = components.metric(metric).unit
    of_fraction = unit == "fraction"
    # The interval of a difference has both bounds or none.
    two = None not in statistics.bounds(metric)
    interval = statistics.described(metric) if two else "95 % interval (Student t)"
    return (
        f"Methods by mean {metric_words.words(metric)}, best first; each minus the next, paired by"
        " seed"
        f"{', in percentage points' if of_fraction else f' ({unit})' if unit else ''}, with its "
        f"{interval}. p: paired t test, Holm's method over the pairs of a "
        "stream; equivalent: posterior probability (Student t, reference prior) of a difference "
        f"below {'1 point' if of_fraction else '1 % of the mean over methods'}; smallest: the "
        "difference that these seeds resolve at 5 % with power 80 %; -: not known of one seed, or "
        f"where all differences are equal. {_without(study, metric)}{study.basis()}"
    )


def _rows(study: StudyResults, stream: str, metric: str) -> list[tuple[object, ...]]:
    scores = study_ranking.scores(study, stream, metric)
    return [
        (stream, study.label(pair.better), study.label(pair.worse), *_cells(pair, metric))
        for pair in neighbours.pairs(scores, metric)
    ]


def _cells(pair: Pair, metric: str) -> tuple[object, ...]:
    mean, _, low, high, n = pair.compared.difference
    shown = partial(units.text, metric, precision=PRECISION)
    return (
        units.interval(mean, low, high, shown),
        _formatted(pair.p, "{:.3g}"),
        "yes" if pair.resolved else "no",
        _formatted(pair.compared.equivalent, "{:.2f}"),
        shown(pair.compared.smallest),
        n,
    )


def _formatted(value: float, template: str) -> str:
    return "" if np.isnan(value) else template.format(value)


def _without(study: StudyResults, metric: str) -> str:
    """Return the sentence on methods without a score on a stream; empty if all have one."""
    absent = {
        study.label(name): None
        for stream in study.streams
        for name in study.methods
        if name not in study_ranking.best_first(study, stream, metric)
    }
    return f"Without a score: {', '.join(absent)}. " if absent else ""
