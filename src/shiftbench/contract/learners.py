"""Contract of learners and combinators; the first line of each test is shown to users."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import entr

from shiftbench.config import components
from shiftbench.contract import selection
from shiftbench.contract.blocks import one_by_one, same, same_results
from shiftbench.contract.driven import after, batch_of, with_block
from shiftbench.contract.graphs import *  # noqa: F403
from shiftbench.contract.graphs import TRACED
from shiftbench.contract.problems import CASES, PARTS, S, key, kind_of, settings, watched
from shiftbench.contract.states import *  # noqa: F403
from shiftbench.core import prediction_checks
from shiftbench.core.interface import Batch, Categorical, Predictive, StudentT

KIND = "learners"
"""Kind of component of tests that take only a name."""
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
"""Arrays that the Info must have if a learner offers an ability."""
PREDICTED = {
    "categorical": "Categorical",
    "pairs": "Categorical",
    "gaussian": "Gaussian",
    "score": "Gaussian",
    "student-t": "StudentT",
}
DENSITIES = ("gaussian", "student-t")
"""Types of prediction whose density would be infinite with a variance of 0."""


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def case(request):
    """Share one learner among its tests: it is pure, and tracing takes the time here."""
    TRACED.clear()
    return PARTS.case(*request.param, TRACED)


def least_variance(predictive: Predictive) -> float:
    """Return the least variance of densities, or the least scale."""
    if isinstance(predictive, StudentT):
        return float(np.diagonal(predictive.scale, axis1=-2, axis2=-1).min())
    return float(predictive.variance.min())


def check_type_and_spread(predictive: Predictive, declared: str) -> None:
    """Check that a prediction is what a word of `facts.PREDICTIONS` declares."""
    found = type(predictive).__name__
    assert found == PREDICTED[declared], f"it predicts a {found}"
    if declared in DENSITIES:
        least = least_variance(predictive)
        assert least > 0, f"a variance is {least:g}"


def test_predictions_normalise(case):
    """Probabilities and weights sum to one, no variance is negative, and numbers are finite."""
    learner, problem = case
    for tasks in (0, 2):
        state = learner.drift(after(learner, problem, tasks)[0], key("drift", tasks))
        predictive = learner.predict(state, batch_of(problem).inputs, key("p"))
        wrong = np.flatnonzero(~prediction_checks.usable(predictive))
        flaw = prediction_checks.flaw(predictive, int(wrong[0])) if wrong.size else ""
        assert not wrong.size, f"after {tasks} tasks {flaw}"
        if isinstance(predictive, Categorical) and predictive.entropy is not None:
            most = entr(predictive.probabilities).sum(axis=-1)  # by Jensen
            assert ((predictive.entropy >= 0) & (predictive.entropy <= most + 1e-5)).all()


def test_infos_are_numbers_per_seed_and_hypothesis(case):
    """Info has the same finite numbers [seeds, hypotheses, ...] after every task."""
    learner, problem = case
    _, infos = after(learner, problem, 3)
    assert infos[0].keys() == infos[2].keys(), (
        f"it has {sorted(infos[0])} after the first task, and {sorted(infos[2])} after the third"
    )
    for name, array in infos[2].items():
        assert array.shape[0] == S and array.ndim >= 2, f"{name!r} has the shape {array.shape}"
        finite = np.isfinite(array).all() or name in ("log_weight", "map_log_joint")
        assert finite, f"{name!r} is not finite"


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


def test_what_is_declared_is_so(case, request):
    """Its facts `offers` and `takes` say what it offers and predicts; a density has a spread."""
    learner, problem = case
    kind, name = request.node.callspec.params["case"]
    made = dataclasses.asdict(settings(kind, name))
    offers = components.facts(kind, name).words("offers", made)
    state, (*_, info) = after(learner, problem, 2)
    assert (learner.broaden is not None) == ("broaden" in offers)
    assert {key for word in offers for key in INFO.get(word, ())} <= info.keys()
    if kind == "learners":
        assert ("log_evidence" in info) == ("log_evidence" in offers)
        predicted = components.facts(kind, name).possible("takes")[kind_of(name)]
        found = learner.predict(state, batch_of(problem).inputs, key("p"))
        check_type_and_spread(found, predicted)


LIGHT = [n for n in selection.names(KIND) if not components.facts(KIND, n).model]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in LIGHT
        for kind in components.facts(KIND, name).possible("takes")
        if kind != kind_of(name)
    ],
)
def test_every_other_kind_that_is_taken_is_learnt_and_predicted_as_declared(name, kind):
    """Every kind of problem in `takes` is learnt, and predicted as it says, in finite numbers."""
    problem = PARTS.problem(kind)
    made = components.load("learners", name).build(settings("learners", name), problem, None)
    learner = watched(made, problem)
    state, _ = after(learner, problem, 2)
    predictive = learner.predict(state, batch_of(problem).inputs, key("p"))
    predicted = components.facts("learners", name).possible("takes")[kind]
    check_type_and_spread(predictive, predicted)
    fields = predictive._asdict().items()
    wrong = [name for name, a in fields if a is not None and not np.isfinite(a).all()]
    assert not wrong, f"{', '.join(wrong)} of the prediction of a {kind} is not finite"


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
        correct.append(predictive.mixture.argmax(axis=-1) == test.targets)
    # 400 predictions at chance 1/3, in clusters: five standard errors of 40 independent ones.
    assert np.mean(correct) < 1 / 3 + 5 * np.sqrt(2 / 9 / 40)
