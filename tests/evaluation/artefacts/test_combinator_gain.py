"""The figure of gains from combinators: pairs, signs and intervals, on synthetic accuracies."""

from __future__ import annotations

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


def test_without_any_pair_it_says_what_the_study_lacks():
    study = continual_stores.study(("finetune", "ewc"))
    with pytest.raises(UserError, match="without the combinator"):
        combinator_gain.rows(study)
