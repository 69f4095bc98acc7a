"""Choice of the factor of a soft reset by the log evidence of each candidate; see `soft_reset`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Rule(NamedTuple):
    """The candidates: factors g [C] from 1 downwards, and the prior probability that g is not 1.

    threshold: probability of no change below which `by_probability` resets.
    """

    factors: tuple[float, ...]
    hazard: float
    threshold: float

    @property
    def log_prior(self) -> np.ndarray:
        """Return the log prior probabilities of the factors [C]."""
        others = len(self.factors) - 1
        return np.array([np.log1p(-self.hazard)] + [np.log(self.hazard / others)] * others)


class Choice(NamedTuple):
    """The factor of each repetition, and the candidate that has it, if there is one; [S] each.

    slot: the candidate's number, -1 for a factor in between. evidence: log evidence of the mixture
    of the candidates. statistic: the alarm statistic.
    """

    factor: np.ndarray
    slot: np.ndarray
    evidence: np.ndarray
    statistic: np.ndarray


def first(evidence: np.ndarray) -> Choice:
    """Return the choice of the first task, a factor of 1; evidence: that of its fit [S]."""
    nothing = np.zeros(len(evidence))
    return Choice(nothing + 1, nothing.astype(np.int64), evidence.astype(float), nothing)


def by_probability(rule: Rule, evidence: np.ndarray, temperature: np.ndarray) -> Choice:
    """Choose the posterior probability of no change, or 0 where that is below the threshold.

    evidence: [S, 2] in nats, of the factors 1 and 0. temperature: [S, 1].
    """
    stay, reset = np.moveaxis(evidence / temperature + rule.log_prior, 1, 0)
    log_odds = reset - stay
    probability = np.exp(-np.logaddexp(0.0, log_odds))
    is_reset = probability < rule.threshold
    slot = np.where(is_reset, 1, np.where(probability == 1, 0, -1))
    factor = np.where(is_reset, 0.0, probability)
    return Choice(factor, slot, _mixed(evidence + rule.log_prior), log_odds)


def best(rule: Rule, evidence: np.ndarray, temperature: np.ndarray) -> Choice:
    """Choose the most probable factor, the larger one in a tie; arguments [S, C] and [S, 1]."""
    joint = evidence / temperature + rule.log_prior
    slot = joint.argmax(axis=1)
    log_odds = _mixed(joint[:, 1:]) - joint[:, 0]
    mixture = _mixed(evidence + rule.log_prior)
    return Choice(np.array(rule.factors)[slot], slot, mixture, log_odds)


def parabola(values: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return value and slope at `at` [S, 1] of the parabola through values [S, 3] at 0, 1 and 2."""
    start, rise = values[:, :1], values[:, 1:2] - values[:, :1]
    bend = values[:, 2:] - values[:, 1:2] - rise
    return start + at * rise + at * (at - 1) / 2 * bend, rise + (at - 0.5) * bend


def _mixed(log_weights: np.ndarray) -> np.ndarray:
    """Return the log of the sum of weights along the last axis."""
    return np.logaddexp.reduce(log_weights, axis=-1)
