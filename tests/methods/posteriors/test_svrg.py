"""SVRG follows the best beta posterior: the ELBO it reaches, and its draws."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.learners import bayes_linear
from shiftbench.methods.posteriors import beta_posterior, svrg


def series(d, p, rows):
    """Return designs [1, T, 1, d, p] and targets [1, T, d] with an outlier every 20 rows."""
    rng = np.random.default_rng(0)
    x = np.ones((1, rows, 1, d, p))
    x = rng.normal(size=x.shape) if p > 1 else x
    y = x[:, :, 0].sum(axis=-1) + rng.normal(size=(1, rows, d))
    y[:, ::20] += 8.0
    return Batch(x, y, np.ones((1, rows), bool))


def run(batch, key=7, **settings):
    """Return the state after every row."""
    d, p = batch.inputs.shape[-2:]
    problem = Problem("regression", (1, d, p), d, 1, 1)
    learner = bayes_linear.build(bayes_linear.Settings(**settings), problem)
    at = seeds.block([key], "svrg")
    state, states = learner.init(at), []
    for t in range(batch.mask.shape[1]):
        state, _ = learner.observe(state, Batch(*(a[:, t : t + 1] for a in batch)), at)
        states.append(state)
    return states


def elbo(state, **settings):
    d, p = state["window_x"].shape[-2:]
    rows = min(int(state["count"][0, 0]), settings["window"])
    chosen = bayes_linear.Settings(**settings)
    q = state["fit"][0, 0]
    return beta_posterior.elbo(
        q,
        bayes_linear._prior(chosen, p),
        chosen.beta_p,
        state["window_x"][0, 0, :rows],
        state["window_y"][0, 0, :rows],
        np.empty(len(q)),
        np.empty(beta_posterior.work_size(d, p)),
    )


@pytest.mark.parametrize(("d", "p", "beta"), [(1, 1, 0.1), (3, 4, 0.05)])
def test_the_elbo_is_within_a_nat_of_the_best(d, p, beta):
    """This holds half of the time; a recent outlier may cost more for a few rows."""
    batch = series(d, p, 300)
    settings = {"beta_p": beta, "window": 150, "a0": 2.0, "b0": 2.0, "prior_variance": 10.0}
    full, followed = (run(batch, **settings, optimiser=name) for name in ("full", "svrg"))
    gap = np.array(
        [
            elbo(one, **settings) - elbo(two, **settings)
            for one, two in zip(full, followed, strict=True)
        ]
    )
    for rows in (gap[10:50], gap[50:150], gap[150:]):
        assert np.median(rows) < 1.0
    assert gap[100:].max() < 3.0
    assert gap.min() > -0.01


def test_plain_gradients_follow_at_a_distance():
    """As the paper says, they lose most at the start, and later more than SVRG."""
    batch = series(1, 1, 300)
    settings = {"beta_p": 0.1, "window": 150, "a0": 2.0, "b0": 2.0, "prior_variance": 10.0}
    full, tracked, plain = (
        run(batch, **settings, optimiser=name) for name in ("full", "svrg", "sgd")
    )
    best = np.array([elbo(one, **settings) for one in full])
    of_svrg, of_plain = (
        best - np.array([elbo(one, **settings) for one in states]) for states in (tracked, plain)
    )
    assert of_plain[:2].min() > 1.0 and np.abs(of_svrg[:2]).max() < 1e-6
    for rows in (slice(10, 50), slice(50, 150), slice(150, None)):
        assert 0.2 < np.median(of_plain[rows]) < 1.5
        assert np.median(of_svrg[rows]) < np.median(of_plain[rows])


def test_a_plain_step_on_all_rows_is_a_gradient_step():
    """Compare with a finite difference of the ELBO of six rows, in the coordinates of `place`."""
    batch = series(1, 2, 6)
    settings = bayes_linear.Settings(beta_p=0.1, window=10)
    x, y = batch.inputs[0, :, 0], batch.targets[0]
    prior = bayes_linear._prior(settings, 2)
    q = np.array([2.0, 3.0, 0.4, -0.2, 0.5, 0.0, 0.1, 0.4])
    value, width = np.empty(2), 1e-5
    expected = np.zeros(len(q))
    for i in range(len(q)):
        for side, sign in enumerate((1, -1)):
            z, point = np.zeros(len(q)), q.copy()
            z[i] = sign * width
            beta_posterior.place(z, q, 2, point)
            work = np.empty(beta_posterior.work_size(1, 2))
            value[side] = beta_posterior.elbo(point, prior, 0.1, x, y, np.empty(len(q)), work)
        expected[i] = (value[0] - value[1]) / (2 * width) / len(y)
    expected[5] = 0.0  # above the diagonal
    moved, place = q.copy(), q.copy()
    svrg.plain_step(np.zeros(1), moved, prior, 0.1, x, y)
    beta_posterior.place(np.clip(expected, -1, 1), q, 2, place)
    assert moved == pytest.approx(place, abs=1e-6)


@pytest.mark.parametrize("optimiser", ["svrg", "sgd"])
def test_the_seeds_alone_decide_what_is_drawn(optimiser):
    batch = series(1, 1, 60)
    settings = {"beta_p": 0.1, "window": 40, "optimiser": optimiser}
    one, two, other = (run(batch, key, **settings)[-1] for key in (1, 1, 2))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["fit"], other["fit"])


def test_draws_are_different_rows_all_equally_often():
    random, counts = np.zeros(1), np.zeros(20)
    for _ in range(4000):
        rows = svrg._drawn(random, 20, 10)
        assert len(set(rows)) == 10 and rows.min() >= 0
        counts[rows] += 1
    # A row's count is binomial(4000, 1/2): allow five standard deviations.
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(1000)


def test_anchors_follow_the_schedule_of_the_paper():
    """Optima after 1, 2, 4, 8, 16 and then every 20 rows; later 1.4 rows apart on average."""
    states = run(series(1, 1, 400), beta_p=0.1, window=100, optimiser="svrg")
    anchors = np.array([state["svrg"][0, 0, :4] for state in states])
    new = np.flatnonzero((np.diff(anchors, axis=0, prepend=0) != 0).any(axis=1)) + 1
    assert new[new < 100].tolist() == [1, 2, 4, 8, 16, 32, 52, 72, 92]
    assert np.diff(new[new > 112]).mean() == pytest.approx(1.4, abs=0.25)
