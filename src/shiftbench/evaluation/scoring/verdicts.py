"""Verdicts on the claims of papers, computed from scores by seed.

A claim is one condition or several. A condition says that a number, of one method or between two on
the same seeds, lies in a range. Its 95 % interval over seeds decides (`statistics`):

    reproduced          the whole interval is in the range
    contradicted        the whole interval is outside
    unresolved          it is on both sides, or there is none: one seed of random data or of a
                        random method, or seeds that all have the same score, although something
                        is random
    not at this budget  we train on less than `paper_training.LEAST` of what the paper trains on
    budget unknown      the gate does not know what the paper trains on there

A check, which holds by proof or by definition, has the verdict "holds", "fails" or "open" instead,
at any budget. Of several conditions, as in a chain of methods, all must be reproduced, and one that
is contradicted contradicts the claim. Shares of seeds of two methods are compared seed by seed, so
that a difference of 1 for each seed is unresolved, like all equal differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shiftbench.config import paper_training
from shiftbench.config.claim_schema import Claim
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Bounds, Interval

REPRODUCED, CONTRADICTED = "reproduced", "contradicted"
UNRESOLVED, TOO_LITTLE = "unresolved", "not at this budget"
UNKNOWN, NOT_RUN = "budget unknown", "not run"
VERDICTS = (REPRODUCED, CONTRADICTED, UNRESOLVED, TOO_LITTLE, UNKNOWN, NOT_RUN)
"""All verdicts on claims that are not checks; the last one means that no study judges a claim."""
NO_VERDICT = VERDICTS[3:]
"""The entries for claims without a verdict, each of which gives the reason."""
CHECKED = {
    REPRODUCED: "holds",
    CONTRADICTED: "fails",
    UNRESOLVED: "open",
    NOT_RUN: "check not run",
}
"""The entries for checks, in place of those for claims."""
MIXED = "mixed"
"""The verdict on a claim that several studies or streams judge differently."""
GRAVITY = (CONTRADICTED, UNRESOLVED, REPRODUCED)
"""Verdicts on conditions: the first of these that a condition has is that of the claim."""


class Range(NamedTuple):
    """Numbers from low to high; open: without the ends themselves."""

    low: float
    high: float
    open: bool = False

    def holds(self, least: float, most: float) -> bool:
        """Return whether the interval from least to most is in the range."""
        if self.open:
            return self.low < least and most < self.high
        return self.low <= least and most <= self.high

    def excludes(self, least: float, most: float) -> bool:
        """Return whether the interval from least to most is outside the range."""
        if self.open:
            return most <= self.low or least >= self.high
        return most < self.low or least > self.high


class Condition(NamedTuple):
    """A number that has to lie in a range: its description, the range, our interval over seeds."""

    words: str
    range: Range
    ours: Interval
    verdict: str


class Verdict(NamedTuple):
    """A verdict on a claim, its conditions, and the one that decides.

    share: our share of the paper's training, the smallest of the methods; None if unknown.
    """

    verdict: str
    decisive: Condition
    conditions: list[Condition]
    share: float | None


def of_claim(verdicts: Iterable[str]) -> str:
    """Return the one verdict on a claim of several studies or streams; `MIXED` if they differ.

    Verdicts at a sufficient budget decide, if there are any.
    """
    kinds = set(verdicts)
    kinds = kinds.difference(NO_VERDICT) or kinds
    return kinds.pop() if len(kinds) == 1 else MIXED


def judge(claim: Claim, study: StudyResults, stream: str) -> Verdict:
    """Return the verdict on a claim about methods and metrics that a study has on the stream."""
    if not study.same_data(stream):  # it may have random data where the paper has one series
        claim = claim.model_copy(update={"exact": False})
    conditions = list(_conditions(claim, study, stream))
    decisive = min(conditions, key=lambda one: GRAVITY.index(one.verdict))
    shares = [
        study.share(stream, method, claim.metric, claim.work) for method in claim.holds.methods
    ]
    share = None if None in shares else min(one for one in shares if one is not None)
    return Verdict(_gated(claim, decisive.verdict, share), decisive, conditions, share)


def _gated(claim: Claim, verdict: str, share: float | None) -> str:
    """Return the verdict that our share of the paper's training allows."""
    if claim.check:
        return CHECKED[verdict]
    if share is None:
        return UNKNOWN
    return verdict if share >= paper_training.LEAST else TOO_LITTLE


