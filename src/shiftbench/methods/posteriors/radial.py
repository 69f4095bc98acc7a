"""Radial posteriors: w = mean + sd * direction * r, without a Gaussian's concentration on a shell.

For each tensor of D parameters, direction is uniform on the unit sphere and r is N(0, 1)
(farquhar2020radial, 3), so that, with R = |(w - mean) / sd| and up to a constant,

    -log density(w) = R^2 / 2 + (D - 1) log R + sum log sd

(D - 1) log R is the Jacobian of spherical coordinates. Eq. 44 of the paper, its prior for continual
learning, leaves it out (as its appendix C says): that "divergence" has its minimum where sd is
sqrt(D) times the prior's, and is negative there.

A flat vector [..., P] is a sequence of blocks, and a block is one or more tensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from shiftbench.methods.lazy_tensorflow import tf

PriorDensity = Literal["full", "published"]

LEAST = 1e-20
"""Floor of squared radii: log R and 1 / R stay finite."""


class Block(NamedTuple):
    """Tensors that lie interleaved, [rows, tensors, columns] in row-major order."""

    rows: int
    tensors: int
    columns: int

    @property
    def size(self) -> int:
        return self.rows * self.tensors * self.columns


Blocks = Sequence[Block]


def n_tensors(blocks: Blocks) -> int:
    """Return the number T of tensors."""
    return sum(block.tensors for block in blocks)


def sums(values: tf.Tensor, blocks: Blocks) -> tf.Tensor:
    """Return sums [..., T] over the tensors of [..., P]."""
    parts = tf.split(values, [block.size for block in blocks], -1)
    each = [
        tf.reduce_sum(tf.reshape(part, [*part.shape[:-1], *block]), (-3, -1))
        for part, block in zip(parts, blocks, strict=True)
    ]
    return tf.concat(each, -1)


def spread(values: tf.Tensor, blocks: Blocks) -> tf.Tensor:
    """Repeat a value for each tensor, [..., T], over all its parameters, [..., P]."""
    parts = tf.split(values, [block.tensors for block in blocks], -1)
    each = []
    for part, block in zip(parts, blocks, strict=True):
        lead = part.shape[:-1]
        wide = tf.broadcast_to(part[..., tf.newaxis, :, tf.newaxis], [*lead, *block])
        each.append(tf.reshape(wide, [*lead, block.size]))
    return tf.concat(each, -1)


def noise(normals: tf.Tensor, radii: tf.Tensor, blocks: Blocks) -> tf.Tensor:
    """Return direction * r [..., P] from standard normal draws [..., P] and [..., T]."""
    lengths = tf.sqrt(tf.maximum(sums(tf.square(normals), blocks), LEAST))
    return normals * spread(radii / lengths, blocks)


def log_density(
    values: tf.Tensor,
    mean: tf.Tensor,
    sd: tf.Tensor,
    blocks: Blocks,
    density: PriorDensity = "full",
) -> tf.Tensor:
    """Return the log density [...] of parameters [..., P] under a radial posterior.

    density: "published" leaves out (D - 1) log R, as Eq. 44, with the same constant. Beyond one
    dimension that does not integrate to one; minus its average over draws of another posterior is
    the cross entropy that the paper estimates.
    """
    squares = tf.maximum(sums(tf.square((values - mean) / sd), blocks), LEAST)
    dimensions = np.array(_sizes(blocks), np.float32)
    constants = np.array([_log_constant(int(d)) for d in dimensions], np.float32)
    each = constants - 0.5 * squares
    if density == "full":
        each -= 0.5 * (dimensions - 1.0) * tf.math.log(squares)
    return tf.reduce_sum(each, -1) - tf.reduce_sum(tf.math.log(sd), -1)


def divergence(
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior_mean: tf.Tensor,
    prior_sd: tf.Tensor,
    eps: tf.Tensor,
    counted: tf.Tensor,
    blocks: Blocks,
    density: PriorDensity = "full",
) -> tf.Tensor:
    """Return KL(q || prior) [S, H] in nats, q radial, over the tensors of the counted parameters.

    mean, sd, prior_mean, prior_sd: [S, H, P]. A tensor whose prior mean is zero throughout has the
        normal prior N(0, prior_sd^2), all others a radial one.
    eps: `noise` [S, 1, K, P], used only for E log R; all else is exact.
    counted: 1 or 0, equal within a tensor; broadcasts against the means.
    density: "published" leaves out (D - 1) log R of the radial prior, and gives no divergence.
    """
    offset = (mean - prior_mean) / tf.where(counted > 0, prior_sd, 1.0) * counted
    ratio = tf.where(counted > 0, sd / tf.where(counted > 0, prior_sd, 1.0), 1.0)
    sizes = _sizes(blocks)
    dimensions = sizes.astype(np.float32)
    # Draws of a tensor have mean zero and variance sd^2 / D in each coordinate.
    squares = sums(tf.square(offset), blocks) + sums(tf.square(ratio), blocks) / dimensions
    common = 0.5 * (squares - 1.0) - sums(tf.math.log(ratio), blocks)
    normal = sums(tf.abs(prior_mean), blocks) == 0
    constants = np.array([_to_normal(int(d)) for d in sizes], np.float32)
    radial = tf.zeros_like(common)
    if density == "full":
        radial = (dimensions - 1.0) * _log_radius(offset, ratio, eps, blocks)
    each = common + tf.where(normal, constants, radial)
    return tf.reduce_sum(each * sums(counted + 0 * offset, blocks) / dimensions, -1)


def _sizes(blocks: Blocks) -> np.ndarray:
    """Return the number D of parameters of each tensor, [T]."""
    return np.repeat([b.rows * b.columns for b in blocks], [b.tensors for b in blocks])


def _log_sphere(size: int) -> float:
    """Return the logarithm of the area of the unit sphere in `size` dimensions."""
    return math.log(2) + size / 2 * math.log(math.pi) - math.lgamma(size / 2)


def _log_constant(size: int) -> float:
    """Return the log constant of the density: of |r|, twice a normal's, spread over the sphere."""
    return 0.5 * math.log(2 / math.pi) - _log_sphere(size)


def _to_normal(size: int) -> float:
    """Return the terms of KL(q || N) that it does not share with KL(q || radial)."""
    log_sphere = _log_sphere(size)
    mean_log_radius = -0.5 * (np.euler_gamma + math.log(2))
    log_half_normals = math.log(2) + (size - 1) / 2 * math.log(2 * math.pi)
    return log_half_normals - log_sphere - (size - 1) * mean_log_radius


def _log_radius(offset: tf.Tensor, ratio: tf.Tensor, eps: tf.Tensor, blocks: Blocks) -> tf.Tensor:
    """Return E log R under q minus E log |r|, [S, H, T], on the same draws; 0 if q is the prior."""
    scaled = offset[:, :, tf.newaxis] + ratio[:, :, tf.newaxis] * eps
    squares = sums(tf.square(scaled), blocks), sums(tf.square(eps), blocks)
    log_radius, log_r = (0.5 * tf.math.log(tf.maximum(a, LEAST)) for a in squares)
    return tf.reduce_mean(log_radius - log_r, 2)
