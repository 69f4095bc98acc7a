"""Metrics of word vectors over periods: planted changes, dating and held-out text (li2021vbs)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from scipy.ndimage import maximum_filter1d

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import realisations, shift_matching
from shiftbench.evaluation.scoring.shift_matching import MatchCounts, count_matched
from shiftbench.evaluation.scoring.words import dating, held_out, trajectories
from shiftbench.evaluation.theory import binning

MARGIN = 1
"""Periods by which an inferred change may miss the planted one."""


def matched(
    run: xr.Dataset, stream: xr.DataTree, *, measure: Callable[[MatchCounts], np.ndarray]
) -> np.ndarray:
    """Return a measure [seed] of changes matched one to one with planted ones of the same word.

    Pooled over words; of the most likely hypothesis of each word at the end, in hindsight. NaN for
    streams whose changes are unknown, and for learners that make no decisions about them.
    """
    inferred = trajectories.shifts(run)
    if inferred is None or "changed" not in stream.dataset:
        return np.full(run.sizes["seed"], np.nan)
    true = realisations.of_seeds(run, stream.dataset["changed"]).astype(bool)
    pairs = [
        sum(count_matched(a, b, MARGIN) for a, b in zip(one.T, other.T, strict=True))
        for one, other in zip(inferred, true, strict=True)
    ]
    return measure(
        MatchCounts(np.array(pairs, int), inferred.sum(axis=(1, 2)), true.sum(axis=(1, 2)))
    )


def known_changes(run: xr.Dataset, stream: xr.DataTree, *, above_others: bool) -> np.ndarray:
    """Return the share [seed] of words with a known change that change within one period of it.

    above_others: subtracts the same share of all other words, so that a learner that updates every
    word in every period has 0. Other words may change too. NaN for streams without known changes,
    and for learners that make no decisions about changes.
    """
    inferred = trajectories.shifts(run)
    if inferred is None or "known_change" not in stream.dataset:
        return np.full(run.sizes["seed"], np.nan)
    known = realisations.of_seeds(run, stream.dataset["known_change"])
    return np.array(
        [_found(a, b, above_others) for a, b in zip(inferred, known.astype(bool), strict=True)]
    )


def _found(inferred: np.ndarray, known: np.ndarray, above_others: bool) -> float:
    """Return the share of known changes that are found; both flags [T, W]."""
    near = _near(inferred)
    if not known.any():
        return np.nan
    found, others = near[known].mean(), near[:, ~known.any(axis=0)]
    if not above_others or not others.shape[1]:
        return float(found)
    # A period counts as often as it has known changes, as it does for the words that have them.
    return float(found - np.average(others.mean(axis=1), weights=known.sum(axis=1)))


def _near(changes: np.ndarray) -> np.ndarray:
    """Return whether a word changes within MARGIN periods of each period [T, W]."""
    return maximum_filter1d(changes.astype(np.uint8), 2 * MARGIN + 1, axis=0, mode="constant") > 0


def dating_error(run: xr.Dataset, stream: xr.DataTree, *, by_period: bool) -> np.ndarray:
    """Return the mean distance [seed] in periods, over documents or over periods.

    by_period: whether all held-out documents of a period are one. NaN for streams that hold none
    out. li2021vbs, Fig. 5.
    """
    each = (dating.scores(run, stream, seed) for seed in range(run.sizes["seed"]))
    pooled = (dating.by_period(*one) if by_period else one for one in each)
    return np.array([dating.mean_error(*one) for one in pooled])


def heldout_loglik(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """Return nats per pair [seed], mean over periods; NaN for streams that hold nothing out.

    sum_k w_k sum_ij n+_ij log s(u_ik.v_j) + n-_ij log s(-u_ik.v_j) with the posterior means u_ik of
    the hypotheses of each word and their weights w_k, divided by the sum of n+ and n-; n- follows
    from the held-out n+. Source: the authors' code of li2021vbs.
    """
    return np.array([held_out.log_likelihood(run, stream, s) for s in range(run.sizes["seed"])])


def updates_per_period(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """Return changes in the most likely hypothesis of each word [seed], mean over later periods.

    All words for a learner that makes no decisions about changes.
    """
    return trajectories.updates_per_period(run)


def dating_error_of_binning(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """Return the error in periods [seed] of binning at the rate of updates of the run."""
    rate = trajectories.updates_per_period(run)
    return binning.error_at_rate(rate, stream.sizes["word"], stream.sizes["task"])


OfChanges = partial(
    Metric,
    unit="fraction",
    bounds=(0.0, 1.0),
    better="higher",
    stage="run",
    takes=("counts",),
    requires=("planted",),
    from_learner=("lineage",),
)
OfKnownChanges = partial(
    Metric,
    unit="fraction",
    better="higher",
    stage="run",
    takes=("counts",),
    requires=("known-changes",),
    from_learner=("lineage",),
)
OfText = partial(
    Metric,
    stage="run",
    takes=("counts",),
    requires=("held-out",),
    from_learner=("context", "mean"),
)
METRICS = [
    OfChanges(
        "change_f1",
        about="F1 of the inferred changes of words, matched with the planted ones within one"
        " period.",
        score=partial(matched, measure=shift_matching.f1),
    ),
    OfChanges(
        "change_precision",
        about="Share of the inferred changes of words that were planted, within one period.",
        score=partial(matched, measure=shift_matching.precision),
    ),
    OfChanges(
        "change_recall",
        about="Share of the planted changes of words that were inferred, within one period.",
        score=partial(matched, measure=shift_matching.recall),
    ),
    OfKnownChanges(
        "known_change_recall",
        about="Share of the words with a known change that change within one period of it.",
        bounds=(0.0, 1.0),
        score=partial(known_changes, above_others=False),
    ),
    OfKnownChanges(
        "known_change_lift",
        about="Share of the words with a known change that change within one period of it, minus"
        " that share of all other words; 0 for updates of every word.",
        bounds=(-1.0, 1.0),
        score=partial(known_changes, above_others=True),
    ),
    OfText(
        "dating_error",
        about="Distance between the period that a held-out document is dated to, and its own.",
        unit="periods",
        bounds=(0.0, None),
        better="lower",
        score=partial(dating_error, by_period=False),
    ),
    OfText(
        "dating_error_of_periods",
        about="Distance between the period that a period's held-out text is dated to, and its own.",
        unit="periods",
        bounds=(0.0, None),
        better="lower",
        score=partial(dating_error, by_period=True),
    ),
    Metric(
        "dating_error_of_binning",
        about="Error of dating by binning that updates as many words in a period: all words once"
        " in a bin of periods, and documents dated to a random period of their bin.",
        unit="periods",
        bounds=(0.0, None),
        better=None,
        stage="run",
        takes=("counts",),
        score=dating_error_of_binning,
    ),
    OfText(
        "heldout_loglik",
        about="Log likelihood of the pairs of a period's held-out text, after its training text was"
        " learnt.",
        unit="nats per pair",
        better="higher",
        score=heldout_loglik,
    ),
    Metric(
        "updates_per_period",
        about="How many words are updated in a period: the rate of li2021vbs, Fig. 5.",
        unit="words",
        bounds=(0.0, None),
        better="lower",
        stage="run",
        takes=("counts",),
        score=updates_per_period,
    ),
]
