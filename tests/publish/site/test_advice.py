"""Sentences about the best of a paper's methods in a situation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import advice


@pytest.mark.parametrize(
    ("best", "own", "told"),
    [
        ([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], "B is 10.0 ahead of O; all seeds alike, so no"),
        ([0.9], [0.8], "B is 10.0 ahead of O; one seed, so no test."),
        ([0.9, 0.9], [0.9, 0.9], "B has the same mean as O; all seeds alike, so no test."),
        ([0.9, 0.7, 0.8], [0.8, 0.8, 0.79], "O is not significantly worse than B."),
    ],
)
def test_what_no_test_can_resolve_is_not_called_not_significant(best, own, told) -> None:
    found = ranking.rank("s", {"best": np.array(best), "own": np.array(own)}, "acc")
    entry = SimpleNamespace(situation="Here", study="a/b", metric="acc")
    decided = SimpleNamespace(
        entry=entry, study=SimpleNamespace(label=lambda name: name[0].upper())
    )
    assert f"Here: {told}" in advice._sentence(decided, found, ["own"])
