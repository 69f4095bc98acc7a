"""The beam against published numbers, brute force and the exact posterior."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, LearnerError, Problem
from shiftbench.data.series import toy_step
from shiftbench.evaluation.theory.exact_segmentation import JumpModel, most_likely_jumps
from shiftbench.methods.combinators import _truncation, beam
from shiftbench.methods.learners import gaussian_mean

# The toy sequence of li2021vbs's public code (seed 123), rounded; true jumps at 3 and 14.
GOLDEN = np.array(
    [
        [0.869, 0.203, 0.161, -1.026, -1.102, -0.01, -1.81, -1.557, -1.224, -0.166],
        [-1.072, -1.31, -1.385, -0.712, -1.937, -2.651, -0.896, -1.739, -1.767, -1.638],
        [-1.252, -1.627, -2.55, -2.705, -2.374, -2.492, -2.374, -1.88, -2.928, -2.89],
    ]
).ravel()
LOG_ODDS = float(np.log(0.1 / 0.9))
SERIES = Problem("regression", (0,), 1, 1, 30)


def toy(prior_variance=1.0, **settings):
    inner = gaussian_mean.build(
        gaussian_mean.Settings(noise_sd=0.5, prior_variance=prior_variance), SERIES
    )
    settings = {
        "broadening": "diffuse",
        "variance": 1.0,
        "prior_log_odds": LOG_ODDS,
        "truncation": "plain",
    } | settings
    return beam.build(beam.Settings(**settings), SERIES, inner)


def run(learner, values):
    """Run the learner on series [S, T]; return the last state and the infos."""
    key = seeds.block(range(len(values)), "toy")
    state, infos = learner.init(key), []
    for x in values.T:
        batch = Batch(np.zeros((len(x), 1, 0)), x[:, None, None], np.ones((len(x), 1), bool))
        state, info = learner.observe(learner.drift(state, key), batch, key)
        infos.append(info)
    return state, infos


def lineage(infos, seed=0, slot=0):
    """Return the times of s = 1 in the history of one of the last hypotheses."""
    times = []
    for t in range(len(infos) - 1, -1, -1):
        if infos[t]["shift"][seed, slot]:
            times.append(t)
        slot = infos[t]["parent"][seed, slot]
    return times[::-1]


def test_reproduces_the_published_toy_run():
    learner = toy(prior_variance=9999.0, size=2)
    state, infos = run(learner, GOLDEN[None])
    weights = np.exp(infos[-1]["log_weight"][0])
    np.testing.assert_allclose(weights, [0.708, 0.292], atol=2e-3)
    np.testing.assert_allclose(state["log_weight"][0], [-4.162, -5.048], atol=0.01)
    assert lineage(infos) == [3, 15]
    assert lineage(infos, slot=1) == [6]
    np.testing.assert_allclose(infos[-1]["posterior_mean"][0, 0], -2.1008, atol=1e-3)
    np.testing.assert_allclose(infos[-1]["posterior_variance"][0, 0], 0.016399, atol=1e-5)
    leads = [t for t in range(30) if {3, 15} <= set(lineage(infos[: t + 1]))]
    assert leads[0] == 15 and leads[1:] == list(range(23, 30))


def brute_force(log_weight, size, keep):
    """Return the subset of the `keep` best with the most families, then the largest sum."""
    best = sorted(range(2 * size), key=lambda i: -log_weight[i])[:keep]
    subsets = itertools.combinations(best, size)
    return set(max(subsets, key=lambda c: (len({i % size for i in c}), log_weight[list(c)].sum())))


def diversified(log_weight, size):
    """Return the children that are kept out of those with these log weights."""
    chosen = np.empty(size, np.int64)
    _truncation.select(log_weight, _truncation.survivors(size, "diversified"), chosen)
    return chosen


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_diversified_selection_equals_brute_force(size):
    rng = np.random.default_rng(size)
    log_weight = rng.normal(size=(200, 2 * size)) * 3
    chosen = [diversified(row, size) for row in log_weight]
    keep = min(2 * size, round(4 * size / 3))
    for row, actual in zip(log_weight, chosen, strict=True):
        assert set(actual) == brute_force(row, size, keep)
        assert (np.diff(row[actual]) <= 0).all()


def test_empty_slots_are_never_kept_before_living_ones():
    log_weight = np.array([0.0, -np.inf, -np.inf, -1.0, -np.inf, -np.inf])
    assert diversified(log_weight, 3)[:2].tolist() == [0, 3]


@pytest.mark.parametrize("weights", ["paper", "bayes"])
def test_weights_of_a_two_step_beam_by_hand(weights):
    values = np.array([[0.3, 1.9]])
    state, infos = run(toy(size=2, weights=weights), values)
    mean, variance = 0.3 * 1 / 1.25, 0.25 / 1.25

    def density(extra):
        total = variance + extra + 0.25
        return np.exp(-0.5 * (1.9 - mean) ** 2 / total) / np.sqrt(2 * np.pi * total)

    posterior = 0.1 * density(1.0) / (0.1 * density(1.0) + 0.9 * density(0.0))
    shifted = infos[1]["shift"][0] == 1
    np.testing.assert_allclose(np.exp(infos[1]["log_weight"][0][shifted]), posterior, rtol=1e-10)
    predictive = toy(size=2).predict(state, np.zeros((1, 1, 0)), None)
    np.testing.assert_allclose(np.exp(predictive.log_weights).sum(), 1)


def test_predictive_of_a_drifted_beam_mixes_spike_and_slab():
    learner = toy(size=1)
    state, _ = run(learner, np.array([[0.3]]))
    key = seeds.block([0], "x")
    predictive = learner.predict(learner.drift(state, key), np.zeros((1, 1, 0)), key)
    np.testing.assert_allclose(np.exp(predictive.log_weights), [[0.9, 0.1]])
    np.testing.assert_allclose(np.diff(predictive.variance[0, :, 0, 0]), 1.0)


def test_all_slots_with_bayes_weights_give_the_exact_evidence():
    """With one slot per sequence of five points, the beam is exact inference."""
    values = np.random.default_rng(3).normal(size=(4, 5))
    learner, key = toy(size=16, weights="bayes"), seeds.block(range(4), "toy")
    batch = Batch(np.zeros((4, 5, 0)), values[..., None], np.ones((4, 5), bool))
    _, predictive, _ = learner.block(learner.init(key), batch, True)
    total = log_densities(predictive, values.ravel()).reshape(4, 5).sum(axis=1)
    np.testing.assert_allclose(total, [exact_evidence(x) for x in values], rtol=1e-10)


def log_densities(predictive, values):
    """Return the log density of each value [n] in a mixture of normal densities [n, H, 1, 1]."""
    mean, variance = predictive.mean[..., 0, 0], predictive.variance[..., 0, 0]
    each = -0.5 * (np.log(2 * np.pi * variance) + (values[:, None] - mean) ** 2 / variance)
    return np.logaddexp.reduce(predictive.log_weights + each, axis=1)


def test_the_weights_of_the_paper_are_no_posterior_over_histories():
    """Even with one slot per sequence; the Bayes weights are the exact posterior."""
    x = np.array([0.2, 1.9, -0.4, 2.5, 0.1])
    exact = {}
    for jumps in itertools.product([0, 1], repeat=4):
        exact[tuple(np.flatnonzero(jumps) + 1)] = joint(x, jumps)
    total = np.logaddexp.reduce(list(exact.values()))
    distance = {}
    for weights in ("bayes", "paper"):
        _, infos = run(toy(size=16, weights=weights), x[None])
        actual = {tuple(lineage(infos, 0, k)): infos[-1]["log_weight"][0, k] for k in range(16)}
        assert actual.keys() == exact.keys()
        gaps = [abs(np.exp(actual[one]) - np.exp(exact[one] - total)) for one in exact]
        distance[weights] = sum(gaps) / 2
    assert distance["bayes"] < 1e-10 and distance["paper"] > 0.2


def beam_in_long_double(values, size):
    """Return the shifts of the best history of a beam with Bayes weights, and the log predictions.

    Its weights are relative to the largest one after each task.
    """
    held, predicted = [(np.longdouble(0), np.longdouble(0), np.longdouble(1), ())], []
    for t, x in enumerate(np.asarray(values, np.longdouble)):
        children, prior = [], []
        for weight, mean, variance, shifts in held:
            for shift in (0, 1)[: 1 + (t > 0)]:
                wide, log_prior = variance + shift, np.log(0.1 if shift else 0.9) if t else 0
                total = wide + np.longdouble(0.25)
                density = -0.5 * (np.log(2 * np.pi * total) + (x - mean) ** 2 / total)
                prior.append(weight + log_prior)
                moved = mean + wide / total * (x - mean), wide / total / 4
                children.append((prior[-1] + density, *moved, shifts + (t,) * shift))
        joint = [child[0] for child in children]
        predicted.append(np.logaddexp.reduce(joint) - np.logaddexp.reduce(prior))
        children.sort(key=lambda child: -child[0])
        held = [(child[0] - children[0][0], *child[1:]) for child in children[:size]]
    return list(held[0][3]), np.array(predicted, float)


@pytest.mark.parametrize("outlier", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("blocks", [True, False])
def test_one_huge_value_does_not_blur_the_weights_of_later_histories(outlier, blocks):
    """Its log evidence is about -1e16, beside which later ones would be rounded away."""
    values = np.random.default_rng(3).normal(size=120) / 2 + (np.arange(120) >= 60)
    values[10] += outlier
    learner, key = toy(size=6, weights="bayes"), seeds.block([0], "toy")
    batch = Batch(np.zeros((1, 120, 0)), values[None, :, None], np.ones((1, 120), bool))
    shifts, expected = beam_in_long_double(values, 6)
    if blocks:
        _, predicted, info = learner.block(learner.init(key), batch, True)
        infos = [{name: array[:, t] for name, array in info.items()} for t in range(120)]
        found = log_densities(predicted, values)
        np.testing.assert_allclose(found[20:], expected[20:], rtol=1e-5)
    else:
        _, infos = run(learner, values[None])
    assert lineage(infos) == shifts and shifts[-1] in (60, 61)


@pytest.mark.parametrize("weights", ["paper", "bayes"])
def test_a_hypothesis_gains_at_most_log_2_a_task_on_the_leader(weights):
    """With the paper's weights, the children of the best hypothesis share its weight."""
    learner = toy(size=6, weights=weights, prior_log_odds=-20.0)
    _, infos = run(learner, 3 * GOLDEN[None])
    most = -np.inf
    for before, after in itertools.pairwise(infos):
        behind, then = (one["log_weight"][0, 0] - one["log_weight"][0] for one in (before, after))
        there = np.isfinite(then)
        most = max(most, np.max(behind[after["parent"][0]][there] - then[there]))
    assert most <= np.log(2) + 1e-9 if weights == "paper" else most > 3


