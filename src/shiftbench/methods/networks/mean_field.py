"""A mean-field posterior's divergence to its prior: values, and gradients in (mean, rho).

rho = softplus^-1(sd). bayesian, counted [P] or [S, H, P], 0 or 1: parameters that are points,
or that do not count, have neither divergence nor gradient of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow_probability as tfp

from shiftbench.methods.networks.backend import fused, tf
from shiftbench.methods.posteriors import radial

tfd = tfp.distributions


class Prior(NamedTuple):
    """[S, H, P] each."""

    mean: tf.Tensor
    sd: tf.Tensor


@fused
def unpack(parameters: tf.Tensor, bayesian: np.ndarray) -> tuple[tf.Tensor, tf.Tensor]:
    """(mean, sd) [S, H, P] each, from (mean, rho) side by side [S, H, 2 P]."""
    mean, rho = tf.split(parameters, 2, -1)
    return mean, tf.nn.softplus(rho) * bayesian


@fused
def gaussian_gradient(
    mean_gradient: tf.Tensor,
    sd_gradient: tf.Tensor,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior: Prior,
    counted: np.ndarray | tf.Tensor,
    count: tf.Tensor,
) -> tf.Tensor:
    """Gradient of (nll + KL / count) in (mean, rho) [S, H, 2 P], from the nll's in (mean, sd).

    The divergence's gradient in closed form, fused: with automatic differentiation it
    costs more than the network.
    """
    points = 1.0 - counted
    precision = counted / tf.square(prior.sd + points)
    mean_gradient += (mean - prior.mean) * precision / count
    sd_gradient += (sd * precision - counted / (sd + points)) / count
    return tf.concat([mean_gradient, sd_gradient * -tf.math.expm1(-sd)], -1)


@fused
def radial_gradient(
    mean_gradient: tf.Tensor,
    sd_gradient: tf.Tensor,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior: Prior,
    counted: np.ndarray | tf.Tensor,
    count: tf.Tensor,
    eps: tf.Tensor,
    blocks: radial.Blocks,
    density: radial.PriorDensity,
) -> tf.Tensor:
    """As `gaussian_gradient`, for a radial posterior; eps: the noise of the draws."""
    with tf.GradientTape() as tape:
        tape.watch([mean, sd])
        kl = radial.divergence(mean, sd, *prior, eps, counted, blocks, density)
    in_mean, in_sd = tape.gradient(kl, [mean, sd])
    sd_gradient += in_sd / count
    return tf.concat([mean_gradient + in_mean / count, sd_gradient * -tf.math.expm1(-sd)], -1)


def gaussian_divergence(
    mean: tf.Tensor, sd: tf.Tensor, prior: Prior, counted: np.ndarray | tf.Tensor
) -> tf.Tensor:
    """KL(q || prior) [S, H] in nats, over the parameters that count."""
    points = 1.0 - counted
    each = tfd.kl_divergence(
        tfd.Normal(mean, sd + points), tfd.Normal(prior.mean, prior.sd + points)
    )
    return tf.reduce_sum(each * counted, -1)
