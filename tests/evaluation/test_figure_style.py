"""The style of figures: complete texts on the canvas, captions, and distinct markers."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

from shiftbench.evaluation import figure_files, figure_style, text_fitting
from shiftbench.evaluation.scoring.caption_notes import Basis

MARKS = "Mean over seeds; band: 95 % interval. Left: accuracy, as in Li et al. (2021), Fig. 3. "
BUDGET = "images: 3 of 3 runs per method. 9 tasks in place of 100 of the paper; one layer (two)."


@pytest.fixture(autouse=True)
def styled():
    """Draw figures with the settings that artefacts use."""
    with rc_context(figure_style.RC):
        yield


def written(drawn: Figure) -> str:
    """Return all texts of a figure, without spaces and line breaks."""
    return "".join("".join(text.get_text().split()) for text in drawn.findobj(Text))


def has(drawn: Figure, text: str) -> bool:
    return "".join(text.split()) in written(drawn)


def inside(drawn: Figure) -> bool:
    """Return whether everything drawn lies on the canvas, up to half a pixel."""
    box, whole = drawn.get_tightbbox(), drawn.bbox_inches
    spare = 0.5 / figure_style.DPI
    return min(box.x0 - whole.x0, box.y0 - whole.y0, whole.x1 - box.x1, whole.y1 - box.y1) > -spare


@pytest.mark.parametrize(("times", "budget"), [(1, ""), (3, BUDGET), (12, "CAPITALS. " * 60)])
def test_a_caption_stands_in_its_figure_as_a_whole(times, budget):
    caption = MARKS * times + budget
    drawn = figure_style.figure(1.0, caption, budget)
    drawn.subplots().plot([1, 2])
    text_fitting.lay_out(drawn)
    assert has(drawn, caption) and inside(drawn)
    (axes,) = drawn.get_axes()
    (foot,) = drawn.texts
    assert foot.get_window_extent().y1 < axes.get_tightbbox().y0
    assert axes.bbox.height > 0.5 * figure_style.DPI, "a long caption makes a figure higher"


def test_the_budget_of_a_caption_begins_a_line_unless_nothing_comes_before_it():
    (foot,) = figure_style.figure(1.0, MARKS + BUDGET, BUDGET).texts
    assert foot.get_text() == f"{MARKS.strip()}\n{BUDGET}"
    (alone,) = figure_style.figure(1.0, BUDGET, BUDGET).texts
    assert alone.get_text() == BUDGET


def test_a_figure_has_the_brief_form_of_the_end_of_its_caption():
    basis = Basis([BUDGET.strip("."), "Seeds vary noise"], ["Half the tasks"])
    (foot,) = figure_style.figure(1.0, f"{MARKS} {basis}", basis).texts
    assert " ".join(foot.get_text().split()) == f"{MARKS.strip()} Half the tasks."


WORDS = "a stream with a title that takes more words than a panel of a figure is wide"


@pytest.mark.parametrize(("panels", "name"), [(1, WORDS * 2), (2, WORDS.replace(" ", "_"))])
def test_long_titles_labels_and_legends_are_wrapped_and_stay_on_the_canvas(panels, name):
    def draw(panel, text):
        panel.set(xlabel=f"x of {text}", ylabel=f"y of {text}")
        for number in range(3):
            panel.plot([1, 2], label=f"method {number} of {WORDS}")

    names = [f"{name} {number}" for number in range(panels)]
    drawn = figure_style.panel_per_stream(names, 3.0, "", MARKS, "", draw)
    text_fitting.lay_out(drawn)
    assert inside(drawn)
    for text in names:
        assert has(drawn, text) and has(drawn, f"x of {text}") and has(drawn, f"y of {text}")
    assert all(has(drawn, f"method {number} of {WORDS}") for number in range(3))
    boxes = [one._left_title.get_window_extent() for one in drawn.get_axes()]
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))


def test_full_lines_of_neighbouring_labels_keep_a_distance():
    drawn = figure_style.figure(3.0, MARKS)
    panels = drawn.subplots(1, 4, sharey=True)
    for panel in panels:
        panel.set_xlabel("i " * 150)
    text_fitting.lay_out(drawn)
    boxes = [panel.xaxis.label.get_window_extent() for panel in panels]
    assert min(right.x0 - left.x1 for left, right in pairwise(boxes)) >= text_fitting.PAD


def test_the_title_of_a_block_is_wrapped():
    drawn = figure_style.figure(4.0, MARKS)
    for part in drawn.subfigures(2, 1):
        part.suptitle(figure_style.with_letter("a", WORDS * 3), x=0.008, ha="left", size=10)
        part.subplots(1, 2)
    text_fitting.lay_out(drawn)
    assert inside(drawn) and has(drawn, WORDS * 3)


@pytest.mark.parametrize("name", ["price $_{$ (x)", "cost $ per $_{kg", "$"])
def test_dollar_signs_of_users_are_shown_as_they_are(name, tmp_path):
    def draw(axes, stream):
        axes.plot([1, 1000], [1, 2], label=stream)
        axes.set(xscale="log", ylabel=stream)
        axes.annotate(stream, (1, 1))

    drawn = figure_style.panel_per_stream([name, "b"], 3.0, name, f"{name}.", "", draw)
    figure_files.save(drawn, tmp_path / "figure", name)
    texts = [text for text in drawn.findobj(Text) if text.get_text() in (name, f"{name}.")]
    assert len(texts) >= 4 and not any(text.get_parse_math() for text in texts)
    (first, _) = (axes.get_title(loc="left") for axes in drawn.get_axes())
    assert first == f"$\\bf{{a}}$  {figure_style.escaped(name)}"


def test_no_line_breaks_before_a_percent_sign():
    drawn = figure_style.figure(4.0, MARKS)
    title = drawn.text(0, 0.5, "97.1 % (5 %) and " * 20)
    for room in range(100, 400, 10):
        text_fitting.wrap(title, room, "97.1 % (5 %) and " * 20)
        lines = title.get_text().split("\n")
        assert len(lines) > 1 and not [line for line in lines if line.startswith("%")]


def test_a_text_that_fits_is_left_as_it_is():
    drawn = figure_style.panel_per_stream(
        ["one  stream", "two\nlines"], 2.0, "", MARKS, "", lambda *_: None
    )
    text_fitting.lay_out(drawn)
    titles = [axes.get_title(loc="left") for axes in drawn.get_axes()]
    assert titles == ["$\\bf{a}$  one  stream", "$\\bf{b}$  two\nlines"]


@pytest.mark.parametrize(("panels", "rows"), [(3, [3]), (4, [2, 2]), (5, [3, 2]), (7, [3, 3, 1])])
def test_rows_of_panels_are_as_full_as_they_can_be(panels, rows):
    names = [f"s{number}" for number in range(panels)]
    drawn = figure_style.panel_per_stream(names, 1.0, "", MARKS, "", lambda *_: None)
    shown = [axes for axes in drawn.get_axes() if axes.axison]
    places = [axes.get_subplotspec().rowspan.start for axes in shown]
    assert [places.count(row) for row in range(max(places) + 1)] == rows


def test_levels_are_told_apart_by_lines_between_them():
    axes = figure_style.figure(2.0, "").subplots()
    figure_style.divide_levels(axes, 3)
    assert [line.get_xdata()[0] for line in axes.get_lines()] == [0.5, 1.5]


def test_a_single_panel_has_no_letter_and_many_have_different_ones():
    (alone,) = figure_style.panel_per_stream(
        ["one"], 1.0, "", MARKS, "", lambda *_: None
    ).get_axes()
    assert alone.get_title(loc="left") == "one"
    assert figure_style.panel_letters(3) == ["a", "b", "c"]
    assert (
        figure_style.panel_letters(54)[25:28] == ["z", "aa", "ab"]
        and len(set(figure_style.panel_letters(54))) == 54
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("stream digits", "digits"),
        ("digits", "digits"),
        ("Digits under maps", "digits: Digits under maps"),
        ("Maps (li2021vbs, 4.2)", "digits: Maps (Li et al., 2021, 4.2)"),
        ("many words " * 20, f"digits: {'many words ' * 20}"),
    ],
)
def test_the_title_of_a_stream_is_whole(title, expected):
    assert figure_style.stream_title("digits", xr.Dataset(attrs={"title": title})) == expected


def test_both_files_have_the_whole_caption(tmp_path):
    caption = MARKS * 4 + BUDGET
    drawn = figure_style.figure(1.0, caption, BUDGET)
    drawn.subplots().plot([1, 2])
    figure_files.save(drawn, tmp_path / "one", caption)
    assert figure_files.read_caption(tmp_path / "one.png") == " ".join(caption.split())
    svg = (tmp_path / "one.svg").read_text()
    told = svg.partition("<dc:description>")[2].partition("</dc:description>")[0]
    assert told.split() == caption.split()


def test_a_figure_of_words_has_them_as_text(tmp_path):
    for name, words in (("outlines", False), ("text", True)):
        figure_files.save(figure_style.figure(1.0, MARKS), tmp_path / name, MARKS, words)
    outlines, text = ((tmp_path / f"{name}.svg").read_text() for name in ("outlines", "text"))
    assert "<text" in text and "sans-serif" in text and "<text" not in outlines
    assert len(text) < 0.5 * len(outlines)


def test_lines_that_coincide_have_markers_at_different_points():
    marked = [figure_style.marker_positions(place, 5, 300) for place in range(5)]
    places = [set(range(start, 300, every)) for start, every in marked]
    assert all(len(one) >= figure_style.MARKS - 1 for one in places)
    assert sum(map(len, places)) == len(set().union(*places)), "no point has two markers"


def test_places_of_subfigures_in_subfigures_are_rounded_too():
    drawn = figure_style.figure(3, "A caption.")
    outer, _ = drawn.subfigures(2, 1)
    inner, _ = outer.subfigures(1, 2, width_ratios=[1, 2])
    inner.subplots()
    inner.bbox_relative.set_points(np.array([[0.1 + 1e-14, -1e-15], [0.9, 1.0]]))
    drawn.set_layout_engine("none")
    figure_files._freeze(drawn)
    assert inner.bbox_relative.get_points().tolist() == [[0.1, 0.0], [0.9, 1.0]]