def exact_evidence(x):
    """Return log p(x) as a mixture of multivariate Gaussians over all jump sequences."""
    histories = itertools.product([0, 1], repeat=len(x) - 1)
    return np.logaddexp.reduce([joint(x, jumps) for jumps in histories])


def joint(x, jumps):
    """Return log p(x, jumps) of the toy model; a jump adds 1 to the variance of the level."""
    level = 1.0 + np.concatenate([[0], np.cumsum(jumps)])
    covariance = np.minimum.outer(level, level) + 0.25 * np.eye(len(x))
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    log_prior = np.where(jumps, np.log(0.1), np.log(0.9)).sum()
    return log_prior - 0.5 * (log_det + x @ np.linalg.solve(covariance, x))


def test_temperature_divides_the_evidence():
    values = np.random.default_rng(0).normal(size=(3, 8))
    cold, _ = run(toy(size=4, temperature=1e12), values)
    # With the evidence tempered to nothing, q(s) is the prior, and the empty history is best.
    np.testing.assert_allclose(cold["log_weight"][:, 0], 7 * np.log(0.9), rtol=1e-6)


@pytest.mark.parametrize("weights", ["paper", "bayes"])
def test_a_task_without_rows_leaves_finite_weights_if_rows_are_the_temperature(weights):
    """With a row a task, or none, whose evidence is 0, the temperature is 1."""
    values = np.random.default_rng(1).normal(size=(2, 6, 1))
    mask = np.array(
        [[True, True, False, True, True, False], [False, True, True, False, True, True]]
    )
    batch = Batch(np.zeros((2, 6, 0)), values, mask)
    key = seeds.block(range(2), "toy")
    states = []
    for temperature in ("observations", 1.0):
        learner = toy(size=3, weights=weights, temperature=temperature)
        one_by_one, _ = states_of(learner, batch, key)
        in_a_block, _, _ = learner.block(learner.init(key), batch, True)
        states += [one_by_one, in_a_block]
    for state in states:
        np.testing.assert_allclose(state["log_weight"], states[-1]["log_weight"], rtol=1e-12)
    assert np.isfinite(states[0]["log_weight"]).all()


