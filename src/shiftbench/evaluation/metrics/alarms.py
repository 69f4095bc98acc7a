"""Online metrics of detection: of the alarms raised, and of the probability of a shift.

`scoring.alarms` defines alarms, true alarms and the windows m and w: at most m = 1 and w = 2 for
tasks of many rows, m = 10 and w = 50 for tasks of one row. q_t is the probability that one of the
last m tasks began with a shift. All metrics are per seed, and NaN for learners that make no
decisions about shifts. Delays are NaN for a seed without shifts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import (
    alarms,
    shift_matching,
    shift_probabilities,
    survival,
)
from shiftbench.evaluation.scoring.alarms import Judged

PER = 1000
"""Number of tasks to which a rate of false alarms refers."""
FEWEST, MOST = 0.1, 100.0
"""False alarms in PER tasks between which the area is taken."""
BINS = 10
"""Number of bins of equal width of the calibration."""


def of_alarms(
    run: xr.Dataset, stream: xr.Dataset, *, measure: Callable[[Judged], np.ndarray]
) -> np.ndarray:
    """Return a measure [seed] of the alarms of a run."""
    judged = alarms.judged(run, stream)
    return np.full(run.sizes["seed"], np.nan) if judged is None else measure(judged)


def false_alarm_rate(of: Judged) -> np.ndarray:
    """Return PER FP / N: false alarms in all tasks but the first (CapyMOA, `far`)."""
    return shift_matching.ratio(PER * of.false, np.array(of.tasks))


def false_alarm_rate_unchanged(of: Judged) -> np.ndarray:
    """Return the rate of alarms in change-free tasks; repeats soon after a shift do not count.

    PER divided by its mean over seeds is the average run length to a false alarm (ARL0). The mean
    of run lengths per seed would be biased: a seed without an alarm has only a lower bound.
    """
    return shift_matching.ratio(PER * of.in_unchanged, of.unchanged)


def median_delay(of: Judged) -> np.ndarray:
    """Return the Kaplan-Meier median of the delay, or the longest wait if half are not found."""
    return survival.median(of.wait, of.found)


def episode_recall(of: Judged) -> np.ndarray:
    """Return the share of the shifts with a true alarm."""
    return shift_matching.ratio(of.true, of.shifts)


def alarm_f1(of: Judged) -> np.ndarray:
    """Return 2 true alarms / (alarms + shifts); 1 if there are neither, as silence is right."""
    both = of.raised + of.shifts
    return np.where(both > 0, 2 * of.true / np.maximum(both, 1), 1.0)


def restricted_delay(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the Kaplan-Meier mean of min(delay, w) [seed]; it is w if all shifts are missed."""
    window = alarms.horizon(stream).window
    return of_alarms(
        run, stream, measure=lambda of: survival.restricted_mean(of.wait, of.found, window)
    )


