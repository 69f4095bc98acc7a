"""Linear regression with known noise: exact posterior and evidence, also in a beam."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem
from shiftbench.methods.combinators import beam
from shiftbench.methods.learners import gaussian_mean, linear_gaussian

S, P, SD, PRIOR_MEAN, PRIOR_VARIANCE = 2, 3, 0.7, 0.4, 2.5
KEY = seeds.block(range(S), "linear-gaussian")
SETTINGS = {"noise_sd": SD, "prior_mean": PRIOR_MEAN, "prior_variance": PRIOR_VARIANCE}


def data(rows, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    x = scale * random.normal(size=(S, rows, P - 1))
    return Batch(x, random.normal(size=(S, rows, 1)), np.ones((S, rows), bool))


def built(**changes):
    problem = Problem("regression", (P - 1,), 1, 5, 9)
    return linear_gaussian.build(linear_gaussian.Settings(**SETTINGS | changes), problem)


def with_bias(x):
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def exact(x, y, mean, covariance):
    """Return posterior mean, covariance and log evidence of rows x [n, P], y [n], all at once."""
    precision = np.linalg.inv(covariance) + x.T @ x / SD**2
    after = np.linalg.solve(precision, np.linalg.solve(covariance, mean) + x.T @ y / SD**2)
    of_rows = stats.multivariate_normal(x @ mean, x @ covariance @ x.T + SD**2 * np.eye(len(x)))
    return after, np.linalg.inv(precision), of_rows.logpdf(y)


def test_posterior_evidence_and_prediction_are_those_of_all_rows_at_once():
    learner, batch, new = built(), data(5), data(4, seed=1)
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    predicted = learner.predict(state, new.inputs, KEY)
    for s in range(S):
        x, prior = with_bias(batch.inputs[s]), PRIOR_VARIANCE * np.eye(P)
        mean, covariance, evidence = exact(x, batch.targets[s, :, 0], np.full(P, 0.4), prior)
        root, at = state["root"][s, 0], with_bias(new.inputs[s])
        np.testing.assert_allclose(state["mean"][s, 0], mean, rtol=1e-10)
        np.testing.assert_allclose(root @ root.T, covariance, atol=1e-12)
        assert info["log_evidence"][s, 0] == pytest.approx(evidence)
        np.testing.assert_allclose(predicted.mean[s, 0, :, 0], at @ mean)
        variance = np.diag(at @ covariance @ at.T) + SD**2
        np.testing.assert_allclose(predicted.variance[s, 0, :, 0], variance)


def test_tasks_of_one_row_give_what_one_task_of_all_rows_gives():
    learner, batch = built(), data(5)
    whole, info = learner.observe(learner.init(KEY), batch, KEY)
    state, total = learner.init(KEY), 0.0
    for i in range(5):
        one = Batch(*(array[:, i : i + 1] for array in batch))
        state, each = learner.observe(state, one, KEY)
        total = total + each["log_evidence"]
    np.testing.assert_allclose(total, info["log_evidence"])
    for name, array in whole.items():
        np.testing.assert_allclose(state[name], array, rtol=1e-12, atol=1e-14)


def test_a_bias_alone_is_the_conjugate_mean():
    zero = data(4)._replace(inputs=np.zeros((S, 4, P - 1)))
    learner = built()
    state, info = learner.observe(learner.init(KEY), zero, KEY)
    mean = gaussian_mean.build(
        gaussian_mean.Settings(**SETTINGS), Problem("regression", (0,), 1, 4, 9)
    )
    level, same = mean.observe(mean.init(KEY), zero, KEY)
    np.testing.assert_allclose(info["log_evidence"], same["log_evidence"])
    np.testing.assert_allclose(state["mean"][..., -1:], level["mean"])
    np.testing.assert_allclose(state["root"][..., -1, -1:] ** 2, level["variance"])


def test_designs_are_taken_as_they_are_and_features_without_bias():
    batch = data(4)
    design = batch._replace(inputs=batch.inputs[:, :, None, None])
    of_designs = linear_gaussian.build(
        linear_gaussian.Settings(**SETTINGS), Problem("regression", (1, 1, P - 1), 1, 4, 9)
    )
    features = built(bias=False)
    one, _ = of_designs.observe(of_designs.init(KEY), design, KEY)
    other, _ = features.observe(features.init(KEY), batch, KEY)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])
    np.testing.assert_array_equal(
        of_designs.predict(one, design.inputs, KEY).mean, features.predict(other, *batch[::2]).mean
    )


@pytest.mark.parametrize("shape, outputs", [((2,), 2), ((1, 5, 6), 5), ((2, 1, 3), 1), ((8, 8), 1)])
def test_other_problems_are_refused(shape, outputs):
    with pytest.raises(LearnerError, match="needs one real target a row"):
        linear_gaussian.build(
            linear_gaussian.Settings(), Problem("regression", shape, outputs, 1, 2)
        )


def test_a_missing_value_is_refused_with_its_place():
    batch = data(3)
    batch.inputs[1, 2, 0] = np.nan
    learner = built()
    with pytest.raises(LearnerError, match="regressor 0 of row 2 of repetition 1 is nan"):
        learner.observe(learner.init(KEY), batch, KEY)
    masked = batch._replace(mask=np.array([[True] * 3, [True, True, False]]))
    state, _ = learner.observe(learner.init(KEY), masked, KEY)
    assert np.isfinite(state["mean"]).all()


def test_a_covariance_that_has_wound_up_is_refused():
    """Repeated plain tempering diverges in a direction without rows; with the prior it does not."""
    learner, batch = built(), data(1)
    batch.inputs[..., 1] = 0.0
    for kind in ("geometric", "temper"):
        state = learner.init(KEY)
        wide = Broadening(kind, beta=0.5)
        for _ in range(60):
            state, _ = learner.observe(learner.broaden(state, wide), batch, KEY)
    with pytest.raises(LearnerError, match=r"wound up .* set broadening to temper-prior"):
        for _ in range(60):
            state = learner.broaden(state, wide)


TASKS, ROWS, BETA, DIFFUSION, LOG_ODDS = 5, 2, 0.6, 0.3, -0.8


def widened(kind, mean, covariance):
    """Return the broadened Gaussian from its definition, with inverses."""
    if kind == "diffuse":
        return mean, covariance + DIFFUSION * np.eye(P)
    if kind == "ou":
        new = (1 - BETA**2) * PRIOR_VARIANCE * np.eye(P)
        return BETA * mean + (1 - BETA) * PRIOR_MEAN, BETA**2 * covariance + new
    share = {"temper": 0.0, "temper-prior": 1.0, "geometric": 1 - BETA}[kind] / PRIOR_VARIANCE
    precision = BETA * np.linalg.inv(covariance) + share * np.eye(P)
    weighted = BETA * np.linalg.solve(covariance, mean) + share * PRIOR_MEAN
    return np.linalg.solve(precision, weighted), np.linalg.inv(precision)


def of_history(kind, history, tasks, s):
    """Return the log joint of shifts and rows of a history, and the final posterior moments."""
    mean, covariance = np.full(P, PRIOR_MEAN), PRIOR_VARIANCE * np.eye(P)
    log_joint = 0.0
    for t, batch in enumerate(tasks):
        if t and history[t]:
            mean, covariance = widened(kind, mean, covariance)
        if t:
            log_joint -= np.logaddexp(0, -LOG_ODDS if history[t] else LOG_ODDS)
        x, y = with_bias(batch.inputs[s]), batch.targets[s, :, 0]
        mean, covariance, evidence = exact(x, y, mean, covariance)
        log_joint += evidence
    return log_joint, mean, covariance


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric", "diffuse", "ou"])
def test_a_beam_that_keeps_all_is_bayes_over_all_histories(kind):
    size = 2 ** (TASKS - 1)
    beam_settings = beam.Settings(
        size=size, weights="bayes", truncation="plain", broadening=kind, beta=BETA,
        variance=DIFFUSION, prior_log_odds=LOG_ODDS,
    )  # fmt: skip
    learner = beam.build(beam_settings, Problem("regression", (P - 1,), 1, ROWS, TASKS), built())
    tasks = [data(ROWS, seed=t, scale=1 + t) for t in range(TASKS)]
    state, history = learner.init(KEY), np.zeros((S, size, 0), bool)
    for batch in tasks:
        state, info = learner.observe(learner.drift(state, KEY), batch, KEY)
        before = np.take_along_axis(history, info["parent"][..., None], axis=1)
        history = np.concatenate([before, info["shift"][..., None].astype(bool)], axis=2)
    every = [(False, *shifts) for shifts in itertools.product([False, True], repeat=TASKS - 1)]
    for s in range(S):
        slots = {tuple(one): k for k, one in enumerate(history[s].tolist())}
        assert sorted(slots) == sorted(every)
        truth = {one: of_history(kind, one, tasks, s) for one in every}
        total = logsumexp([log_joint for log_joint, *_ in truth.values()])
        for one, (log_joint, mean, covariance) in truth.items():
            k = slots[one]
            root = state["base.root"][s, k]
            assert info["log_weight"][s, k] == pytest.approx(log_joint - total, abs=1e-9)
            np.testing.assert_allclose(state["base.mean"][s, k], mean, atol=1e-9)
            np.testing.assert_allclose(root @ root.T, covariance, atol=1e-9)
