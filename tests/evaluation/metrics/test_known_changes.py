"""Known changes of words, found within one period or not, against counts by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

from shiftbench.evaluation.metrics.word_vectors import known_changes

TASKS, WORDS = 5, 4


def run(changes: list[tuple[int, int]], realisation: int = 0) -> xr.Dataset:
    """Return a run of one hypothesis whose words change at these (period, word)."""
    shift = np.zeros((1, TASKS, 1, WORDS), int)
    for t, word in changes:
        shift[0, t, 0, word] = 1
    dims = ("seed", "task", "hypothesis", "word")
    return xr.Dataset(
        {
            "info_shift": (dims, shift),
            "info_parent": (dims, np.zeros_like(shift)),
            "info_log_weight": (dims, np.zeros(shift.shape)),
            "realisation": ("seed", [realisation]),
        }
    )


def stream(known: list[tuple[int, int]]) -> xr.DataTree:
    flags = np.zeros((1, TASKS, WORDS), bool)
    for place in known:
        flags[0][place] = True
    data = xr.Dataset({"known_change": (("realisation", "task", "word"), flags)})
    return xr.DataTree(data)


TRUTH = [(3, 0), (3, 1)]


def both(changes: list[tuple[int, int]], known=TRUTH) -> list[float]:
    return [
        known_changes(run(changes), stream(known), above_others=above).item()
        for above in (False, True)
    ]


def test_a_change_within_one_period_counts_once_and_only_for_its_word():
    assert both([]) == [0, 0]
    assert both([(2, 0)]) == both([(3, 0)]) == both([(4, 0), (3, 0)]) == [0.5, 0.5]
    assert both([(1, 0), (1, 1)]) == [0, 0]
    assert both([(4, 0), (3, 1), (1, 2), (2, 3)]) == [1, 0.5]


def test_a_learner_that_updates_every_word_in_every_period_is_not_above_others():
    everywhere = list(itertools.product(range(1, TASKS), range(WORDS)))
    assert both(everywhere) == [1, 0]
    assert both([(3, 2), (3, 3)]) == [0, -1]


def test_a_learner_that_updates_every_word_in_a_busy_period_is_not_above_others():
    known = [(1, 0), (1, 1), (4, 0)]
    everything = [(1, word) for word in range(WORDS)]
    assert both(everything, known) == pytest.approx([2 / 3, 0])


def test_nothing_is_known_or_decided():
    assert np.isnan(both([(3, 0)], known=[])).all()
    undecided = run([])[["realisation"]]
    assert np.isnan(known_changes(undecided, stream(TRUTH), above_others=False)).all()
    empty = xr.DataTree(xr.Dataset())
    assert np.isnan(known_changes(run([]), empty, above_others=True)).all()


@pytest.mark.parametrize("seed", range(5))
def test_against_a_loop_over_all_words(seed):
    random = np.random.default_rng(seed)
    changes = np.argwhere(random.random((TASKS, WORDS)) < 0.3)
    changes = [tuple(one) for one in changes.tolist() if one[0] > 0]
    found = [any((t, word) in changes for t in (2, 3, 4)) for word in range(WORDS)]
    recall = np.mean(found[:2])
    assert both(changes) == pytest.approx([recall, recall - np.mean(found[2:])])
