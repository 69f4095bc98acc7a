"""Error signals are the moments, scores and densities of mixtures, as computed by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.core.interface import Batch, Categorical, Gaussian, LearnerError, StudentT
from shiftbench.methods.detectors import signals

RNG = np.random.default_rng(0)
S, H, N = 2, 3, 4
WEIGHTS = RNG.dirichlet(np.ones(H), S)
SEEN = np.ones((S, N), bool)


def of(kind, predictive, targets, mask=SEEN):
    return signals.of(kind, predictive, Batch(np.zeros((S, N, 0)), targets, mask))


def test_signals_of_classes():
    each, labels = RNG.dirichlet(np.ones(3), (S, H, N)), RNG.integers(0, 3, (S, N))
    predictive = Categorical(np.log(WEIGHTS), each)
    p = np.einsum("sh,shnc->snc", WEIGHTS, each)
    assert (of("error", predictive, labels) == (p.argmax(axis=2) != labels)).all()
    brier = ((p - np.eye(3)[labels]) ** 2).sum(axis=2)
    np.testing.assert_allclose(of("squared", predictive, labels), brier)
    chosen = np.take_along_axis(p, labels[..., None], axis=2)[..., 0]
    np.testing.assert_allclose(of("score", predictive, labels), -np.log(chosen))
    with pytest.raises(LearnerError, match="take signal error, squared or score"):
        of("standardised", predictive, labels)


@pytest.mark.parametrize("d", [1, 2])
def test_signals_of_a_mixture_of_gaussians(d):
    mean, sd = RNG.normal(size=(S, H, N, d)), RNG.uniform(0.5, 2, (S, H, N, d))
    y = RNG.normal(size=(S, N, d))
    predictive = Gaussian(np.log(WEIGHTS), mean, sd**2)
    middle = np.einsum("sh,shnd->snd", WEIGHTS, mean)
    np.testing.assert_allclose(of("error", predictive, y), (y - middle).mean(axis=2))
    np.testing.assert_allclose(of("squared", predictive, y), ((y - middle) ** 2).mean(axis=2))
    second = np.einsum("sh,shnd->snd", WEIGHTS, mean**2 + sd**2)
    z = ((y - middle) / np.sqrt(second - middle**2)).sum(axis=2) / np.sqrt(d)
    np.testing.assert_allclose(of("standardised", predictive, y), z)
    density = stats.norm.pdf(y[:, None], mean, sd).prod(axis=3)
    score = -np.log(np.einsum("sh,shn->sn", WEIGHTS, density))
    np.testing.assert_allclose(of("score", predictive, y), score)


def test_signals_of_a_mixture_of_students():
    mean, root = RNG.normal(size=(S, H, N, 2)), RNG.normal(size=(S, H, N, 2, 2))
    scale = root @ root.swapaxes(-1, -2) + np.eye(2)
    df, y = RNG.uniform(4, 9, (S, H)), RNG.normal(size=(S, N, 2))
    predictive = StudentT(np.log(WEIGHTS), mean, scale, df)
    found = of("score", predictive, y)
    z = of("standardised", predictive, y)
    for s in range(S):
        for n in range(N):
            each = [
                stats.multivariate_t.pdf(y[s, n], mean[s, h, n], scale[s, h, n], df[s, h])
                for h in range(H)
            ]
            assert found[s, n] == pytest.approx(-np.log(WEIGHTS[s] @ each))
            one = [
                stats.t(df[s, h], mean[s, h, n], np.sqrt(np.diag(scale[s, h, n]))) for h in range(H)
            ]
            m = sum(w * t.mean() for w, t in zip(WEIGHTS[s], one, strict=True))
            v = sum(w * (t.var() + t.mean() ** 2) for w, t in zip(WEIGHTS[s], one, strict=True))
            expected = ((y[s, n] - m) / np.sqrt(v - m**2)).sum() / np.sqrt(2)
            assert z[s, n] == pytest.approx(expected)


def test_a_student_with_no_variance_has_that_of_three_degrees_of_freedom():
    given = np.zeros((S, 1)), np.zeros((S, 1, N, 1)), np.ones((S, 1, N, 1, 1)), np.full((S, 1), 2.0)
    z = of("standardised", StudentT(*given), np.full((S, N, 1), 3.0))
    np.testing.assert_allclose(z, np.sqrt(3.0))


def test_a_real_score_of_classes_is_wrong_on_the_other_side_of_zero():
    score = Gaussian(np.zeros((S, 1)), np.array([2.0, -1, 3, -4])[None, None, :, None].repeat(S, 0),
                     np.ones((S, 1, N, 1)))  # fmt: skip
    labels = np.array([[1, 1, 0, 0]] * S)
    assert (of("error", score, labels) == [[0, 1, 1, 0]] * S).all()
    with pytest.raises(LearnerError, match="take signal: error"):
        of("squared", score, labels)


def test_a_prediction_that_is_not_finite_is_refused_where_its_row_is_seen():
    mean = np.zeros((S, 1, N, 1))
    mean[1, 0, 2] = np.inf
    broken = Gaussian(np.zeros((S, 1)), mean, np.ones((S, 1, N, 1)))
    with pytest.raises(LearnerError, match="not finite"):
        of("squared", broken, np.zeros((S, N, 1)))
    mask = SEEN.copy()
    mask[1, 2] = False
    assert not of("squared", broken, np.zeros((S, N, 1)), mask)[mask].any()
