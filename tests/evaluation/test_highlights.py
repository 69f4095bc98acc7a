"""Names at the ends of lines, and axes that a single far line does not squeeze."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from shiftbench.evaluation import highlights


def test_names_keep_their_distance_and_move_as_little_as_possible():
    assert highlights.spread(np.array([0.0, 0.5, 0.5, 0.5]), 0.1) == pytest.approx(
        [0, 0.4, 0.5, 0.6]
    )


def test_leaders_are_the_largest_means_without_those_that_failed():
    assert highlights.leaders({"a": 1.0, "b": np.nan, "c": 3.0, "d": 2.0}, 2) == ["c", "d"]


def test_a_far_grey_line_leaves_the_axis_and_a_near_one_stretches_it():
    axes = Figure().subplots()
    grey = {"near": np.array([-0.5, 0.0]), "far": np.array([-30.0, 0.0])}
    assert highlights.limit(axes, [np.array([0.0, 1.0])], grey) == ["far"]
    low, high = axes.get_ylim()
    assert -1 < low <= -0.5 and 1 <= high < 2
