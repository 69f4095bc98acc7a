"""The list of studies."""

from __future__ import annotations

import pytest

from shiftbench.publish.site import study_list


@pytest.mark.parametrize("words", ["every method tuned alike", "all tuned alike", "tuned alike"])
def test_a_title_does_not_repeat_that_the_study_is_tuned(words) -> None:
    title = f"Digits, in two sizes, {words}"
    assert study_list.short_title(title, tuned=True) == "Digits, in two sizes"
    assert study_list.short_title(title, tuned=False) == title


def test_the_same_words_inside_a_title_stay() -> None:
    title = "Methods, tuned alike and not, on digits"
    assert study_list.short_title(title, tuned=True) == title