def alarm_area(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Return the area [seed] below the delay over false alarms, 0 to 1 (AMOC).

    T. Fawcett and F. Provost, 1999. The curve is the least E min(D, w) / w of the thresholds with
    at most x false alarms in PER tasks; its mean is taken over log x from FEWEST to MOST. 0: all
    shifts are found at once without false alarms; 1: none is found.
    """
    curve = alarms.sweep(run, stream)
    if curve is None:
        return np.full(run.sizes["seed"], np.nan)
    return area(curve.rate.T, curve.delay.T / alarms.horizon(stream).window)


def area(rate: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """Return the mean over log x of the least delay at a rate of at most x [seed].

    rate, delay: [seed, threshold]; at least one threshold has the rate 0.
    """
    order = np.argsort(rate, axis=1, kind="stable")
    rising = np.clip(np.take_along_axis(rate, order, axis=1), FEWEST, MOST)
    least = np.minimum.accumulate(np.take_along_axis(delay, order, axis=1), axis=1)
    ends = np.append(rising, np.full((len(rate), 1), MOST), axis=1)
    mean = (least * np.diff(np.log(ends), axis=1)).sum(axis=1) / np.log(MOST / FEWEST)
    return np.minimum(mean, 1.0)  # a sum of parts can exceed 1 by rounding


def of_probability(
    run: xr.Dataset,
    stream: xr.Dataset,
    *,
    measure: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return a measure [seed] of q_t and of whether the last m tasks began with a shift.

    Over all tasks but the first.
    """
    recent = alarms.horizon(stream).recent
    probability = shift_probabilities.filtered(run, recent)
    if probability is None:
        return np.full(run.sizes["seed"], np.nan)
    true = shift_probabilities.shifted_within(shift_matching.truth(run, stream), recent)
    return measure(probability, true[:, 1:])


def skill(probability: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return 1 - S / S_0 [seed]: the log score against that of the base rate so far."""
    score = shift_probabilities.log_score(probability, true)
    return 1 - score / shift_probabilities.log_score(shift_probabilities.base_rate(true), true)


def calibration(probability: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return the reliability term of the Brier score [seed] in BINS bins (Murphy 1973)."""
    pairs = zip(probability, true, strict=True)
    curves = [shift_probabilities.reliability(*pair, BINS) for pair in pairs]
    return np.array([shift_probabilities.brier_terms(one).reliability for one in curves], float)


OfAlarms = partial(
    Metric,
    stage="run",
    requires=("shifts",),
    refuses=("counts", "blocks"),
    from_learner=("changes",),
)
METRICS = [
    OfAlarms(
        "alarm_f1",
        about="F1 of alarms, online; at most one alarm per shift is true, within w tasks after it.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=partial(of_alarms, measure=alarm_f1),
    ),
    OfAlarms(
        "episode_recall",
        about="Share of the true shifts with an alarm at most w tasks later, online.",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="higher",
        score=partial(of_alarms, measure=episode_recall),
    ),
    OfAlarms(
        "false_alarm_rate",
        about="Alarms other than the first one within w tasks after a shift, per 1,000 tasks.",
        unit="alarms per 1,000 tasks",
        bounds=(0.0, 1000.0),
        better="lower",
        score=partial(of_alarms, measure=false_alarm_rate),
    ),
    OfAlarms(
        "false_alarm_rate_unchanged",
        about="Alarms more than w tasks after a shift, or before the first, per 1,000 such tasks.",
        unit="alarms per 1,000 tasks",
        bounds=(0.0, 1000.0),
        better="lower",
        score=partial(of_alarms, measure=false_alarm_rate_unchanged),
    ),
    OfAlarms(
        "median_delay",
        about="Median wait for the first alarm after a shift, censored at the next shift"
        " (Kaplan-Meier); the longest wait where half are not found.",
        unit="tasks",
        bounds=(0.0, None),
        better="lower",
        score=partial(of_alarms, measure=median_delay),
    ),
    OfAlarms(
        "restricted_delay",
        about="Mean wait for the first alarm after a shift, of which at most w tasks count"
        " (Kaplan-Meier).",
        unit="tasks",
        bounds=(0.0, None),
        better="lower",
        score=restricted_delay,
    ),
    OfAlarms(
        "alarm_area",
        about="Area below the delay as a share of w, over the logarithm of the false alarms, from"
        " .1 to 100 in 1,000 tasks (AMOC).",
        unit="fraction",
        bounds=(0.0, 1.0),
        better="lower",
        score=alarm_area,
    ),
    OfAlarms(
        "shift_within_brier",
        about="Brier score of the probability, online, that one of the last m tasks began with a"
        " shift.",
        unit="squared probability",
        bounds=(0.0, 1.0),
        better="lower",
        score=partial(of_probability, measure=shift_probabilities.brier),
    ),
    OfAlarms(
        "shift_within_log_score",
        about="Negative log of the probability that the learner gave online to what is true, a"
        " shift within the last m tasks or none; mean over tasks.",
        unit="nats per task",
        bounds=(0.0, None),
        better="lower",
        score=partial(of_probability, measure=shift_probabilities.log_score),
    ),
    OfAlarms(
        "shift_within_skill",
        about="Share of the log score of the base rate so far that the probability of a shift"
        " within m tasks saves; below 0: worse than that.",
        unit="fraction",
        bounds=(None, 1.0),
        better="higher",
        score=partial(of_probability, measure=skill),
    ),
    OfAlarms(
        "shift_within_calibration",
        about="Reliability term of the Brier score of a shift within m tasks; 0: calibrated.",
        unit="squared probability",
        bounds=(0.0, 1.0),
        better="lower",
        score=partial(of_probability, measure=calibration),
    ),
]
