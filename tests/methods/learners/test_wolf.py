"""The weighted-likelihood filter, a setting of linear-gaussian: golden numbers and limits.

Golden numbers marked so are from the reference code of duranmartin2024wolf on inputs given by
formulas; the others are from a NumPy implementation of the formulas.
"""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.combinators import beam, forget
from shiftbench.methods.learners import linear_gaussian
from tests.methods.learners import filtered

KEY = seeds.block(range(1), "wolf")
PROBLEM = Problem("regression", (2,), 1, 1, filtered.N)
ROWS = [1, 31, 61, 119]


def built(drift: float = 0.0, **fields):
    """Return the filter without a bias; `drift` is added to the variances before every row."""
    made = {"noise_sd": 0.5, "bias": False, "prior_variance": 1 + drift} | fields
    learner = linear_gaussian.build(linear_gaussian.Settings(**made), PROBLEM)
    if not drift:
        return learner
    return forget.build(forget.Settings("diffuse", variance=drift), PROBLEM, learner)


@pytest.mark.parametrize(
    "drift, fields, predicted, rmse, mean",
    [
        (0, {}, [2.60711532, -0.00342532, 2.49490294, -0.36052072], 1.54212339,
         [1.04786387, 0.06858333]),
        (0.01, {}, [2.60998659, 2.50556346, 1.60093545, -1.24518342], 1.16418044,
         [0.51350636, -0.96943568]),
        (0, {"weight": "imq", "threshold": 2}, [2.08569226, -0.93569507, 2.64243302, -0.33830562],
         1.67704186, [1.62971337, 0.33200895]),
        (0.01, {"weight": "imq", "threshold": 2},
         [2.09167504, -0.87196748, 2.18009222, -1.24470985], 1.12769174,
         [0.51406160, -0.96986889]),
        (0, {"weight": "tmd", "threshold": 4}, [0, -0.97041125, 2.67411673, -0.27707649],
         1.84256676, [2.13300718, 0.60125489]),
    ],
)  # fmt: skip
def test_predictions_are_those_of_the_reference_code(drift, fields, predicted, rmse, mean):
    x, y = filtered.regression()
    state, found, _ = filtered.run(built(drift, **fields), x, y, KEY)
    centre = found.mean[:, 0, 0, 0]
    np.testing.assert_allclose(centre[ROWS], predicted, atol=1e-8)
    assert np.sqrt(np.mean((y - centre) ** 2)) == pytest.approx(rmse, abs=1e-8)
    name = "base.mean" if drift else "mean"
    np.testing.assert_allclose(state[name][0, 0], mean, atol=1e-8)


@pytest.mark.parametrize(
    "drift, fields, total",
    [
        (0, {}, -557.88006435),
        (0.01, {}, -258.89274226),
        (0, {"weight": "imq", "threshold": 2, "evidence": "score"}, -242.16600963),
        (0, {"weight": "imq", "threshold": 2, "evidence": "bayes"}, -217.24776603),
    ],
)
def test_evidences_of_all_rows(drift, fields, total):
    _, _, info = filtered.run(built(drift, **fields), *filtered.regression(), KEY)
    assert info["log_evidence"].sum() == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize(
    "evidence, total, top",
    [("score", -67.53767493, 0.96001209), ("bayes", -63.46817443, 0.94817360)],
)
def test_run_lengths_over_it_see_the_change_and_not_the_outlier(evidence, total, top):
    inner = built(weight="imq", threshold=2, evidence=evidence)
    x, y = filtered.regression()
    found, jumps, weight = filtered.segmented(inner, PROBLEM, x, y, KEY, hazard=0.01)
    assert found == pytest.approx(total, abs=1e-7)
    assert jumps == [(61, 60, 1)]
    assert weight == pytest.approx(top, abs=1e-7)


def test_run_lengths_without_a_weight_fall_at_the_outlier_too():
    x, y = filtered.regression()
    found, jumps, _ = filtered.segmented(built(), PROBLEM, x, y, KEY, hazard=0.01)
    assert found == pytest.approx(-94.44910008, abs=1e-7)
    assert [row for row, *_ in jumps] == [30, 31, 60]


