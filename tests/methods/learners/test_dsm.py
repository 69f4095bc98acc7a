"""Diffusion score matching: golden numbers, quadrature, sums and broadening.

Golden numbers come from the reference code of altamirano2023dsm on inputs given by formulas, with
exact quadrature in place of its draws of mean and variance.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.data.series import _nile
from shiftbench.methods.learners import dsm, gaussian_mean
from shiftbench.methods.posteriors import score_matching
from tests.methods.learners import filtered

KEY = seeds.block(range(1), "dsm")
PROBLEM = Problem("regression", (0,), 1, 1, filtered.N)
MEAN = {"learns": "mean", "noise_sd": 0.5}
BOTH = {"prior_variance": 10.0}
WIDE = {
    "omega": 0.00042, "prior_variance": 100.0, "prior_precision": 10.0,
    "prior_precision_variance": 100.0,
}  # fmt: skip


def built(outputs: int = 1, **fields):
    problem = Problem("regression", (0,), outputs, 1, filtered.N)
    return dsm.build(dsm.Settings(**fields), problem)


def standardised(values) -> np.ndarray:
    values = np.asarray(values, float)
    return (values - values.mean()) / values.std()


def well() -> np.ndarray:
    if "SHIFTBENCH_MIRROR" not in os.environ:
        pytest.skip("needs the real files in SHIFTBENCH_MIRROR")
    file = Path(os.environ["SHIFTBENCH_MIRROR"]) / "well-log" / "well.txt"
    return standardised(np.loadtxt(file).ravel()[:200])


SERIES = {"step": filtered.step, "nile": lambda: standardised(_nile.FLOW), "well": well}


@pytest.mark.parametrize(
    "name, fields, total, jumps",
    [
        ("step", MEAN, -105.03873399, [31, 62]),
        ("nile", MEAN, -140.01379096, None),
        ("well", MEAN, -187.15112051, None),
        ("step", BOTH, -130.20713607, [31, 37, 62]),
        ("nile", BOTH, -139.38853392, [35]),
    ],
)
def test_evidence_and_jumps_of_run_lengths_are_those_of_the_reference_code(
    name, fields, total, jumps
):
    """Its run lengths are one larger, with a fresh one after each row: its row 31 is our 30."""
    y = SERIES[name]()
    x = np.empty((len(y), 0))
    found, where, _ = filtered.segmented(built(**fields), PROBLEM, x, y, KEY, 0.01, len(y))
    assert found == pytest.approx(total, abs=2e-8)
    assert jumps is None or [row + 1 for row, *_ in where] == jumps


@pytest.mark.parametrize(
    "name, total, top",
    [
        ("step", -103.95096487, 0.95968127 / 0.99),
        ("nile", -144.79166506, None),
        ("well", -174.04490928, None),
    ],
)
def test_standard_run_lengths_have_the_evidence_of_the_same_code(name, total, top):
    """The reference's Gaussian of unknown mean; its weights include the hazard after a row."""
    y = SERIES[name]()
    inner = gaussian_mean.build(gaussian_mean.Settings(noise_sd=0.5), PROBLEM)
    x = np.empty((len(y), 0))
    found, _, weight = filtered.segmented(inner, PROBLEM, x, y, KEY, 0.01, len(y))
    assert found == pytest.approx(total, abs=2e-8)
    assert top is None or weight == pytest.approx(top, abs=1e-7)


@pytest.mark.parametrize(
    "name, fields, total, jumps",
    [
        ("step", MEAN, None, [(31, 30, 1), (62, 31, 2)]),
        ("step", BOTH, -130.20715705, [(31, 30, 1), (37, 6, 37), (62, 61, 2)]),
        ("nile", BOTH, None, [(35, 34, 7)]),
        ("well", BOTH, -186.01416354, None),
        ("well", WIDE, -213.11186053, [(40, 39, 21)]),
    ],
)
def test_pruned_run_lengths_of_adams_and_mackay(name, fields, total, jumps):
    """The reference's recursion keeps 50 run lengths and loses the mass of the others.

    Ours renormalises the kept ones, so its evidence is larger where it prunes.
    """
    found, where = adams_mackay(built(**fields), SERIES[name](), 0.01, 50)
    assert total is None or found == pytest.approx(total, abs=2e-8)
    assert jumps is None or where == jumps


