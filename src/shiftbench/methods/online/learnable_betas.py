"""Learners of a regression whose betas, or whose prior, a combinator may learn too.

The noise variance s2 has an inverse-gamma posterior of shape a and scale b, from a0 and b0 on;
two betas make the parameters and the evidence robust (knoblauch2018robust, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from shiftbench.core.interface import Batch, State
from shiftbench.methods.online.rows import RowLearner


@dataclass(frozen=True)
class RobustLearner(RowLearner):
    """A learner of this kind, such as bayes-linear; it draws nothing, so seeds do not matter.

    beta_p, beta_rlm
        Of the parameters and of the evidence, as set; 0 is the standard one. With beta_rlm = 0
        the log evidence is the log density of the prediction, a `StudentT`.
    observe_at(state, batch, beta_p) -> State
        What `observe` makes of a state under another beta_p [S], above 0 where the setting is.
    scale(state) -> (a, b)
        Of the conjugate posterior of s2, [S, H]: a0 and b0, and what the rows have added.
    with_scale(state, a, b) -> State
        The state with these in their place; [S, 1] is of all hypotheses.
    """

    beta_p: float = field(kw_only=True)
    beta_rlm: float = field(kw_only=True)
    observe_at: Callable[[State, Batch, np.ndarray], State] = field(kw_only=True)
    scale: Callable[[State], tuple[np.ndarray, np.ndarray]] = field(kw_only=True)
    with_scale: Callable[[State, np.ndarray, np.ndarray], State] = field(kw_only=True)
