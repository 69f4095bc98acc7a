"""Sentences on the smallest value: ties, failed methods, bounds, one method or stream."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shiftbench.evaluation.artefacts import _best

LEARNERS = ["a", "b", "c", "d", "joint"]
STUDY = SimpleNamespace(learners=LEARNERS, bounds=["joint"], label=str.upper)
NAN = np.nan


def said(*streams):
    """Return the sentence on the values of streams s0, s1, ...; a list has those of learners."""
    values = {f"s{n}": dict(zip(LEARNERS, each, strict=False)) for n, each in enumerate(streams)}
    return _best.smallest(STUDY, values, "average loss", ("ends with", "end with"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([3.0, 0.25, 2.0], "s0: B ends with the smallest average loss of 3 methods, 0.25"),
        ([NAN, 0.25, 2.0], "s0: B ends with the smallest average loss of 2 methods, 0.25"),
        ([NAN, 1234.5, NAN], "s0: B ends with an average loss of 1,234"),
        ([NAN, 3.0, NAN, NAN, 1.0], "s0: B ends with an average loss of 3"),
        ([NAN, NAN, NAN, NAN, 1.0], "s0: no method has an average loss"),
        (
            [1.0, 1.0 + 1e-12, 2.0, 1.1, 0.5],
            "s0: A and B end with the smallest average loss of 4 methods, 1",
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
            "A ends with the smallest average loss on 2 of 3 streams",
        ),
        ([[2, 1], [2, 1]], "B ends with the smallest average loss on 2 of 2 streams"),
        ([[2, 1], [1, 2]], "A and B each end with the smallest average loss on 1 of 2 streams"),
        ([[1, 1, 2], [2, 1, 2]], "B ends with the smallest average loss on 2 of 2 streams"),
        ([[1, 2, 3, 4, 0], [NAN] * 4], "A ends with the smallest average loss on 1 of 2 streams"),
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