def test_without_a_threshold_it_is_the_kalman_filter_to_the_byte():
    x, y = filtered.regression()
    state, found, info = filtered.run(built(), x, y, KEY)
    for weight in ("imq", "md", "tmd"):
        for evidence in ("bayes", "score"):
            if (weight, evidence) == ("tmd", "score"):
                continue
            filter_ = built(weight=weight, threshold=1e300, evidence=evidence)
            after, same, own = filtered.run(filter_, x, y, KEY)
            for name, array in state.items():
                np.testing.assert_array_equal(after[name], array)
            np.testing.assert_array_equal(same.mean, found.mean)
            if evidence == "score":
                np.testing.assert_array_equal(own["log_evidence"], info["log_evidence"])
            np.testing.assert_allclose(own["log_evidence"], info["log_evidence"], rtol=1e-12)


def test_the_two_smooth_weights_differ_by_the_unit_of_the_error():
    x, y = filtered.regression()
    raw, _, _ = filtered.run(built(weight="imq", threshold=2.0), x, y, KEY)
    own, _, _ = filtered.run(built(weight="md", threshold=4.0), x, y, KEY)
    np.testing.assert_allclose(raw["mean"], own["mean"], rtol=1e-12)
    np.testing.assert_allclose(raw["root"], own["root"], rtol=1e-12, atol=1e-15)


def observed(learner, target):
    one = Batch(np.ones((1, 1, 2)), np.full((1, 1, 1), target), np.ones((1, 1), bool))
    state, info = learner.observe(learner.init(KEY), one, KEY)
    return state, info["log_evidence"].item()


@pytest.mark.parametrize("weight", ["imq", "md"])
def test_the_evidence_of_any_target_is_bounded_and_so_is_what_it_moves(weight):
    """At an infinite error the evidence is -c^2 / (2 R) for imq and -c^2 / 2 = -8 for md."""
    bayes, score = (
        built(weight=weight, threshold={"imq": 2, "md": 4}[weight], evidence=evidence)
        for evidence in ("bayes", "score")
    )
    far = [observed(bayes, 10.0**power) for power in (4, 8, 100)]
    np.testing.assert_allclose([evidence for _, evidence in far], -8, rtol=1e-5)
    assert max(abs(state["mean"]).max() for state, _ in far) < 0.01
    falls = np.diff([observed(score, 10.0**power)[1] for power in (8, 9)])
    assert falls == pytest.approx(-np.log(10), abs=1e-6)


def test_the_evidence_is_the_integral_of_the_weighted_likelihood():
    """Quadrature over one coefficient; x = (0, 1) excludes the other one."""
    power = 1 / (1 + (3.0 / 2) ** 2)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    theta, width = 8 * nodes, 8 * weights
    prior = np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi)
    likelihood = np.exp(-((3.0 - theta) ** 2) / 0.5) / np.sqrt(2 * np.pi * 0.25)
    exact = np.log((width * prior * likelihood**power).sum())
    learner = built(weight="imq", threshold=2, evidence="bayes")
    one = Batch(np.array([[[0.0, 1.0]]]), np.full((1, 1, 1), 3.0), np.ones((1, 1), bool))
    _, info = learner.observe(learner.init(KEY), one, KEY)
    assert info["log_evidence"].item() == pytest.approx(exact, abs=1e-12)


def test_a_rejected_row_changes_nothing_and_its_score_is_refused():
    learner = built(weight="tmd", threshold=4)
    state, evidence = observed(learner, 2.0)
    assert evidence == 0
    for name, array in learner.init(KEY).items():
        np.testing.assert_array_equal(state[name], array)
    made = linear_gaussian.Settings(weight="tmd", evidence="score")
    (said,) = linear_gaussian.unsupported(made)
    assert "set evidence: bayes" in said


def test_a_beam_over_it_shifts_at_the_change_and_not_at_the_outlier():
    made = beam.Settings(
        size=6, weights="bayes", truncation="plain", broadening="geometric", beta=0.05,
        prior_log_odds=-4.6,
    )  # fmt: skip
    x, y = filtered.regression()
    shifts = {}
    for weight in ("imq", "none"):
        inner = built(weight=weight, threshold=2)
        _, _, info = filtered.run(beam.build(made, PROBLEM, inner), x, y, KEY)
        shifts[weight] = filtered.lineage(info)
    assert 60 in shifts["imq"] and 30 not in shifts["imq"] and 30 in shifts["none"]
