"""The figure of gains from combinators: pairs, signs and intervals, on synthetic accuracies."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import combinator_gain
from shiftbench.evaluation.artefacts.combinator_gain import Row
from shiftbench.evaluation.scoring import statistics
from tests.evaluation.scoring import continual_stores

STREAM = "permuted-mnist"


@pytest.fixture(scope="module")
def study():
    """Return results of a reset over `map` (independent) and `map` alone with three settings."""
    store = continual_stores.stream()
    runs = [
        continual_stores.run(store, name, continual_stores.matrix(name), decay=decay)
        for name, decay in (("ewc", 0.5), ("lp", 1.0), ("independent", 1.0))
    ]
    return continual_stores.study(("finetune", "ewc", "lp", "independent"), runs=runs)


def test_a_method_is_paired_with_the_same_pipeline_without_its_outermost_combinator(study):
    assert combinator_gain.inner(study, "independent") == "lp"
    assert combinator_gain.inner(study, "lp") is None
    assert combinator_gain.rows(study) == [Row("lp", None), Row("lp", "independent")]


@pytest.mark.parametrize(("metric", "sign"), [("acc", 1), ("nll", -1)])
def test_the_gain_is_above_0_where_the_combinator_is_better(metric, sign):
    study = continual_stores.study(("finetune", "independent"), seeds=6, metrics=[metric])
    found = combinator_gain.gain(study, STREAM, Row("finetune", "independent"))
    inside, alone = (study.score(STREAM, name, metric) for name in ("independent", "finetune"))
    factor = 100 if metric == "acc" else 1
    assert found.mean == pytest.approx(sign * factor * np.mean(inside - alone))
    pair = (inside, alone) if sign == 1 else (alone, inside)
    expected = statistics.paired_difference(*pair, statistics.bounds(metric))
    assert (found.low, found.high) == pytest.approx((factor * expected.low, factor * expected.high))


def test_the_figure_has_the_score_alone_and_a_hollow_marker_where_nothing_is_resolved(study):
    (axes,) = combinator_gain.draw(study).get_axes()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["lp", "independent"]
    mean = 100 * study.score(STREAM, "lp", "acc").mean()
    assert axes.texts[0].get_text() == f"{mean:.1f} %"
    of = combinator_gain.gain(study, STREAM, Row("lp", "independent"))
    (marker,) = [line for line in axes.get_lines() if line.get_marker() not in ("None", "|")]
    assert (marker.get_markerfacecolor() == "white") == (of.low <= 0 <= of.high)
    assert marker.get_xdata() == pytest.approx([of.mean])


def synthetic(gains, streams=(STREAM,), seeds=4):
    """Return results of three resets over `map` and of `map` alone, with accuracies set by hand.

    gains: points by learner, one for each stream; NaN for failed runs.
    """
    stores = {name: continual_stores.stream(name) for name in streams}
    made = [
        _run(store, name, seeds)
        for store in stores.values()
        for name in ("map", "soft", "hard", "other")
    ]
    study = continual_stores.study(("map", "soft", "hard", "other"), stores, seeds, ["acc"], made)
    cube = study.cube.copy(deep=True)
    for number, stream in enumerate(streams):
        for name in study.methods:
            gain = gains.get(name, [np.nan] * len(streams))[number] if name != "map" else 0
            values = 0.5 + np.arange(seeds) / 64 + gain / 100
            cube["score"].loc[{"stream": stream, "learner": name}] = values
    scores = {**study.scores, "scores": cube}
    return dataclasses.replace(study, scores=scores, bounds=(), labels={"map": "MAP"})


def _run(store, name, seeds):
    matrix = continual_stores.matrix("independent", seeds=seeds)
    made = continual_stores.run(store, name, matrix)
    spec = json.loads(made.attrs["spec"])
    spec["learner"] = [["reset", {}]] * (name != "map") + [["map", continual_stores.EPOCHS]]
    return made.assign_attrs(spec=json.dumps(spec))


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ({"soft": [2.0]}, "soft gains 2.0 points over MAP alone"),
        ({"soft": [-2.0]}, "soft does not gain over MAP alone: -2.0 points"),
        (
            {"soft": [2.0], "hard": [4.5], "other": [1.0]},
            "hard gains the most of 3 methods, 4.5 points over MAP alone",
        ),
        (
            {"soft": [4.5], "hard": [4.5], "other": [1.0]},
            "soft and hard gain the most of 3 methods, 4.5 points over a learner alone",
        ),
        (
            {"soft": [-4.5], "hard": [-1.0]},
            "none of 2 methods gains over its learner alone; best is hard, -1.0 points",
        ),
        (
            {"soft": [0.0], "hard": [0.0]},
            "none of 2 methods gains over its learner alone; best are soft and hard, 0.0 points",
        ),
    ],
)
def test_the_title_says_what_gains_most(gains, said):
    study = synthetic(gains)
    assert combinator_gain.message(study) == f"{STREAM}: {said}"
    assert combinator_gain.draw(study).get_suptitle() == f"{STREAM}: {said}"
    assert combinator_gain.caption(study).startswith(f"{STREAM}: {said}. Bold:")


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            {"soft": [1, 2, -3], "hard": [0.5, 3, -1], "other": [0.2, 2, np.nan]},
            "soft and hard each gain the most of 3 methods on 1 of 3 streams; the largest gain is"
            " 3.0 points (hard over MAP, b)",
        ),
        (
            {"soft": [1, 2, 6], "hard": [0.5, 3, 5]},
            "soft gains the most of 2 methods on 2 of 3 streams; the largest gain is"
            " 6.0 points (soft over MAP, c)",
        ),
        (
            {"soft": [1, -2, 6]},
            "soft gains on 2 of 3 streams; the largest gain is 6.0 points (soft over MAP, c)",
        ),
        (
            {"soft": [-1, 0, -6], "hard": [-1, -2, np.nan]},
            "None of 2 methods gains over its learner alone on any of 3 streams",
        ),
        ({}, "No method can be compared with its learner alone"),
    ],
)
def test_on_several_streams_the_title_counts_them(gains, said):
    study = synthetic(gains, ("a", "b", "c"))
    assert combinator_gain.message(study) == combinator_gain.draw(study).get_suptitle() == said


def test_the_title_does_not_rank_bounds(study):
    assert "independent" in study.bounds
    assert combinator_gain.message(study) == "No method can be compared with its learner alone"
    inside, alone = (study.score(STREAM, name, "acc") for name in ("independent", "lp"))
    said = f"{STREAM}: independent gains {100 * (inside - alone).mean():.1f} points"
    assert combinator_gain.message(dataclasses.replace(study, bounds=())).startswith(said)


def test_without_any_pair_it_says_what_the_study_lacks():
    study = continual_stores.study(("finetune", "ewc"))
    with pytest.raises(UserError, match="without the combinator"):
        combinator_gain.rows(study)
