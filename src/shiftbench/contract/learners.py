"""Contract of learners and combinators; the first line of each test is shown to users."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import entr

from shiftbench.config import components
from shiftbench.contract import selection
from shiftbench.contract.blocks import one_by_one, same, same_results, single_rows
from shiftbench.contract.problems import CASES, Parts, S, key, kind_of, settings
from shiftbench.core import prediction_checks
from shiftbench.core.interface import Batch, Broadening, Categorical, Learner, Problem, State

KIND = "learners"
"""Of tests that have a name alone."""
PARTS = Parts()
INFO = {
    "changes": ("log_weight",),
    "alarm_statistic": ("alarm_statistic",),
    "lineage": ("parent", "shift"),
    "run_length": ("run_length", "map_log_joint", "model"),
    "level": ("posterior_mean", "posterior_variance"),
    "mean": ("mean",),
    "loss": ("loss", "expected_loss"),
    "draws": ("draws", "fit"),
}
"""What a word of OFFERS promises of the Info."""
PREDICTED = {
    "categorical": "Categorical",
    "pairs": "Categorical",
    "gaussian": "Gaussian",
    "score": "Gaussian",
    "student-t": "StudentT",
}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def case(request):
    """Share one learner among its tests: it is pure, and tracing takes the time here."""
    return PARTS.case(*request.param)


def batch_of(problem: Problem, seed: int = 0) -> Batch:
    """Return a batch of a problem, drawn with a seed."""
    return PARTS.batch(problem, seed)


def with_block(case) -> tuple[Learner, Batch, State]:
    """Return a learner with blocks, 7 tasks of one row and its first state; skip without blocks."""
    learner, problem = case
    if learner.block is None:
        pytest.skip("no blocks of rows")
    return learner, single_rows(problem, PARTS.batch, 7), learner.init(key("init"))


def after(learner: Learner, problem: Problem, tasks: int, state=None, first: int = 0):
    """State and infos after some tasks, driven as the harness drives it."""
    state = learner.init(key("init")) if state is None else state
    infos = []
    for t in range(first, tasks):
        state = learner.drift(state, key("drift", t))
        state, info = learner.observe(state, batch_of(problem, seed=t), key("observe", t))
        infos.append(info)
    return state, infos


def test_states_are_named_arrays_with_seed_and_hypothesis_axes(case):
    """A state is a flat dict of NumPy arrays [seeds, hypotheses, ...]."""
    learner, problem = case
    for state in (learner.init(key("init")), after(learner, problem, 2)[0]):
        for name, array in state.items():
            assert isinstance(name, str) and type(array) is np.ndarray
            assert array.shape[0] == S and array.ndim >= 2


def test_is_pure_and_deterministic(case):
    """The same state, data and seeds give the same, and `observe` and `predict` change no state."""
    learner, problem = case
    state, _ = after(learner, problem, 1)
    copy = {k: a.copy() for k, a in state.items()}
    batch = batch_of(problem, seed=9)
    one, info_one = learner.observe(state, batch, key("o"))
    learner.predict(state, batch.inputs, key("p"))
    two, info_two = learner.observe(state, batch, key("o"))
    assert same(state, copy)
    assert same(one, two) and same(info_one, info_two)


def test_going_on_from_a_saved_state_equals_an_uninterrupted_run(case):
    """A run that goes on from a saved state ends like one that was never stopped."""
    learner, problem = case
    whole, _ = after(learner, problem, 3)
    saved, _ = after(learner, problem, 1)
    fresh = {k: a.copy() for k, a in saved.items()}
    assert same(after(learner, problem, 3, fresh, first=1)[0], whole)


def test_the_state_does_not_grow(case):
    """The arrays of a state keep their shapes from task to task."""
    learner, problem = case
    sizes = [{k: a.shape for k, a in after(learner, problem, t)[0].items()} for t in (1, 2, 3)]
    assert sizes[0] == sizes[1] == sizes[2]


def test_predictions_normalise(case):
    """Probabilities and weights sum to one, no variance is negative, and numbers are finite."""
    learner, problem = case
    state, _ = after(learner, problem, 2)
    predictive = learner.predict(state, batch_of(problem).inputs, key("p"))
    assert prediction_checks.usable(predictive).all()
    if isinstance(predictive, Categorical) and predictive.entropy is not None:
        most = entr(predictive.probabilities).sum(axis=-1)  # by Jensen
        assert ((predictive.entropy >= 0) & (predictive.entropy <= most + 1e-5)).all()


def test_infos_are_numbers_per_seed_and_hypothesis(case):
    """Info has the same finite numbers [seeds, hypotheses, ...] after every task."""
    learner, problem = case
    _, infos = after(learner, problem, 3)
    assert infos[0].keys() == infos[2].keys()
    for name, array in infos[2].items():
        assert array.shape[0] == S and array.ndim >= 2, name
        assert np.isfinite(array).all() or name in ("log_weight", "map_log_joint"), name


def test_a_batch_of_one_and_masked_rows(case):
    """Rows that the mask leaves out change nothing, whatever they hold."""
    learner, problem = case
    if problem.kind == "regression":
        masked = batch_of(problem)._replace(mask=np.zeros((S, 1), bool))
        state = learner.init(key("init"))
        assert same(learner.observe(state, masked, key("o"))[0], state)
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
    assert all(np.array_equal(one[k], two[k]) for k in one.keys() - data)


@pytest.mark.parametrize("drift_first", [True, False])
def test_a_block_of_rows_gives_what_its_rows_give_one_by_one(case, drift_first):
    """`block` gives the bytes of drift, predict and observe row by row, wherever it begins."""
    learner, batch, state = with_block(case)
    expected = one_by_one(learner, state, batch, drift_first)
    assert same_results(learner.block(state, batch, drift_first), expected)
    for start in (1, 4):
        first, rest = (Batch(*(a[:, cut] for a in batch)) for cut in np.split(range(7), [start]))
        halfway, *_ = learner.block(state, first, drift_first)
        end, *others = learner.block(halfway, rest, drift_first)
        assert same(end, expected[0])
        expected_rest = one_by_one(learner, halfway, rest, drift_first)
        assert same_results((end, *others), expected_rest)


@pytest.mark.parametrize("drift_first", [True, False])
def test_a_block_predicts_no_row_from_it_or_from_later_ones(case, drift_first):
    """What `block` predicts for a row does not depend on its target, or on any later row."""
    learner, batch, state = with_block(case)
    _, predictive, info = learner.block(state, batch, drift_first)
    other = batch._replace(inputs=batch.inputs.copy(), targets=batch.targets.copy())
    other.inputs[:, 5:] += 1
    last = case[1].n_outputs - 1 if case[1].kind == "classification" else 1
    other.targets[:, 4:] = last - other.targets[:, 4:]
    _, changed, changed_info = learner.block(state, other, drift_first)
    for one, two in zip(predictive, changed, strict=True):
        if one is None:  # class probabilities without draws have no entropy of their own
            continue
        apart = (a.reshape(S, 7, *a.shape[1:])[:, :5] for a in (one, two))
        np.testing.assert_array_equal(*apart)
    for name, array in info.items():
        np.testing.assert_array_equal(array[:, :4], changed_info[name][:, :4], err_msg=name)


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


def test_what_is_declared_is_so(case, request):
    """Its facts `offers` and `takes` say what it offers and predicts, no more and no less."""
    learner, problem = case
    kind, name = request.node.callspec.params["case"]
    made = dataclasses.asdict(settings(kind, name))
    offers = components.facts(kind, name).words("offers", made)
    _, (*_, info) = after(learner, problem, 2)
    assert (learner.broaden is not None) == ("broaden" in offers)
    assert {key for word in offers for key in INFO.get(word, ())} <= info.keys()
    if kind == "learners":
        assert ("log_evidence" in info) == ("log_evidence" in offers)
        predicted = components.facts(kind, name).possible("takes")[kind_of(name)]
        state = learner.init(key("init"))
        found = learner.predict(state, batch_of(problem).inputs, key("p"))
        assert type(found).__name__ == PREDICTED[predicted]


LIGHT = [n for n in selection.names(KIND) if not components.facts(KIND, n).model]
HEAVY = [n for n in selection.names(KIND) if components.facts(KIND, n).model is True]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(n, k) for n in LIGHT for k in components.facts("learners", n).possible("takes")],
)
def test_every_kind_that_is_taken_is_learnt_and_predicted_as_declared(name, kind):
    """Every kind of problem in `takes` is learnt, and predicted as it says, in finite numbers."""
    problem = PARTS.problem(kind)
    learner = components.load("learners", name).build(settings("learners", name), problem, None)
    state, _ = after(learner, problem, 2)
    predictive = learner.predict(state, batch_of(problem).inputs, key("p"))
    predicted = components.facts("learners", name).possible("takes")[kind]
    assert type(predictive).__name__ == PREDICTED[predicted]
    assert all(np.isfinite(array).all() for array in predictive if array is not None)


def test_seeds_do_not_touch_each_other(case):
    """What one seed sees changes nothing for another."""
    learner, problem = case
    batch = batch_of(problem, seed=5)
    state = learner.drift(learner.init(key("init")), key("d"))
    one, _ = learner.observe(state, batch, key("o"))
    changed = batch._replace(inputs=batch.inputs.copy(), targets=batch.targets.copy())
    changed.inputs[1] += 1
    changed.targets[1] = changed.targets[1, ::-1]
    two, _ = learner.observe(state, changed, key("o"))
    for k in one:
        np.testing.assert_array_equal(one[k][0], two[k][0])


def test_shuffled_labels_are_not_learnt(case):
    """Labels at random are predicted no better than by chance."""
    learner, problem = case
    if problem.kind != "classification":
        pytest.skip("no labels")
    state = learner.drift(learner.init(key("init")), key("d"))
    correct = []
    for trial in range(10):
        batch = batch_of(problem, seed=trial)
        rng = np.random.default_rng(trial)
        noise = batch._replace(targets=rng.permuted(batch.targets, axis=1))
        trained, _ = learner.observe(state, noise, key("o", trial))
        test = batch_of(problem, seed=100 + trial)
        predictive = learner.predict(trained, test.inputs, key("p", trial))
        mixed = np.exp(predictive.log_weights)[..., None, None] * predictive.probabilities
        correct.append(mixed.sum(axis=1).argmax(axis=-1) == test.targets)
    # 400 predictions at chance 1/3, in clusters: five standard errors of 40 independent ones.
    assert np.mean(correct) < 1 / 3 + 5 * np.sqrt(2 / 9 / 40)


@pytest.mark.parametrize("name", HEAVY)
def test_a_graph_is_traced_once(name):
    """TensorFlow traces each function once, and not at every task."""
    calls: list[int] = []
    learner, problem = PARTS.learner(name, calls)
    state, _ = after(learner, problem, 1)
    learner.predict(state, batch_of(problem).inputs, key("p"))
    traced = len(calls)
    state, _ = after(learner, problem, 3, state, first=1)
    learner.predict(state, batch_of(problem).inputs, key("p"))
    assert len(calls) == traced > 0
