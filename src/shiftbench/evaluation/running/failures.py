"""Reasons why seeds of a run have failed after a task, with remedies."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from shiftbench.config import components
from shiftbench.core import prediction_checks
from shiftbench.core.interface import Predictive, State
from shiftbench.evaluation.running import pipeline
from shiftbench.evaluation.running.build_run import Run
from shiftbench.evaluation.running.run_state import Position, not_finite

log = logging.getLogger("shiftbench")

RATES = {"learning_rate": "the learning rate", "step_size": "the learning rate", "alpha": "alpha"}
"""Settings that are the size of a learner's steps, as a remedy calls them."""

Flaws = dict[int, str]
"""The errors found in the predictions of a task, by the position of the seed."""


def note(flaws: Flaws, predictive: Predictive, scores: dict[str, np.ndarray]) -> None:
    """Add what is wrong with a prediction, for the seeds whose score [S] is not a number.

    The first flaw of a seed in a task is kept.
    """
    for values in scores.values():
        for s in map(int, np.flatnonzero(~np.isfinite(values))):
            if flaw := prediction_checks.flaw(predictive, s):
                flaws.setdefault(s, flaw)


def reasons(
    run: Run, now: Position, state: State, scores: dict[str, np.ndarray], flaws: Flaws
) -> list[str]:
    """Return one reason a seed, empty for no failure, after the task of the position."""
    failures, broken = list(now.failures), not_finite(state, scores)
    for s in map(int, np.flatnonzero(broken.any)):
        if not failures[s]:
            where = broken.where[s]
            flaw = f": {flaws[s]}" if where.startswith("metric") and s in flaws else ""
            after = f"after task {now.next_task}"
            failures[s] = f"{where} not finite {after}{flaw}; {remedy(run.spec['learner'])}"
            log.error("%s: seed %d failed: %s", run.name, run.numbers[s], failures[s])
    return failures


def remedy(parts: Sequence) -> str:
    """Return the remedy for a method with these parts; it names the files of a user's parts."""
    *outer, (learner, _) = parts
    kinds = [*(("combinators", name) for name, _ in outer), ("learners", learner)]
    own = [kind for kind in kinds if components.package_of(*kind) != components.OURS]
    correct = f"correct {' and '.join(pipeline.source(*kind) for kind in own)}, or " if own else ""
    fields = {field for kind in kinds for field in components.fields(*kind)}
    rates = sorted({RATES[field] for field in fields & set(RATES)}, reverse=True)
    lower = f"lower {' and '.join(rates)} or " if rates else ""
    return f"{correct}{lower}look at the data"