def states_of(learner, batch, key):
    """Return the last state and Info of a learner that sees each row as a task."""
    state = learner.init(key)
    for t in range(batch.mask.shape[1]):
        row = Batch(*(part[:, t : t + 1] for part in batch))
        state, info = learner.observe(learner.drift(state, key), row, key)
    return state, info


def test_a_learner_that_cannot_be_broadened_is_refused():
    inner = replace(gaussian_mean.build(gaussian_mean.Settings(), SERIES), broaden=None)
    with pytest.raises(LearnerError, match="cannot be broadened"):
        beam.build(beam.Settings(), SERIES, inner)


def test_broadening_kinds_of_a_gaussian():
    inner = gaussian_mean.build(gaussian_mean.Settings(prior_variance=2.0), SERIES)
    state = {"mean": np.full((1, 1, 1), 3.0), "variance": np.full((1, 1, 1), 0.5)}
    tempered = inner.broaden(state, Broadening("temper", beta=0.25))
    assert tempered["variance"].item() == 2.0 and tempered["mean"].item() == 3.0
    both = inner.broaden(state, Broadening("temper-prior", beta=0.25))
    np.testing.assert_allclose(both["variance"], 1 / (0.25 / 0.5 + 0.5))
    np.testing.assert_allclose(both["mean"], 3.0 * 0.5 / 1.0)
    assert inner.broaden(state, Broadening("diffuse", variance=1.5))["variance"].item() == 2.0


