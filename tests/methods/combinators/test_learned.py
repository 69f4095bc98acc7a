"""Learnt betas and priors: gradients against finite differences of whole runs, and signs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.combinators import learned_beta, learned_prior, run_length
from shiftbench.methods.learners import bayes_linear, gaussian_mean

ONE = Problem("regression", (1, 1, 1), 1, 1, 40)
KEY = np.zeros((1, 2), int)
NEVER = 10**9
STILL = {"first": NEVER, "hazard": 0.05}
BETA = learned_beta.Settings(**STILL, bound=100.0, rate=1.0, largest_step=1e9)
PRIOR = learned_prior.Settings(**STILL, rate=1.0, largest_step=1e9)


def problem_of(d, p, models=1):
    return Problem("regression", (models, d, p), d, 1, 40)


def series(rows, d=1, p=1, models=1, seeds=1):
    """Return designs [S, T, M, d, p] and targets [S, T, d] with a jump in the middle."""
    rng = np.random.default_rng(0)
    x = np.ones((seeds, rows, models, d, p))
    x = rng.normal(size=x.shape) if p > 1 else x
    y = rng.normal(size=(seeds, rows, d))
    y[:, rows // 2 :] += 2.0
    return x, y


def rows_of(x, y):
    for t in range(y.shape[1]):
        yield Batch(x[:, t : t + 1], y[:, t : t + 1], np.ones((len(y), 1), bool))


def follow(learner, x, y, key=KEY):
    """Run the learner row by row.

    Return the one-step forecasts [T, d], the states with fresh slots, and the last info.
    """
    state, forecasts, states, info = learner.init(key), [], [], {}
    for row in rows_of(x, y):
        state = learner.drift(state, key)
        predictive = learner.predict(state, row.inputs, key)
        forecasts.append(np.exp(predictive.log_weights[0]) @ predictive.mean[0, :, 0])
        states.append(state)
        state, info = learner.observe(state, row, key)
    return np.array(forecasts), states, info


def plain(problem, **settings):
    inner = bayes_linear.build(bayes_linear.Settings(**settings), problem)
    return run_length.build(run_length.Settings(0.05, 50), problem, inner)


def learned(module, combinator_settings, problem, **settings):
    inner = bayes_linear.build(bayes_linear.Settings(**settings), problem)
    return module.build(combinator_settings, problem, inner)


@pytest.mark.parametrize(("d", "p", "models"), [(1, 1, 1), (2, 3, 2)])
def test_the_gradient_in_beta_rlm_is_the_difference_of_whole_runs(d, p, models):
    problem, (x, y) = problem_of(d, p, models), series(30, d, p, models)
    forecasts, states, _ = follow(learned(learned_beta, BETA, problem, beta_rlm=0.2), x, y)
    same, above, below = (
        follow(plain(problem, beta_rlm=0.2 + step), x, y)[0] for step in (0, 1e-5, -1e-5)
    )
    np.testing.assert_allclose(forecasts, same, atol=1e-10)
    expected = (np.sign(forecasts - y[0]) * (above - below)).sum(axis=1) / 2e-5 / 100
    moving = learned(learned_beta, replace(BETA, first=0), problem, beta_rlm=0.2)
    for row, state, gradient in zip(rows_of(x, y), states, expected, strict=True):
        after = moving.observe(state, row, KEY)[0]["beta_rlm"][0, 0]
        assert 0.2 - after == pytest.approx(gradient, rel=1e-4, abs=1e-9)
    assert np.abs(expected).max() > 1e-4


def test_the_gradient_in_beta_p_is_the_difference_of_whole_runs():
    x, y = series(24)
    y[0, 8] = 9.0
    settings = {"beta_rlm": 0.2, "beta_p": 0.2, "window": 24, "tolerance": 1e-6}
    forecasts, states, _ = follow(learned(learned_beta, BETA, ONE, **settings), x, y)
    above, below = (
        follow(plain(ONE, **settings | {"beta_p": beta}), x, y)[0] for beta in (0.22, 0.18)
    )
    expected = (np.sign(forecasts - y[0]) * (above - below)).sum(axis=1) / 0.04 / 100
    moving = learned(learned_beta, replace(BETA, first=0), ONE, **settings)
    for row, state, gradient in zip(rows_of(x, y), states, expected, strict=True):
        after = moving.observe(state, row, KEY)[0]["beta_p"][0, 0]
        assert 0.2 - after == pytest.approx(gradient, rel=1e-6, abs=1e-10)
    assert np.abs(expected).max() > 1e-4


def log_prediction(problem, x, y, **settings):
    """Return log p(y_T | y_1:T-1) from a plain run."""
    learner = plain(problem, **settings)
    _, states, _ = follow(learner, x, y)
    *_, row = rows_of(x, y)
    before = states[-1]
    base = {k.removeprefix("base."): a for k, a in before.items() if k.startswith("base.")}
    inner = bayes_linear.build(bayes_linear.Settings(**settings), problem)
    evidence = inner.observe(base, row, KEY)[1]["log_evidence"]
    joint = before["log_joint"]
    return (logsumexp(joint + evidence, axis=1) - logsumexp(joint, axis=1))[0]


@pytest.mark.parametrize(("d", "p"), [(1, 1), (2, 3)])
def test_the_gradient_in_the_prior_is_the_difference_of_whole_runs(d, p):
    problem, prior = problem_of(d, p), {"a0": 2.0, "b0": 1.5}
    for rows in (1, 3, 20):
        x, y = series(rows, d, p)
        _, states, _ = follow(learned(learned_prior, PRIOR, problem, **prior), x, y)
        moving = learned(learned_prior, replace(PRIOR, first=0), problem, **prior)
        *_, row = rows_of(x, y)
        after, _ = moving.observe(states[-1], row, KEY)
        for name, value in prior.items():
            ends = [
                log_prediction(problem, x, y, **prior | {name: value * np.exp(step)})
                for step in (1e-4, -1e-4)
            ]
            gradient = (ends[0] - ends[1]) / 2e-4
            moved = np.log(after[name][0, 0] / value)
            assert moved == pytest.approx(gradient, rel=1e-5, abs=1e-8)


def test_after_a_step_all_segments_have_the_new_prior():
    x, y = series(12)
    _, states, _ = follow(learned(learned_prior, PRIOR, ONE), x, y)
    moving = learned(learned_prior, replace(PRIOR, first=0, largest_step=0.5), ONE)
    *_, row = rows_of(x, y)
    after, _ = moving.observe(states[-1], row, KEY)
    live = np.isfinite(after["filter.log_joint"][0])
    count = after["filter.run_length"][0] + 1
    shape = after["filter.base.a"][0] - 0.5 * count
    np.testing.assert_allclose(shape[live], after["a0"][0, 0])
    again = moving.drift(after, KEY)
    assert again["filter.base.b"][0, -1] == after["b0"][0, 0] != 1.0


def contaminated(rate, jumps, rows=400, seeds=6):
    """Return series with isolated outliers, whose level jumps every 40 rows or not at all."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=(seeds, rows))
    if jumps:
        y += np.repeat(4 * rng.normal(size=(seeds, rows // 40)), 40, axis=1)
    out = rng.random(y.shape) < rate
    y[out] += rng.choice([-1, 1], out.sum()) * rng.uniform(8, 12, out.sum())
    return np.ones((seeds, rows, 1, 1, 1)), y[..., None]


@pytest.mark.parametrize(("rate", "jumps", "way"), [(0.06, False, 1), (0.0, True, -1)])
def test_outliers_move_beta_up_and_clean_jumps_down(rate, jumps, way):
    x, y = contaminated(rate, jumps)
    combinator_settings = learned_beta.Settings(hazard=0.02, keep=30, bound=3.0, rate=0.2, first=20)
    robust = {"beta_rlm": 0.1, "a0": 3.0, "b0": 3.0, "prior_variance": 16.0}
    _, _, info = follow(
        learned(learned_beta, combinator_settings, ONE, **robust), x, y, np.zeros((6, 2), int)
    )
    moved = info["beta_rlm"][:, 0] - 0.1
    assert way * moved.mean() > 0.01 and (way * moved > 0).sum() >= 5


def test_b0_moves_to_the_noise_of_the_data():
    x, y = series(150)
    combinator_settings = learned_prior.Settings(rate=0.05)
    _, _, info = follow(learned(learned_prior, combinator_settings, ONE, a0=2.0, b0=50.0), x, y)
    assert info["b0"][0, 0] / info["a0"][0, 0] < 5.0


@pytest.mark.parametrize(
    ("module", "combinator_settings", "settings"),
    [
        (learned_beta, BETA, {"beta_rlm": 0.2, "beta_p": 0.1, "window": 12}),
        (learned_prior, PRIOR, {}),
    ],
)
def test_saved_states_go_on_and_masked_rows_change_nothing(module, combinator_settings, settings):
    x, y = series(12, seeds=2)
    key = np.zeros((2, 2), int)
    combinator_settings = replace(combinator_settings, first=3, largest_step=0.01)
    learner = learned(module, combinator_settings, ONE, **settings)
    whole, _ = learner.observe(learner.init(key), Batch(x, y, np.ones((2, 12), bool)), key)
    _, states, _ = follow(learner, x, y, key)
    rest, _ = learner.observe(states[5], Batch(x[:, 5:], y[:, 5:], np.ones((2, 7), bool)), key)
    assert all(np.array_equal(whole[name], rest[name]) for name in whole)
    mask = np.ones((2, 13), bool)
    mask[1, 5] = False
    padded = Batch(np.insert(x, 5, 1.0, axis=1), np.insert(y, 5, 1e3, axis=1), mask)
    other, _ = learner.observe(learner.init(key), padded, key)
    assert all(np.array_equal(whole[name][1], other[name][1]) for name in whole)


def test_a_learner_that_cannot_be_learnt_over_is_refused():
    mean = gaussian_mean.build(gaussian_mean.Settings(), ONE)
    robust = bayes_linear.build(bayes_linear.Settings(beta_rlm=0.1), ONE)
    standard = bayes_linear.build(bayes_linear.Settings(), ONE)
    for module, combinator_settings, inner in [
        (learned_beta, BETA, mean),
        (learned_beta, BETA, standard),
        (learned_prior, PRIOR, mean),
        (learned_prior, PRIOR, robust),
    ]:
        with pytest.raises(LearnerError, match="bayes-linear"):
            module.build(combinator_settings, ONE, inner)
