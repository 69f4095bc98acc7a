"""Shares as log-odds, which have no bounds, and back; the ends are taken as they are."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

EXTREME = 4.0
"""Log-odds that stand for shares of 0 and 1, as in the public code of li2021vbs."""


def of_share(share: np.ndarray) -> np.ndarray:
    """Log-odds of shares in [0, 1]; those beyond EXTREME are EXTREME."""
    return np.clip(logit(share), -EXTREME, EXTREME)


def share(log_odds: np.ndarray) -> np.ndarray:
    """The shares that learners were shown as these log-odds: 0 and 1 from EXTREME on."""
    inside = np.abs(log_odds) < EXTREME
    return np.where(inside, expit(log_odds), np.where(log_odds > 0, 1.0, 0.0))
