"""The message about a malformed state or Info names the component, the entry and what is due."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Learner
from shiftbench.core.state_checks import INFO, PAIR, STATE, checked, fault

S = 2
SEEDS = np.zeros((S, 2), int)
BATCH = Batch(np.zeros((S, 3, 1)), np.zeros((S, 3, 1)), np.ones((S, 3), bool))
ARRAY = np.zeros((S, 1))
GOOD = {"level": ARRAY}, {"elbo": ARRAY}


class Named(dict):
    """A dict of another type."""


@pytest.mark.parametrize(
    "found",
    [
        GOOD,
        list(GOOD),
        ({"count": np.zeros((S, 3, 4), int), "seen": np.zeros((S, 1), bool)}, {}),
        (Named(GOOD[0]), Named(GOOD[1])),
        ({}, {}),
    ],
)
def test_what_the_interface_names_passes(found) -> None:
    assert fault(found, S) == ""


WRONG = {
    "nothing": (None, f"a NoneType, expected {PAIR}"),
    "only a state": (GOOD[0], f"a dict, expected {PAIR}"),
    "one of a pair": (GOOD[:1], f"a tuple of length 1, expected {PAIR}"),
    "a list": (({"level": [[0.0]]}, {}), f"a state whose 'level' is a list, expected {STATE}"),
    "a tuple": (((ARRAY,), {}), f"a state that is a tuple, expected {STATE}"),
    "a nested dict": (({"a": {"b": ARRAY}}, {}), "a state whose 'a' is a dict, expected a flat"),
    "a number": ((GOOD[0], {"elbo": 3.0}), f"an Info whose 'elbo' is a float, expected {INFO}"),
    "no Info": ((GOOD[0], None), f"an Info that is a NoneType, expected {INFO}"),
    "no hypotheses": (
        (GOOD[0], {"elbo": np.zeros(S)}),
        f"an Info whose 'elbo' has the shape (2,), and not (2, H, ...), expected {INFO}",
    ),
    "other seeds": (({"level": ARRAY[:1]}, {}), "a state whose 'level' has the shape (1, 1), and"),
    "objects": (({"level": ARRAY.astype(object)}, {}), "whose 'level' has the type object, and"),
    "texts": (({"level": ARRAY.astype(str)}, {}), "a state whose 'level' has the type <U"),
    "a number as name": (({0: ARRAY}, {}), "a state with the name 0, expected a text"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_message_names_the_entry_and_what_is_expected(case) -> None:
    found, words = WRONG[case]
    assert words in fault(found, S)


def returning(*results, **fields) -> Learner:
    """Return a learner whose `observe` returns these results, one a task."""
    later = iter(results)
    return Learner(lambda seeds: {}, lambda *_: None, lambda *_: next(later), **fields)


def test_the_first_task_is_checked_in_full_and_later_ones_by_type() -> None:
    other = {"level": ARRAY[:1]}, {}
    learner = checked(returning(GOOD, other, None), "learner one")
    for expected in (GOOD, other):
        assert learner.observe(GOOD[0], BATCH, SEEDS) is expected
    with pytest.raises(UserError, match=r"^learner one: `observe` returns a NoneType, expected"):
        learner.observe(GOOD[0], BATCH, SEEDS)


def test_a_warm_up_is_checked_too() -> None:
    learner = checked(returning(warm_up=lambda *_: ({}, {"loss": 1.0})), "learner one")
    with pytest.raises(UserError, match="`warm_up` returns an Info whose 'loss' is a float"):
        learner.warm_up({}, BATCH, SEEDS)
    assert checked(returning(), "learner one").warm_up is None
