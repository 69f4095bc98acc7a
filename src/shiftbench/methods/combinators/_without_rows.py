"""Who is shown nothing learns nothing: a repetition whose rows are all masked keeps its state.

The posterior given no data is the prior, and the probability of no data is 1. Learners divide
by the number of rows, and are spared the case.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftbench.core.interface import Batch, Info, Learner, State


def unmoved(learner: Learner) -> Learner:
    """The learner, for batches in which some seeds, or all, have no rows.

    Their Info is 0 where it is not finite, as the log evidence of nothing is.
    """

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        learnt, info = learner.observe(state, batch, seeds)
        seen = batch.mask.any(axis=1)
        if seen.all():
            return learnt, info
        kept = {name: _where(seen, learnt[name], array) for name, array in state.items()}
        return kept, {name: _where(seen, a, np.nan_to_num(a, nan=0.0)) for name, a in info.items()}

    return replace(learner, observe=observe)


def _where(seen: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rows of `one` for the seeds [S] that have seen something, else of `other`."""
    return np.where(seen.reshape(-1, *[1] * (np.ndim(one) - 1)), one, other)
