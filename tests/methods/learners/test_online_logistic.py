"""Online logistic regression: golden numbers, Newton steps of Laplace, and several classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from shiftbench.core import seeds
from shiftbench.core.interface import Broadening, LearnerError, Problem
from shiftbench.methods.combinators import beam, forget
from shiftbench.methods.learners import online_logistic
from shiftbench.methods.posteriors import full_gaussian
from tests.methods.learners import filtered

KEY = seeds.block(range(1), "online-logistic")
PROBLEM = Problem("classification", (3,), 2, 1, filtered.N)


def built(classes: int = 2, features: int = 3, **fields):
    problem = Problem("classification", (features,), classes, 1, filtered.N)
    made = {"bias": False} | fields
    return online_logistic.build(online_logistic.Settings(**made), problem)


def drifting(variance):
    """Return the filter with a variance added before every row, including the first."""
    inner = built(prior_variance=1 + variance)
    if not variance:
        return inner
    return forget.build(forget.Settings("diffuse", variance=variance), PROBLEM, inner)


@pytest.mark.parametrize(
    "variance, errors, plug_in, moderated, mean",
    [
        (0, 45, 80.48191712, 80.40787063, [-0.43104148, -0.33425353, -0.03391545]),
        (0.05, 17, 45.25711767, 47.42675866, [-4.12108860, -1.68706934, -0.31200192]),
    ],
)
def test_golden_numbers_of_the_right_extended_filter(variance, errors, plug_in, moderated, mean):
    """From the newer filter of the reference code; the older, wrong one has 64 and 27 errors."""
    learner, (x, y) = drifting(variance), filtered.classes()
    state, found, info = filtered.run(learner, x, y, KEY)
    p = found.probabilities[:, 0, 0, 1]
    assert ((p > 0.5) != y).sum() == errors
    assert -info["log_evidence"].sum() == pytest.approx(moderated, abs=1e-7)
    assert -np.log(np.where(y == 1, p, 1 - p)).sum() == pytest.approx(moderated, abs=1e-7)
    assert at_the_mean(learner, x, y) == pytest.approx(plug_in, abs=1e-7)
    prefix = "base." if variance else ""
    np.testing.assert_allclose(state[prefix + "mean"][0, 0], mean, atol=1e-8)
    if not variance:
        root = state["root"][0, 0]
        assert (root @ root.T)[0, 0] == pytest.approx(0.08778835, abs=1e-8)


def at_the_mean(learner, x, y) -> float:
    """Return the summed log loss of sigma(x'm), row by row."""
    state, total = learner.init(KEY), 0.0
    for i in range(len(y)):
        state = learner.drift(state, KEY)
        score = x[i] @ next(a for name, a in state.items() if name.endswith("mean"))[0, 0]
        total -= special.log_expit(score if y[i] else -score)
        state, _ = learner.observe(state, filtered.rows(x[i : i + 1], y[i : i + 1]), KEY)
    return total


def of(state):
    root = state["root"][0, 0]
    return state["mean"][0, 0], root @ root.T


@pytest.mark.parametrize("classes", [2, 4])
def test_a_row_is_one_newton_step_of_laplace(classes):
    """Laplace adds R(x) x x' to the precision and takes a step with the updated covariance."""
    random = np.random.default_rng(0)
    learner = built(classes)
    x, y = random.normal(size=(40, 3)), random.integers(0, classes, 40)
    state, _ = learner.observe(learner.init(KEY), filtered.rows(x, y), KEY)
    mean, covariance = of(state)
    new, label = random.normal(size=3), classes - 1
    logits = np.append(0, mean.reshape(classes - 1, 3) @ new)
    p = special.softmax(logits)[1:]
    curvature = np.kron(np.diag(p) - np.outer(p, p), np.outer(new, new))
    exact = np.linalg.inv(np.linalg.inv(covariance) + curvature)
    gradient = np.kron(np.eye(classes)[label][1:] - p, new)
    after, _ = learner.observe(state, filtered.rows(new[None], np.array([label])), KEY)
    found, width = of(after)
    np.testing.assert_allclose(width, exact, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(found, mean + exact @ gradient, rtol=1e-9, atol=1e-12)


def test_the_precision_of_two_classes_is_a_sum_over_rows():
    x, y = filtered.classes()
    learner = built()
    state, precision = learner.init(KEY), np.eye(3)
    for i in range(20):
        mean, _ = of(state)
        p = special.expit(x[i] @ mean)
        precision += p * (1 - p) * np.outer(x[i], x[i])
        state, _ = learner.observe(state, filtered.rows(x[i : i + 1], y[i : i + 1]), KEY)
    np.testing.assert_allclose(np.linalg.inv(of(state)[1]), precision, rtol=1e-11)


def test_it_ends_near_the_mode_and_the_curvature_of_all_rows():
    """Compare with Laplace's approximation of all rows, found by Newton's method."""
    random = np.random.default_rng(1)
    x = random.normal(size=(2000, 2))
    truth = np.array([0.8, -0.5])
    y = (random.random(2000) < special.expit(x @ truth)).astype(int)
    mode = np.zeros(2)
    for _ in range(20):
        p = special.expit(x @ mode)
        hessian = np.eye(2) + (x * (p * (1 - p))[:, None]).T @ x
        mode = mode + np.linalg.solve(hessian, x.T @ (y - p) - mode)
    learner = built(features=2)
    state, _ = learner.observe(learner.init(KEY), filtered.rows(x, y), KEY)
    mean, covariance = of(state)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert (abs(mean - mode) < 0.5 * sd).all()
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=0.05)


@pytest.mark.parametrize("classes", [2, 3])
def test_moderated_probabilities_are_nearer_to_the_average_over_draws(classes):
    """Nearer than probabilities at the mean. For two classes they are MacKay's."""
    random = np.random.default_rng(2)
    learner = built(classes)
    x, y = random.normal(size=(12, 3)), random.integers(0, classes, 12)
    state, _ = learner.observe(learner.init(KEY), filtered.rows(x, y), KEY)
    mean, covariance = of(state)
    new = 2 * random.normal(size=(20, 3))
    found = learner.predict(state, new[None], KEY).probabilities[0, 0]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)

    def probabilities(weights):
        logits = weights.reshape(*weights.shape[:-1], classes - 1, 3) @ new.T
        return special.softmax(np.insert(logits, 0, 0, axis=-2), axis=-2).swapaxes(-1, -2)

    average = probabilities(random.multivariate_normal(mean, covariance, 20_000)).mean(axis=0)
    off, at_mean = (abs(p - average).mean() for p in (found, probabilities(mean)))
    assert off < (0.01 if classes == 2 else 0.6 * at_mean)
    if classes == 2:
        scale = np.sqrt(1 + np.pi / 8 * np.einsum("np,pq,nq->n", new, covariance, new))
        np.testing.assert_allclose(found[:, 1], special.expit(new @ mean / scale), rtol=1e-12)


