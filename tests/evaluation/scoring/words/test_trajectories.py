"""Segments, rates and probabilities of words against a history counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.evaluation.scoring import beam_lineage
from shiftbench.evaluation.scoring.words import trajectories
from tests.evaluation.scoring.words import word_stores

# Four periods, two hypotheses, three words. Word 0: the last top hypothesis descends from slot 1
# of period 1 and changed there. Word 1 changes in periods 2 and 3. Word 2 never changes.
PARENT = np.zeros((1, 4, 2, 3), int)
PARENT[0, 2, 0, 0] = 1
SHIFT = np.zeros((1, 4, 2, 3), int)
SHIFT[0, 1, 1, 0] = 1
SHIFT[0, 2:, 0, 1] = 1
SHIFT[0, 3, 1, 2] = 1
MEAN = np.arange(4 * 2 * 3 * 2, dtype=float).reshape(1, 4, 2, 3, 2)


@pytest.fixture
def run() -> xr.Dataset:
    dims = ("seed", "task", "hypothesis", "word")
    weight = np.log([[0.75], [0.25]] * np.ones((1, 4, 2, 3)))
    return xr.Dataset(
        {
            "info_parent": (dims, PARENT),
            "info_shift": (dims, SHIFT),
            "info_log_weight": (dims, weight),
            "info_mean": ((*dims, "mean_1"), MEAN),
        },
        coords={"word": ["one", "two", "three"], "seed": [0]},
    )


def test_rate_is_the_number_of_changes_of_the_top_hypotheses_per_period(run):
    # Word 0 changes once and word 1 twice in the three periods after the first.
    assert trajectories.updates_per_period(run).tolist() == [1.0]


def test_a_learner_without_decisions_updates_every_word(run):
    filtered = run[["info_mean"]].isel(hypothesis=[0])
    assert trajectories.updates_per_period(filtered).tolist() == [3.0]
    found = trajectories.of_seed(filtered, 0)
    for t in range(4):
        np.testing.assert_array_equal(found.at(t), MEAN[0, t, 0])


@pytest.mark.filterwarnings("error")
def test_without_a_later_period_nothing_is_known_of_updates(run):
    assert np.isnan(trajectories.updates_per_period(run.isel(task=[0]))).tolist() == [True]
    filtered = run[["info_mean"]].isel(hypothesis=[0], task=[0])
    assert np.isnan(trajectories.updates_per_period(filtered)).tolist() == [True]


def test_a_segment_has_the_vector_of_its_end_along_the_lineage(run):
    found = trajectories.of_seed(run, 0)
    word = [found.vector[found.segment[:, w]] for w in range(3)]
    # The lineage of word 0 passes slot 1 of period 1; its segments are 0 and 1 to 3.
    np.testing.assert_array_equal(word[0], MEAN[0, [0, 3, 3, 3], 0, 0])
    np.testing.assert_array_equal(word[1], MEAN[0, [1, 1, 2, 3], 0, 1])
    np.testing.assert_array_equal(word[2], MEAN[0, [3, 3, 3, 3], 0, 2])
    assert found.changed.T.tolist() == [
        [False, True, False, False],
        [False, False, True, True],
        [False, False, False, False],
    ]


def test_the_other_hypothesis_has_its_own_history(run):
    found = trajectories.of_seed(run, 0, hypothesis=1)
    # The last slot 1 descends from slot 0 of period 2.
    assert found.changed[3].tolist() == [False, False, True]
    np.testing.assert_array_equal(found.at(3), MEAN[0, 3, 1])


def test_probability_of_a_change_is_the_weight_of_the_hypotheses_that_have_it(run):
    # Both hypotheses of word 0 descend from slot 0 of period 2, and hence slot 1 of period 1.
    np.testing.assert_allclose(trajectories.change_probability(run, 0)[:, 0], [0, 1, 0, 0])
    np.testing.assert_allclose(trajectories.change_probability(run, 0)[:, 1], [0, 0, 1, 0.75])
    np.testing.assert_allclose(trajectories.change_probability(run, 0)[:, 2], [0, 0, 0, 0.25])


def test_lineage_of_words_is_that_of_each_word_alone():
    run = word_stores.run("vbs")
    together = beam_lineage.along(run, "mean", beam_lineage.lineage(run))
    for word in (0, 7, 21):
        alone = run.isel(word=word)
        own = beam_lineage.along(alone, "mean", beam_lineage.lineage(alone))
        np.testing.assert_array_equal(together[:, :, word], own)


def test_neighbours_are_sorted_by_cosine_and_leave_out_the_word():
    vectors = np.array([[1.0, 0], [2, 0.1], [0, 1], [-1, 0], [0, 0]])
    assert trajectories.neighbours(vectors, 0, 4).tolist() == [1, 2, 4, 3]
