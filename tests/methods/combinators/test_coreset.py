"""Coresets: the choice of rows, and the rows that learner and copy observe."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Categorical, Learner, LearnerError, Problem
from shiftbench.methods.combinators import coreset
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import linear

S = 2
PROBLEM = Problem("classification", (3,), 2, 12, 3)
KEY = seeds.block(range(S), "coreset")


def spy() -> tuple[Learner, list[Batch]]:
    """Return a learner that counts its rows, and the list of all batches it observes."""
    seen: list[Batch] = []

    def init(seeds):
        return {"count": np.zeros((len(seeds), 1), int), "tuned": np.zeros((len(seeds), 1), int)}

    def predict(state, inputs, seeds):
        ones = np.ones((*state["count"].shape, inputs.shape[1], 1))
        return Categorical(np.zeros(state["count"].shape), ones * state["count"][..., None, None])

    def observe(state, batch, seeds):
        seen.append(batch)
        rows = batch.mask.sum(axis=1, keepdims=True)
        return {"count": state["count"] + rows, "tuned": state["tuned"] + 1}, {"rows": rows}

    return Learner(init, predict, observe), seen


def task(n=12, seed=0, filled=None):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(S, n, 3)).astype(np.float32)
    mask = np.arange(n)[None] < (np.full(S, n) if filled is None else np.array(filled))[:, None]
    return Batch(inputs, rng.integers(0, 2, (S, n)), mask)


def wrapped(learner, **settings):
    return coreset.build(coreset.Settings(**settings), PROBLEM, learner)


def brute_force(inputs, size):
    """Return the greedy k centres from their definition."""
    chosen = [0]
    while len(chosen) < size:
        best = max(
            (i for i in range(len(inputs)) if i not in chosen),
            key=lambda i: min(np.linalg.norm(inputs[i] - inputs[c]) for c in chosen),
        )
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_k_centres_equal_brute_force(seed):
    inputs = np.random.default_rng(seed).normal(size=(40, 6))
    assert coreset.k_centres(inputs, 15).tolist() == brute_force(inputs, 15)


def test_k_centres_are_different_rows_even_among_equal_ones():
    inputs = np.repeat(np.eye(2, dtype=np.float32), 4, axis=0)
    chosen = coreset.k_centres(inputs, 8)
    assert sorted(chosen) == list(range(8))
    assert set(chosen[:2]) == {0, 4}


@pytest.mark.parametrize("method", ["random", "k-center"])
def test_the_learner_never_sees_the_rows_set_apart(method):
    learner, seen = spy()
    combined = wrapped(learner, size=4, method=method)
    batch = task()
    state, info = combined.observe(combined.init(KEY), batch, KEY)
    first, rest = seen
    assert (info["rows"] == 8).all()
    for s in range(S):
        gone = batch.inputs[s][~first.mask[s]]
        kept = rest.inputs[s][rest.mask[s]]
        assert len(gone) == 4 and sorted(map(tuple, gone)) == sorted(map(tuple, kept))
        labels = {tuple(x): y for x, y in zip(batch.inputs[s], batch.targets[s], strict=True)}
        labels_of_kept = [labels[tuple(x)] for x in kept]
        assert labels_of_kept == rest.targets[s][rest.mask[s]].tolist()
    assert (state["mask"].sum(axis=2) == 4).all()


def test_predictions_are_the_copys_and_the_learner_goes_on_without_it():
    learner, seen = spy()
    combined = wrapped(learner, size=3)
    state = combined.init(KEY)
    for t in range(3):
        state, _ = combined.observe(state, task(seed=t), KEY)
        # 9 rows per task; the copy also gets 3 of each task so far, as one more task.
        assert (state["base.count"] == 9 * (t + 1)).all()
        assert (state["tuned.count"] == 12 * (t + 1)).all()
        assert (state["tuned.tuned"] == state["base.tuned"] + 1).all()
        predictive = combined.predict(state, task().inputs, KEY)
        assert (predictive.probabilities == 12 * (t + 1)).all()
    assert [b.mask.sum() // S for b in seen] == [9, 3, 9, 6, 9, 9]
    assert {b.inputs.shape[1] for b in seen[1::2]} == {9}


def test_rows_with_heads_are_kept_with_their_heads():
    problem = Problem("classification", (2, 1, 1), 6, 12, 3, heads=3)
    learner, seen = spy()
    combined = coreset.build(coreset.Settings(size=3, method="k-center"), problem, learner)
    state = combined.init(KEY)
    for head in range(3):
        batch = task(seed=head)
        batch.inputs[..., -1] = head
        state, _ = combined.observe(state, batch, KEY)
    assert seen[-1].inputs[0, :, -1].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_random_rows_are_uniform_and_reproducible():
    counts = np.zeros(10)
    batch = task(n=12, filled=[10, 10])
    for trial in range(500):
        key = seeds.block(range(S), "trial", trial)
        chosen = coreset._choose_rows(coreset.Settings(size=4), batch, key)
        again = coreset._choose_rows(coreset.Settings(size=4), batch, key)
        for one, two in zip(chosen, again, strict=True):
            assert one.tolist() == two.tolist() and len(set(one)) == 4
            counts += np.bincount(one, minlength=10)
    # Each of the 10 unmasked rows is chosen in 400 of the 1000 draws on average, with sd 15.5.
    assert np.abs(counts - 400).max() < 5 * 15.5


def test_short_tasks_keep_half_of_their_rows():
    learner, seen = spy()
    combined = wrapped(learner, size=4)
    state, _ = combined.observe(combined.init(KEY), task(filled=[5, 1]), KEY)
    assert seen[0].mask.sum(axis=1).tolist() == [3, 1]
    assert seen[1].mask.sum(axis=1).tolist() == [2, 0]
    # The copy of a seed without a coreset is the learner itself.
    assert state["tuned.tuned"].tolist() == [[2], [1]]


def test_more_tasks_than_the_stream_has():
    learner, _ = spy()
    combined = wrapped(learner, size=2)
    state = combined.init(KEY)
    for t in range(3):
        state, _ = combined.observe(state, task(seed=t), KEY)
    with pytest.raises(LearnerError, match="no room for task 4"):
        combined.observe(state, task(), KEY)


@pytest.mark.long
def test_the_copy_has_the_posterior_as_its_prior_and_its_own_number_of_rows():
    """Laplace's precisions add up: the prior, the other rows of the task, then the coreset."""
    problem = Problem("regression", (3,), 1, 12, 1)
    model = linear.build(linear.Settings(noise_sd=0.5), problem)
    learner = map_learner.build(map_learner.Settings(epochs=3, start="prior"), problem, model)
    combined = coreset.build(coreset.Settings(size=5), problem, learner)
    batch = task()._replace(targets=np.zeros((S, 12, 1), np.float32))
    state, _ = combined.observe(combined.init(KEY), batch, KEY)
    x = state["inputs"][:, 0]
    assert state["mask"].all()
    np.testing.assert_allclose(
        (state["tuned.precision"] - state["base.precision"])[:, 0, :3],
        (x**2).sum(axis=1) / 0.25,
        rtol=1e-4,
    )
    whole = (batch.inputs**2).sum(axis=1) / 0.25
    np.testing.assert_allclose(state["tuned.precision"][:, 0, :3], 1 + whole, rtol=1e-4)


@pytest.mark.parametrize("method", ["random", "k-center"])
def test_without_memory_it_is_the_learner_as_it_is(method):
    made = map_learner.Settings(epochs=2, importance="none", prior="flat", start="prior")
    plain = map_learner.build(made, PROBLEM, linear.build(linear.Settings(), PROBLEM))
    combined = wrapped(plain, size=0, method=method)
    one, other = plain.init(KEY), combined.init(KEY)
    for t in range(3):
        one, info = plain.observe(one, task(seed=t), KEY)
        other, its_info = combined.observe(other, task(seed=t), KEY)
        predicted = [each.predict(s, task(seed=9).inputs, KEY) for each, s in
                     ((plain, one), (combined, other))]  # fmt: skip
        np.testing.assert_array_equal(*(each.probabilities for each in predicted))
        for name in one:
            np.testing.assert_array_equal(one[name], other["base." + name])
            np.testing.assert_array_equal(one[name], other["tuned." + name])
        assert info.keys() == its_info.keys()
