"""What every learner and combinator promises, checked for each one that is found."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench import seeds
from shiftbench.interface import Batch, Broadening, Categorical, Learner, Problem
from shiftbench.planning import components

QUICK = {"epochs": 2, "prediction_draws": 3, "elbo_draws": 2, "size": 2, "batch_size": 8}
QUICK |= {"draws": 40, "burn_in": 10, "chains": 4}
CLASSES = Problem("classification", (4,), 3, 20, 3)
SERIES = Problem("regression", (1, 1, 2), 1, 1, 3)
PAIRS = Problem("counts", (2,), 8, 20, 3)
WORD = Problem("counts", (4,), 2, 20, 3)
HEADED = Problem("classification", (4,), 6, 20, 3, heads=2)
MULTI_HEAD = ("hat",)
"""Learners that need a head for each task."""
LINEAR_INSIDE = ("learned-beta", "learned-prior")
"""Combinators that take bayes-linear alone."""
ON_COUNTS = ("skipgram", "per-word")
"""What takes counts of words, and nothing else."""
S = 2


def settings(kind: str, name: str, **fields):
    """The component's defaults, with small budgets where it has any."""
    made = components.load(kind, name).Settings
    known = {k: v for k, v in (QUICK | fields).items() if k in made.__dataclass_fields__}
    return made(**known)


def learner_of(name: str, forward_calls: list | None = None) -> tuple[Learner, Problem]:
    if not components.constant("learners", name, "MODEL"):
        problem = WORD if name in ON_COUNTS else SERIES
        module = components.load("learners", name)
        return module.build(settings("learners", name), problem, None), problem
    problem = HEADED if name in MULTI_HEAD else CLASSES
    mlp = components.load("models", "mlp")
    model = mlp.build(mlp.Settings(hidden=(6,)), problem)
    if forward_calls is not None:
        inner = model.forward
        model = model._replace(forward=lambda *a: forward_calls.append(1) or inner(*a))
    return components.load("learners", name).build(
        settings("learners", name), problem, model
    ), problem


def wrapped(name: str) -> tuple[Learner, Problem]:
    if name in ON_COUNTS:
        return warmed_up(name), PAIRS
    learner, problem = learner_of("map")
    if name in LINEAR_INSIDE:
        module, problem = components.load("learners", "bayes-linear"), SERIES
        beta_rlm = 0.1 if name == "learned-beta" else 0.0
        learner = module.build(module.Settings(beta_rlm=beta_rlm), problem)
    module = components.load("combinators", name)
    return module.build(settings("combinators", name), problem, learner), problem


def warmed_up(name: str) -> Learner:
    """A learner of words that has its context vectors from the start, and infos like later ones."""
    chosen = settings("combinators", name, dimension=WORD.input_shape[0], block=3)
    inner, _ = learner_of("skipgram")
    learner = components.load("combinators", name).build(chosen, PAIRS, inner)
    total = batch_of(PAIRS, seed=99)
    return learner._replace(
        init=lambda seeds: learner.observe(learner.init(seeds), total, seeds)[0]
    )


CASES = [("learners", n) for n in components.names("learners")]
CASES += [("combinators", n) for n in components.names("combinators")]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def case(request):
    kind, name = request.param
    return learner_of(name) if kind == "learners" else wrapped(name)


def batch_of(problem: Problem, n: int = 20, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    if problem.kind == "regression":
        return Batch(
            rng.normal(size=(S, 1, 1, 1, 2)), rng.normal(size=(S, 1, 1)), np.ones((S, 1), bool)
        )
    if problem.kind == "counts":
        pairs = np.stack([rng.permutation(49)[:n] for _ in range(S)])
        inputs = np.stack(np.divmod(pairs, 7), axis=-1)  # of 8 words: room for others
        features = rng.normal(size=(S, n, 4)).astype(np.float32)
        targets = rng.integers(1, 9, (S, n, 1 if problem is PAIRS else 2)).astype(np.float32)
        return Batch(inputs if problem is PAIRS else features, targets, np.ones((S, n), bool))
    targets = rng.integers(0, 3, (S, n))
    centres = 2 * np.eye(3, 4)
    inputs = centres[targets] + 0.3 * rng.normal(size=(S, n, 4))
    if problem.heads > 1:
        inputs = np.concatenate([inputs, np.zeros((S, n, 1))], axis=2)
    return Batch(inputs.astype(np.float32), targets, np.ones((S, n), bool))


def key(*names) -> np.ndarray:
    return seeds.block(range(S), "contract", *names)


def after(learner: Learner, problem: Problem, tasks: int, state=None, first: int = 0):
    """State and infos after some tasks, driven as the harness drives it."""
    state = learner.init(key("init")) if state is None else state
    infos = []
    for t in range(first, tasks):
        state = learner.drift(state, key("drift", t))
        state, info = learner.observe(state, batch_of(problem, seed=t), key("observe", t))
        infos.append(info)
    return state, infos


def same(one: dict, two: dict) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[k], two[k]) for k in one)


