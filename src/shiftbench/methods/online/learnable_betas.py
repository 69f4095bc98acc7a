"""Regression learners whose betas or prior a combinator may learn as well.

The noise variance s2 has an inverse-gamma posterior of shape a and scale b, with prior a0 and b0;
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
    """A learner such as bayes-linear; it draws nothing, so seeds do not matter.

    beta_p, beta_rlm
        The settings for the parameters and for the evidence; 0 is the standard posterior. With
        beta_rlm = 0 the log evidence is the log density of the prediction, a `StudentT`.
    observe_at(state, batch, beta_p) -> State
        `observe` under another beta_p [S], which is above 0 if the setting is.
    scale(state) -> (a, b)
        Shape and scale [S, H] of the conjugate posterior of s2.
    with_scale(state, a, b) -> State
        The state with another shape and scale; [S, 1] holds for all hypotheses.
    """

    beta_p: float = field(kw_only=True)
    beta_rlm: float = field(kw_only=True)
    observe_at: Callable[[State, Batch, np.ndarray], State] = field(kw_only=True)
    scale: Callable[[State], tuple[np.ndarray, np.ndarray]] = field(kw_only=True)
    with_scale: Callable[[State, np.ndarray, np.ndarray], State] = field(kw_only=True)
