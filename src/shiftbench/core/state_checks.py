"""Checks of the states and Infos that a learner returns, the same for runs and for the contract.

What `observe` returns is checked in full the first time. After that only types are, since a method
may take a few microseconds a task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Info, Learner, State

STATE = "a flat dict of NumPy arrays [seed, hypothesis, ...]"
INFO = "a dict of NumPy arrays [seed, hypothesis]"
PAIR = f"a pair (state, info): {STATE}, and {INFO}"
ARRAYS = {np.ndarray}

_Observe = Callable[[State, Batch, np.ndarray], tuple[State, Info]]


def checked(learner: Learner, component: str) -> Learner:
    """Return the learner with an `observe` that raises UserError for a malformed state or Info.

    component: the name in the message.
    """
    observe = _observing(learner.observe, "observe", component)
    warm_up = learner.warm_up and _observing(learner.warm_up, "warm_up", component)
    return replace(learner, observe=observe, warm_up=warm_up)


def _observing(function: _Observe, name: str, component: str) -> _Observe:
    """Return the function with a check of what it returns: the first time of all, then of types."""
    seen = False

    @wraps(function)
    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        nonlocal seen
        found = function(state, batch, seeds)
        if not (seen and _has_types(found)):
            if wrong := fault(found, len(batch.mask)):
                raise UserError(f"{component}: `{name}` returns {wrong}; correct what it returns")
            seen = True
        return found

    return observe


def fault(found: object, seeds: int) -> str:
    """Return what is wrong with what `observe` returned for some seeds; empty if nothing is."""
    if not isinstance(found, tuple | list):
        return f"a {type(found).__name__}, expected {PAIR}"
    if len(found) != 2:
        return f"a {type(found).__name__} of length {len(found)}, expected {PAIR}"
    return state_fault(found[0], seeds) or _fault("an Info", found[1], INFO, seeds)


def state_fault(state: object, seeds: int) -> str:
    """Return what is wrong with the state of some seeds; empty if nothing is."""
    return _fault("a state", state, STATE, seeds)


def _fault(part: str, found: object, expected: str, seeds: int) -> str:
    if not isinstance(found, dict):
        return f"{part} that is a {type(found).__name__}, expected {expected}"
    for name, array in found.items():
        if not isinstance(name, str):
            return f"{part} with the name {name!r}, expected a text"
        if wrong := _wrong(array, seeds):
            return f"{part} whose {name!r} {wrong}, expected {expected}"
    return ""


def _wrong(array: object, seeds: int) -> str:
    if not isinstance(array, np.ndarray):
        return f"is a {type(array).__name__}"
    if array.dtype.kind not in "biuf":
        return f"has the type {array.dtype}, and not one of numbers or flags"
    if array.ndim < 2 or array.shape[0] != seeds:
        return f"has the shape {array.shape}, and not ({seeds}, H, ...)"
    return ""


def _has_types(found: object) -> bool:
    """Return whether this is a pair of dicts of arrays, in less than a microsecond."""
    if type(found) is not tuple or len(found) != 2:
        return False
    return all(type(one) is dict and ARRAYS.issuperset(map(type, one.values())) for one in found)