def test_states_are_named_arrays_with_seed_and_hypothesis_axes(case):
    learner, problem = case
    for state in (learner.init(key("init")), after(learner, problem, 2)[0]):
        for name, array in state.items():
            assert isinstance(name, str) and type(array) is np.ndarray
            assert array.shape[0] == S and array.ndim >= 2


def test_is_pure_and_deterministic(case):
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
    learner, problem = case
    whole, _ = after(learner, problem, 3)
    saved, _ = after(learner, problem, 1)
    fresh = {k: a.copy() for k, a in saved.items()}
    assert same(after(learner, problem, 3, fresh, first=1)[0], whole)


def test_the_state_does_not_grow(case):
    learner, problem = case
    sizes = [{k: a.shape for k, a in after(learner, problem, t)[0].items()} for t in (1, 2, 3)]
    assert sizes[0] == sizes[1] == sizes[2]


def test_predictions_normalise(case):
    learner, problem = case
    state, _ = after(learner, problem, 2)
    predictive = learner.predict(state, batch_of(problem).inputs, key("p"))
    np.testing.assert_allclose(np.exp(predictive.log_weights).sum(axis=1), 1, rtol=1e-6)
    if isinstance(predictive, Categorical):
        classes = 2 if problem.kind == "counts" else problem.n_outputs
        assert predictive.probabilities.shape[2:] == (20, classes)
        np.testing.assert_allclose(predictive.probabilities.sum(axis=-1), 1, rtol=1e-4)
    else:
        spread = predictive.scale if hasattr(predictive, "scale") else predictive.variance
        assert (spread >= 0).all()  # 0: a point prediction


def test_infos_are_numbers_per_seed_and_hypothesis(case):
    learner, problem = case
    _, infos = after(learner, problem, 3)
    assert infos[0].keys() == infos[2].keys()
    for name, array in infos[2].items():
        assert array.shape[0] == S and array.ndim >= 2, name
        assert np.isfinite(array).all() or name in ("log_weight", "map_log_joint"), name


def test_a_batch_of_one_and_masked_rows(case):
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


def test_hypotheses_do_not_touch_each_other(case):
    """A learner on two stacked states gives what it gives on each of them."""
    learner, problem = case
    if learner.broaden is None:
        pytest.skip("a combinator owns the hypothesis axis")
    state, _ = after(learner, problem, 1)
    wide = learner.broaden(state, Broadening("temper", beta=0.5))
    both = {k: np.concatenate([state[k], wide[k]], axis=1) for k in state}
    batch = batch_of(problem, seed=5)
    together, _ = learner.observe(both, batch, key("o"))
    for slot, alone in enumerate((state, wide)):
        found, _ = learner.observe(alone, batch, key("o"))
        for k in found:
            np.testing.assert_allclose(together[k][:, slot], found[k][:, 0], rtol=2e-3, atol=2e-4)


def test_seeds_do_not_touch_each_other(case):
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


@pytest.mark.parametrize(
    "name", [n for n in components.names("learners") if components.constant("learners", n, "MODEL")]
)
def test_a_graph_is_traced_once(name):
    calls: list[int] = []
    learner, problem = learner_of(name, calls)
    state, _ = after(learner, problem, 1)
    learner.predict(state, batch_of(problem).inputs, key("p"))
    traced = len(calls)
    state, _ = after(learner, problem, 3, state, first=1)
    learner.predict(state, batch_of(problem).inputs, key("p"))
    assert len(calls) == traced > 0
