"""Accuracy on recurring concepts, savings and recovery, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core.interface import Batch, Categorical
from shiftbench.evaluation.metrics import recurrence
from shiftbench.evaluation.running import saved_predictions
from tests.evaluation.scoring import referral_stores, stores

return_accuracy = components.load_metric("return_accuracy")
savings = components.load_metric("savings")
recovery_time = components.load_metric("recovery_time")

CONCEPT = np.array([0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1])
SHIFT = np.diff(CONCEPT, prepend=0) != 0
FIRST = range(4), range(4, 7)
AGAIN = range(7, 11), range(11, 13)


def stream(concept=CONCEPT, shift=SHIFT, **others):
    made = referral_stores.stream(tasks=len(concept), realisations=1)
    names = {"concept": concept, "shift": shift} | others
    return made.assign({k: (("realisation", "task"), v[None]) for k, v in names.items()})


def run(store, accuracy):
    """Return a run with a given accuracy [task] after each task."""
    score = np.asarray(accuracy, float)[None, None]
    return stores.run_store(score, ["accuracy"], store, "vcl", [["map", {}]])


def test_returns_are_later_visits_beside_the_first():
    found = recurrence.returns(SHIFT, CONCEPT)
    assert found == [recurrence.Return(a, b) for a, b in zip(FIRST, AGAIN, strict=True)]


def test_a_segment_of_the_same_concept_again_is_a_return():
    shift = np.array([False, False, True, False])
    found = recurrence.returns(shift, np.zeros(4, int))
    assert found == [recurrence.Return(range(2), range(2, 4))]


def test_a_learner_that_memorises_saves_all_but_one_task():
    rising = [0.3, 0.5, 0.9, 0.9]  # learnt after 3 tasks
    memory = [*rising, 0.2, 0.8, 0.8, *[0.9] * 4, *[0.8] * 2]
    store = stream()
    assert savings.score(run(store, memory), store) == pytest.approx(
        [((1 - 1 / 3) + (1 - 1 / 2)) / 2]
    )
    assert recovery_time.score(run(store, memory), store) == pytest.approx([1.0])


def test_a_learner_that_forgets_saves_nothing_however_short_the_visit():
    forgetful = [0.3, 0.5, 0.7, 0.9, 0.3, 0.5, 0.9, 0.3, 0.5, 0.7, 0.9, 0.3, 0.5]
    store = stream()
    assert savings.score(run(store, forgetful), store) == pytest.approx([0.0])
    assert recovery_time.score(run(store, forgetful), store) == pytest.approx([(4 + 2) / 2])


def test_accuracies_just_below_the_end_of_the_first_visit_count():
    within = 0.9 - recurrence.TOLERANCE
    ends = [
        0.3,
        within - 0.01,
        within,
        0.9,
        0.9,
        0.9,
        0.9,
        within - 0.01,
        within,
        0.9,
        0.9,
        0.9,
        0.9,
    ]
    store = stream()
    assert recovery_time.score(run(store, ends), store) == pytest.approx([(2 + 1) / 2])
    assert savings.score(run(store, ends), store) == pytest.approx([((1 - 2 / 3) + 0) / 2])


def test_loops_over_random_accuracies_agree():
    accuracy = np.random.default_rng(0).uniform(0.5, 1, len(CONCEPT))
    saved, times = [], []
    for first, again in zip(FIRST, AGAIN, strict=True):
        target = accuracy[first[-1]] - 0.02

        def needed(visit, most, target=target):
            k = 1
            while k < most and accuracy[visit[k - 1]] < target:
                k += 1
            return k

        most = min(len(first), len(again))
        saved.append(1 - needed(again, most) / needed(first, most))
        times.append(needed(again, len(again)))
    store = stream()
    assert savings.score(run(store, accuracy), store) == pytest.approx([np.mean(saved)])
    assert recovery_time.score(run(store, accuracy), store) == pytest.approx([np.mean(times)])


def kept(store, right):
    """Return a run that kept predictions of ten rows per task, `right` [task] of them correct."""
    targets = np.zeros((1, 10), int)
    pieces: dict[str, list[np.ndarray]] = {}
    for number in right:
        p = np.where(np.arange(10) < number, 0.8, 0.3)
        predictive = Categorical(np.zeros((1, 1)), np.stack([p, 1 - p], axis=-1)[None, None])
        batch = Batch(np.zeros((1, 10, 1)), targets, np.ones((1, 10), bool))
        for name, values in saved_predictions.arrays("before", predictive, batch).items():
            pieces.setdefault(name, []).append(values[:, None])
    stacked = {name: saved_predictions.joined(values) for name, values in pieces.items()}
    return run(store, np.zeros(len(right))).assign(saved_predictions.variables(stacked, len(right)))


def test_only_first_tasks_of_returns_count_before_they_are_learnt():
    right = np.full(len(CONCEPT), 5)
    right[[7, 11]] = 9, 6
    right[4] = 0  # new concepts, no return
    store = stream()
    assert return_accuracy.score(kept(store, right), store) == pytest.approx([0.75])


def test_a_twin_is_judged_where_its_stream_has_returns():
    right = np.full(len(CONCEPT), 5)
    right[[7, 11]] = 2, 1
    fresh = np.where(np.arange(13) >= 11, 3, np.where(np.arange(13) >= 7, 2, CONCEPT))
    twin = stream(concept=fresh, stands_for=CONCEPT)
    assert return_accuracy.score(kept(twin, right), twin) == pytest.approx([0.15])
    alone = stream(concept=fresh)
    assert np.isnan(return_accuracy.score(kept(alone, right), alone)).all()
    assert np.isnan(savings.score(run(alone, right / 10), alone)).all()


def test_seeds_have_the_returns_of_their_realisation():
    concept = np.array([[0, 1, 0], [0, 1, 2]])
    store = xr.concat(
        [stream(one, np.array([False, True, True])) for one in concept], "realisation"
    )
    store = store.assign_attrs(stream().attrs)
    score = np.tile([0.9, 0.9, 0.9], (1, 2, 1))
    both = stores.run_store(score, ["accuracy"], store, "vcl", [["map", {}]])
    assert recovery_time.score(both, store) == pytest.approx([1.0, np.nan], nan_ok=True)
