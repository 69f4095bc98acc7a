"""Sentences about the best of a paper's methods in a situation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import advice
from tests.checkout import PUBLISHED


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


def test_a_page_says_with_which_settings_the_results_of_its_paper_appear() -> None:
    study = SimpleNamespace(folder=PUBLISHED / "embedded/studies/online-regret")
    known = advice.Findings(SimpleNamespace(studies=[study]))
    said = " ".join(known.giving_results("cherief2019online"))
    for algorithm in ("NGVI 0.097", "OGA 0.106", "OGA-EL 0.238", "SVA 0.238", "SVB 0.261"):
        assert algorithm in said
    assert "shows 0.090, 0.107, 0.228, 0.247 and 0.290" in said
    assert "has a misprint" in said, "the toy, with the other sign"
    (of_radial,) = known.giving_results("farquhar2020radial")
    assert "From the wide start in the code of VCL it is -12.9 points." in of_radial
    assert known.giving_results("li2021vbs") == []
    everywhere = {f"{config}/online-regret" for config in ("cpu", "embedded")}
    assert not {*known.about(everywhere)} & {*known.giving_results("cherief2019online")}
