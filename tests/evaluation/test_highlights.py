"""Labels at the ends of lines, and axis limits that a single far line does not squeeze."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

from shiftbench.evaluation import figure_style, highlights
from tests.evaluation.scoring import stores


def test_names_keep_their_distance_and_move_as_little_as_possible():
    assert highlights.spread(np.array([0.0, 0.5, 0.5, 0.5]), 0.1) == pytest.approx(
        [0, 0.4, 0.5, 0.6]
    )


def test_names_stay_beside_the_panel():
    assert highlights.spread(np.array([1.0, 1.0, 1.0]), 0.1) == pytest.approx([0.8, 0.9, 1.0])
    assert highlights.spread(np.array([-0.5, 0.0]), 0.1) == pytest.approx([0.0, 0.1])


def test_leaders_are_the_largest_means_without_those_that_failed():
    assert highlights.leaders({"a": 1.0, "b": np.nan, "c": 3.0, "d": 2.0}, 2) == ["c", "d"]


def test_a_far_grey_line_leaves_the_axis_and_a_near_one_stretches_it():
    axes = Figure().subplots()
    grey = {"near": np.array([-0.5, 0.0]), "far": np.array([-30.0, 0.0])}
    assert highlights.limit(axes, [np.array([0.0, 1.0])], grey) == ["far"]
    low, high = axes.get_ylim()
    assert -1 < low <= -0.5 and 1 <= high < 2


def test_lines_on_each_other_are_dashed_but_the_first():
    line = np.linspace(0, 1, 50)
    lines = {"first": line, "on it": line + 1e-3, "apart": line + 0.1, "too": line - 1e-3}
    whole, once, twice, *_ = highlights.GAPS
    found = highlights.dashes(lines)
    assert found == {"first": whole, "on it": once, "apart": whole, "too": twice}


def test_coloured_lines_of_one_colour_have_different_dashes_and_others_are_grey():
    study = stores.image_study()
    same = dict.fromkeys(study.methods, ("blue", "o"))
    study = dataclasses.replace(study, method_styles=same)
    first, second, _ = study.methods
    styles = [highlights.style(study, name, [second, first]) for name in study.methods]
    assert [each["ls"] for each in styles] == ["--", "-", "-"]
    assert [each["color"] == highlights.GREY for each in styles] == [False, False, True]


def test_a_grey_method_is_black_in_colour_and_a_light_name_is_darkened():
    study = stores.image_study()
    given = dict(zip(study.methods, [("grey", "o"), ("yellow", "s"), ("blue", "D")], strict=True))
    study = dataclasses.replace(study, method_styles=given)
    styles = {name: highlights.style(study, name, study.methods) for name in study.methods}
    assert styles[study.methods[0]]["color"] == figure_style.INK
    axes = Figure().subplots()
    ends = {name: (1, place, styles[name]["color"]) for place, name in enumerate(study.methods)}
    highlights.name_ends(axes, ends)
    _, yellow, blue = (np.array(text.get_color()) for text in axes.texts)
    assert (yellow < figure_style.COLOURS["yellow"]).all()
    assert blue == pytest.approx(figure_style.COLOURS["blue"])


def test_names_stand_beside_their_ends_on_an_axis_without_limits():
    axes = Figure().subplots()
    axes.errorbar([0, 1], [84, 80], [1, 1])
    axes.errorbar([0, 1], [78, 70], [1, 1])
    highlights.name_ends(axes, {"high": (1, 80, "black"), "low": (1, 70, "black")})
    low, high = axes.get_ylim()
    places = {text.get_text(): text.xyann[1] for text in axes.texts}
    expected = {"high": (80 - low) / (high - low), "low": (70 - low) / (high - low)}
    assert places == pytest.approx(expected)


def test_a_line_without_an_end_has_no_name():
    axes = Figure().subplots()
    axes.plot([0, 1], [78, 70])
    highlights.name_ends(axes, {"drawn": (1, 70, "black"), "undefined": (1, np.nan, "black")})
    assert [text.get_text() for text in axes.texts] == ["drawn"]
    highlights.name_ends(axes, {"undefined": (1, np.nan, "black")})
    assert len(axes.texts) == 1


def test_a_darkened_pink_is_no_purple():
    pink, purple = (
        np.array(highlights.readable(figure_style.COLOURS[name])) for name in ("pink", "purple")
    )
    assert np.linalg.norm(pink - purple) > 0.25
