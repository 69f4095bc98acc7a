"""Sentences on the smallest mean: ties, failed methods, bounds, one method, stream or seed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shiftbench.evaluation.artefacts import _best

METHODS = ["a", "b", "c", "d", "joint"]
STUDY = SimpleNamespace(methods=METHODS, bounds=["joint"], label=str.upper)
NAN = np.nan


def said(*streams):
    """Return the sentence on the scores of streams s0, s1, ...; a list has those of learners.

    The scores of a learner are a list over seeds, or a number for a single seed.
    """
    scores = {
        f"s{n}": {name: np.array(of, ndmin=1) for name, of in zip(METHODS, each, strict=False)}
        for n, each in enumerate(streams)
    }
    return _best.smallest(STUDY, scores, "average loss", ("ends with", "end with"))


ONE_SEED = "; one seed, so no test"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            [3.0, 0.25, 2.0],
            f"s0: B ends with the smallest average loss of 3 methods, 0.25{ONE_SEED}",
        ),
        ([NAN, 0.25, 2], f"s0: B ends with the smallest average loss of 2 methods, 0.25{ONE_SEED}"),
        ([NAN, 1234.5, NAN], "s0: B ends with an average loss of 1,234"),
        ([NAN, 3.0, NAN, NAN, 1.0], "s0: B ends with an average loss of 3"),
        ([NAN, NAN, NAN, NAN, 1.0], "s0: no method has an average loss"),
        (
            [1.0, 1.0 + 1e-12, 2.0, 1.1, 0.5],
            f"s0: A and B end with the smallest average loss of 4 methods, 1{ONE_SEED}",
        ),
        ([2.0] * 4, "s0: 4 methods end with the smallest average loss of 4 methods, 2"),
    ],
)
def test_on_one_stream_the_sentence_has_the_number(values, sentence):
    assert said(values) == sentence


@pytest.mark.parametrize(
    ("streams", "sentence"),
    [
        (
            [[1, 2, 3], [1, 2, NAN], [3, NAN, 1]],
            f"A ends with the smallest average loss on 2 of 3 streams{ONE_SEED}",
        ),
        ([[2, 1], [2, 1]], f"B ends with the smallest average loss on 2 of 2 streams{ONE_SEED}"),
        ([[2, 1], [1, 2]], "A and B each end with the smallest average loss on 1 of 2 streams"),
        (
            [[1, 1, 2], [2, 1, 2]],
            f"B ends with the smallest average loss on 2 of 2 streams{ONE_SEED}",
        ),
        (
            [[1, 2, 3, 4, 0], [NAN] * 4],
            f"A ends with the smallest average loss on 1 of 2 streams{ONE_SEED}",
        ),
        (
            [[NAN, 2], [NAN, 0.5], [NAN, NAN]],
            "B ends with an average loss of 0.5 to 2 on 2 streams",
        ),
        ([[NAN, 2], [NAN, NAN]], "B ends with an average loss of 2 on 1 stream"),
        ([[NAN] * 5] * 2, "No method has an average loss"),
    ],
)
def test_on_several_streams_the_sentence_counts_them(streams, sentence):
    assert said(*streams) == sentence


# With three seeds, the p-value of a mean difference m of spread s is 1 - t / sqrt(t^2 + 2), where
# t^2 = 3 (m / s)^2.
BEST = np.array([10, 20, 30])
FAR = BEST - [9, 10, 11]  # p = 1 - sqrt(300 / 302) = 0.0033
CLOSE = BEST - [2, 3, 4]  # p = 1 - sqrt(27 / 29) = 0.0351
UNSURE = BEST - [1, 2, 3]  # p = 1 - sqrt(12 / 14) = 0.0742
EQUAL = BEST - 5  # no spread: no test, as between any two of FAR, CLOSE and UNSURE
FAILED = np.full(3, NAN)


@pytest.mark.parametrize(
    ("rest", "tied"),
    [
        ({"b": CLOSE}, []),
        ({"d": UNSURE}, ["d"]),
        ({"e": EQUAL}, ["e"]),
        ({"b": CLOSE, "d": UNSURE}, ["b", "d"]),  # p = 0.0702 and 0.0742
        ({"b": CLOSE, "c": FAR}, []),  # p = 0.0351 and 0.0066; by Bonferroni b's would be 0.0702
        ({"d": UNSURE, "c": FAR}, ["d"]),
        ({"c": FAR, "e": EQUAL}, ["e"]),  # p = 0.0066, and 0.0131 of c and e
        ({"b": CLOSE, "e": EQUAL}, ["b", "e"]),  # p = 0.0702, and 0.0742 of b and e
        ({}, []),
    ],
)
def test_learners_are_compared_by_seed_with_holms_correction_over_all_pairs(rest, tied):
    scores = {"a": BEST} | rest
    assert _best.not_worse(scores, "a", list(rest)) == tied
    below = {name: -values for name, values in scores.items()}
    assert _best.not_worse(below, "a", list(rest), lower=True) == tied
    assert _best.not_worse(scores, "a", list(rest), lower=True) == list(rest), "they are better"


@pytest.mark.parametrize(
    ("best", "other", "tied"),
    [
        ([10, 20, 30, NAN, 50], [8, 17, 26, 35, NAN], []),  # p = 0.0351 over three
        ([10, 20, 30, NAN, 50], [9, 18, 27, 35, NAN], ["b"]),  # p = 0.0742
        ([10, 20, NAN], [1, NAN, 3], ["b"]),  # one pair
        ([10, NAN], [NAN, 1], ["b"]),  # none
    ],
)
def test_failed_seeds_are_in_no_pair(best, other, tied):
    scores = {"a": np.array(best), "b": np.array(other)}
    assert _best.not_worse(scores, "a", ["b"]) == tied


def test_who_is_better_on_common_seeds_is_not_significantly_worse():
    scores = {"a": np.array([10, 20, 30, 100]), "b": np.array([12, 23, 34, NAN])}
    assert _best.means(STUDY, scores) == {"a": 40, "b": 23}
    assert _best.others(STUDY, scores, ["a"]) == "; no other is significantly worse"
    below = {name: -values for name, values in scores.items()}
    assert _best.others(STUDY, below, ["a"], lower=True) == "; no other is significantly worse"
    scores["b"] = np.array([8, 17, 26, NAN])
    assert _best.others(STUDY, scores, ["a"]) == "; the other is significantly worse"


@pytest.mark.parametrize(
    ("rest", "clause"),
    [
        ({"b": CLOSE}, "; the other is significantly worse"),
        ({"b": CLOSE, "c": FAR}, "; all others are significantly worse"),
        ({"d": UNSURE}, "; no other is significantly worse"),
        ({"b": CLOSE, "d": UNSURE}, "; no other is significantly worse"),
        ({"c": FAR, "d": UNSURE}, "; D is not significantly worse"),
        ({"b": CLOSE, "c": FAR, "d": UNSURE}, "; B and D are not significantly worse"),
        (
            {"c": FAR} | dict.fromkeys("defg", UNSURE),
            "; 4 methods are not significantly worse",
        ),
        ({"b": CLOSE, "joint": UNSURE}, "; the other is significantly worse"),
        ({"b": CLOSE, "c": FAILED}, "; the other is significantly worse"),
        ({"c": FAILED, "joint": FAR}, ""),
        ({}, ""),
    ],
)
def test_a_clause_says_who_is_significantly_worse(rest, clause):
    scores = {"a": BEST} | rest
    assert _best.others(STUDY, scores, ["a"]) == clause
    below = {name: -values for name, values in scores.items()}
    assert _best.others(STUDY, below, ["a"], lower=True) == clause


def test_equal_ones_are_no_others():
    scores = {"a": BEST, "b": BEST, "c": FAR}
    assert _best.others(STUDY, scores, ["a", "b"]) == "; the other is significantly worse"
    assert _best.others(STUDY, scores, ["a", "b", "c"]) == ""
    assert _best.others(STUDY, {"a": FAILED}, []) == ""


def test_one_seed_has_no_test():
    scores = {name: np.array([value]) for name, value in (("a", 2), ("b", 1), ("joint", 3))}
    assert _best.others(STUDY, scores, ["a"]) == ONE_SEED
    del scores["b"]
    assert _best.others(STUDY, scores, ["a"]) == ""
    failed = {"a": np.array([2, NAN]), "b": np.array([1, NAN])}
    assert _best.others(STUDY, failed, ["a"]) == "; no other is significantly worse"


def test_seeds_that_are_copies_have_no_test():
    copies = {"a": np.full(3, 2.0), "b": np.array([1, 1, NAN]), "c": FAILED, "joint": BEST}
    assert _best.others(STUDY, copies, ["a"]) == "; all seeds alike, so no test"
    below = {"a": np.full(3, 2.0), "b": np.full(3, 3.0)}
    alike = _best.smallest(STUDY, {"s0": below}, "delay")
    assert alike == "s0: A has the smallest delay of 2 methods, 2; all seeds alike, so no test"
    several = _best.smallest(STUDY, {"s0": below, "s1": below}, "delay")
    assert several == "A has the smallest delay on 2 of 2 streams; all seeds alike, so no test"
    mixed = _best.smallest(STUDY, {"s0": below, "s1": {"a": 30 - BEST, "b": 30 - CLOSE}}, "delay")
    assert mixed == (
        "A has the smallest delay on 2 of 2 streams; it is significantly better than all others"
        " on 1 of these (on 1, all seeds alike, so no test)"
    )


def losses(*scores):
    """Return losses that are worse by as much as the scores: those of BEST are the smallest."""
    return [50 - values for values in scores]


A, B = losses(BEST, CLOSE), losses(CLOSE, BEST)


@pytest.mark.parametrize(
    ("streams", "sentence"),
    [
        ([A, losses(BEST, UNSURE)], "A {} on 2 of 2 streams; {better} 1 of these"),
        ([A, A], "A {} on 2 of 2 streams; {better} 2 of these"),
        ([A, A, B], "A {} on 2 of 3 streams; {better} 2 of these"),
        ([A, B], "A and B each end with the smallest average loss on 1 of 2 streams"),
        ([losses(BEST, UNSURE)] * 2, "A {} on 2 of 2 streams; {better} none of these"),
        # Holm's correction is over the learners of a stream.
        ([losses(BEST, CLOSE, UNSURE), A], "A {} on 2 of 2 streams; {better} 1 of these"),
        ([losses(BEST, CLOSE, FAR)] * 2, "A {} on 2 of 2 streams; {better} 2 of these"),
        ([losses(BEST, BEST, FAR), A], "A {} on 2 of 2 streams; {better} 1 of these"),
        ([losses(BEST, FAILED), A], "A {} on 2 of 2 streams; {better} 1 of these"),
        (
            [losses(BEST, CLOSE, FAILED, FAILED, BEST + 1)] * 2,
            "A {} on 2 of 2 streams; {better} 2 of these",
        ),
    ],
)
def test_on_several_streams_the_sentence_counts_where_it_is_significant(streams, sentence):
    better = "it is significantly better than all others on"
    ends = sentence.format("ends with the smallest average loss", better=better)
    assert said(*streams) == ends


def test_the_number_of_one_stream_has_its_unit_before_the_clause():
    scores = {"s0": {"a": BEST, "b": BEST + 3}, "s1": {"a": BEST * 2, "b": FAILED}}
    alone = _best.smallest(STUDY, {"s0": scores["s0"]}, "delay", unit=" tasks")
    assert alone == (
        "s0: A has the smallest delay of 2 methods, 20 tasks; no other is significantly worse"
    )
    scores["s0"]["b"] = FAILED
    assert _best.smallest(STUDY, scores, "delay", unit=" tasks") == (
        "A has a delay of 20 to 40 tasks on 2 streams"
    )


def test_the_largest_are_all_that_differ_by_rounding_alone():
    assert _best.largest({"a": 0.3, "b": 0.1 + 0.2, "c": 0.2}) == ["a", "b"]
    assert _best.largest({}) == []


def test_numbers_have_three_digits_and_large_ones_no_exponent():
    texts = [_best.number(value) for value in (0.09714, 12.345, 999.7, 354_396.7, -1500.0)]
    assert texts == ["0.0971", "12.3", "1,000", "354,397", "-1,500"]


def test_labels_with_commas_are_quoted_where_there_are_several():
    labels = {"a": "VBS, K = 3", "b": "VCL"}
    study = SimpleNamespace(label=labels.get)
    assert _best.names(study, ["a"]) == "VBS, K = 3"
    assert _best.names(study, ["a", "b"]) == '"VBS, K = 3" and "VCL"'
