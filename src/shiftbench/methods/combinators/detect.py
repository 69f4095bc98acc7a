"""Drift detection over any learner: a detector watches its errors, and an alarm starts it again.

Before a task is learnt, its rows are predicted, and a signal of the errors is fed to a detector of
the package `detectors`, row by row. At an alarm the learner goes back to its start, or is
broadened, and then learns the whole task; the rows after the alarm are not watched, since their
errors are those of the old learner. The detector starts again with the next task. So with a
threshold that is never reached, this is the learner alone, to the byte.

Sources: the methods of river, as triggers of a reset: Page-Hinkley (page1954schemes,
hinkley1971inference), DDM (gama2004ddm), ADWIN (bifet2007adwin), KSWIN (raab2020kswin), FOCuS
(romano2023focus, ward2024focus), and a conformal test martingale (vovk2021retrain). Knows: nothing.

An alarm sets the statistic back. So a sweep over higher thresholds than the set one sees too few
alarms and too late ones; a sweep over lower thresholds does not see their resets.

State: the learner's as base.*; home.*, the state to go back to, with action reset; det.*, of the
detector.
Info: the learner's, if it has one hypothesis. shift [S, 1], whether there was an alarm; parent and
log_weight [S, 1], 0: to metrics it is a beam of one hypothesis, whose decisions nothing takes back;
alarm_statistic [S, 1], the largest of the task's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
    part,
    prefixed,
)
from shiftbench.core.seeds import fold_each
from shiftbench.methods.combinators import _broadening, _detect_rows
from shiftbench.methods.combinators._detect_rows import decided
from shiftbench.methods.detectors import adwin, ddm, focus, jumper, kswin, page_hinkley, signals
from shiftbench.methods.detectors.detector import Detector, watch
from shiftbench.methods.state_parts import where

ERRORS_ALONE = ("ddm", "focus-bernoulli")
OF_CLASSES, OF_TARGETS = {"signal": ("standardised",)}, {"detector": ERRORS_ALONE}
"""Values of settings that do not fit classes, and values that do not fit real targets."""
FACTS = Facts(
    offers=("changes", "lineage", "alarm_statistic"),
    requires={"warm-up": {"to": ("pretrained",), "action": ("reset",)}},
    refuses={
        "counts": True,
        "word": True,
        "image": OF_CLASSES,
        "classes": OF_CLASSES,
        "two-classes": OF_CLASSES,
        "number": OF_TARGETS,
        "value": OF_TARGETS,
        "design": OF_TARGETS,
        "designs": OF_TARGETS,
    },
    from_learner={"broaden": {"action": ("broaden",)}},
    passes=("mean", "level"),
    warms="inside",
)
DELTA = 0.005
"""The default of river, see `detectors/page_hinkley.py`."""

BUILD: dict[str, Callable[..., Detector]] = {
    "page-hinkley": page_hinkley.build,
    "ddm": ddm.build,
    "adwin": adwin.build,
    "kswin": kswin.build,
    "focus": focus.build,
    "focus-zero": partial(focus.build, family="gaussian-zero"),
    "focus-bernoulli": partial(focus.build, family="bernoulli"),
    "jumper": jumper.build,
}


@dataclass(frozen=True)
class Settings:
    detector: Literal[
        "page-hinkley", "ddm", "adwin", "kswin", "focus", "focus-zero", "focus-bernoulli", "jumper"
    ] = "page-hinkley"
    """Detector. focus expects a signal of variance 1, focus-zero one of mean 0 besides; ddm and
    focus-bernoulli expect errors of classes."""
    signal: Literal["error", "squared", "standardised", "score"] = "error"
    """Signal of a row's error. error: 0 or 1 of a class, or target minus prediction; squared: Brier
    score, or squared error; standardised: the error in standard deviations; score: minus the log of
    the predicted probability."""
    threshold: Annotated[float, Ge(0)] = 0.0
    """Statistic above which there is an alarm; 0: the detector's default. page-hinkley: a sum in
    units of the signal (50); ddm: standard deviations (3); adwin: log of 1 / delta, in nats (6.2);
    kswin: a distance of distribution functions (0.45); focus: a log likelihood ratio, in nats (10);
    jumper: the log of a capital, in nats (4.6)."""
    delta: Annotated[float, Ge(0)] = DELTA
    """page-hinkley: part of each deviation that counts as no change, in units of the signal."""
    direction: Literal["both", "up"] = "both"
    """page-hinkley, adwin, focus: whether a fall of the signal is a change, too. Errors also fall
    as a learner learns; ddm looks for a rise alone."""
    action: Literal["reset", "broaden"] = "reset"
    """Action at an alarm: go back to the start, or broaden the posterior."""
    to: Literal["scratch", "pretrained"] = "scratch"
    """reset: the start, which is the initial prior, or the posterior of the warm-up."""
    broadening: Literal["temper", "temper-prior", "geometric", "diffuse", "ou"] = "geometric"
    """broaden: how, as in `forget`."""
    beta: Annotated[float, Gt(0), Le(1)] = 0.05
    """broaden: exponent of the posterior, the share of its precision that is kept."""
    variance: Annotated[float, Ge(0)] = 1.0
    """broaden, diffuse: variance that is added."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.detector in ERRORS_ALONE and settings.signal != "error":
        yield f"{settings.detector} watches errors of classes; set signal: error"
    if settings.detector != "page-hinkley" and settings.delta != DELTA:
        yield f"delta is a setting of page-hinkley, not of {settings.detector}; leave it out"
    if settings.detector in ("ddm", "kswin", "jumper") and settings.direction != "both":
        yield f"direction is not a setting of {settings.detector}; leave it out"


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build the learner that an alarm starts again; LearnerError if it cannot be broadened."""
    detector, is_reset = detector_of(settings), settings.action == "reset"
    broaden = None if is_reset else _broadening.broadening_of("detect", settings, learner)

    def init(seeds: np.ndarray) -> State:
        base = learner.init(seeds)
        home = prefixed(base, "home.") if is_reset else {}
        return prefixed(base, "base.") | home | prefixed(detector.init(seeds), "det.")

    def drift(state: State, seeds: np.ndarray) -> State:
        return state | prefixed(learner.drift(part(state, "base."), seeds), "base.")

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return learner.predict(part(state, "base."), inputs, seeds)

    def started(base: State, home: State, fired: np.ndarray, seeds: np.ndarray) -> State:
        """Return the learner's state, in which those with an alarm [S] bool have started again."""
        if not fired.any():
            return base
        new = broaden(base) if broaden else learner.drift(home, seeds)
        return where(fired, new, base)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, home = part(state, "base."), part(state, "home.")
        predictive = learner.predict(base, batch.inputs, fold_each(seeds, "detect"))
        values = signals.of(settings.signal, predictive, batch)
        after, found = watch(detector, part(state, "det."), values, batch.mask)
        fired = found.row >= 0
        base, info = learner.observe(started(base, home, fired, seeds), batch, seeds)
        info = decided(info, fired[:, None], found.statistic.max(axis=1, initial=0.0)[:, None])
        own = prefixed(home, "home.") | prefixed(after, "det.")
        return prefixed(base, "base.") | own, info

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.begin(part(state, "base."), batch, seeds)
        home = prefixed(base, "home.") if is_reset and settings.to == "pretrained" else {}
        return state | prefixed(base, "base.") | home, info

    block = None
    if learner.block:
        ahead = _detect_rows.Parts(learner, learner.block, detector, settings.signal, started)
        block = partial(_detect_rows.block, ahead)
    return Learner(init, predict, observe, drift=drift, warm_up=warm_up, block=block)


def detector_of(settings: Settings) -> Detector:
    """Return the detector of the settings."""
    given: dict[str, Any] = {"threshold": settings.threshold} if settings.threshold else {}
    if settings.detector == "page-hinkley":
        given["delta"] = settings.delta
    if settings.direction != "both":
        given["direction"] = settings.direction
    return BUILD[settings.detector](**given)
