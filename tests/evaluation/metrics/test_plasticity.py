"""Plasticity and its slope: known lines, outliers and looks."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from tests.evaluation.scoring import continual_stores, stores

plasticity = components.load_metric("plasticity")
slope = components.load_metric("plasticity_slope")


def run(accuracy):
    """Return a run with accuracies at looks [seed, task, look], which test no old tasks."""
    stream = stores.image_stream(tasks=accuracy.shape[1])
    made = stores.run_store(accuracy[None, ..., -1], ["accuracy"], stream, "vcl", [["map", {}]])
    looked = ("after_metric", "seed", "task", "look"), accuracy[None]
    return made.assign(looked=looked).assign_coords(after_metric=["accuracy"]), stream


def test_the_slope_of_a_line_is_known_and_outliers_do_not_matter():
    line = 0.9 - 0.002 * np.arange(50)
    spoilt = line.copy()
    spoilt[[3, 17, 40]] = 0.1
    made, stream = run(np.stack([line, spoilt])[..., None])
    assert slope.score(made, stream) == pytest.approx([-0.2, -0.2])
    least_squares = 100 * np.polyfit(np.arange(50), spoilt, 1)[0]
    assert abs(least_squares + 0.2) > 0.02  # so that another slope would fail the test


def test_the_slope_is_the_median_over_all_pairs():
    values = np.random.default_rng(1).random((2, 9, 3))
    made, stream = run(values)
    mean = values.mean(axis=2)
    expected = [
        100 * np.median([(a[j] - a[i]) / (j - i) for j in range(9) for i in range(j)]) for a in mean
    ]
    assert slope.score(made, stream) == pytest.approx(expected)
    assert plasticity.score(made, stream) == pytest.approx(mean.mean(axis=1))


def test_without_looks_it_is_the_accuracy_at_the_ends_of_tasks():
    made, stream = run(np.random.default_rng(2).random((2, 5, 4)))
    ends = made.drop_vars("looked")
    assert plasticity.score(ends, stream) == pytest.approx(
        made["looked"].values[0, ..., -1].mean(1)
    )


def test_of_a_stream_that_looks_back_each_task_counts_for_itself():
    stream = continual_stores.stream(tasks=3)
    matrix = np.array([[[0.9, np.nan, np.nan], [0.8, 0.7, np.nan], [0.4, 0.6, 0.5]]])
    ends = continual_stores.run(stream, "ewc", matrix)
    assert plasticity.score(ends, stream) == pytest.approx([0.7])
    assert slope.score(ends, stream) == pytest.approx([-20])
    looks = np.stack([matrix - 0.2, matrix], axis=2)[None].repeat(3, axis=0)
    dims = ("after_metric", "seed", "task", "look", "tested_task")
    assert plasticity.score(ends.assign(looked=(dims, looks)), stream) == pytest.approx([0.6])


def test_one_task_has_no_slope():
    made, stream = run(np.full((2, 1, 1), 0.5))
    assert np.isnan(slope.score(made, stream)).all()
    assert plasticity.score(made, stream).tolist() == [0.5, 0.5]


def test_two_tasks_have_the_slope_between_them():
    made, stream = run(np.array([0.5, 0.7]).reshape(1, 2, 1))
    assert slope.score(made, stream) == pytest.approx([20.0])
