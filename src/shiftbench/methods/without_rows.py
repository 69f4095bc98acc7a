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


def unmoved(learner: Learner) -> Learner:
    """Wrap a learner so that `observe` leaves repetitions without rows unchanged.

    Entries of their Info that are not finite become 0, the log evidence of no data.
    """

    @wraps(learner.observe)
    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        after, info = learner.observe(state, batch, seeds)
        has_rows = np.asarray(batch.mask.any(axis=1))
        if has_rows.all():
            return after, info
        after = where(has_rows, after, state)
        finite = mapped(lambda a: np.nan_to_num(a, nan=0.0), info)
        return after, where(has_rows, info, finite)

    return replace(learner, observe=observe)