def test_a_certain_row_far_off_stays_finite():
    learner = built()
    x = np.array([[1e3, 0.0, 0.0]])
    state = learner.init(KEY)
    for label in (1, 1, 0, 0):
        state, info = learner.observe(state, filtered.rows(x, np.array([label])), KEY)
        assert np.isfinite(info["log_evidence"]).all()
    assert all(np.isfinite(array).all() for array in state.values())


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric", "diffuse"])
def test_it_is_broadened_as_a_full_gaussian(kind):
    learner = built()
    state, _ = learner.observe(learner.init(KEY), filtered.rows(*filtered.classes()), KEY)
    how = Broadening(kind, beta=0.6, variance=0.2)
    wide = learner.broaden(state, how)
    mean, root = full_gaussian.broaden(state["mean"], state["root"], how)
    np.testing.assert_array_equal(wide["mean"], mean)
    np.testing.assert_array_equal(wide["root"], root)


def test_run_lengths_and_a_beam_over_it_find_the_change():
    x, y = filtered.classes()
    inner = built(prior_variance=10.0)
    _, jumps, weight = filtered.segmented(inner, PROBLEM, x, y, KEY, hazard=0.01)
    assert len(jumps) == 1 and jumps[0][0] - jumps[0][2] in range(58, 63) and weight > 0.5
    made = beam.Settings(
        size=6, weights="bayes", truncation="plain", broadening="geometric", beta=0.05,
        prior_log_odds=-4.6,
    )  # fmt: skip
    _, _, info = filtered.run(beam.build(made, PROBLEM, inner), x, y, KEY)
    assert any(58 <= row <= 62 for row in filtered.lineage(info))


def test_what_a_row_cannot_have_is_refused_with_its_place():
    learner, (x, y) = built(), filtered.classes()
    with pytest.raises(LearnerError, match="label 2 of row 3 of repetition 0 is not one of the 2"):
        learner.observe(learner.init(KEY), filtered.rows(x[:4], np.array([0, 1, 1, 2])), KEY)
    x[2, 1] = np.nan
    with pytest.raises(LearnerError, match="feature 1 of row 2 of repetition 0 is nan"):
        learner.observe(learner.init(KEY), filtered.rows(x, y), KEY)
    hidden = filtered.rows(x[:3], y[:3])._replace(mask=np.array([[True, True, False]]))
    state, _ = learner.observe(learner.init(KEY), hidden, KEY)
    assert np.isfinite(state["mean"]).all()
    with pytest.raises(LearnerError, match="take linear-gaussian"):
        problem = Problem("regression", (3,), 1, 1, 5)
        online_logistic.build(online_logistic.Settings(), problem)


def test_a_bias_is_a_feature_of_one():
    x, y = filtered.classes()
    given, added = built(), built(features=2, bias=True)
    one, _ = given.observe(given.init(KEY), filtered.rows(x, y), KEY)
    other, _ = added.observe(added.init(KEY), filtered.rows(x[:, :2], y), KEY)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])
