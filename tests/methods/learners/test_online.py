"""Online learners of linear predictors against the problems that define them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem
from shiftbench.methods.combinators import forget
from shiftbench.methods.learners import gibbs_grid, ngvi, oga, oga_el, sva, svb
from shiftbench.methods.online import losses

LEARNERS = {"oga": oga, "oga-el": oga_el, "sva": sva, "svb": svb, "ngvi": ngvi}
CLASSES = Problem("classification", (3,), 2, 1, 50)
REALS = Problem("regression", (3,), 1, 1, 50)
S, D = 4, 3


def row(problem=CLASSES, seed=0, n=1, scale=1.0) -> Batch:
    rng = np.random.default_rng(seed)
    x = scale * rng.normal(size=(S, n, *problem.input_shape))
    score = x.sum(axis=-1) + rng.normal(size=(S, n))
    classes = problem.kind == "classification"
    return Batch(x, (score > 0).astype(int) if classes else score[..., None], np.ones((S, n), bool))


def run(learner, batches, state=None):
    key = seeds.block(range(S), "online")
    state = learner.init(key) if state is None else state
    infos = []
    for batch in batches:
        state, info = learner.observe(state, batch, key)
        infos.append(info)
    return state, infos


def some_state(learner, **fields):
    """Return a state with different means and sds everywhere, at step 8."""
    rng = np.random.default_rng(5)
    state = learner.init(seeds.block(range(S), "online"))
    middle = {"mean": rng.normal(size=(S, 1, D)), "sd": rng.uniform(0.2, 0.9, (S, 1, D))}
    return state | middle | {"step": np.full((S, 1), 8.0)} | fields


def gradients(state, batch, kind):
    x, y = batch.inputs[:, None, 0], batch.targets.reshape(S, 1).astype(float)
    y = 2 * y - 1 if kind == "hinge" else y
    tau = np.sqrt((state["sd"] ** 2 * x**2).sum(axis=-1))
    _, slope, curvature = losses.Loss(kind).expected(y, (state["mean"] * x).sum(axis=-1), tau)
    return slope[..., None] * x, curvature[..., None] * state["sd"] * x**2


def kl(m, sd, m0, sd0):
    return (np.log(sd0 / sd) + (sd**2 + (m - m0) ** 2) / (2 * sd0**2) - 0.5).sum()


def argmin(linear_m, linear_sd, m0, sd0, eta):
    """Return the numerical argmin over (m, sd) of <., gradients> + KL(q, q0) / eta."""

    def objective(packed):
        m, sd = packed[:D], np.exp(packed[D:])
        cost = eta * (linear_m @ m + linear_sd @ sd) + kl(m, sd, m0, sd0)
        slope_m = eta * linear_m + (m - m0) / sd0**2
        slope_sd = eta * linear_sd * sd - 1 + sd**2 / sd0**2
        return cost, np.concatenate([slope_m, slope_sd])

    start = np.concatenate([m0, np.log(sd0)])
    optimum = minimize(
        objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    ).x
    return optimum[:D], np.exp(optimum[D:])


@pytest.mark.parametrize("problem", [CLASSES, REALS], ids=["hinge", "squared"])
def test_svb_is_the_argmin_of_its_definition(problem):
    eta, kind = 0.7, "hinge" if problem is CLASSES else "squared"
    learner = svb.build(svb.Settings(schedule="constant", step_size=eta), problem)
    state, batch = some_state(learner), row(problem)
    g_m, g_sd = gradients(state, batch, kind)
    after, _ = run(learner, [batch], state)
    for s in range(S):
        m, sd = argmin(g_m[s, 0], g_sd[s, 0], state["mean"][s, 0], state["sd"][s, 0], eta)
        np.testing.assert_allclose(after["mean"][s, 0], m, atol=1e-6)
        np.testing.assert_allclose(after["sd"][s, 0], sd, atol=1e-6)


def test_the_slides_svb_without_the_half_is_not_at_the_minimum():
    """There the slope of <sd, gradient> + KL / eta is minus the gradient instead of zero."""
    eta = 0.7
    learner = svb.build(svb.Settings(schedule="constant", step_size=eta), CLASSES)
    state, batch = some_state(learner), row()
    _, gradient = gradients(state, batch, "hinge")
    assert gradient.min() > 0

    def slope(sd):
        return gradient + (sd / state["sd"] ** 2 - 1 / sd) / eta

    x = eta * state["sd"] * gradient
    after, _ = run(learner, [batch], state)
    np.testing.assert_allclose(slope(after["sd"]), 0, atol=1e-12)
    slides = state["sd"] * (np.sqrt(1 + x**2) - x)
    np.testing.assert_allclose(slope(slides), -gradient, rtol=1e-9)


def test_the_papers_svb_step_divides_by_the_variance():
    """eta_t = c / (sd^2 sqrt(t)) differs between parameters."""
    learner = svb.build(svb.Settings(step_size=0.5), CLASSES)
    state, batch = some_state(learner), row()
    g_m, g_sd = gradients(state, batch, "hinge")
    after, _ = run(learner, [batch], state)
    sd = state["sd"][2, 0]
    eta = 0.5 / (sd**2 * 3)
    _, sd = argmin(np.zeros(D), eta * g_sd[2, 0], state["mean"][2, 0], sd, 1.0)
    np.testing.assert_allclose(after["mean"], state["mean"] - 0.5 / 3 * g_m, atol=1e-12)
    np.testing.assert_allclose(after["sd"][2, 0], sd, atol=1e-6)


@pytest.mark.parametrize("problem", [CLASSES, REALS], ids=["hinge", "squared"])
def test_sva_is_the_argmin_of_its_definition(problem):
    eta, s0, kind = 0.3, 0.8, "hinge" if problem is CLASSES else "squared"
    learner = sva.build(sva.Settings(step_size=eta, prior_sd=s0), problem)
    state = learner.init(seeds.block(range(S), "online"))
    sum_m, sum_sd = np.zeros((S, 1, D)), np.zeros((S, 1, D))
    for t in range(4):
        batch = row(problem, seed=t)
        g_m, g_sd = gradients(state, batch, kind)
        sum_m, sum_sd = sum_m + g_m, sum_sd + g_sd
        state, _ = run(learner, [batch], state)
        m, sd = argmin(sum_m[1, 0], sum_sd[1, 0], np.zeros(D), np.full(D, s0), eta)
        np.testing.assert_allclose(state["mean"][1, 0], m, atol=1e-6)
        np.testing.assert_allclose(state["sd"][1, 0], sd, atol=1e-6)


def test_with_the_priors_variance_svb_moves_the_mean_as_oga_el_does():
    """At sd = s, eta sd^2 = eta s^2, so the steps in m agree for any gradient."""
    one = svb.build(svb.Settings(schedule="constant", step_size=0.1), CLASSES)
    two = oga_el.build(oga_el.Settings(step_size=0.1), CLASSES)
    state = some_state(one, sd=np.ones((S, 1, D)))
    moved = [run(learner, [row()], state)[0]["mean"] for learner in (one, two)]
    assert (moved[0] != state["mean"]).any()
    np.testing.assert_allclose(*moved, rtol=1e-14)


def test_ngvi_is_exact_bayes_for_the_squared_loss_in_one_dimension():
    """For the squared loss, rho = 1/2 with unit noise makes each step the conjugate update."""
    problem = Problem("regression", (1,), 1, 1, 50)
    learner = ngvi.build(ngvi.Settings(rho=0.5), problem)
    batches = [row(problem, seed=t) for t in range(6)]
    state, _ = run(learner, batches)
    x = np.stack([b.inputs[:, 0, 0] for b in batches])
    y = np.stack([b.targets[:, 0, 0] for b in batches])
    precision = 1 + (x**2).sum(axis=0)
    np.testing.assert_allclose(state["sd"][:, 0, 0] ** -2, precision, rtol=1e-12)
    np.testing.assert_allclose(state["mean"][:, 0, 0], (x * y).sum(axis=0) / precision, rtol=1e-12)


def test_the_slides_sign_of_ngvi_forgets_with_each_row():
    """The slides have lambda <- (1 - rho) lambda + rho grad, with lambda = -P / 2."""
    problem, rho = Problem("regression", (1,), 1, 1, 50), 0.1
    learner = ngvi.build(ngvi.Settings(rho=rho), problem)
    batch = row(problem)
    state, _ = run(learner, [batch])
    x = batch.inputs[:, 0, 0]  # d E_q[loss] / d variance = x^2
    slides = -2 * ((1 - rho) * -0.5 + rho * x**2)
    np.testing.assert_allclose(slides, 1 - rho - 2 * rho * x**2)
    assert (slides < 1).all() and (state["sd"][:, 0, 0] ** -2 > 1).all()


def test_ngvi_with_forgetting_equals_natural_parameters_by_hand():
    b, rho, s = 0.1, 0.4, 2.0
    learner = ngvi.build(ngvi.Settings(rho=rho, forgetting=b, prior_sd=s), CLASSES)
    state, batch = some_state(learner), row()
    g_m, g_sd = gradients(state, batch, "hinge")
    m, sd = state["mean"], state["sd"]
    g_variance = g_sd / (2 * sd)
    # Natural parameters (m P, -P/2), expectation parameters (m, m^2 + sd^2).
    first = (1 - b) * m / sd**2 - rho * (g_m - 2 * g_variance * m)
    second = (1 - b) * -0.5 / sd**2 - b * 0.5 / s**2 - rho * g_variance
    after, _ = run(learner, [batch], state)
    np.testing.assert_allclose(after["sd"] ** -2, -2 * second, rtol=1e-12)
    np.testing.assert_allclose(after["mean"], first / (-2 * second), rtol=1e-12)


def test_sva_follows_the_exact_gibbs_posterior_in_one_dimension():
    """For the squared loss the grid is exact Bayes, and SVA, which linearises, stays close."""
    problem = Problem("regression", (1,), 1, 1, 200)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, S, 1, 1))
    y = 0.7 * x + 0.1 * rng.normal(size=x.shape)
    batches = [Batch(a, b, np.ones((S, 1), bool)) for a, b in zip(x, y, strict=True)]
    approximate, _ = run(sva.build(sva.Settings(step_size=0.02), problem), batches)
    exact_learner = gibbs_grid.build(gibbs_grid.Settings(step_size=0.02, points=2001), problem)
    exact, _ = run(exact_learner, batches)
    ones = np.ones((S, 1, 1))
    key = seeds.block(range(S), "online")
    predicted = exact_learner.predict(exact, ones, key)
    precision = 1 + 2 * 0.02 * (x**2).sum(axis=0)
    mean = 2 * 0.02 * (x * y).sum(axis=0) / precision
    np.testing.assert_allclose(predicted.mean, mean[:, None], atol=1e-6)
    np.testing.assert_allclose(predicted.variance, 1 / precision[:, None], rtol=1e-6)
    np.testing.assert_allclose(approximate["mean"], predicted.mean[..., 0], atol=0.12)
    # Gradients in sd were taken at larger sd, so their sum leaves too little spread.
    ratio = approximate["sd"] ** 2 / predicted.variance[..., 0]
    assert ((ratio > 0.5) & (ratio < 1)).all()


def test_the_gibbs_grid_in_two_dimensions_is_exact_bayes():
    problem = Problem("regression", (2,), 1, 1, 20)
    batches = [row(problem, seed=t) for t in range(20)]
    learner = gibbs_grid.build(gibbs_grid.Settings(step_size=0.1, points=301), problem)
    state, infos = run(learner, batches)
    x = np.concatenate([b.inputs for b in batches], axis=1)
    y = np.concatenate([b.targets[..., 0] for b in batches], axis=1)
    precision = np.eye(2) + 0.2 * np.einsum("snd,sne->sde", x, x)
    mean = np.linalg.solve(precision, 0.2 * np.einsum("snd,sn->sd", x, y)[..., None])[..., 0]
    at = np.tile(np.eye(2), (S, 1, 1))
    predicted = learner.predict(state, at, seeds.block(range(S), "online"))
    np.testing.assert_allclose(predicted.mean[:, 0, :, 0], mean, atol=1e-4)
    variance = np.diagonal(np.linalg.inv(precision), axis1=1, axis2=2)
    np.testing.assert_allclose(predicted.variance[:, 0, :, 0], variance, rtol=1e-3)
    # The evidence telescopes to log E_prior exp(-eta sum of losses).
    shrunk = np.einsum("snd,sn->sd", x, y)
    exponent = -0.1 * (y**2).sum(axis=1) + 0.5 * 0.04 * np.einsum(
        "sd,sde,se->s", shrunk, np.linalg.inv(precision), shrunk
    )
    exact = exponent - 0.5 * np.log(np.linalg.det(precision))
    total = sum(info["log_evidence"] for info in infos)[:, 0]
    np.testing.assert_allclose(total, exact, atol=1e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_losses_are_those_before_the_update(name):
    learner = LEARNERS[name].build(LEARNERS[name].Settings(), CLASSES)
    state = some_state(learner)
    if name == "oga":
        state["sd"][:] = 0
    batch = row()
    predicted = learner.predict(state, batch.inputs, seeds.block(range(S), "online"))
    _, (info,) = run(learner, [batch], state)
    y = 2.0 * batch.targets - 1
    np.testing.assert_allclose(info["loss"], np.maximum(1 - y * predicted.mean[:, 0, :, 0], 0))
    np.testing.assert_allclose(info["score_sd"], np.sqrt(predicted.variance[:, 0, :, 0]))
    assert (info["expected_loss"] >= info["loss"] - 1e-12).all()
    assert ((info["expected_loss"] > info["loss"]).all()) == (name != "oga")


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_of_a_batch_are_seen_one_after_the_other(name):
    learner = LEARNERS[name].build(LEARNERS[name].Settings(), CLASSES)
    whole = row(n=5)
    whole.mask[1, 3] = False
    single = [Batch(*(array[:, i : i + 1] for array in whole)) for i in range(5)]
    together, (info,) = run(learner, [whole])
    apart, infos = run(learner, single)
    for field, array in together.items():
        np.testing.assert_array_equal(array, apart[field])
    np.testing.assert_allclose(info["loss"], sum(one["loss"] for one in infos))


def test_ridge_enters_loss_and_gradients():
    plain = svb.build(svb.Settings(), CLASSES)
    ridged = svb.build(svb.Settings(schedule="linear", ridge=0.5), CLASSES)
    state, batch = some_state(plain), row()
    g_m, g_sd = gradients(state, batch, "hinge")
    _, (without,) = run(plain, [batch], state)
    after, (info,) = run(ridged, [batch], state)
    m, sd = state["mean"], state["sd"]
    np.testing.assert_allclose(info["loss"], without["loss"] + 0.25 * (m**2).sum(axis=-1))
    norm = (m**2 + sd**2).sum(axis=-1)
    np.testing.assert_allclose(info["expected_loss"], without["expected_loss"] + 0.25 * norm)
    np.testing.assert_allclose(info["squared_gradient_sd"], ((g_sd + 0.5 * sd) ** 2).sum(axis=-1))
    np.testing.assert_allclose(after["mean"], m - 2 / (0.5 * 9) * (g_m + 0.5 * m))


def test_a_widened_posterior_learns_faster_under_constant_steps():
    learner = svb.build(svb.Settings(schedule="constant", step_size=0.1), CLASSES)
    state, batch = some_state(learner), row()
    wide = learner.broaden(state, Broadening("diffuse", variance=1.0))
    np.testing.assert_allclose(wide["sd"] ** 2, state["sd"] ** 2 + 1)
    moved = [run(learner, [batch], a)[0]["mean"] - a["mean"] for a in (state, wide)]
    assert (np.abs(moved[1]).sum(axis=-1) > np.abs(moved[0]).sum(axis=-1)).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_can_be_broadened_if_that_outlasts_the_next_row(name):
    """OGA has no sd, and SVA computes it again from the gradients of all rows and the prior."""
    rate = {"rho": 0.1} if name == "ngvi" else {"step_size": 0.1}
    learner = LEARNERS[name].build(LEARNERS[name].Settings(**rate), CLASSES)
    assert (learner.broaden is not None) == (name not in ("oga", "sva"))
    if learner.broaden:
        state = some_state(learner)
        wide = learner.broaden(state, Broadening("diffuse", variance=0.1))
        after, later = (run(learner, [row()], a)[0]["sd"] for a in (state, wide))
        assert (later > after + 0.01).all()


def test_oga_el_keeps_sd_at_most_at_the_priors():
    """The paper has the bound 1 and a prior of 1; only a broadened sd is ever above it."""
    inner = oga_el.build(oga_el.Settings(step_size=0.01, prior_sd=2.0), REALS)
    learner = forget.build(forget.Settings(broadening="temper", beta=0.5), REALS, inner)
    key = seeds.block(range(S), "online")
    state = learner.init(key)
    for t in range(100):
        wide = learner.drift(state, key)
        state, _ = learner.observe(wide, row(REALS, seed=t), key)
        assert (state["base.sd"] <= 2).all()
    assert (state["base.sd"][wide["base.sd"] > 2.1] == 2).any()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("problem", [CLASSES, REALS], ids=["hinge", "squared"])
def test_unscaled_features_leave_finite_results(name, problem):
    learner = LEARNERS[name].build(LEARNERS[name].Settings(), problem)
    state, infos = run(learner, [row(problem, seed=t, scale=1e9) for t in range(60)])
    for array in [*state.values(), *(a for info in infos for a in info.values())]:
        assert np.isfinite(array).all()


@pytest.mark.parametrize("name", [*LEARNERS, "gibbs-grid"])
def test_bad_input_is_named(name):
    module = LEARNERS.get(name, gibbs_grid)
    ten = Problem("classification", (2,), 10, 1, 5)
    with pytest.raises(LearnerError, match=f"{name}: .*10 classes"):
        module.build(module.Settings(), ten)
    with pytest.raises(LearnerError, match="hinge does not fit"):
        module.build(module.Settings(loss="hinge"), Problem("regression", (2,), 1, 1, 5))
    problem = Problem("classification", (2,), 2, 1, 50)
    learner = module.build(module.Settings(), problem)
    missing = row(problem)
    missing.inputs[2, 0, 1] = np.nan
    with pytest.raises(LearnerError, match="feature 1 of row 0 of repetition 2 is nan"):
        run(learner, [missing])
    with pytest.raises(LearnerError, match=r"labels are 0 and 1, but there is 2"):
        run(learner, [row(problem)._replace(targets=np.full((S, 1), 2))])


@pytest.mark.parametrize("name", [*LEARNERS, "gibbs-grid", "oga of a network"])
def test_a_masked_row_may_lack_features(name):
    """Observed rows have the same effect with and without masked rows between them."""
    module = LEARNERS.get(name.split()[0], gibbs_grid)
    settings = {"hidden": 2} if "network" in name else {}
    learner = module.build(module.Settings(**settings), Problem("classification", (2,), 2, 2, 50))
    batch = row(Problem("classification", (2,), 2, 2, 50), n=3)
    batch.mask[:, 1] = False
    alone = Batch(*(part[:, [0, 2]] for part in batch))
    batch.inputs[:, 1] = [np.nan, np.inf]
    with np.errstate(invalid="ignore"):
        state, info = run(learner, [batch])
        expected, expected_info = run(learner, [alone])
        scores = learner.predict(state, batch.inputs, seeds.block(range(S), "online")).mean
    for key, array in expected.items():
        np.testing.assert_array_equal(state[key], array)
    for key, array in expected_info[0].items():
        np.testing.assert_array_equal(info[0][key], array)
    assert np.isfinite(scores[:, :, [0, 2]]).all() and np.isnan(scores[:, :, 1]).all()


def test_the_gibbs_grid_refuses_many_features_and_svb_a_schedule_without_ridge():
    with pytest.raises(LearnerError, match="the stream has 3"):
        gibbs_grid.build(gibbs_grid.Settings(), CLASSES)
    with pytest.raises(LearnerError, match="set ridge above 0"):
        svb.build(svb.Settings(schedule="linear"), CLASSES)
