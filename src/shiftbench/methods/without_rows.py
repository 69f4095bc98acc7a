"""Batches without rows: repetitions whose rows are all masked keep their state.

The posterior given no data is the prior, and the probability of no data is 1. Learners divide by
the number of rows, and need not handle the case.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps

import numpy as np

from shiftbench.core.interface import Batch, Info, Learner, State, mapped
from shiftbench.methods.state_parts import where

OF_THE_DATA = ("log_evidence", "elbo", "kl", "expected_log_likelihood")
"""Entries of an Info that are 0 without data. A learner may give those of its start values."""


def unmoved(learner: Learner) -> Learner:
    """Wrap a learner so that `observe` leaves repetitions without rows unchanged.

    Their Info has the log evidence of no data, 0, and 0 in place of what is not finite.
    """

    @wraps(learner.observe)
    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        after, info = learner.observe(state, batch, seeds)
        has_rows = np.asarray(batch.mask.any(axis=1))
        if has_rows.all():
            return after, info
        after = where(has_rows, after, state)
        nothing = mapped(lambda a: np.nan_to_num(a, nan=0.0), info)
        nothing |= {name: np.zeros_like(nothing[name]) for name in OF_THE_DATA if name in info}
        return after, where(has_rows, info, nothing)

    return replace(learner, observe=observe)
