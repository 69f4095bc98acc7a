"""Conversion of shares in [0, 1] to bounded log-odds and back."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

EXTREME = 4.0
"""Log-odds that stand for shares of 0 and 1, as in the public code of li2021vbs."""


def of_share(share: np.ndarray) -> np.ndarray:
    """Return the log-odds of shares in [0, 1], clipped to [-EXTREME, EXTREME]."""
    return np.clip(logit(share), -EXTREME, EXTREME)


def share(log_odds: np.ndarray) -> np.ndarray:
    """Return the shares of log-odds; 0 and 1 from -EXTREME and EXTREME on."""
    inside = np.abs(log_odds) < EXTREME
    return np.where(inside, expit(log_odds), np.where(log_odds > 0, 1.0, 0.0))