def scores(study: StudyResults, stream: str, method: str, metric: str) -> np.ndarray:
    """Return the scores [seed] of a method of the library, NaN for failed seeds."""
    return study.score(stream, study.row_of(method), metric)


def _condition(claim: Claim, words: str, ours: Interval, wanted: Range) -> Condition:
    if claim.exact and (ours.n == 1 or ours.sd == 0):
        ours = ours._replace(low=ours.mean, high=ours.mean)
    verdict = UNRESOLVED  # NaN is neither in a range nor outside
    if wanted.holds(ours.low, ours.high):
        verdict = REPRODUCED
    elif wanted.excludes(ours.low, ours.high):
        verdict = CONTRADICTED
    return Condition(words, wanted, ours, verdict)


def _conditions(claim: Claim, study: StudyResults, stream: str) -> Iterator[Condition]:
    if claim.holds.predicate in ("value", "at_least", "at_most"):
        for method, wanted in _ranges(claim).items():
            values = _values(claim, study, stream, method)
            yield _condition(claim, method, _over_seeds(claim, values), wanted)
    elif claim.holds.metrics:
        yield _two_metrics(claim, study, stream)
    else:
        for pair in pairwise(claim.holds.methods):
            first, second = (_values(claim, study, stream, method) for method in pair)
            words = " - ".join(pair)
            if claim.holds.predicate == "ratio":
                ours = statistics.interval((first - second) / second)
                yield _condition(claim, f"({words}) / {pair[1]}", ours, _range_of_difference(claim))
            else:
                ours = statistics.paired_difference(first, second, _bounds(claim))
                yield _condition(claim, words, ours, _range_of_difference(claim))


def _values(claim: Claim, study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return scores [seed]; for a claim with `over`, 1 where a score is above it, else 0.

    A failed seed has 0 then, and a seed that was not run NaN.
    """
    values = scores(study, stream, method, claim.metric)
    if claim.over is None:
        return values
    place = {"stream": stream, "learner": study.row_of(method)}
    was_run = study.cube["status"].sel(place).values != ""
    return np.where(was_run, values > claim.over, np.nan)


def _over_seeds(claim: Claim, values: np.ndarray) -> Interval:
    if claim.over is not None:
        return statistics.share(values)
    return statistics.interval(values, _bounds(claim))


def _bounds(claim: Claim) -> Bounds:
    return (0.0, 1.0) if claim.over is not None else statistics.bounds(claim.metric)


def _ranges(claim: Claim) -> dict[str, Range]:
    """Return the range of each method's own score."""
    holds = claim.holds
    if holds.at_least is not None:
        return {method: Range(least, np.inf) for method, least in holds.at_least.items()}
    if holds.at_most is not None:
        return {method: Range(-np.inf, most) for method, most in holds.at_most.items()}
    assert isinstance(holds.value, dict)
    return {method: _around(value, holds.within) for method, value in holds.value.items()}


def _range_of_difference(claim: Claim) -> Range:
    """Return the range of the difference of two methods."""
    holds = claim.holds
    if holds.predicate == "above":
        return Range(holds.by or 0.0, np.inf, open=True)
    if holds.predicate == "below":
        return Range(-np.inf, 0.0 - (holds.by or 0.0), open=True)
    assert not isinstance(holds.value, dict)
    return _around(holds.value or 0.0, holds.within)


def _around(value: float, within: float | None) -> Range:
    assert within is not None
    return Range(value - within, value + within)


def _two_metrics(claim: Claim, study: StudyResults, stream: str) -> Condition:
    (method,), (other,) = claim.holds.methods, claim.holds.metrics
    first, second = (scores(study, stream, method, name) for name in (claim.metric, other))
    below = claim.holds.metric_below is not None
    wanted = Range(-np.inf, 0.0) if below else Range(0.0, np.inf)
    ours = statistics.paired_difference(first, second)
    return _condition(claim, f"{claim.metric} - {other} of {method}", ours, wanted)
