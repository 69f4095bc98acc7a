"""Ranks across streams: by hand, against SciPy, and with omitted streams and methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_files
from shiftbench.evaluation.overview import ranks
from shiftbench.evaluation.scoring import tidy

MEANS = {  # stream -> score of each method
    "a": {"ewc": 0.9, "si": 0.8, "vogn": 0.95},
    "b": {"ewc": 0.7, "si": 0.75, "vogn": 0.8},
    "c": {"ewc": 0.6, "si": 0.5, "vogn": 0.55},
}


def rows(means=MEANS, study="s", metric="acc"):
    """Return scores of two seeds around each mean, and of a failed one."""
    made = [
        (study, stream, f"my-{method}", method, metric, seed, score, status)
        for stream, of_stream in means.items()
        for method, mean in of_stream.items()
        for seed, (score, status) in enumerate(
            [(mean - 0.01, "ok"), (mean + 0.01, "ok"), (np.nan, "failed: NaN")]
        )
    ]
    return pd.DataFrame(made, columns=list(tidy.COLUMNS))


def test_ranks_are_of_means_over_seeds_and_averaged_over_streams():
    means = ranks.shared(rows())
    assert means.loc["b", "si"] == pytest.approx(0.75)
    expected = {"vogn": 4 / 3, "ewc": 2.0, "si": 8 / 3}
    assert ranks.average_ranks(means).to_dict() == pytest.approx(expected)
    assert list(ranks.average_ranks(means).index) == list(expected)


def test_the_caption_has_friedmans_p_and_how_much_was_compared():
    caption = ranks.caption(ranks.shared(rows()))
    p = stats.friedmanchisquare([0.9, 0.7, 0.6], [0.8, 0.75, 0.5], [0.95, 0.8, 0.55]).pvalue
    assert f"Friedman's test: p = {p:.2g}" in caption
    assert "Ranks of 3 methods" in caption and "over 3 streams" in caption


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_that_of_demsars_table(methods, q):
    """Table 5a of Demsar 2006, J. Mach. Learn. Res. 7."""
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 14))
    assert ranks.critical_difference(14, methods) == pytest.approx(expected, rel=5e-4)


def test_only_what_all_streams_have_is_compared():
    more = MEANS | {"a": MEANS["a"] | {"hat": 0.99}, "d": {"ewc": 0.5, "si": 0.4}}
    means = ranks.shared(rows(more))
    assert list(means.index) == ["a", "b", "c"], "d has two methods only"
    assert list(means.columns) == ["ewc", "si", "vogn"]


def test_streams_of_few_methods_do_not_empty_the_table():
    """Two streams share no method with each other, like those with different heads."""
    wide = {name: {f"m{i}": 0.1 * i for i in range(6)} for name in "abcd"}
    few = {"e": {"m0": 0.1, "m1": 0.2, "x": 0.3}, "f": {"m4": 0.1, "m5": 0.2, "y": 0.3}}
    assert ranks.shared(rows(wide | few)).shape == (4, 6)
    fewer = {"e": {f"m{i}": 0.1 * i for i in range(5)}}
    assert ranks.shared(rows(wide | fewer)).shape == (5, 5), "25 cells are more than 24"


def test_a_stream_of_two_studies_counts_once_in_the_one_with_most_methods():
    fuller = {"a": {"ewc": 0.1, "si": 0.2, "vogn": 0.3, "hat": 0.4}}
    means = ranks.shared(pd.concat([rows(), rows(fuller, study="t")]))
    assert means.loc["a"].to_dict() == pytest.approx({"ewc": 0.1, "si": 0.2, "vogn": 0.3})
    assert len(means) == 3


def test_learners_that_stand_for_no_method_are_left_out():
    own = rows().assign(method="")
    own.loc[own.index[:3], "method"] = None
    pd.testing.assert_frame_equal(ranks.shared(pd.concat([rows(), own])), ranks.shared(rows()))


def test_bounds_have_no_rank_and_take_none_from_others():
    with_bound = {stream: of | {"joint": 0.99} for stream, of in MEANS.items()}
    means = ranks.shared(rows(with_bound), {"joint"})
    pd.testing.assert_frame_equal(means, ranks.shared(rows()))
    two = {stream: {name: of[name] for name in ("ewc", "si")} for stream, of in MEANS.items()}
    alone = {stream: of | {"joint": 0.99} for stream, of in two.items()}
    assert ranks.possible(rows(alone)) and not ranks.possible(rows(alone), {"joint"})


@pytest.mark.parametrize(
    "scores",
    [
        rows({key: MEANS[key] for key in "ab"}),
        rows({key: {"ewc": 0.1, "si": 0.2} for key in "abc"}),
        rows({"a": MEANS["a"], "b": MEANS["b"], "c": {"hat": 0.1, "ewc": 0.2, "si": 0.3}}),
        rows(metric="nll"),
        rows().iloc[:0],
    ],
)
def test_too_few_streams_or_methods_are_refused(scores):
    with pytest.raises(UserError, match="no 3 streams share 3 methods"):
        ranks.draw(scores)


@pytest.mark.parametrize(
    ("streams", "said"), [(3, "No two methods are"), (18, "1 of 3 pairs of methods are")]
)
def test_the_title_says_how_many_pairs_are_apart(streams, said):
    # The ranks of a and b alternate, and c is second or third: it differs from a alone.
    orders = [(0.9, 0.5, 0.1), (0.9, 0.1, 0.5), (0.5, 0.9, 0.1)]
    means = pd.DataFrame([orders[k % 3] for k in range(streams)], columns=["a", "b", "c"])
    p = posthoc_p(means)
    assert ranks.message(means).startswith(said)
    assert (p < 0.05).sum() == (0 if streams == 3 else int(said[0]))
    assert ranks.caption(means.set_axis(map(str, means.index))).startswith(ranks.message(means))


def posthoc_p(means):
    """Return p values of Nemenyi's test for all pairs, from the studentised range."""
    average = ranks.average_ranks(means)
    k, n = len(average), len(means)
    pairs = [(a, b) for i, a in enumerate(average) for b in average.iloc[i + 1 :]]
    q = np.array([abs(a - b) for a, b in pairs]) / np.sqrt(k * (k + 1) / (12 * n))
    return stats.studentized_range.sf(q, k, np.inf)


def test_the_diagram_names_each_method_with_its_rank():
    drawn = ranks.draw(rows(), {"vogn": "VOGN"})
    texts = [text.get_text().strip() for text in drawn.axes[0].texts]
    assert sorted(texts) == ["VOGN (1.33)", "ewc (2.00)", "si (2.67)"]


def test_the_diagram_has_the_same_bytes_every_time(tmp_path):
    for name in ("one", "two"):
        figure_files.save(ranks.draw(rows()), tmp_path / name)
    for kind in ("png", "svg"):
        one, two = (tmp_path / f"{name}.{kind}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
