"""Metrics are named in words, and each of the words belongs to a metric."""

from __future__ import annotations

from shiftbench.config import components, metric_words


def test_words_of_metrics():
    assert metric_words.words("acc") == "average accuracy"
    assert metric_words.words("shift_recall") == "shift recall"
    assert metric_words.words("crps_clean") == "CRPS clean"
    assert metric_words.opening("crps") == "CRPS"
    assert metric_words.opening("log_predictive") == "Log predictive density"


def test_no_two_metrics_have_the_same_words():
    names = components.names("metrics")
    assert len({metric_words.words(name).casefold() for name in names}) == len(names)


def test_each_word_is_of_a_metric():
    assert set(metric_words.WORDS) <= set(components.names("metrics"))
