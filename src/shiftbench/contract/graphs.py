"""Contract of the graphs that learners trace; the first line of each test is shown to users.

The contract of learners imports this module first, so that its test is the first of each learner:
a function that an earlier test has traced is not traced again, and this test would miss it.
"""

from __future__ import annotations

import pytest

from shiftbench.config import components
from shiftbench.contract.driven import after, batch_of
from shiftbench.contract.problems import key

TRACED: list[int] = []
"""A list that grows by one entry at each trace of the model under test."""


def test_a_graph_is_traced_once(case, request):
    """TensorFlow traces each function once, and not at every task."""
    kind, name = request.node.callspec.params["case"]
    if kind != "learners" or components.facts(kind, name).model is not True:
        pytest.skip("no network")
    learner, problem = case
    state, _ = after(learner, problem, 1)
    learner.predict(state, batch_of(problem).inputs, key("p"))
    traced = len(TRACED)
    state, _ = after(learner, problem, 3, state, first=1)
    learner.predict(state, batch_of(problem).inputs, key("p"))
    assert len(TRACED) == traced > 0
