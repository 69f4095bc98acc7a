"""Divergence of a mean-field posterior from its prior: values, and gradients in (mean, rho).

rho = softplus^-1(sd). bayesian, counted: [P] or [S, H, P], 0 or 1; parameters that are points, or
that do not count, add nothing to the divergence and its gradient. An `Anchor` makes it KL_lambda of
generalised variational continual learning (GVCL; Loo et al. 2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.networks.backend import fused, tf
from shiftbench.methods.posteriors import radial


class MeanField(NamedTuple):
    """Independent normals, [S, H, P] each, or gradients in them; sd is 0 for points."""

    mean: tf.Tensor
    sd: tf.Tensor


class Anchor(NamedTuple):
    """The weight lambda of what the data of earlier tasks say about the means (GVCL).

    Squares of the means' distances from the prior have the precision lambda (s - p) + p for the
    precisions s of the prior and p of the first prior, and p where s is smaller.
    """

    weight: float
    first_precision: float


@fused
def unpack(parameters: tf.Tensor, bayesian: np.ndarray) -> tuple[tf.Tensor, tf.Tensor]:
    """Return mean and sd [S, H, P] from (mean, rho) side by side [S, H, 2 P]."""
    mean, rho = tf.split(parameters, 2, -1)
    return mean, tf.nn.softplus(rho) * bayesian


@fused
def gaussian_gradient(
    likelihood: MeanField,
    q: MeanField,
    prior: MeanField,
    counted: np.ndarray | tf.Tensor,
    count: tf.Tensor,
    anchor: Anchor | None = None,
) -> tf.Tensor:
    """Return the gradient of (nll + KL / count) in (mean, rho), [S, H, 2 P].

    likelihood: the gradient of the nll in (mean, sd). That of the divergence is in closed form and
    fused: by automatic differentiation it costs more than the network.
    """
    points = 1.0 - counted
    precision = counted / tf.square(prior.sd + points)
    held = precision if anchor is None else counted * anchored(anchor, precision)
    in_mean = likelihood.mean + (q.mean - prior.mean) * held / count
    in_sd = likelihood.sd + (q.sd * precision - counted / (q.sd + points)) / count
    return tf.concat([in_mean, in_sd * -tf.math.expm1(-q.sd)], -1)


@fused
def radial_gradient(
    likelihood: MeanField,
    q: MeanField,
    prior: MeanField,
    counted: np.ndarray | tf.Tensor,
    count: tf.Tensor,
    eps: tf.Tensor,
    blocks: radial.Blocks,
    density: radial.PriorDensity,
) -> tf.Tensor:
    """Return the same for a radial posterior; eps: the noise of the draws."""
    with tf.GradientTape() as tape:
        tape.watch([*q])
        kl = radial.divergence(*q, *prior, eps, counted, blocks, density)
    in_mean, in_sd = tape.gradient(kl, [*q])
    in_mean = likelihood.mean + in_mean / count
    in_sd = likelihood.sd + in_sd / count
    return tf.concat([in_mean, in_sd * -tf.math.expm1(-q.sd)], -1)


def anchored(anchor: Anchor, precision: tf.Tensor) -> tf.Tensor:
    """Return the precision of the means' distances from a prior of a precision [S, H, P]."""
    learnt = tf.maximum(precision - anchor.first_precision, 0.0)
    return anchor.weight * learnt + anchor.first_precision


def gaussian_divergence(
    q: MeanField,
    prior: MeanField,
    counted: np.ndarray | tf.Tensor,
    anchor: Anchor | None = None,
) -> tf.Tensor:
    """Return KL(q || prior) [S, H] in nats, or KL_lambda, over the counted parameters."""
    points = 1.0 - counted
    each = tfd.kl_divergence(
        tfd.Normal(q.mean, q.sd + points), tfd.Normal(prior.mean, prior.sd + points)
    )
    if anchor is not None:
        precision = 1 / tf.square(prior.sd + points)
        more = anchored(anchor, precision) - precision
        each += 0.5 * tf.square(q.mean - prior.mean) * more
    return tf.reduce_sum(each * counted, -1)
