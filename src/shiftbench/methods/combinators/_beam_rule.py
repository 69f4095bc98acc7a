"""The rule by which a beam weighs the children of its hypotheses and keeps some of them.

Compiled, for one repetition: children i and i + K, [2 K], have the same parent, and s = 0 and 1.
Source: li2021vbs, Eq. 3-8, section 3.4, Algorithm 1; see `beam`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import njit

from shiftbench.methods.combinators._log_weights import normalise, relate_to_largest
from shiftbench.methods.combinators._truncation import select


class Rule(NamedTuple):
    """The settings of a beam as numbers.

    size: K. survivors: see `_truncation`. bayes: whether weights follow Bayes' rule.
    prior_log_odds: of a shift. prior_tasks: weight of these odds in tasks; 0: they are fixed.
    temperature: divisor of the log evidence; 0: the number of a task's rows, at least 1.
    """

    size: int
    survivors: int
    bayes: bool
    prior_log_odds: float
    prior_tasks: float
    temperature: float


def of_state(state: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return log_weight, shifts and step of a beam's state, as compiled code takes them."""
    kinds = {"log_weight": np.float64, "shifts": np.int64, "step": np.int64}
    return tuple(np.require(state[name], kind, ["C", "W"]) for name, kind in kinds.items())


@njit(cache=True, error_model="numpy")
def weights_before(rule, log_weight, shifts, step):
    """Return the normalised log weights [S, H] that predict the next task.

    log_weight, shifts: [S, H], of K slots or their 2 K children; step: [S, 1], tasks so far.
    """
    result = log_weight.copy()
    prior = np.empty(2 * rule.size)
    for s in range(len(result)):
        if result.shape[1] > rule.size:
            set_log_prior(rule, shifts[s], step[s, 0], prior)
            result[s] += prior
        normalise(result[s])
    return result


@njit(cache=True, error_model="numpy")
def decide(rule, log_weight, shifts, step, evidence, rows):
    """Return the children to keep and their log weights, [S, K] each, best first.

    Weights that follow Bayes' rule are relative to the largest one. Otherwise the evidence of past
    tasks would grow beyond that of the next one, which would be lost to rounding.

    log_weight, shifts, evidence: [S, 2 K]; step: [S, 1]; rows: [S], of the task.
    """
    kept = np.empty((len(log_weight), rule.size), np.int64)
    weights = np.empty(kept.shape)
    work = np.empty((2, 2 * rule.size))
    for s in range(len(kept)):
        set_log_prior(rule, shifts[s], step[s, 0], work[0])
        work[1] = log_weight[s]
        weigh(rule, work[1], work[0], step[s, 0], evidence[s], rows[s])
        select(work[1], rule.survivors, kept[s])
        for k in range(rule.size):
            weights[s, k] = work[1, kept[s, k]]
        if rule.bayes:
            relate_to_largest(weights[s])
    return kept, weights


@njit(cache=True, error_model="numpy")
def set_log_prior(rule, shifts, step, log_prior):
    """Set log_prior [2 K] to log p(s) of the children before they see a task; 0 for the first."""
    size, odds = rule.size, rule.prior_log_odds
    for k in range(size):
        if rule.prior_tasks > 0:
            a = rule.prior_tasks * _expit(rule.prior_log_odds) + shifts[k]
            b = rule.prior_tasks * _expit(-rule.prior_log_odds) + max(step - 1, 0) - shifts[k]
            odds = math.log(a) - math.log(b)
        log_prior[k] = _log_expit(-odds) if step > 0 else 0.0
        log_prior[k + size] = _log_expit(odds) if step > 0 else 0.0


@njit(cache=True, error_model="numpy")
def weigh(rule, log_weight, log_prior, step, evidence, rows):
    """Update the children's log weights [2 K], in place, by their log evidence [2 K]."""
    size, temperature = rule.size, rule.temperature or max(rows, 1)
    for k in range(size):
        first, second = evidence[k] / temperature, evidence[k + size] / temperature
        if rule.bayes:
            log_weight[k] += first + log_prior[k]
            log_weight[k + size] += second + log_prior[k + size]
        elif step > 0:
            odds = (second + log_prior[k + size]) - (first + log_prior[k])
            log_weight[k] += _log_expit(-odds)
            log_weight[k + size] += _log_expit(odds)


@njit(cache=True, error_model="numpy")
def _expit(x):
    return 1 / (1 + math.exp(-x))


@njit(cache=True, error_model="numpy")
def _log_expit(x):
    """Return log(1 / (1 + exp(-x))) without overflow."""
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))
