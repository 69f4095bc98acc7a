"""Sentences on the methods with the best values, and on whether the seeds separate them.

Others are compared with the best one seed by seed, as in `scoring.ranking`. A bound sees more than
the others; figures show bounds and do not rank them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from shiftbench.config.compatibility_words import listed
from shiftbench.evaluation import highlights
from shiftbench.evaluation.scoring import comparison, ranking, statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

Scores = Mapping[str, np.ndarray]
"""Values [seed] of methods, NaN where a seed failed."""

SAME = 1e-9
"""Relative difference up to which two values count as equal, because it may be rounding."""
NAMED = 3
"""Largest number of equal methods that a sentence names."""


def ranked(study: StudyResults, values: Mapping[str, float]) -> dict[str, float]:
    """Return the values of methods that did not fail (NaN) and are not bounds."""
    return {
        name: value
        for name, value in values.items()
        if not np.isnan(value) and name not in study.bounds
    }


def largest(values: Mapping[str, float]) -> list[str]:
    """Return the names with the largest value: several if they are equal; none without values."""
    best = highlights.leaders(values, 1)
    return [
        name
        for name, value in values.items()
        if best and math.isclose(value, values[best[0]], rel_tol=SAME)
    ]


def unclear(differences: Sequence[Interval]) -> str:
    """Return a note in brackets if no difference has an interval without 0; empty for one seed."""
    if any(one.low > 0 or one.high < 0 for one in differences) or differences[0].n < 2:
        return ""
    known = any(not np.isnan(one.low) for one in differences)
    return " (the interval contains 0)" if known else " (no interval: all seeds are equal)"


def means(study: StudyResults, scores: Scores) -> dict[str, float]:
    """Return the mean over seeds of methods that did not fail and are not bounds."""
    return ranked(study, {name: statistics.interval(of).mean for name, of in scores.items()})


def not_worse(scores: Scores, best: str, rest: Sequence[str], lower: bool = False) -> list[str]:
    """Return those of the rest that are not significantly worse than the best one.

    By the rule of `scoring.ranking`. lower: whether lower scores are better.
    """
    upwards = {name: (-1 if lower else 1) * scores[name] for name in (best, *rest)}
    leads = ranking.leads_of_first(upwards, partial(comparison.compare, region=0.0))
    return [name for name, lead in leads.items() if not lead.resolved]


def others(study: StudyResults, scores: Scores, best: Sequence[str], lower: bool = False) -> str:
    """Return the clause on the methods beside the best ones; empty without others.

    best: the methods with the best mean. lower: whether lower scores are better.
    """
    rest = [name for name in means(study, scores) if name not in best]
    if not rest or not best:
        return ""
    if why := comparison.untested(scores[name] for name in (best[0], *rest)):
        return f"; {why}, so no test"
    tied = not_worse(scores, best[0], rest, lower)
    if not tied:
        return f"; {'all others are' if len(rest) > 1 else 'the other is'} significantly worse"
    if len(tied) == len(rest):
        return "; no other is significantly worse"
    return f"; {names(study, tied)} {'are' if len(tied) > 1 else 'is'} not significantly worse"


def smallest(
    study: StudyResults,
    scores: Mapping[str, Scores],
    what: str,
    verbs: tuple[str, str] = ("has", "have"),
    unit: str = "",
) -> str:
    """Say which method has the smallest mean of a quantity, or on how many streams.

    scores: by stream. verbs: singular and plural. unit: text after the number.
    """
    kept = {stream: means(study, of_stream) for stream, of_stream in scores.items()}
    methods = {name for of_stream in kept.values() for name in of_stream}
    if len(kept) == 1:
        ((stream, of_stream),) = kept.items()
        clause = others(study, scores[stream], _smallest(of_stream), lower=True)
        return f"{stream}: {_of_stream(study, of_stream, what, verbs, unit)}{clause}"
    if not methods:
        return f"No method has {_article(what)} {what}"
    if len(methods) == 1:
        (name,) = methods
        of_method = [of_stream[name] for of_stream in kept.values() if of_stream]
        ends = " to ".join(dict.fromkeys(map(number, (min(of_method), max(of_method)))))
        return _of_one(study, name, what, verbs, f"{ends}{unit} on {_streams(len(of_method))}")
    firsts = {stream: _smallest(of_stream) for stream, of_stream in kept.items()}
    counts = {name: sum(name in of for of in firsts.values()) for name in study.methods}
    most = max(counts.values())
    best = [name for name, count in counts.items() if count == most]
    verb = verbs[0] if len(best) == 1 else f"each {verbs[1]}"
    said = f"{names(study, best)} {verb} the smallest {what} on {most} of {_streams(len(kept))}"
    return f"{said}{_alone(scores, kept, firsts, best)}"


def names(study: StudyResults, methods: list[str]) -> str:
    """Return the labels of methods in words, or their number where they are many."""
    if len(methods) > NAMED:
        return f"{len(methods)} methods"
    labels = list(map(study.label, methods))
    if len(labels) > 1 and any("," in label for label in labels):
        labels = [f'"{label}"' for label in labels]
    return listed(labels)


def number(value: float) -> str:
    """Return a number with three significant digits, or as a whole number if it has more."""
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def _alone(
    scores: Mapping[str, Scores],
    kept: Mapping[str, Mapping[str, float]],
    firsts: Mapping[str, list[str]],
    best: Sequence[str],
) -> str:
    """Return the clause on the number of streams on which all others are significantly worse.

    firsts: the methods with the smallest value on each stream; best: those that are named.
    """
    if len(best) > 1:
        return ""
    compared = {stream: [scores[stream][name] for name in kept[stream]] for stream in kept}
    reasons = {comparison.untested(of) for of in compared.values() if of}
    if len(reasons) == 1 and "" not in reasons:
        return f"; {reasons.pop()}, so no test"
    alone = 0
    for stream, first in firsts.items():
        rest = [name for name in kept[stream] if name != best[0]]
        if rest and first == list(best):
            alone += not not_worse(scores[stream], best[0], rest, lower=True)
    copies = sum(len(of) > 1 and comparison.untested(of) != "" for of in compared.values())
    note = f" (on {copies}, {comparison.ALIKE}, so no test)" if copies else ""
    return f"; it is significantly better than all others on {alone or 'none'} of these{note}"


def _of_stream(
    study: StudyResults,
    values: Mapping[str, float],
    what: str,
    verbs: tuple[str, str],
    unit: str,
) -> str:
    best = _smallest(values)
    if not best:
        return f"no method has {_article(what)} {what}"
    shown = f"{number(values[best[0]])}{unit}"
    if len(values) == 1:
        return _of_one(study, best[0], what, verbs, shown)
    verb = verbs[len(best) > 1]
    return f"{names(study, best)} {verb} the smallest {what} of {len(values)} methods, {shown}"


def _of_one(study: StudyResults, method: str, what: str, verbs: tuple[str, str], shown: str) -> str:
    return f"{study.label(method)} {verbs[0]} {_article(what)} {what} of {shown}"


def _smallest(values: Mapping[str, float]) -> list[str]:
    return largest({name: -value for name, value in values.items()})


def _streams(count: int) -> str:
    return "1 stream" if count == 1 else f"{count} streams"


def _article(what: str) -> str:
    return "an" if what[0] in "aeiou" else "a"
