"""Published intervals lie in the domain of their metric and contain their mean."""

from __future__ import annotations

import pandas as pd
import pytest

from shiftbench.config import components
from shiftbench.evaluation.scoring import statistics
from tests.checkout import PUBLISHED

SUMMARIES = sorted(PUBLISHED.glob("*/studies/*/summary.csv"))


def test_there_are_published_studies():
    assert SUMMARIES


@pytest.mark.parametrize("path", SUMMARIES, ids=lambda path: f"{path.parts[-4]}-{path.parts[-2]}")
def test_intervals_lie_in_the_domain_of_their_metric(path):
    table = pd.read_csv(path)
    rows = table[table["metric"].isin(components.names("metrics"))].dropna(subset="ci_low")
    outside = [
        f"{row.stream}, {row.learner}, {row.metric}: [{row.ci_low}, {row.ci_high}]"
        for row in rows.itertuples()
        if not _inside(row.ci_low, row.ci_high, statistics.bounds(row.metric))
    ]
    assert not outside
    assert ((rows["ci_low"] <= rows["mean"]) & (rows["mean"] <= rows["ci_high"])).all()


def _inside(low: float, high: float, within: statistics.Bounds) -> bool:
    lowest, highest = within
    return (lowest is None or lowest <= low) and (highest is None or high <= highest)
