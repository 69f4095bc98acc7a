"""GVCL and TD-VCL, successors of variational continual learning that are settings of mfvi."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import mfvi
from shiftbench.methods.models import linear
from shiftbench.methods.networks import carried_prior, mean_field
from shiftbench.methods.networks.carried_prior import CarriedPrior
from shiftbench.methods.networks.mean_field import Anchor, MeanField
from tests.methods.learners.parameters import shaped

KEY = seeds.block([0, 1], "successors")
N, A, FIRST = 10, 2.0, 4.0
"""The rows of a task, the curvature of a row, and the precision of the first prior."""


@pytest.mark.parametrize(
    ("weight", "first_variance", "expected"),
    [
        (1.0, 0.5, 20.544718956),
        (10.0, 0.5, 199.329718956),
        (100.0, 0.5, 1987.179718956),
        (10.0, 2.0, 199.672866137),
    ],
)
def test_the_anchored_divergence_has_the_values_of_the_published_code(
    weight, first_variance, expected
):
    """In the last case the prior variance, 2, exceeds that of the first prior, 1."""
    q = MeanField(shaped(0.3, -0.5), tf.sqrt(shaped(0.2, 0.01)))
    prior_variance = shaped(first_variance, 0.02)
    prior = MeanField(shaped(0.1, 0.4), tf.sqrt(prior_variance))
    found = mean_field.gaussian_divergence(q, prior, np.ones(2, "f4"), Anchor(weight, 1.0))
    assert found.numpy().item() == pytest.approx(expected, rel=1e-6)


def test_the_gradient_of_the_anchored_divergence_is_that_of_its_value():
    rng = np.random.default_rng(1)
    mean, rho, prior_mean = (tf.constant(rng.normal(size=(2, 3, 7)), tf.float32) for _ in range(3))
    prior = MeanField(prior_mean, tf.constant(np.exp(rng.normal(size=(2, 3, 7))), tf.float32))
    counted, anchor = np.array([1, 1, 0, 1, 1, 0, 1], np.float32), Anchor(30.0, 0.8)
    parameters = tf.concat([mean, rho], -1)
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        q = MeanField(*mean_field.unpack(parameters, counted))
        loss = mean_field.gaussian_divergence(q, prior, counted, anchor) / 50.0
    zero = MeanField(tf.zeros_like(mean), tf.zeros_like(mean))
    found = mean_field.gaussian_gradient(zero, q, prior, counted, 50.0, anchor)
    np.testing.assert_allclose(found, tape.gradient(loss, parameters), rtol=1e-4, atol=1e-5)


def fixed_point(kl_weight, anchor_weight, learnt=0.0, mean=0.0, target=1.0):
    """Return mean and precision of GVCL on rows with loss A / 2 (w - target)^2.

    The prior has mean `mean` and a precision that exceeds the first one by `learnt`.
    """
    held = kl_weight * (anchor_weight * learnt + FIRST)
    optimum = (N * A * target + held * mean) / (N * A + held)
    return optimum, FIRST + learnt + N * A / kl_weight


@pytest.mark.parametrize(
    ("kl_weight", "mean", "precision"),
    [(1.0, 0.8333333333, 24), (0.1, 0.9803921569, 204), (0.001, 0.9998000400, 20004)],
)
def test_on_a_quadratic_the_gradient_is_zero_at_the_exact_posterior(kl_weight, mean, precision):
    assert fixed_point(kl_weight, 1.0) == pytest.approx((mean, precision), rel=1e-9)
    sd = precision**-0.5
    # Gradient of the mean loss of a row in mean and sd.
    likelihood = MeanField(shaped(A * (mean - 1)), shaped(A * sd))
    q, prior = MeanField(shaped(mean), shaped(sd)), MeanField(shaped(0.0), shaped(FIRST**-0.5))
    count = N / kl_weight
    for anchor in (None, Anchor(7.0, FIRST)):  # nothing was learnt beyond the first prior
        found = mean_field.gaussian_gradient(likelihood, q, prior, np.ones(1, "f4"), count, anchor)
        np.testing.assert_allclose(found, 0, atol=1e-6)


def test_as_the_weight_goes_to_zero_the_means_are_those_of_online_ewc():
    """The penalty is strength / 2 N A (w - mean)^2, whatever the prior."""
    (first, precision), strength = fixed_point(1e-6, 1.0), 3.0
    second, _ = fixed_point(1e-6, strength, precision - FIRST, first, target=-1.0)
    assert second == pytest.approx((-1 + strength * 1.0) / (1 + strength), abs=1e-5)


@functools.cache
def learner(**settings):
    problem = Problem("regression", (1,), 1, N, 3)
    model = linear.build(linear.Settings(noise_sd=A**-0.5), problem)
    usual = {"biases": "gaussian", "batch_size": N, "learning_rate": 0.02, "start": "prior"}
    usual |= {"epochs": 800, "estimator": "local", "draws": 4, "prior_sd": FIRST**-0.5}
    return mfvi.build(mfvi.Settings(**usual | settings), problem, model)


def quadratic(target: float) -> Batch:
    """Return rows for which weight and bias each have the loss A / 2 (w - target)^2."""
    inputs = np.tile(np.array([1.0, -1.0], "f4"), N // 2)
    rows = np.stack([inputs[:, np.newaxis]] * 2)
    return Batch(rows, target * (rows + 1), np.ones((2, N), bool))


@pytest.mark.long
def test_gvcl_reaches_its_fixed_point_task_by_task():
    vi, state = learner(kl_weight=0.1, anchor_weight=5.0), None
    mean, learnt, state = 0.0, 0.0, vi.init(KEY)
    for target in (1.0, -0.5):
        prior = state
        state, info = vi.observe(state, quadratic(target), KEY)
        mean, precision = fixed_point(0.1, 5.0, learnt, mean, target)
        learnt = precision - FIRST
        assert np.abs(state["mean"] - mean).max() * precision**0.5 < 0.5
        np.testing.assert_allclose(state["sd"], precision**-0.5, rtol=0.1)
        q, old = (MeanField(*map(tf.constant, s.values())) for s in (state, prior))
        kl = mean_field.gaussian_divergence(q, old, np.ones(2, "f4"), Anchor(5.0, FIRST))
        np.testing.assert_allclose(info["kl"], kl, rtol=1e-4)
        elbo = info["expected_log_likelihood"] - 0.1 * info["kl"]
        np.testing.assert_allclose(info["elbo"], elbo, rtol=1e-5)


def merged_by_hand(posteriors, decay):
    """Return mean and sd of the weighted geometric mean of posteriors, oldest first."""
    weights = decay ** np.arange(len(posteriors))[::-1]
    weights /= weights.sum()
    means, sds = (np.stack(a).astype(float) for a in zip(*posteriors, strict=True))
    precision = np.tensordot(weights, sds**-2, 1)
    return np.tensordot(weights, sds**-2 * means, 1) / precision, precision**-0.5


def test_the_prior_of_td_vcl_is_the_merged_one_of_all_posteriors_so_far():
    vi = learner(merge=0.4, epochs=20)
    state = vi.init(KEY)
    posteriors = [(state["mean"], state["sd"])]
    for number, target in enumerate((1.0, -0.5, 2.0)):
        state, info = vi.observe(state, quadratic(target), seeds.fold_each(KEY, number))
        q, prior = (state["mean"], state["sd"]), merged_by_hand(posteriors, 0.4)
        kl = 0.5 * (
            (q[1] ** 2 + (q[0] - prior[0]) ** 2) / prior[1] ** 2 - 1 - 2 * np.log(q[1] / prior[1])
        )
        np.testing.assert_allclose(info["kl"], kl.sum(-1), rtol=1e-4)
        posteriors.append(q)


def test_the_merged_prior_is_broadened_with_the_posterior():
    """With power zero, the geometric mean with the first prior is that prior, for both."""
    vi = learner(merge=0.4, epochs=20)
    state, _ = vi.observe(vi.init(KEY), quadratic(1.0), KEY)
    forgotten = vi.broaden(state, Broadening("geometric", beta=0.0))
    for name, array in vi.init(KEY).items():
        if name != "merged_weight":
            scale = 1.4 if name == "merged_precision" else 1.0
            np.testing.assert_allclose(forgotten[name], scale * array, rtol=1e-5, atol=1e-6)


def test_points_stay_points_under_a_merged_prior():
    rule = CarriedPrior("carried", 0.5, np.array([1, 0], np.float32), 0.4)
    state = carried_prior.first_state(rule, 1)
    mean, sd = np.array([[[0.7, -3.0]]], np.float32), np.array([[[0.1, 0.0]]], np.float32)
    state = carried_prior.after_task(rule, state, mean, sd)
    wide = carried_prior.broadened(rule, state, Broadening("temper", beta=0.5))
    for each in (state, wide):
        assert each["mean"][0, 0, 1] == -3 and each["sd"][0, 0, 1] == 0
        assert carried_prior.of_task(rule, each).sd[0, 0, 1] == 0
    expected = merged_by_hand([(np.zeros(1), np.array([0.5])), (mean[0, 0, :1], sd[0, 0, :1])], 0.4)
    found = [a[0, 0, :1] for a in carried_prior.of_task(rule, state)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_setting_that_would_do_nothing_is_refused():
    for fields in (
        {"merge": 0.5, "prior": "first"},
        {"merge": 0.5, "family": "radial"},
        {"anchor_weight": 2.0, "family": "radial"},
    ):
        assert [*mfvi.unsupported(mfvi.Settings(**fields))]
    assert not [*mfvi.unsupported(mfvi.Settings(merge=0.5, anchor_weight=2.0))]
