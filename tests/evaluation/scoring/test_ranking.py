"""Rankings of learners on a stream."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.evaluation.scoring import neighbours, ranking

FAILED = {
    "first": np.array([1.0, 1.1, 1.05, 1.02, 10.0]),
    "failed": np.array([2.0, 2.2, 2.05, 2.01, np.nan]),
}


@pytest.mark.parametrize("sign", [1, -1])
def test_who_loses_on_all_common_seeds_leads_nobody_significantly(sign) -> None:
    metric = "nll" if sign == 1 else "log_predictive"
    scores = {name: sign * values for name, values in FAILED.items()}
    found = ranking.rank("s", scores, metric)
    assert found.leader == "failed" and found.leads["first"].p < 0.001
    assert found.tied == ["first"] and not found.resolved
    (pair,) = neighbours.pairs(scores, metric)
    assert (pair.better, pair.resolved) == ("failed", False)


def test_who_is_better_on_all_seeds_leads_significantly() -> None:
    scores = {"first": FAILED["first"][:4], "other": FAILED["failed"][:4]}
    found = ranking.rank("s", scores, "nll")
    assert found.leader == "first" and found.resolved
    (pair,) = neighbours.pairs(scores, "nll")
    assert (pair.better, pair.resolved) == ("first", True)


def test_p_of_a_lead_is_corrected_over_all_pairs_since_the_scores_choose_the_leader() -> None:
    scores = {
        "a": np.array([1.0, 1.2, 0.9, 1.1, 1.3]),
        "b": np.array([0.2, 1.1, 0.6, 0.6, 0.9]),
        "c": np.array([0.6, 0.3, 0.7, 1.0, 0.8]),
    }
    raw = {pair: stats.ttest_rel(*map(scores.get, pair)).pvalue for pair in ("ab", "ac", "bc")}
    assert 0.05 / 3 < raw["ab"] < 0.05 / 2 < raw["ac"] < 0.05 < raw["bc"]
    found = ranking.rank("s", scores, "log_predictive")
    assert found.leads["b"].p == pytest.approx(3 * raw["ab"])  # the smallest of three
    assert found.leads["c"].p == pytest.approx(max(2 * raw["ac"], 3 * raw["ab"]))
    assert found.tied == ["b", "c"], "over the two others alone, b would be significantly worse"
