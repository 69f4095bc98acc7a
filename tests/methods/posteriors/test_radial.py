"""Radial densities against quadrature, sampling and known values of their divergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.posteriors import radial
from shiftbench.methods.posteriors.radial import Block


def draws(blocks, k, seed=0):
    """Return radial noise [1, 1, k, P]."""
    rng = np.random.default_rng(seed)
    size = sum(block.size for block in blocks)
    normals = rng.normal(size=(1, 1, k, size)).astype(np.float32)
    radii = rng.normal(size=(1, 1, k, radial.n_tensors(blocks))).astype(np.float32)
    return radial.noise(tf.constant(normals), tf.constant(radii), blocks)


def kl(mean, sd, prior_mean, prior_sd, blocks, k=50, density="full", counted=None):
    vectors = [tf.constant(np.float32(a))[None, None] for a in (mean, sd, prior_mean, prior_sd)]
    counted = np.ones(len(mean), np.float32) if counted is None else counted
    return radial.divergence(*vectors, draws(blocks, k), counted, blocks, density).numpy()[0, 0]


@pytest.mark.parametrize(
    ("s", "full", "published"),
    [(0.5, 0.318, 1.39e4), (1.0, 0.0, 0.0), (2.0, 0.807, -1.39e4), (20_000**0.5, 1.0e4, -8.9e4)],
)
def test_scaled_prior_has_the_known_divergence_with_and_without_the_jacobian(s, full, published):
    one, blocks = np.ones(20_000), (Block(200, 1, 100),)
    values = (0.3 * one, s * 0.1 * one, 0.3 * one, 0.1 * one, blocks)
    assert kl(*values) == pytest.approx(full, rel=0.02, abs=0.03)
    assert kl(*values, density="published") == pytest.approx(published, rel=0.01, abs=0.01)


def test_least_at_the_prior_in_both_parameters():
    rng = np.random.default_rng(0)
    blocks = (Block(30, 1, 1), Block(4, 3, 5))
    prior = rng.normal(size=90), np.exp(rng.normal(size=90))
    with tf.GradientTape() as tape:
        q = [tf.constant(np.float32(a))[None, None] for a in prior]
        tape.watch(q)
        # Noise in opposite pairs: the gradient in the mean is exactly zero.
        eps = draws(blocks, 200)
        eps = tf.concat([eps, -eps], 2)
        actual = radial.divergence(*q, *q, eps, np.ones(90, np.float32), blocks)
    in_mean, in_sd = tape.gradient(actual, q)
    assert actual.numpy() == pytest.approx(0, abs=1e-4)
    sizes = np.repeat([30, 20], [30, 60])
    assert np.abs(in_mean * prior[1]).max() < 1e-2 * sizes.max()
    # (D - 1) E direction^2 - 1 + E direction^2 = 0 for each, estimated from 200 directions.
    assert np.abs(np.mean(in_sd * prior[1])) < 1e-4
    assert np.abs(in_sd * prior[1]).max() < 0.6
    for scale in (0.8, 1.25):
        values = prior[0], scale * prior[1], *prior, blocks
        assert kl(*values) > 0.01
        assert (kl(*values, density="published") < 0) == (scale > 1)
    assert kl(prior[0] + 0.1 * prior[1], prior[1], *prior, blocks, k=500) > 0.01


def test_in_one_dimension_both_priors_give_the_divergence_of_normals():
    mean, sd = np.array([0.4, -1.0, 2.0]), np.array([0.5, 1.5, 1.0])
    prior_mean, prior_sd = np.array([0.1, 0.0, 1.0]), np.array([0.7, 2.0, 0.5])
    blocks = (Block(1, 3, 1),)
    exact = tfd.kl_divergence(tfd.Normal(mean, sd), tfd.Normal(prior_mean, prior_sd))
    actual = kl(mean, sd, prior_mean, prior_sd, blocks)
    np.testing.assert_allclose(actual, np.sum(exact), rtol=1e-4)


def test_divergence_to_a_normal_equals_quadrature():
    """Three dimensions with equal sd, in polar coordinates around the mean; prior N(0, I)."""
    size, sd = 3, 0.6
    r = np.linspace(1e-6, 10, 200_001)
    half_normal = np.sqrt(2 / np.pi) * np.exp(-(r**2) / 2)
    log_q = np.log(half_normal) - np.log(4 * np.pi * r**2) - size * np.log(sd)
    log_p = -0.5 * (sd * r) ** 2 - size / 2 * np.log(2 * np.pi)
    exact = np.sum(half_normal * (log_q - log_p)) * (r[1] - r[0])
    zero, one = np.zeros(size), np.ones(size)
    assert kl(zero, sd * one, zero, one, (Block(3, 1, 1),)) == pytest.approx(exact, abs=1e-3)


def test_divergence_to_a_radial_prior_equals_an_average_of_log_densities():
    rng = np.random.default_rng(1)
    blocks, k = (Block(2, 2, 3), Block(1, 2, 1)), 200_000
    mean, prior_mean = rng.normal(size=(2, 14))
    sd, prior_sd = np.exp(0.3 * rng.normal(size=(2, 14)))
    w = mean + sd * draws(blocks, k).numpy()[0, 0].astype(float)

    def log_density(centre, scale):
        squares = radial.sums(((w - centre) / scale) ** 2, blocks).numpy()
        sizes = np.array([6, 6, 1, 1])
        each = -squares / 2 - (sizes - 1) / 2 * np.log(squares)
        return each.sum(axis=1) - np.log(scale).sum()

    each = log_density(mean, sd) - log_density(prior_mean, prior_sd)
    actual = kl(mean, sd, prior_mean, prior_sd, blocks, k=k)
    assert actual == pytest.approx(each.mean(), abs=5 * each.std() / k**0.5 + 1e-3)


def test_radii_are_normal_and_directions_uniform():
    blocks, k = (Block(4, 2, 3), Block(1, 1, 5)), 40_000
    eps = draws(blocks, k).numpy()[0, 0]
    radii = np.sqrt(radial.sums(eps**2, blocks).numpy())
    for q in (0.25, 0.5, 0.75, 0.95):
        expected = float(tfd.HalfNormal(1.0).quantile(q))
        np.testing.assert_allclose(np.quantile(radii, q, axis=0), expected, atol=0.03)
    assert np.abs(np.corrcoef(radii.T) - np.eye(3)).max() < 0.03
    directions = eps / radial.spread(radii, blocks).numpy()
    sizes = np.repeat([12, 5], [24, 5])
    np.testing.assert_allclose(directions.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose((directions**2).mean(axis=0) * sizes, 1, atol=0.05)
    # The fourth moment of a coordinate of a uniform direction is 3 / (D (D + 2)).
    fourth = (directions**4).mean(axis=0) * sizes * (sizes + 2) / 3
    np.testing.assert_allclose(fourth, 1, atol=0.12)
    covariance = np.cov(directions.T) * np.sqrt(np.outer(sizes, sizes))
    assert np.abs(covariance - np.eye(29)).max() < 0.05


def test_interleaved_tensors_are_columns_by_head():
    values = tf.reshape(tf.range(12.0), [1, 12])  # 2 rows of 3 heads of 2 columns
    assert radial.sums(values, (Block(2, 3, 2),)).numpy().tolist() == [[14, 22, 30]]
    wide = radial.spread(tf.constant([[1.0, 2.0, 3.0]]), (Block(2, 3, 2),)).numpy()
    assert wide[0].tolist() == [1, 1, 2, 2, 3, 3] * 2


def test_parameters_that_do_not_count_add_nothing():
    blocks = (Block(3, 1, 1), Block(2, 1, 1))
    counted = np.array([1, 1, 1, 0, 0], np.float32)
    values = np.ones(5), 0.5 * np.ones(5), 0.3 * np.ones(5), np.array([1, 1, 1, 0, 0])
    changed = np.array([1, 1, 1, 9, -9]), np.array([0.5, 0.5, 0.5, 0, 0]), *values[2:]
    assert kl(*values, blocks, counted=counted) == kl(*changed, blocks, counted=counted)


def shells(size, centre, sd, prior_mean, prior_sd, published=False):
    """Return E_q of -log q and of -log p by quadrature over radius and direction.

    Directions form a grid in two or three dimensions, and are two points in one. All is in double
    precision from the definition: |r| has the half-normal density, and directions are uniform.
    """
    # The grid is dense near zero, where log r has its pole.
    r = np.geomspace(1e-8, 9, 4001)
    weight = np.sqrt(2 / np.pi) * np.exp(-(r**2) / 2)
    angle = (np.arange(60) + 0.5) / 60 * 2 * np.pi
    nodes, of_node = np.polynomial.legendre.leggauss(40)
    if size == 1:
        directions, share = np.array([[1.0], [-1.0]]), np.full(2, 0.5)
    elif size == 2:
        directions, share = np.stack([np.cos(angle), np.sin(angle)], 1), np.full(60, 1 / 60)
    else:
        flat = np.sqrt(1 - nodes**2)
        ring = [np.outer(flat, f(angle)) for f in (np.cos, np.sin)]
        directions = np.stack([*ring, np.outer(nodes, np.ones(60))], -1).reshape(-1, 3)
        share = np.outer(of_node / 2, np.full(60, 1 / 60)).ravel()
    area = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}[size]

    def log_density(radius, scale, jacobian=True):
        power = (size - 1) * np.log(radius) if jacobian else 0.0
        constant = 0.5 * np.log(2 / np.pi) - np.log(area)
        return constant - radius**2 / 2 - power - np.log(scale).sum()

    eps = r[:, None, None] * directions
    away = np.linalg.norm((np.asarray(centre) + sd * eps - prior_mean) / prior_sd, axis=-1)
    q, p = log_density(r, sd), log_density(away, prior_sd, not published) @ share
    return tuple(-integrate.simpson(weight * log, x=r) for log in (q, p))


CASES = [
    (1, [0.4], [0.5], [0.1], [0.7]),
    (2, [0.3, -0.2], [0.5, 0.9], [1.0, 0.5], [0.8, 0.6]),
    (3, [0.3, -0.2, 0.1], [0.5, 0.9, 0.7], [1.0, 0.5, -0.5], [0.8, 0.6, 1.1]),
]


@pytest.mark.parametrize(("size", "mean", "sd"), [case[:3] for case in CASES[:2]])
def test_the_density_integrates_to_one_and_eq_44_does_not(size, mean, sd):
    blocks, centre, scale = (Block(size, 1, 1),), np.float32(mean), np.float32(sd)
    angle, r = np.arange(24) / 24 * 2 * np.pi, np.linspace(1e-4, 8, 4001)
    directions = np.array([[1.0], [-1.0]])
    if size == 2:
        directions = np.stack([np.cos(angle), np.sin(angle)], 1)
    values = np.float32(mean + np.array(sd) * r[:, None, None] * directions)

    def mass(density):
        """Integrate the density in polar coordinates, where 1 / R has no pole."""
        at = np.exp(radial.log_density(values, centre, scale, blocks, density)).mean(axis=1)
        shell = 2 * (np.pi * r) ** (size - 1) * np.prod(sd)
        return integrate.simpson(shell * at, x=r)

    assert mass("full") == pytest.approx(1, abs=2e-3)
    published = mass("published")
    # Without 1 / R the mass of a shell grows with R: E R = sqrt(2 / pi).
    assert published == pytest.approx(1 if size == 1 else np.sqrt(2 / np.pi), abs=2e-3)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(("size", "mean", "sd", "prior_mean", "prior_sd"), CASES)
def test_entropy_and_cross_entropy_equal_quadrature(
    size, mean, sd, prior_mean, prior_sd, published
):
    density, blocks = "published" if published else "full", (Block(size, 1, 1),)
    entropy, cross = shells(size, mean, np.array(sd), prior_mean, np.array(prior_sd), published)
    values = np.array(mean) + sd * draws(blocks, 400_000).numpy()[0, 0]
    own = -radial.log_density(np.float32(values), np.float32(mean), np.float32(sd), blocks)
    of_prior = -radial.log_density(
        np.float32(values), np.float32(prior_mean), np.float32(prior_sd), blocks, density
    )
    for actual, exact in ((own, entropy), (of_prior, cross)):
        assert np.mean(actual) == pytest.approx(
            exact, abs=4 * float(np.std(actual)) / 400_000**0.5 + 1e-3
        )
    # The divergence used in training is exact except for E log R, so fewer draws suffice.
    full = kl(mean, sd, prior_mean, prior_sd, blocks, k=100_000, density=density)
    missing = (size - 1) * radial_log_mean() if published else 0.0
    assert full == pytest.approx(cross - entropy + missing, abs=0.02)


def radial_log_mean():
    """Return E log |r|, the constant that eq. 44 and the divergence omit."""
    return float(-0.5 * (np.euler_gamma + np.log(2)))
