"""Benefit of detecting changes, and of memory, over the first axis of a study with axes.

Above: each method that decides about changes, minus the study's baseline. Below: the baseline
minus the study's reference, which starts from scratch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from shiftbench.config import metric_words, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _regime_lines, _regimes
from shiftbench.evaluation.artefacts._regime_lines import PanelRow
from shiftbench.evaluation.scoring import ranking, statistics, study_ranking, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(study=("axes", "baseline", "reference"))


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw the differences.

    Raises UserError without axes, baseline, reference, or a metric with a better direction.
    """
    grid = _regimes.flat(_regimes.grid(study, "regime-pairs"))
    baseline, reference = _baseline_and_reference(study)
    metric = study_ranking.leading_metric(study, "regime-pairs")
    words = metric_words.words(metric)
    unit = f"{words}, points" if units.factor(metric) > 1 else words
    deciders = {name: _advantage(study, metric, name, baseline) for name in _deciders(study)}
    memory = {baseline: _advantage(study, metric, baseline, reference)}
    rows = [
        PanelRow(f"minus {study.label(baseline)}", unit, deciders, reference=0),
        PanelRow(
            f"{study.label(baseline)} minus {study.label(reference)}", unit, memory, reference=0
        ),
    ]
    shown = [row for row in rows if row.lines]
    coloured = [*_coloured(study), baseline]
    return _regime_lines.draw(study, grid, shown, message(study), _foot(study), coloured)


def caption(study: StudyResults) -> str:
    """Count the streams with a benefit, describe the lines, the runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say on how many streams detecting changes helps, and on how many memory does."""
    baseline, reference = _baseline_and_reference(study)
    metric = study_ranking.leading_metric(study, "regime-pairs")
    counts = {name: _counts(study, metric, name, baseline) for name in _deciders(study)}
    said = [_counted(study, baseline, reference, *_counts(study, metric, baseline, reference))]
    if counts:
        best = max(counts, key=lambda name: (counts[name][0], -counts[name][1]))
        others = f"Of {len(counts)} methods, " if len(counts) > 1 else ""
        said.insert(0, f"{others}{_counted(study, best, baseline, *counts[best])}")
    return f"{'; '.join(said)} (95 % intervals, not corrected)"


def _counts(study: StudyResults, metric: str, first: str, second: str) -> tuple[int, int]:
    """Return on how many streams the interval of a method's lead is above 0, and below 0."""
    ends = list(map(_advantage(study, metric, first, second), study.streams))
    return sum(each.low > 0 for each in ends), sum(each.high < 0 for each in ends)


def _counted(study: StudyResults, first: str, second: str, better: int, worse: int) -> str:
    leads = f"{study.label(first)} leads {study.label(second)}"
    number = len(study.streams)
    return f"{leads} on {better or 'none'} of {number} streams and trails it on {worse or 'none'}"


def _coloured(study: StudyResults) -> list[str]:
    """Return the methods that lead the baseline most, on average over streams."""
    baseline, _ = _baseline_and_reference(study)
    metric = study_ranking.leading_metric(study, "regime-pairs")
    leads = {
        name: [_advantage(study, metric, name, baseline)(stream).mean for stream in study.streams]
        for name in _deciders(study)
    }
    known = {name: [lead for lead in of if not np.isnan(lead)] for name, of in leads.items()}
    return highlights.leaders({name: float(np.mean(of)) for name, of in known.items() if of})


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    baseline, reference = (study.label(name) for name in _baseline_and_reference(study))
    names = [study.label(name) for name in _deciders(study)]
    above = f"Above: {', '.join(names)} minus {baseline}. Below: " if names else ""
    metric = study_ranking.leading_metric(study, "regime-pairs")
    ends = "" if None in statistics.bounds(metric) else " on the logit scale"
    return (
        f"{above}{baseline} minus {reference}, which learns each task from scratch. Differences "
        f"in {metric_words.words(metric)}, above 0 is better, paired by seed: mean and 95 % "
        f"interval (Student t{ends})."
        f"{_regime_lines.grey(study, _deciders(study), _coloured(study))} {study.basis()}"
    )


def _baseline_and_reference(study: StudyResults) -> tuple[str, str]:
    for key in ("baseline", "reference"):
        if getattr(study, key) not in study.methods:
            raise study.lacking("regime-pairs", f"one of its methods as `{key}`")
    return str(study.baseline), str(study.reference)


def _deciders(study: StudyResults) -> list[str]:
    """Return the methods that decide about changes."""
    stream = next(iter(study.streams))
    return [
        name
        for name in study.methods
        if provenance.offering(study.run(stream, name), "changes") is not None
    ]


def _advantage(
    study: StudyResults, metric: str, first: str, second: str
) -> Callable[[str], Interval]:
    """Return the function from a stream to how much better `first` is than `second` there."""

    def difference(stream: str) -> Interval:
        scores = (study.score(stream, name, metric) for name in (first, second))
        return ranking.advantage(metric, *scores).times(units.factor(metric))

    return difference