def adams_mackay(learner, y, hazard, keep):
    """Return the log evidence and the jumps of the most probable run length.

    A jump is (number of rows, length before, length after).
    """
    fresh = learner.init(KEY)
    state, joint, lengths, jumps, before = fresh, np.zeros(1), np.zeros(1, int), [], 0
    for row, value in enumerate(y):
        state, info = learner.observe(state, batch_of([value]), KEY)
        joint = joint + info["log_evidence"][0]
        total = special.logsumexp(joint)
        joint = np.append(np.log(1 - hazard) + joint, np.log(hazard) + total)
        state = {k: np.concatenate([a, fresh[k]], axis=1) for k, a in state.items()}
        kept = np.argsort(-joint, kind="stable")[:keep]
        lengths = np.append(lengths + 1, 0)[kept]
        joint, state = joint[kept], {k: a[:, kept] for k, a in state.items()}
        if lengths[0] != before + 1:
            jumps.append((row + 1, before, int(lengths[0])))
        before = int(lengths[0])
    return total, jumps


@pytest.mark.parametrize(
    "name, every, last",
    [
        ("step", (0.4353850941, 211.4076269468), (0.8652468890, 1.7456292642)),
        ("nile", (-0.1134214721, 204.9609828813), (-0.7886140368, 2.4991412636)),
    ],
)
def test_posterior_of_a_mean(name, every, last):
    y = SERIES[name]()
    for rows, (mean, precision) in ((y, every), (y[-1:], last)):
        state = learnt(built(**MEAN), rows)
        found = state["precision"].item()
        assert found == pytest.approx(precision, rel=1e-10)
        assert state["shift"].item() / found == pytest.approx(mean, rel=1e-8)


def test_posterior_of_mean_and_variance():
    state = learnt(built(**BOTH), filtered.step())
    precision, shift = state["precision"][0, 0, 0], state["shift"][0, 0, 0]
    np.testing.assert_allclose(
        precision, [[13.25047668, -5.11604546], [-5.11604546, 11.84952332]], rtol=1e-9
    )
    np.testing.assert_allclose(
        np.linalg.solve(precision, shift), [0.54799301, 0.92149651], atol=1e-8
    )


def batch_of(y, outputs=1):
    y = np.asarray(y, float).reshape(1, -1, outputs)
    return Batch(np.empty((1, y.shape[1], 0)), y, np.ones(y.shape[:2], bool))


def learnt(learner, y, outputs=1):
    return learner.observe(learner.init(KEY), batch_of(y, outputs), KEY)[0]


def density(learner, state, value):
    return learner.observe(state, batch_of([value]), KEY)[1]["log_evidence"].item()


def test_the_density_of_the_first_value():
    learner = built(**BOTH)
    start = learner.init(KEY)
    assert density(learner, start, 0.0) == pytest.approx(-1.8975636562, abs=2e-10)
    assert density(learner, start, 2.0) == pytest.approx(-2.4055191077, abs=2e-10)


def states(count: int = 25):
    """Yield precisions [4] and shifts [2] after random values, one of which may be far away."""
    random = np.random.default_rng(0)
    for _ in range(count):
        precision = np.array([0.1, 0, 0, 1.0]) * 10 ** random.uniform(-1, 1)
        shift = precision[[0, 3]] * [2 * random.normal(), 1.0]
        omega, level, sd = 10 ** random.uniform(-3, 0), 3 * random.normal(), random.uniform(0.1, 3)
        for value in level + sd * random.normal(size=int(10 ** random.uniform(0, 3))):
            score_matching.learn(value, omega, precision, shift)
        far = random.choice([1, 1, 10, 100, 1000])
        yield level + far * sd * random.normal(), precision, shift


