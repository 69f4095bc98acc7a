"""Online learners of a network against closed forms, differences and their contract."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.contract.learners import (  # noqa: F401 - run here over networks
    test_a_batch_of_one_and_masked_rows,
    test_going_on_from_a_saved_state_equals_an_uninterrupted_run,
    test_hypotheses_do_not_touch_each_other,
    test_infos_are_numbers_per_seed_and_hypothesis,
    test_is_pure_and_deterministic,
    test_predictions_normalise,
    test_seeds_do_not_touch_each_other,
    test_states_are_named_arrays_with_seed_and_hypothesis_axes,
)
from shiftbench.contract.problems import Parts
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.learners import ngvi, oga, oga_el, sva, svb
from shiftbench.methods.online import network

LEARNERS = {"oga-el": oga_el, "sva": sva, "svb": svb, "ngvi": ngvi}
REALS = Problem("regression", (3,), 1, 1, 50)
CLASSES = Problem("classification", (3,), 2, 1, 50)
KEY = seeds.block(range(2), "network")
HIDDEN, D = 4, 3
SIZE = HIDDEN * (D + 2) + 1


@pytest.fixture(scope="module", params=["oga", *LEARNERS])
def case(request):
    draws = {} if request.param == "oga" else {"loss_draws": 3}
    return Parts().learner(request.param, hidden=HIDDEN, **draws)


def row(problem=REALS, n=1) -> Batch:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, n, 3))
    score = x.sum(axis=-1) + rng.normal(size=(2, n))
    classes = problem.kind == "classification"
    targets = (score > 0).astype(int) if classes else score[..., None]
    return Batch(x, targets, np.ones((2, n), bool))


def middle(learner):
    """Return a state with different means and sds everywhere."""
    rng, state = np.random.default_rng(5), learner.init(KEY)
    shape = state["mean"].shape
    return state | {"mean": rng.normal(size=shape), "sd": rng.uniform(0.2, 0.9, shape)}


def forward(theta, x):
    """Return f(x), written with matrices; theta [..., P]."""
    w = theta[..., : HIDDEN * D].reshape(*theta.shape[:-1], HIDDEN, D)
    c, v = theta[..., HIDDEN * D : HIDDEN * (D + 1)], theta[..., HIDDEN * (D + 1) : -1]
    return theta[..., -1] + (v * np.maximum(w @ x + c, 0)).sum(-1)


def slopes(function, at):
    """Return central differences of a function of a vector."""
    steps = 1e-6 * np.eye(len(at))
    return np.array([(function(at + e) - function(at - e)) / 2e-6 for e in steps])


@pytest.mark.parametrize("problem", [REALS, CLASSES], ids=["squared", "hinge"])
def test_draws_of_a_linear_predictor_have_its_closed_forms_as_mean(problem):
    """Expected loss and gradients agree within 4 standard errors."""
    exact, drawn = (
        oga_el.build(oga_el.Settings(loss_draws=k, step_size=0.1), problem) for k in (0, 20_000)
    )
    state, batch = middle(exact), row(problem)
    batch = batch._replace(inputs=3 * batch.inputs)  # so that draws lie on both sides of a kink
    (after, info), (near, about) = (one.observe(state, batch, KEY) for one in (exact, drawn))
    rng = np.random.default_rng(1)
    for s in range(2):
        x, y = batch.inputs[s, 0], float(batch.targets[s].item())
        m, sd = state["mean"][s, 0], state["sd"][s, 0]
        noise = rng.normal(size=(20_000, 3))
        score = (m + sd * noise) @ x
        y = 2 * y - 1 if problem is CLASSES else y
        loss = np.maximum(1 - y * score, 0) if problem is CLASSES else (y - score) ** 2
        slope = -y * (loss > 0) if problem is CLASSES else -2 * (y - score)
        of_m = slope[:, None] * x
        errors = {key: (near[key] - after[key])[s, 0] / 0.1 for key in ("mean", "sd")}
        errors["expected_loss"] = (about["expected_loss"] - info["expected_loss"])[s]
        spread = {"expected_loss": loss, "mean": of_m, "sd": of_m * noise}
        for name, error in errors.items():
            assert spread[name].std(axis=0).min() > 0.01
            assert (np.abs(error) <= 4 * spread[name].std(axis=0) / 20_000**0.5).all(), name


def test_score_and_gradient_of_the_network_are_those_of_matrices():
    learner = oga.build(oga.Settings(hidden=HIDDEN, step_size=0.1), REALS)
    state, batch = learner.init(KEY), row()
    state["mean"] = np.random.default_rng(2).normal(size=state["mean"].shape)
    predicted = learner.predict(state, batch.inputs, KEY)
    after, info = learner.observe(state, batch, KEY)
    for s in range(2):
        x, y, m = batch.inputs[s, 0], batch.targets[s, 0, 0], state["mean"][s, 0]
        assert predicted.mean[s, 0, 0, 0] == pytest.approx(forward(m, x), abs=1e-12)
        assert info["expected_loss"][s, 0] == pytest.approx((y - forward(m, x)) ** 2)
        slope = slopes(lambda theta, x=x, y=y: (y - forward(theta, x)) ** 2, m)
        np.testing.assert_allclose((m - after["mean"][s, 0]) / 0.1, slope, atol=1e-6)


def test_gradients_are_those_of_the_mean_over_draws():
    """Compare with differences of the mean loss of fixed draws in mean and sd."""
    learner = oga_el.build(oga_el.Settings(hidden=HIDDEN, loss_draws=6, step_size=1e-3), REALS)
    state, batch = middle(learner), row()
    after, info = learner.observe(state, batch, KEY)
    predicted = learner.predict(state, batch.inputs, KEY)
    for s in range(2):
        x, y = batch.inputs[s, 0], batch.targets[s, 0, 0]
        noise = network._noise(6, SIZE, KEY[s], 1)[0]
        at = np.concatenate([state["mean"][s, 0], state["sd"][s, 0]])

        def scores(packed, noise=noise, x=x):
            return forward(packed[:SIZE] + packed[SIZE:] * noise, x)

        def loss(packed, y=y, scores=scores):
            return ((y - scores(packed)) ** 2).mean()

        moved = np.concatenate([after["mean"][s, 0], after["sd"][s, 0]])
        assert info["expected_loss"][s, 0] == pytest.approx(loss(at))
        assert info["score_sd"][s, 0] == pytest.approx(scores(at).std())
        around = ((scores(at) - forward(at[:SIZE], x)) ** 2).mean()
        assert predicted.variance[s, 0, 0, 0] == pytest.approx(around)
        np.testing.assert_allclose((at - moved) / 1e-3, slopes(loss, at), rtol=1e-5, atol=1e-6)


def test_the_expected_loss_of_active_units_is_that_of_a_product_of_gaussians():
    """If units are always active, E f and var f have closed forms; within 4 standard errors."""
    learner = svb.build(svb.Settings(hidden=HIDDEN, loss_draws=50_000), REALS)
    state, batch = middle(learner), row()
    state["mean"][..., HIDDEN * D : HIDDEN * (D + 1)] = 30.0
    state["sd"] /= 4
    _, info = learner.observe(state, batch, KEY)
    for s in range(2):
        x, y, m = batch.inputs[s, 0], batch.targets[s, 0, 0], state["mean"][s, 0]
        w2, c2, v2 = np.split(state["sd"][s, 0, :-1] ** 2, [HIDDEN * D, HIDDEN * (D + 1)])
        v = m[HIDDEN * (D + 1) : -1]
        unit = m[: HIDDEN * D].reshape(HIDDEN, D) @ x + 30
        spread = w2.reshape(HIDDEN, D) @ x**2 + c2
        variance = ((v**2 + v2) * (unit**2 + spread) - (v * unit) ** 2).sum()
        variance += state["sd"][s, 0, -1] ** 2
        expected = (y - m[-1] - v @ unit) ** 2 + variance
        # The score is near normal, so the variance of its square is 2 var^2 + 4 var mean^2.
        error = np.sqrt((2 * variance**2 + 4 * variance * (expected - variance)) / 50_000)
        assert info["expected_loss"][s, 0] == pytest.approx(expected, abs=4 * error)
        assert error < 0.02 * expected


def test_a_network_that_starts_at_zero_moves_nothing_but_its_last_bias():
    """The paper starts at m = 0, where OGA predicts a constant forever."""
    learner = oga.build(oga.Settings(hidden=HIDDEN), REALS)
    state = learner.init(KEY)
    state["mean"][:] = 0
    after, _ = learner.observe(state, row(n=20), KEY)
    assert (after["mean"][..., :-1] == 0).all() and (after["mean"][..., -1] != 0).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_sd_stays_in_the_box_whatever_the_draws(name):
    """Single draws give negative curvatures, which would raise sd without bound."""
    learner, _ = Parts().learner(name, hidden=HIDDEN, loss_draws=1)
    batch = Batch(*(np.repeat(array, 200, axis=1) for array in row()))
    batch = batch._replace(inputs=batch.inputs[..., :2])
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    assert (state["sd"] >= 0).all() and (state["sd"] <= 1).all()
    assert all(np.isfinite(array).all() for array in (*state.values(), *info.values()))


def test_precision_of_ngvi_stays_positive_where_an_estimate_is_negative():
    numbers = np.zeros(1), np.full(1, 0.5), np.empty(0), np.zeros(1), np.full(1, -100.0)
    mean, sd, *rest = numbers
    _call(ngvi._update.address, mean, sd, *rest, np.array([0.0, 1.0, 1.0]))
    assert sd[0] == pytest.approx((4 - 100 + 100**2 / 8) ** -0.5)


def _call(address, mean, sd, extra, gradient, curvature, settings):
    from numba import njit

    from shiftbench.methods.online.linear import call_update

    @njit
    def call(address, mean, sd, extra, gradient, curvature, settings):
        call_update(address, (mean, sd, extra, gradient, curvature, 1.0, settings))

    call(address, mean, sd, extra, gradient, curvature, settings)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_network_without_draws_is_refused(name):
    module = LEARNERS[name]
    settings = module.Settings(hidden=2)
    (reason,) = module.unsupported(settings)
    assert "set loss_draws" in reason
    with pytest.raises(LearnerError, match="set loss_draws"):
        module.build(settings, REALS)


def test_a_drawn_learner_has_no_theorem_and_no_regret():
    for name in LEARNERS:
        facts = components.facts("learners", name)
        drawn = components.check("learners", name, {"hidden": 3, "loss_draws": 2})
        assert facts.words("offers", drawn) == {"log_evidence"}
        assert not facts.words("theorem", drawn)