def test_a_wide_beam_with_bayes_weights_finds_the_exact_map_sequence():
    stream = toy_step.build(toy_step.Settings(realisations=100), Path("."))
    values = stream["value"].values
    _, infos = run(toy(size=24, weights="bayes"), values)
    model = JumpModel(0.25, 0.0, 1.0, 1.0, LOG_ODDS)
    agree = [
        np.flatnonzero(most_likely_jumps(series, model)).tolist() == lineage(infos, seed=s)
        for s, series in enumerate(values)
    ]
    assert sum(agree) >= 99


def test_after_a_warm_up_the_first_task_has_no_shift_to_find():
    key, values = seeds.block([0], "warm"), np.array([[0.1, 5.0, 5.1]])
    batches = [
        Batch(np.zeros((1, 1, 0)), x[:, None, None], np.ones((1, 1), bool)) for x in values.T
    ]
    learner = toy(size=2, prior_log_odds=20.0)
    state, info = learner.begin(learner.init(key), batches[0], key)
    assert "shift" not in info
    for t, batch in enumerate(batches[1:]):
        state, info = learner.observe(learner.drift(state, key), batch, key)
        assert info["shift"][0, 0] == (t > 0)
    plain = gaussian_mean.build(gaussian_mean.Settings(noise_sd=0.5), SERIES)
    expected, own = plain.init(key), learner.begin(learner.init(key), batches[0], key)[0]
    for batch in batches[:2]:
        expected, _ = plain.observe(expected, batch, key)
    own, info = learner.observe(learner.drift(own, key), batches[1], key)
    np.testing.assert_allclose(
        info["posterior_mean"][0, 0], expected["mean"].ravel()[0], rtol=1e-12
    )


