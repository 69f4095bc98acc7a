"""What all figures share: two foot lines, the whole caption as description, apart markers."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.artefacts import _style

MARKS = "Mean over seeds; band: 95 % interval. Left: accuracy, as in Li et al. (2021), Fig. 3. "
BUDGET = "images: 3 of 3 runs per learner. 9 tasks in place of 100 of the paper; one layer (two)."


def test_a_short_caption_stands_in_the_figure_as_it_is():
    assert _style.foot(MARKS + BUDGET, BUDGET) == [MARKS.strip(), BUDGET]
    assert _style.foot(BUDGET, BUDGET) == [BUDGET], "nothing is said of marks"
    assert _style.foot("No run enters.") == ["No run enters."]


@pytest.mark.parametrize("times", [1, 3, 9])
@pytest.mark.parametrize("budget", ["", BUDGET * 5])
def test_there_are_never_more_than_two_lines_which_end_with_whole_clauses(times, budget):
    lines = _style.foot(MARKS * times + budget, budget)
    assert 1 <= len(lines) <= 2 and max(map(len, lines)) <= _style.FOOT_CHARACTERS
    assert lines[-1].endswith((".", _style.DOTS))
    assert not any("et al." in line[-8:] for line in lines), "a citation is not cut in two"


def test_a_sentence_that_is_too_long_is_cut_between_words():
    first, second = _style.foot("word " * 200)
    assert second.endswith(f"word{_style.DOTS}") and first.endswith("word")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("stream digits", "digits"),
        ("Digits under maps", "digits: Digits under maps"),
        ("many words " * 20, "digits: " + " ".join(["many words"] * 8) + " many ..."),
    ],
)
def test_the_title_of_a_stream_is_as_long_as_a_figure_is_wide(title, expected):
    assert _style.named("digits", xr.Dataset(attrs={"title": title})) == expected


def test_both_files_have_the_whole_caption(tmp_path):
    caption = MARKS * 4 + BUDGET
    drawn = _style.figure(1.0, caption, BUDGET)
    drawn.subplots().plot([1, 2])
    _style.save(drawn, tmp_path / "one", caption)
    assert _style.described(tmp_path / "one.png") == " ".join(caption.split())
    svg = (tmp_path / "one.svg").read_text()
    told = svg.partition("<dc:description>")[2].partition("</dc:description>")[0]
    assert told.split() == caption.split()


def test_a_figure_of_words_has_them_as_text(tmp_path):
    for name, words in (("outlines", False), ("text", True)):
        _style.save(_style.figure(1.0, MARKS), tmp_path / name, MARKS, words)
    outlines, text = ((tmp_path / f"{name}.svg").read_text() for name in ("outlines", "text"))
    assert "<text" in text and "sans-serif" in text and "<text" not in outlines
    assert len(text) < 0.5 * len(outlines)


def test_lines_that_coincide_have_markers_at_different_points():
    marked = [_style.apart(place, 5, 300) for place in range(5)]
    places = [set(range(start, 300, every)) for start, every in marked]
    assert all(len(one) >= _style.MARKS - 1 for one in places)
    assert sum(map(len, places)) == len(set().union(*places)), "no point has two markers"


def test_places_of_subfigures_in_subfigures_are_rounded_too():
    drawn = _style.figure(3, "A caption.")
    outer, _ = drawn.subfigures(2, 1)
    inner, _ = outer.subfigures(1, 2, width_ratios=[1, 2])
    inner.subplots()
    inner.bbox_relative.set_points(np.array([[0.1 + 1e-14, -1e-15], [0.9, 1.0]]))
    drawn.set_layout_engine("none")
    _style._freeze(drawn)
    assert inner.bbox_relative.get_points().tolist() == [[0.1, 0.0], [0.9, 1.0]]
