"""The cost of a config's studies at another of their budgets."""

from __future__ import annotations

import pytest

from shiftbench.core.errors import UserError
from shiftbench.forecast import plan


def costs(tmp_path, studies: str, budget: str) -> dict[str, tuple[float, float]]:
    config = tmp_path / "mine.yaml"
    config.write_text(f"budget: embedded\nstudies:\n{studies}")
    found = plan.at_budget(config, budget, plan.estimator())
    return {name: (here, there) for name, here, there in found}


def test_studies_of_any_spelling_are_compared_by_their_names(tmp_path):
    found = costs(tmp_path, "  covariance:\n  own: {from: robust-variants}\n", "cpu")
    assert list(found) == ["covariance", "own"]
    assert all(here > 0 and there > 0 and here != there for here, there in found.values())


def test_a_list_of_studies_may_leave_the_budget_out(tmp_path):
    found = costs(tmp_path, "  - covariance\n  - toy-step\n", "stocks")
    assert list(found) == ["covariance"]


def test_a_budget_that_no_study_has_is_refused(tmp_path):
    with pytest.raises(UserError, match="none of its studies has the budget nope"):
        costs(tmp_path, "  - covariance\n", "nope")
