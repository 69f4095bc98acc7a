"""The rule by which run lengths start, are weighed and are kept; see `run_length`.

Compiled, for one repetition: L slots, of which the last ones may be fresh.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shiftbench.methods.combinators._log_weights import normalise

OWN = ("run_length", "model", "log_joint", "map_log_joint")
"""Arrays of the state that are not the learner's."""


def fresh_segments(
    map_log_joint: np.ndarray, models: int, odds: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays OWN of fresh slots [S, M], one for each model.

    map_log_joint: [S, K] of the running segments. odds: log h / (1 - h).
    """
    shape = len(map_log_joint), models
    joint, best = np.empty(shape), np.empty(shape)
    _fresh(np.require(map_log_joint, float, ["C", "W"]), odds, joint, best)
    return np.full(shape, -1), np.tile(np.arange(models), (shape[0], 1)), joint, best


def settled(
    log_joint: np.ndarray, map_log_joint: np.ndarray, keep: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both [S, K], the `keep` largest, normalised and the best first; and their slots."""
    order = np.tile(np.arange(log_joint.shape[1]), (len(log_joint), 1))
    joint, best = log_joint.astype(float, "C"), map_log_joint.astype(float, "C")
    _settle(joint, best, order, keep)
    kept = order[:, :keep]
    joint, best = (np.take_along_axis(array, kept, axis=1) for array in (joint, best))
    return joint, best, kept


def log_weights(log_joint: np.ndarray) -> np.ndarray:
    """Return normalised log weights [S, H]; all are -inf before the first observation."""
    result = log_joint.astype(float, "C")
    _normalise(result)
    return result


def log_weights_of_predictions(log_joint: np.ndarray) -> np.ndarray:
    """Return log weights [S, H] as `log_weights`; equal ones before the first observation.

    All slots then predict alike, from the prior.
    """
    is_first = (log_joint == -np.inf).all(axis=1, keepdims=True)
    return log_weights(np.where(is_first, 0.0, log_joint))


@njit(cache=True, error_model="numpy")
def fresh_log_joint(map_log_joint, models, odds):
    """Return log joint and largest log joint of a fresh segment of each of some models.

    The joints of the running segments sum to 1.
    """
    best = map_log_joint.max()
    if best == -np.inf:  # before the first observation there is no history
        return -math.log(models), -math.log(models)
    return odds - math.log(models), best + odds - math.log(models)


@njit(cache=True, error_model="numpy")
def settle(log_joint, map_log_joint, order, keep):
    """Sort `order` [L], the slots, by their joint, best first; empty those after the first `keep`.

    Subtracts from the others the log of their sum. Of equal joints the first stays first.
    """
    for i in range(1, len(order)):
        slot, place = order[i], i
        while place > 0 and log_joint[order[place - 1]] < log_joint[slot]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = slot
    largest, total = log_joint[order[0]], 0.0
    for slot in order[:keep]:
        total += math.exp(log_joint[slot] - largest)
    shift = largest + math.log(total)
    for slot in order[:keep]:
        log_joint[slot] -= shift
        map_log_joint[slot] -= shift
    for slot in order[keep:]:
        log_joint[slot] = map_log_joint[slot] = -np.inf


@njit(cache=True, error_model="numpy")
def _fresh(map_log_joint, odds, joint, best):
    for s in range(len(joint)):
        models = joint.shape[1]
        joint[s], best[s] = fresh_log_joint(map_log_joint[s], models, odds)


@njit(cache=True, error_model="numpy")
def _settle(log_joint, map_log_joint, order, keep):
    for s in range(len(order)):
        settle(log_joint[s], map_log_joint[s], order[s], keep)


@njit(cache=True, error_model="numpy")
def _normalise(log_weight):
    for s in range(len(log_weight)):
        normalise(log_weight[s])
