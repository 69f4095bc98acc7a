"""The step function: its steps, noise and truth."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import toy_step
from tests.data.building import builder

build = builder(toy_step)


def test_two_distinct_steps_of_size_one_and_none_at_the_start():
    store = build(realisations=300)
    jumps = np.diff(store.level.values, axis=1)
    assert set(np.unique(jumps)) == {-1, 0, 1}
    assert (store["shift"].values.sum(axis=1) == 2).all()
    assert not store["shift"].values[:, 0].any() and (store.level.values[:, 0] == 0).all()
    np.testing.assert_array_equal(store["shift"].values[:, 1:], jumps != 0)
    # All positions and both signs occur: 600 steps over 29 positions.
    assert (store["shift"].values[:, 1:].sum(axis=0) > 5).all()
    assert 230 < (jumps == 1).sum() < 370


def test_noise_has_the_standard_deviation_that_was_set():
    store = build(realisations=400, noise_sd=0.25)
    noise = (store["value"] - store.level).values
    assert noise.std() == pytest.approx(0.25, rel=0.02)
    assert abs(noise.mean()) < 0.01


def test_steps_with_replacement_may_coincide():
    store = build(realisations=300, distinct=False, points=5)
    jumps = np.diff(store.level.values, axis=1)
    assert {-2, 2} <= set(np.unique(jumps))
    np.testing.assert_array_equal(store["shift"].values[:, 1:], jumps != 0)


def test_task_holds_the_value_and_nothing_is_held_out():
    store = build(realisations=3)
    task = toy_step.task(store, [2, 0, 2], 7)
    np.testing.assert_array_equal(task.train.targets[:, 0, 0], store["value"].values[[2, 0, 2], 7])
    assert task.validation is None and task.test is None


def test_more_steps_than_positions():
    with pytest.raises(UserError, match="n_steps is 5, but 5 points"):
        build(points=5, n_steps=5)
