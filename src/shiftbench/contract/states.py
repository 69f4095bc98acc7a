"""Contract of the state of learners and combinators; the first line of each test is shown to users.

What a learner knows is in its state and in what it is given, and nowhere else.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.contract.blocks import equal, same
from shiftbench.contract.driven import after, batch_of, changed_for, named, same_predictions
from shiftbench.contract.problems import PARTS, S, generators, key, moved_generators
from shiftbench.core import state_checks
from shiftbench.core.interface import Batch, Broadening, Learner, Problem, State


def test_states_are_named_arrays_with_seed_and_hypothesis_axes(case):
    """A state is a flat dict of NumPy arrays [seeds, hypotheses, ...] of numbers or flags."""
    learner, problem = case
    for function, tasks in (("init", 0), ("observe", 2)):
        state, _ = after(learner, problem, tasks)
        wrong = state_checks.state_fault(state, S)
        assert not wrong, f"`{function}` returns {wrong}"
        for name, array in state.items():
            assert type(array) is np.ndarray, f"{name!r} is a {type(array).__name__}"


def test_states_are_numbers_from_the_start(case):
    """A state holds no NaN and no positive infinity: a run fails a seed whose state does."""
    learner, problem = case
    for state in (learner.init(key("init")), after(learner, problem, 2)[0]):
        wrong = [k for k, a in state.items() if (np.isnan(a) | (a == np.inf)).any()]
        assert not wrong, f"{', '.join(wrong)} of the state is not finite"


def test_is_pure_and_deterministic(case):
    """The same state, data and seeds give the same bytes, in whatever order it is called."""
    learner, problem = case
    state, _ = after(learner, problem, 1)
    batch, other = batch_of(problem, seed=9), batch_of(problem, seed=10)
    predicted = learner.predict(state, batch.inputs, key("p"))
    one, info_one = learner.observe(state, batch, key("o"))
    learner.predict(one, other.inputs, key("q"))
    learner.predict(state, other.inputs, key("q"))
    again = learner.predict(state, batch.inputs, key("p"))
    two, info_two = learner.observe(state, batch, key("o"))
    assert same_predictions(predicted, again), "`predict` gave others, after other calls"
    assert same(one, two) and same(info_one, info_two), "`observe` gave others, after other calls"


def test_it_changes_and_keeps_nothing_but_its_new_state(case):
    """`drift`, `predict` and `observe` change no state, data, seeds or global generator."""
    learner, problem = case
    state, _ = after(learner, problem, 1)
    given = state, batch_of(problem, seed=9), key("o")
    copies, before = deepcopy(given), moved_generators()
    learner.drift(state, given[2])
    learner.predict(state, given[1].inputs, given[2])
    new, _ = learner.observe(*given)
    assert same(state, copies[0]), "the state that was given has changed"
    assert all(map(np.array_equal, given[1], copies[1])), "the data that were given have changed"
    assert np.array_equal(given[2], copies[2]), "the seeds that were given have changed"
    assert generators() == before, "a global generator of Python or NumPy has changed"
    kept = [
        name
        for name, array in new.items()
        if any(np.shares_memory(array, data) for data in given[1])
    ]
    assert not kept, f"{', '.join(kept)} of the state shares memory with the data; copy it"


def test_going_on_from_a_saved_state_equals_an_uninterrupted_run(case, request):
    """A run that goes on from a saved state ends like one that was never stopped."""
    learner, problem = case
    whole, _ = after(learner, problem, 3)
    saved, _ = after(learner, problem, 1)
    fresh = {k: a.copy() for k, a in saved.items()}
    given = request.node.callspec.params["case"]
    if given[0] == "learners" and components.facts(*given).model is not True:  # else it takes long
        learner, _ = PARTS.case(*given)
    assert same(after(learner, problem, 3, fresh, first=1)[0], whole)


def test_the_state_does_not_grow(case):
    """The arrays of a state keep their names, shapes and types from task to task."""
    learner, problem = case
    first = learner.init(key("init"))
    state = first
    for t in range(3):
        state, _ = after(learner, problem, t + 1, state, first=t)
        assert state.keys() == first.keys(), (
            f"`init` gives {_names(first)}, and `observe` gives {_names(state)} after task {t}"
        )
        for name, array in state.items():
            was, now = ((a.shape, str(a.dtype)) for a in (first[name], array))
            assert was == now, (
                f"{name!r} has the shape {was[0]} and the type {was[1]} after `init`,"
                f" and {now[0]} and {now[1]} after task {t}"
            )


def _names(state: State) -> str:
    return ", ".join(map(repr, sorted(state))) or "nothing"


def test_a_batch_of_one_and_masked_rows(case):
    """Rows that the mask leaves out change nothing, whatever they hold."""
    learner, problem = case
    if problem.kind == "regression":
        masked = batch_of(problem)._replace(mask=np.zeros((S, 1), bool))
        state = learner.init(key("init"))
        _check_equal(state, learner.observe(state, masked, key("o"))[0])
        return
    batch = batch_of(problem)
    mask = np.zeros((S, 20), bool)
    mask[:, 3] = True
    there = mask.reshape(*mask.shape, *[1] * (batch.targets.ndim - 2))
    other = Batch(
        np.where(mask[..., None], batch.inputs, 7), np.where(there, batch.targets, 0), mask
    )
    state = learner.drift(learner.init(key("init")), key("d"))
    one, _ = learner.observe(state, batch._replace(mask=mask), key("o"))
    two, _ = learner.observe(state, other, key("o"))
    data = {"inputs", "targets"}
    _check_equal(one, {k: a for k, a in two.items() if k not in data})


def _check_equal(one: State, two: State) -> None:
    """Check the values of arrays that both states have; other checks see names, shapes, types."""
    both = [k for k in one.keys() & two.keys() if one[k].shape == two[k].shape]
    changed = sorted(k for k in both if not equal(one[k], two[k]))
    assert not changed, f"they change {', '.join(map(repr, changed))} of the state"


def test_seeds_do_not_touch_each_other(case):
    """Other data and another number for one seed change no bytes for the seed beside it."""
    learner, problem = case
    plain = _run(learner, problem)
    for changed, kept in ((0, 1), (1, 0)):
        other = _run(learner, problem, changed)
        assert plain.keys() == other.keys()
        touched = [name for name, a in plain.items() if not equal(a[kept], other[name][kept])]
        assert not touched, f"they change the {', the '.join(touched)}"


def _run(learner: Learner, problem: Problem, changed: int | None = None) -> dict[str, np.ndarray]:
    """Return all that a learner gives at the end of two tasks, one seed of which may be changed.

    In the second task the states of the seeds differ, so it shows whether they are mixed.
    """
    seeds = [key("init"), key("first"), key("second")]
    batches = [batch_of(problem, seed=5), batch_of(problem, seed=6)]
    if changed is not None:
        for number, own in enumerate(seeds):
            own[changed] = key("other", number)[changed]
        batches = [changed_for(changed, batch, problem) for batch in batches]
    state, info = learner.init(seeds[0]), {}
    for batch, own in zip(batches, seeds[1:], strict=True):
        state, info = learner.observe(learner.drift(state, own), batch, own)
    drifted = learner.drift(state, seeds[-1])
    return named(state, info, learner.predict(drifted, batches[-1].inputs, seeds[-1]))


def test_hypotheses_do_not_touch_each_other(case):
    """On two hypotheses side by side a learner gives what it gives on each of them."""
    learner, problem = case
    if learner.broaden is None:
        pytest.skip("a combinator owns the hypothesis axis")
    state, _ = after(learner, problem, 1)
    # Not so far that a normal-inverse-gamma of one row would have no integral.
    wide = learner.broaden(state, Broadening("temper", beta=0.8))
    both = {k: np.concatenate([state[k], wide[k]], axis=1) for k in state}
    batch = batch_of(problem, seed=5)
    together, _ = learner.observe(both, batch, key("o"))
    for slot, alone in enumerate((state, wide)):
        found, _ = learner.observe(alone, batch, key("o"))
        for k in found:
            np.testing.assert_allclose(together[k][:, slot], found[k][:, 0], rtol=2e-3, atol=2e-4)
