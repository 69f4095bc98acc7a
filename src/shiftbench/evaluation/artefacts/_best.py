"""Sentences on the methods with the best values, beside those that failed and bounds.

A bound sees more than the others; figures show bounds and do not rank them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from shiftbench.config.compatibility_words import listed
from shiftbench.evaluation import highlights
from shiftbench.evaluation.scoring.results import StudyResults

SAME = 1e-9
"""Relative difference up to which two values are equal; rounding errors make no leader."""
NAMED = 3
"""Largest number of equal methods that a sentence names."""


def ranked(study: StudyResults, values: Mapping[str, float]) -> dict[str, float]:
    """Return the values of learners that did not fail (NaN) and are no bounds."""
    return {
        name: value
        for name, value in values.items()
        if not np.isnan(value) and name not in study.bounds
    }


def largest(values: Mapping[str, float]) -> list[str]:
    """Return the names of the largest value: several of equal ones, none of no values."""
    best = highlights.leaders(values, 1)
    return [
        name
        for name, value in values.items()
        if best and math.isclose(value, values[best[0]], rel_tol=SAME)
    ]


def smallest(
    study: StudyResults,
    values: Mapping[str, Mapping[str, float]],
    what: str,
    verbs: tuple[str, str] = ("has", "have"),
) -> str:
    """Say which learner has the smallest value of something, or on how many streams it has.

    values: by stream and learner. verbs: for one learner and for several.
    """
    kept = {stream: ranked(study, of_stream) for stream, of_stream in values.items()}
    learners = {name for of_stream in kept.values() for name in of_stream}
    if len(kept) == 1:
        ((stream, of_stream),) = kept.items()
        return f"{stream}: {_of_stream(study, of_stream, what, verbs)}"
    if not learners:
        return f"No method has {_article(what)} {what}"
    if len(learners) == 1:
        (name,) = learners
        of_learner = [of_stream[name] for of_stream in kept.values() if of_stream]
        ends = " to ".join(dict.fromkeys(map(number, (min(of_learner), max(of_learner)))))
        return _of_one(study, name, what, verbs, f"{ends} on {_streams(len(of_learner))}")
    firsts = [name for of_stream in kept.values() for name in _smallest(of_stream)]
    most = max(map(firsts.count, firsts))
    best = [name for name in study.learners if firsts.count(name) == most]
    verb = verbs[0] if len(best) == 1 else f"each {verbs[1]}"
    return f"{names(study, best)} {verb} the smallest {what} on {most} of {_streams(len(kept))}"


def names(study: StudyResults, learners: list[str]) -> str:
    """Return the labels of learners in words, or their number where they are many."""
    if len(learners) > NAMED:
        return f"{len(learners)} methods"
    labels = list(map(study.label, learners))
    if len(labels) > 1 and any("," in label for label in labels):
        labels = [f'"{label}"' for label in labels]
    return listed(labels)


def number(value: float) -> str:
    """Return a number with three digits, or as a whole number where it has more."""
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def _of_stream(
    study: StudyResults, values: Mapping[str, float], what: str, verbs: tuple[str, str]
) -> str:
    best = _smallest(values)
    if not best:
        return f"no method has {_article(what)} {what}"
    shown = number(values[best[0]])
    if len(values) == 1:
        return _of_one(study, best[0], what, verbs, shown)
    verb = verbs[len(best) > 1]
    return f"{names(study, best)} {verb} the smallest {what} of {len(values)} methods, {shown}"


def _of_one(
    study: StudyResults, learner: str, what: str, verbs: tuple[str, str], shown: str
) -> str:
    return f"{study.label(learner)} {verbs[0]} {_article(what)} {what} of {shown}"


def _smallest(values: Mapping[str, float]) -> list[str]:
    return largest({name: -value for name, value in values.items()})


def _streams(count: int) -> str:
    return "1 stream" if count == 1 else f"{count} streams"


def _article(what: str) -> str:
    return "an" if what[0] in "aeiou" else "a"