@pytest.mark.parametrize("size", [1, 3])
def test_hypotheses_fitted_in_turn_equal_those_fitted_together(size):
    state, infos = run(toy(size=size), GOLDEN[None])
    sequential_state, in_turn = run(toy(size=size, fits="sequential"), GOLDEN[None])
    for name, array in state.items():
        np.testing.assert_allclose(sequential_state[name], array, rtol=1e-12)
    for name, array in infos[-1].items():
        np.testing.assert_allclose(in_turn[-1][name], array, rtol=1e-12)
    together, key = toy(size=size), seeds.block([0], "predict")
    sequential, inputs = toy(size=size, fits="sequential"), np.zeros((1, 4, 0))
    for at in (state, together.drift(state, key)):
        actual = sequential.predict(at, inputs, key)._asdict()
        for name, array in together.predict(at, inputs, key)._asdict().items():
            np.testing.assert_allclose(actual[name], array, rtol=1e-12)


def test_geometric_forgetting_lies_between_the_posterior_and_the_prior():
    """q^beta p0^(1 - beta), from the product of the densities on a grid."""
    inner = gaussian_mean.build(
        gaussian_mean.Settings(noise_sd=0.5, prior_mean=2.0, prior_variance=3.0), SERIES
    )
    state = {"mean": np.full((1, 1, 1), -1.0), "variance": np.full((1, 1, 1), 0.2)}
    grid = np.linspace(-12, 14, 20001)
    q, p0 = -((grid + 1) ** 2) / (2 * 0.2), -((grid - 2) ** 2) / (2 * 3.0)
    for beta in (1.0, 0.4, 0.05):
        density = np.exp(beta * q + (1 - beta) * p0)
        density /= density.sum()
        wide = inner.broaden(state, Broadening("geometric", beta=beta))
        mean = density @ grid
        np.testing.assert_allclose(wide["mean"].item(), mean, rtol=1e-6)
        np.testing.assert_allclose(wide["variance"].item(), density @ (grid - mean) ** 2, rtol=1e-6)


def test_learnt_odds_are_those_of_a_beta_prior_over_all_histories():
    """The exact evidence of every history times its Beta-Bernoulli probability."""
    values, tasks, log_odds = np.array([0.3, 0.1, 2.0, 2.2, -1.5, -1.4]), 3.0, -1.0
    steps = len(values) - 1
    share = 1 / (1 + np.exp(-log_odds))
    learner = toy(size=2**steps, weights="bayes", prior_log_odds=log_odds, prior_tasks=tasks)
    state, infos = run(learner, values[None])
    expected = {}
    for history in itertools.product((0, 1), repeat=steps):
        mean, variance, log_joint = 0.0, 1.0, 0.0
        yes, no = tasks * share, tasks * (1 - share)
        for t, x in enumerate(values):
            if t:
                s = history[t - 1]
                log_joint += np.log((yes if s else no) / (yes + no))
                yes, no = yes + s, no + 1 - s
                variance += s
            total = variance + 0.25
            log_joint += -0.5 * (np.log(2 * np.pi * total) + (x - mean) ** 2 / total)
            mean, variance = mean + variance / total * (x - mean), variance * 0.25 / total
        expected[tuple(t + 1 for t, s in enumerate(history) if s)] = log_joint
    actual = {tuple(lineage(infos, slot=k)): state["log_weight"][0, k] for k in range(2**steps)}
    assert actual.keys() == expected.keys()
    largest = max(expected.values())
    for history, log_joint in expected.items():
        assert actual[history] == pytest.approx(log_joint - largest, rel=1e-10, abs=1e-10)
