"""Kronecker factors against dense matrices and published numbers."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Broadening
from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.posteriors import kronecker_gaussian as family

SIZES = ((3, 2), (2, 4))
P = 14


def gaussian(seed=0):
    """Return mean [2, 1, P] and precision, in float64."""
    rng = np.random.default_rng(seed)

    def factor(n):
        root = rng.normal(size=(2, 1, n, n))
        return tf.constant(root @ np.swapaxes(root, -1, -2))

    left, right = (tuple(factor(size[i]) for size in SIZES) for i in (0, 1))
    precision = family.Precision(left, right, tf.constant(rng.uniform(0.5, 3, (2, 1))))
    return rng.normal(size=(2, 1, P)), precision


def dense(precision):
    """Return the precision as a matrix [2, 1, P, P]."""
    whole = np.asarray(precision.ridge)[..., None, None] * np.eye(P)
    first = 0
    for a, b in zip(precision.left, precision.right, strict=True):
        block = np.einsum("...ij,...kl->...ikjl", a, b)
        n = block.shape[-1] * block.shape[-2]
        part = slice(first, first + n)
        whole[..., part, part] += block.reshape(*block.shape[:-4], n, n)
        first += n
    return whole


def test_factors_survive_the_flat_form():
    mean, precision = gaussian()
    state = family.state_of(tf.constant(mean), precision)
    back = family.precision_of(state["left"], state["right"], state["ridge"], SIZES)
    np.testing.assert_array_equal(dense(back), dense(precision))


def test_products_and_determinant_equal_dense_ones():
    x, precision = gaussian()
    whole, of = dense(precision), family.spectrum(precision)
    np.testing.assert_allclose(
        family.precision_times(precision, tf.constant(x)), (whole @ x[..., None])[..., 0]
    )
    exact = np.linalg.solve(whole, x[..., None])[..., 0]
    np.testing.assert_allclose(family.covariance_times(of, tf.constant(x)), exact, atol=1e-12)
    np.testing.assert_allclose(family.log_det(of), np.linalg.slogdet(whole)[1])
    square = np.einsum("...i,...ij,...j", x, whole, x)
    np.testing.assert_allclose(family.square(precision, tf.constant(x)), square)


def test_draws_have_the_covariance():
    mean, precision = gaussian()
    noise = np.broadcast_to(np.eye(P), (2, 1, P, P))
    # The noise is mapped linearly, so the matrix of the map gives the covariance.
    drawn = family.sample(tf.constant(mean), family.spectrum(precision), tf.constant(noise))
    root = drawn.numpy() - mean[..., None, :]
    covariance = np.linalg.inv(dense(precision))
    np.testing.assert_allclose(np.swapaxes(root, -1, -2) @ root, covariance, atol=1e-12)


def test_divergence_equals_tfp():
    (mean, q), (prior_mean, prior) = gaussian(), gaussian(1)
    full = [
        tfd.MultivariateNormalTriL(m, np.linalg.cholesky(np.linalg.inv(dense(of))))
        for m, of in ((mean, q), (prior_mean, prior))
    ]
    means = tf.constant(mean), tf.constant(prior_mean)
    result = family.kl(means[0], family.spectrum(q), means[1], prior)
    np.testing.assert_allclose(result, full[0].kl_divergence(full[1]), rtol=1e-9)
    nothing = family.kl(means[0], family.spectrum(q), means[0], q)
    np.testing.assert_allclose(nothing, 0, atol=1e-12)


def pair(left, right, ridge=0.0):
    """Return a precision of one layer from its factors."""
    factors = ((tf.constant(one, tf.float64),) for one in (left, right))
    return family.Precision(*factors, tf.constant(ridge, tf.float64))


def test_nearest_pair_is_that_of_martens_and_grosse_with_the_trace_of_the_sum():
    first = pair(np.diag([2.0, 1.0]), [[1, 0.5], [0.5, 2]], 0.25)
    second = pair([[1, 0.2], [0.2, 3]], np.diag([0.5, 0.25]), 0.5)
    found = family.nearest_pair(first, second)
    left, right = found.left[0].numpy(), found.right[0].numpy()
    # pi = 2.3094010768 is from another implementation, which does not scale B.
    np.testing.assert_allclose(0.2 / left[0, 1], 2.3094010768, rtol=1e-9)
    np.testing.assert_allclose(
        left, [[2.4330127019, 0.0866025404], [0.0866025404, 2.2990381057]], rtol=1e-9
    )
    unscaled = np.array([[2.1547005384, 0.5], [0.5, 2.5773502692]])
    np.testing.assert_allclose(right / right[0, 1] * 0.5, unscaled, rtol=1e-9)
    np.testing.assert_allclose(np.trace(left) * np.trace(right), 3 * 3 + 4 * 0.75)
    np.testing.assert_allclose(found.ridge, 0.75)


def test_a_sum_of_equal_terms_or_with_nothing_is_exact():
    _, precision = gaussian()
    twice = family.nearest_pair(precision, precision)
    np.testing.assert_allclose(dense(twice), 2 * dense(precision), rtol=1e-9, atol=1e-12)
    zeros = tuple(tf.zeros_like(one) for one in precision.right)
    # A network with vanishing gradients still has inputs.
    nothing = family.Precision(precision.left, zeros, tf.zeros_like(precision.ridge))
    for both in ((precision, nothing), (nothing, precision)):
        np.testing.assert_allclose(dense(family.nearest_pair(*both)), dense(precision), rtol=1e-9)


@pytest.mark.parametrize("kind", ["temper", "temper-prior", "geometric"])
def test_broadening_equals_that_of_dense_matrices(kind):
    mean, precision = gaussian()
    broadening = Broadening(kind, beta=0.3)
    result, wide = family.broaden(mean, precision, broadening, prior_variance=0.7)
    own = 0.3 * dense(precision)
    exact = own + broadening.prior_share / 0.7 * np.eye(P)
    np.testing.assert_allclose(dense(wide), exact)
    np.testing.assert_allclose(result[..., None], np.linalg.solve(exact, own @ mean[..., None]))


def test_diffusion_is_exact_for_one_output_and_keeps_sums_of_eigenvalues():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    one = pair(root @ root.T, [[1.7]], 0.6)
    _, wide = family.broaden(np.zeros(3), one, Broadening("diffuse", variance=0.4))
    exact = np.linalg.inv(np.linalg.inv(1.7 * root @ root.T + 0.6 * np.eye(3)) + 0.4 * np.eye(3))
    found = 1.0 * wide.left[0] * wide.right[0] + wide.ridge * np.eye(3)
    np.testing.assert_allclose(found, exact)
    mean, wide = family.broaden(np.ones(3), one, Broadening("ou", 0.8), prior_variance=0.7)
    narrow = np.linalg.inv(1.7 * root @ root.T + 0.6 * np.eye(3))
    exact = np.linalg.inv(0.64 * narrow + 0.36 * 0.7 * np.eye(3))
    found = 1.0 * wide.left[0] * wide.right[0] + wide.ridge * np.eye(3)
    np.testing.assert_allclose(found, exact)
    np.testing.assert_array_equal(mean, 0.8)
    _, precision = gaussian()
    _, wide = family.broaden(np.zeros(P), precision, Broadening("diffuse", variance=0.4))
    exact = [1 / (1 / values + 0.4) for values in family.spectrum(precision).values]
    for values, expected in zip(family.spectrum(wide).values, exact, strict=True):
        for axis in (-1, -2):
            found = np.sort(values.numpy().sum(axis), -1)
            np.testing.assert_allclose(found, np.sort(expected.numpy().sum(axis), -1))
    _, same = family.broaden(np.zeros(P), precision, Broadening("diffuse", variance=0.0))
    np.testing.assert_allclose(dense(same), dense(precision), atol=1e-9)
    _, same = family.broaden(np.zeros(P), precision, Broadening("ou", 1.0))
    np.testing.assert_allclose(dense(same), dense(precision), atol=1e-9)
    mean, prior = family.broaden(np.ones(P), precision, Broadening("ou", 0.0), prior_variance=0.7)
    exact = np.broadcast_to(np.eye(P) / 0.7, dense(prior).shape)
    np.testing.assert_allclose(dense(prior), exact, atol=1e-9)
    np.testing.assert_array_equal(mean, 0.0)


def test_two_seeds_side_by_side_have_the_bytes_of_each_alone():
    rng = np.random.default_rng(0)
    sizes, draws = ((65, 50), (51, 3)), 5
    left, right = (
        tuple(
            np.stack([np.cov(rng.normal(size=(n, 2 * n))) for _ in range(2)])[:, None] for n in side
        )
        for side in zip(*sizes, strict=True)
    )
    noise = rng.normal(size=(2, 1, draws, sum(a * b for a, b in sizes)))
    whole = family.Precision(left, right, np.ones((2, 1))), noise

    @tf.function(autograph=False)
    def drawn(precision, noise):
        return family.sample(tf.zeros_like(noise[..., 0, :]), family.spectrum(precision), noise)

    def of_seeds(first):
        return drawn(*tf.nest.map_structure(lambda a: tf.constant(a[first:], tf.float32), whole))

    both, one = of_seeds(0), of_seeds(1)
    np.testing.assert_array_equal(both[1], one[0])
