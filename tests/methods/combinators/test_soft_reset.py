"""Soft resets on 120 rows with an outlier and a change, against independent code.

The golden numbers come from a float64 implementation of the formulas of Duran-Martin et al. 2025;
those of the gradient also come from the authors' code, which does not bound eta.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Learner, LearnerError, Problem
from shiftbench.methods.combinators import reset, soft_reset
from shiftbench.methods.combinators.soft_reset import Settings
from shiftbench.methods.learners import bayes_linear, linear_gaussian

N, OUTLIER, CHANGE = 120, 30, 60
ROWS = Problem("regression", (2,), 1, 1, N)
PLAIN = linear_gaussian.build(linear_gaussian.Settings(noise_sd=0.5, bias=False), ROWS)
KEY = seeds.block([0], "soft-reset")
FREE = {"choice": "gradient", "rate": 0.01, "bound": 1e9, "difference": 1e-5}
CHOICES = ({}, {"choice": "grid"}, {"choice": "gradient"})


def series(*outliers: float) -> Batch:
    """Return the rows of all tasks, with one repetition per outlier size."""
    i = np.arange(N)
    x = np.stack([np.cos(0.3 * i), np.ones(N)], axis=1)
    w = np.where(i[:, None] < CHANGE, [2.0, 1.0], [0.5, -1.0])
    y = np.tile((x * w).sum(axis=1) + 0.3 * np.sin(1.7 * i), (len(outliers), 1))
    y[:, OUTLIER] += outliers
    x = np.tile(x, (len(outliers), 1, 1))
    return Batch(x, y[..., None], np.ones(y.shape, bool))


def learnt(learner: Learner, batch: Batch, tasks: int = N):
    """Return the state after some one-row tasks, infos [name][task, seed] and densities."""
    key = seeds.block(range(len(batch.mask)), "soft-reset")
    state, infos, densities = learner.init(key), [], []
    for t in range(tasks):
        row = Batch(*(a[:, t : t + 1] for a in batch))
        state = learner.drift(state, key)
        log_weights, mean, variance = learner.predict(state, row.inputs, key)
        squares = (row.targets[:, None] - mean) ** 2 / variance
        log_density = -0.5 * (np.log(2 * np.pi * variance) + squares)[..., 0, 0]
        densities.append(np.logaddexp.reduce(log_weights + log_density, axis=1))
        state, info = learner.observe(state, row, key)
        infos.append(info)
    found = {k: np.array([info[k][:, 0] for info in infos]) for k in infos[0]}
    return state, found, np.array(densities)


def built(**settings) -> Learner:
    return soft_reset.build(Settings(**settings), ROWS, PLAIN)


def covariance(state) -> np.ndarray:
    root = state["base.root"][0, 0]
    return root @ root.T


def test_the_probability_of_no_change_resets_at_outlier_and_change():
    state, info, _ = learnt(built(), series(10.0))
    assert np.flatnonzero(info["shift"]).tolist() == [30, 31, 60]
    assert info["log_evidence"].sum() == pytest.approx(-100.43003576, abs=1e-8)
    np.testing.assert_allclose(state["base.mean"][0, 0], [0.50337196, -0.95918886], atol=1e-8)
    expected = [[0.06910346, 0.02664015], [0.02664015, 0.04716517]]
    np.testing.assert_allclose(covariance(state), expected, atol=1e-8)
    assert state["run_length"].item() == N - 1 - 60


def test_the_best_of_a_grid():
    # With this hazard, all factors are equally likely before each task.
    state, info, _ = learnt(built(choice="grid", hazard=0.8), series(10.0))
    moved = np.flatnonzero(info["factor"][:, 0] < 1)
    assert moved.tolist() == [6, 30, 31, 34, 37, 60]
    assert info["factor"][moved, 0].tolist() == [0.95, 0, 0, 0.95, 0.95, 0]
    np.testing.assert_allclose(state["base.mean"][0, 0], [0.49842642, -0.99152347], atol=1e-8)


def test_the_slope_of_one_row():
    root = np.linalg.cholesky([[0.2, 0.05], [0.05, 0.1]])
    state = {"base.mean": np.array([[[1.0, 0.5]]]), "base.root": root[None, None]}
    state |= {"eta": np.full((1, 1), 0.1), "run_length": np.ones((1, 1), int)}
    state |= {"step": np.ones((1, 1), int), "ahead": np.ones((1, 1), bool)}
    row = Batch(np.array([[[0.3, 1.0]]]), np.full((1, 1, 1), 2.0), np.ones((1, 1), bool))
    after, info = built(choice="gradient", rate=1.0).observe(state, row, KEY)
    assert info["log_evidence"].item() == pytest.approx(-2.133915535578, abs=1e-12)
    assert after["eta"].item() - 0.1 == pytest.approx(0.910602610852, abs=2e-7)


def test_a_gradient_without_a_bound_is_locked_by_an_outlier():
    state, info, _ = learnt(built(**FREE), series(10.0))
    assert info["alarm_statistic"][OUTLIER, 0] == pytest.approx(12.52914002, abs=1e-6)
    assert state["eta"].item() == pytest.approx(12.52857841, abs=1e-6)
    np.testing.assert_allclose(state["base.mean"][0, 0], [0.27030547, -0.64981296], atol=1e-8)
    assert info["log_evidence"].sum() == pytest.approx(-351.76305757, abs=1e-6)
    fast = learnt(built(**FREE | {"rate": 0.1}), series(10.0), OUTLIER + 1)[0]
    assert fast["eta"].item() == pytest.approx(125.0326, abs=1e-4)


def test_a_gradient_without_an_outlier():
    state, info, _ = learnt(built(**FREE), series(0.0))
    eta = info["alarm_statistic"][[60, 119], 0]
    np.testing.assert_allclose(eta, [0.8563774, 0.67929550], atol=1e-7)
    np.testing.assert_allclose(state["base.mean"][0, 0], [0.47231608, -0.70684302], atol=1e-8)
    assert info["log_evidence"].sum() == pytest.approx(-106.23099073, abs=1e-6)


def test_a_bound_lets_eta_fall_again():
    _, info, _ = learnt(built(choice="gradient", rate=0.1), series(10.0))
    eta = info["alarm_statistic"][:, 0]
    assert eta[OUTLIER] == 2.0 and eta[CHANGE - 1] < 1.6 and eta[-1] < 0.1


@pytest.mark.parametrize("settings", CHOICES)
def test_the_evidence_is_the_density_of_what_was_predicted(settings):
    _, info, density = learnt(built(**settings), series(10.0, 3.0), 70)
    tolerance = 1e-6 if "gradient" in settings.values() else 1e-9
    np.testing.assert_allclose(info["log_evidence"], density, atol=tolerance)


def test_a_factor_of_one_is_the_learner_and_a_factor_of_zero_is_reset():
    batch = series(10.0)
    state, *_ = learnt(built(threshold=0.0, hazard=1e-300), batch)
    np.testing.assert_array_equal(
        state["base.mean"], PLAIN.observe(PLAIN.init(KEY), batch, KEY)[0]["mean"]
    )
    state, info, _ = learnt(built(threshold=1.0), batch)
    assert info["shift"][1:].all() and not info["shift"][0]
    home = reset.build(reset.Settings(), ROWS, PLAIN)
    expected = home.init(KEY)
    for t in range(N):
        row = Batch(*(a[:, t : t + 1] for a in batch))
        expected, _ = home.observe(home.drift(expected, KEY), row, KEY)
    for name in ("base.mean", "base.root"):
        np.testing.assert_array_equal(state[name], expected[name])


@pytest.mark.parametrize("settings", CHOICES)
def test_a_repetition_has_its_bytes_beside_others_with_other_choices(settings):
    together, *_ = learnt(built(**settings), series(10.0, 0.0, 3.0), 40)
    for s, outlier in enumerate((10.0, 0.0, 3.0)):
        alone, *_ = learnt(built(**settings), series(outlier), 40)
        for name, array in alone.items():
            np.testing.assert_array_equal(together[name][s], array[0])


@pytest.mark.parametrize("settings", CHOICES)
def test_a_task_without_rows_changes_nothing_but_the_count(settings):
    learner, batch = built(**settings), series(10.0)
    state, *_ = learnt(learner, batch, 35)
    row = Batch(*(a[:, 35:36] for a in batch))._replace(mask=np.zeros((1, 1), bool))
    after, info = learner.observe(learner.drift(state, KEY), row, KEY)
    for name in state.keys() - {"step"}:
        np.testing.assert_array_equal(after[name], state[name])
    assert not info["shift"].any()


def test_a_reset_keeps_the_noise_that_a_regression_has_learnt():
    problem = Problem("regression", (1, 1, 2), 1, 1, N)
    inner = bayes_linear.build(bayes_linear.Settings(), problem)
    learner = soft_reset.build(Settings(), problem, inner)
    state, batch = learner.init(KEY), series(0.0)
    for t in range(CHANGE + 1):
        row = Batch(batch.inputs[:, t : t + 1, None, None], *(a[:, t : t + 1] for a in batch[1:]))
        state, info = learner.observe(learner.drift(state, KEY), row, KEY)
    assert info["shift"].item() == 1 and state["base.a"].item() > CHANGE / 2


def test_tasks_of_many_rows_divide_their_evidence():
    batch, rows, gains = series(0.0), Problem("regression", (2,), 1, 20, 6), []
    for temperature in (1.0, "observations"):
        settings = Settings(temperature=temperature, hazard=0.3)
        learner = soft_reset.build(settings, rows, PLAIN)
        state = learner.init(KEY)
        for t in range(2):
            task = Batch(*(a[:, 20 * t : 20 * t + 20] for a in batch))
            state, info = learner.observe(learner.drift(state, KEY), task, KEY)
        gains.append(info["alarm_statistic"].item() - np.log(0.3 / 0.7))
    assert gains[0] == pytest.approx(20 * gains[1], rel=1e-12) and gains[0] < -1


def test_learners_that_cannot_be_softly_reset_are_refused():
    with pytest.raises(LearnerError, match="cannot be broadened"):
        soft_reset.build(Settings(), ROWS, replace(PLAIN, broaden=None))
    one = soft_reset.build(Settings(), ROWS, replace(PLAIN, observe=lambda s, b, k: (s, {})))
    row = Batch(*(a[:, :1] for a in series(0.0)))
    with pytest.raises(LearnerError, match="gives no log evidence"):
        one.observe(one.init(KEY), row, KEY)
    two = replace(PLAIN, init=lambda k: {"mean": np.zeros((len(k), 2, 2))})
    with pytest.raises(LearnerError, match="one hypothesis"):
        soft_reset.build(Settings(), ROWS, two).init(KEY)


@pytest.mark.parametrize("grid", [(1.0,), (0.9, 0.0), (1.0, 0.5, 0.7), (1.0, -0.1)])
def test_a_grid_falls_from_one(grid):
    assert list(soft_reset.unsupported(Settings(grid=grid)))
    assert not list(soft_reset.unsupported(Settings()))


@pytest.mark.parametrize(
    ("choice", "setting", "remedy"),
    [
        ("gradient", {"hazard": 0.3}, "leave it out, or set choice to ou-posterior or grid"),
        ("ou-posterior", {"grid": (1.0, 0.0)}, "leave it out, or set choice to grid"),
        ("grid", {"rate": 0.3}, "leave it out, or set choice to gradient"),
        ("ou-posterior", {"steps": 2}, "leave it out, or set choice to gradient"),
        ("grid", {"bound": 1.0}, "leave it out, or set choice to gradient"),
        ("grid", {"difference": 0.1}, "leave it out, or set choice to gradient"),
    ],
)
def test_a_setting_without_effect_is_refused(choice, setting, remedy):
    (reason,) = soft_reset.unsupported(Settings(choice=choice, **setting))
    (name,) = setting
    assert reason == f"{name} has no effect with choice {choice}; {remedy}"
    (used,) = [one for one in ("gradient", "grid", "ou-posterior") if remedy.endswith(f" {one}")]
    assert not list(soft_reset.unsupported(Settings(choice=used, **setting)))