def by_trapezium(x, precision, shift) -> float:
    """Return the log density from 40,000 points in log eta_2; the integrand jumps at both ends."""
    covariance = np.linalg.inv(precision.reshape(2, 2))
    centre, variance, v = (covariance @ shift)[1], covariance[1, 1], 1 / precision[0]

    def log_integrand(t):
        eta = np.exp(t)
        error = x * eta - (shift[0] - precision[1] * eta) / precision[0]
        power = error**2 / (eta + v) + (eta - centre) ** 2 / variance
        return 2 * t - 0.5 * (np.log(eta + v) + power + np.log(variance)) - np.log(2 * np.pi)

    t = np.linspace(-80, 15, 40001)
    inside = t[log_integrand(t) > log_integrand(t).max() - 60]
    t = np.linspace(inside[0] - 0.1, inside[-1] + 0.1, 40001)
    total = special.logsumexp(log_integrand(t)) + np.log(t[1] - t[0])
    return total - special.log_ndtr(centre / np.sqrt(variance))


def test_64_nodes_are_as_good_as_256_and_exact_however_far_a_value():
    few, many = score_matching.rule(64), score_matching.rule(256)
    for x, precision, shift in states():
        found = score_matching.log_predictive(x, precision, shift, *few)
        assert found == pytest.approx(
            score_matching.log_predictive(x, precision, shift, *many), abs=1e-12
        )
        assert found == pytest.approx(by_trapezium(x, precision, shift), abs=1e-9)


def test_the_density_integrates_to_one():
    learner = built(**BOTH)
    state = learnt(learner, filtered.step())
    y = np.sinh(np.linspace(-20, 20, 2001))  # dense near 0, and far into the heavy tails
    p = [np.exp(density(learner, state, value)) for value in y]
    assert np.trapezoid(p * np.cosh(np.arcsinh(y)), dx=40 / 2000) == pytest.approx(1, abs=1e-8)


def test_the_rule_is_that_of_gauss_and_legendre():
    x, w = np.polynomial.legendre.leggauss(64)
    nodes, weights = score_matching.rule(64)
    np.testing.assert_allclose(nodes, (1 + x) / 2, atol=1e-15)
    np.testing.assert_allclose(weights, w / 2, atol=1e-14)


def test_normal_tails():
    z = np.array([-40, -12, -5.1, -4.9, -1, 0, 3, 9.0])
    np.testing.assert_allclose(
        [score_matching.log_below(one) for one in z], special.log_ndtr(z), rtol=1e-12, atol=1e-16
    )
    exact = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - special.log_ndtr(z))
    np.testing.assert_allclose(
        [score_matching.hazard_of_normal(one) for one in z], exact, rtol=1e-11
    )


def test_the_plug_in_is_the_mean_of_the_truncated_normal():
    """Compare with a fine grid over eta_2, also for a centre below 0."""
    for centre in (2.0, -1.5):
        covariance = np.array([[0.5, 0.2], [0.2, 0.3]])
        precision = np.linalg.inv(covariance)
        mean = np.array([0.7, centre])
        eta = np.linspace(0, 8, 200001)
        p = np.exp(-0.5 * (eta - centre) ** 2 / 0.3)
        second = (eta * p).sum() / p.sum()
        first = 0.7 + 0.2 / 0.3 * (second - centre)
        found = score_matching.plug_in(precision.ravel(), precision @ mean)
        np.testing.assert_allclose(found, [first / second, 1 / second], rtol=2e-4)


@pytest.mark.parametrize("fields", [MEAN, BOTH])
def test_the_order_of_rows_does_not_matter(fields):
    y = filtered.step()
    forward, backward = (learnt(built(**fields), values) for values in (y, y[::-1]))
    for name, array in forward.items():
        np.testing.assert_allclose(array, backward[name], rtol=1e-12)


