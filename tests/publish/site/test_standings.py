"""Learners with equal scores have equal ranks, in any order of the config."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import collect, leaderboard, matrix, standings
from tests.checkout import PUBLISHED


@pytest.mark.parametrize(
    ("metric", "ranks"),
    [("cover", {"a": 1.5, "b": 1.5, "c": 3}), ("squared_error", {"a": 2.5, "b": 2.5, "c": 1})],
)
@pytest.mark.parametrize("order", ["abc", "cba"])
def test_equal_scores_share_the_mean_of_their_ranks(metric, ranks, order) -> None:
    scores = {"a": np.ones(2), "b": np.ones(2), "c": np.zeros(2)}
    cell = ranking.rank("series", {name: scores[name] for name in order}, metric)
    known = standings.Standings(metric, {"series": cell}, [])
    assert {name: known.of_method(name).rank for name in "abc"} == ranks


def test_a_leaderboard_has_the_ranks_of_the_study(tmp_path: Path) -> None:
    place = "cpu/studies/annotated-series"
    shutil.copytree(PUBLISHED / place, tmp_path / place)
    found = collect.collect(tmp_path)
    (study,) = found.studies
    known = standings.of(study)
    shared = 0
    for stream in study.streams:
        board = leaderboard._board(study, stream, str(known.metric), known, set(), [])
        ranks = {line.label: line.rank for line in board.lines if not line.reason}
        on_stream = known.on_stream(stream)
        for name in on_stream.cells[stream].scores:
            assert ranks[study.label(name)] == on_stream.of_method(name).rank
        shared += len(ranks) - len({*ranks.values()})
    assert shared, "some scores are equal"


def test_of_equal_learners_of_a_method_the_first_is_shown() -> None:
    cell = ranking.rank("series", {"a": np.ones(2), "b": np.ones(2)}, "cover")
    known = standings.Standings("cover", {"series": cell}, [])
    summary = pd.DataFrame({"learner": ["a", "b"], "metric": "cover", "n": 2})
    study = SimpleNamespace(summary=summary, planned=SimpleNamespace(seeds=2))
    found = matrix._cell(study, ["a", "b"], known)
    assert (found.method, found.standing) == ("a", (1.5, 2, standings.BEST))


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        (["one"], "(0.5), which is tested against none, since all seeds give the same scores ("),
        (["one", "two"], "on 2 of 2 streams; nothing is tested, since all seeds give the same sc"),
        (["one", "drawn"], "on 1 of them, and untested on 1, where all seeds give the same scores"),
    ],
)
def test_a_finding_says_that_seeds_with_the_same_scores_are_not_tested(
    monkeypatch: pytest.MonkeyPatch, streams: list[str], said: str
) -> None:
    drawn = np.array([0.5, 0.52, 0.51])
    scores = {"a": np.full(3, 0.5), "b": np.full(3, 0.4)}
    cells = {name: ranking.rank(name, scores, "cover") for name in streams}
    if "drawn" in streams:
        cells["drawn"] = ranking.rank("drawn", {"a": drawn, "b": drawn / 2}, "cover")
    monkeypatch.setattr(standings.numbers, "row_text", lambda *_: "0.5")
    study = SimpleNamespace(label=str, scores=True, planned=SimpleNamespace(tuning=None))
    found = standings.finding(study, standings.Standings("cover", cells, []))
    assert said in found and "not significantly" not in found