@pytest.mark.parametrize("fields", [MEAN, BOTH])
def test_a_value_far_away_moves_almost_nothing(fields):
    learner = built(**fields)
    state = learnt(learner, filtered.step())
    moved = learner.observe(state, batch_of([1e6]), KEY)[0]
    np.testing.assert_allclose(moved["shift"], state["shift"], atol=0.5)
    beyond = learner.observe(state, batch_of([1e9]), KEY)[0]
    for name, array in moved.items():
        np.testing.assert_allclose(beyond[name], array, atol=1e-5)


@pytest.mark.parametrize("fields", [MEAN, BOTH])
@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric", "diffuse", "ou"])
def test_broadening_is_that_of_gaussians(fields, kind):
    learner = built(**fields, prior_mean=0.3)
    state, home = learnt(learner, filtered.step()), learner.init(KEY)
    wide = learner.broaden(state, Broadening(kind, beta=0.6, variance=0.2))
    shares = {"temper": 0.0, "temper-prior": 1.0, "geometric": 0.4}
    for name in ("precision", "shift"):
        if kind in shares:
            exact = 0.6 * state[name] + shares[kind] * home[name]
            np.testing.assert_allclose(wide[name], exact, rtol=1e-12)
    if kind == "diffuse":
        p, q = state["precision"][0, 0, 0], wide["precision"][0, 0, 0]
        covariance = np.linalg.inv(p) + 0.2 * np.eye(len(p))
        np.testing.assert_allclose(np.linalg.inv(q), covariance, rtol=1e-10)
        mean = np.linalg.solve(p, state["shift"][0, 0, 0])
        np.testing.assert_allclose(np.linalg.solve(q, wide["shift"][0, 0, 0]), mean, rtol=1e-9)
    if kind == "ou":
        p, first, q = (one["precision"][0, 0, 0] for one in (state, home, wide))
        mean, prior, moved = (
            np.linalg.solve(one["precision"][0, 0, 0], one["shift"][0, 0, 0])
            for one in (state, home, wide)
        )
        covariance = 0.36 * np.linalg.inv(p) + 0.64 * np.linalg.inv(first)
        np.testing.assert_allclose(np.linalg.inv(q), covariance, rtol=1e-10)
        np.testing.assert_allclose(moved, 0.6 * mean + 0.4 * prior, rtol=1e-9)
        for name in ("precision", "shift"):
            gone = learner.broaden(state, Broadening(kind, beta=0.0))[name]
            np.testing.assert_allclose(gone, home[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("fields", [MEAN, BOTH])
def test_centre_and_scale_are_a_change_of_units(fields):
    y = filtered.step()
    plain, moved = built(**fields), built(**fields, centre=5.0, scale=3.0)
    state, info = plain.observe(plain.init(KEY), batch_of(y), KEY)
    same, found = moved.observe(moved.init(KEY), batch_of(5 + 3 * y), KEY)
    for name, array in state.items():
        np.testing.assert_allclose(same[name], array, rtol=1e-9, atol=1e-12)
    lost = len(y) * np.log(3)
    np.testing.assert_allclose(found["log_evidence"], info["log_evidence"] - lost, rtol=1e-9)
    nothing = np.empty((1, 1, 0))
    before, after = plain.predict(state, nothing, KEY), moved.predict(same, nothing, KEY)
    np.testing.assert_allclose(after.mean, 5 + 3 * before.mean, rtol=1e-9)
    np.testing.assert_allclose(after.variance, 9 * before.variance, rtol=1e-9)


@pytest.mark.parametrize("fields", [MEAN, BOTH])
def test_several_targets_are_learnt_each_by_itself(fields):
    y = np.stack([filtered.step(), 0.5 - filtered.step()], axis=1)
    both = built(outputs=2, **fields)
    state, info = both.observe(both.init(KEY), batch_of(y, 2), KEY)
    total = 0.0
    for j in range(2):
        one = built(**fields)
        alone, each = one.observe(one.init(KEY), batch_of(y[:, j]), KEY)
        total += each["log_evidence"]
        for name, array in alone.items():
            np.testing.assert_array_equal(state[name][:, :, j], array[:, :, 0])
    np.testing.assert_allclose(info["log_evidence"], total, rtol=1e-12)
