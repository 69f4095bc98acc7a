"""A step of a mean-field Gaussian by its gradient and diagonal curvature: VOGN's, or Adam's form.

With G the gradient and C the curvature of a task's negative log likelihood, and the prior
N(m, 1 / p), a step is

    precision <- (1 - beta) precision + beta (C + p)
    mean      <- mean - alpha V

where the direction V is a momentum of (G + p (mean - m)) / D, or a momentum of the gradient divided
by D. The preconditioner D is the new precision (eschenhagen2019vogn, Eq. 52), or a root as Adam has
it: with N rows and s = (precision - p) / N, N (s / (1 - (1 - beta)^t))^1/2 + p in step t (Khan et
al. 2018, Fig. 1, times N).

IVON (Shen et al. 2024) needs a precision that stays positive where C is negative. With u =
beta (C + p - precision) / precision its new one is (1 + u + u^2 / 2) precision, at least half of
the old one; the first two terms are the rule above.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.networks.backend import fused, tf

MomentumKind = Literal["exponential", "heavy-ball", "gradient", "likelihood"]
Preconditioner = Literal["precision", "root"]


class Gaussian(NamedTuple):
    """Mean and precision [S, H, P] of independent normals."""

    mean: tf.Tensor
    precision: tf.Tensor


class Iterate(NamedTuple):
    """The Gaussian after a number of steps, [S, H, P] each.

    velocity: the momentum. touched: whether any curvature was not 0. steps: the number of steps
    [S, 1, 1], where `Rates` need it; else empty.
    """

    mean: tf.Tensor
    precision: tf.Tensor
    sd: tf.Tensor
    velocity: tf.Tensor
    touched: tf.Tensor
    steps: tuple[tf.Tensor, ...] = ()


class Rates(NamedTuple):
    """Step sizes, momentum, and the form of a step.

    alpha: a number, or one for each hypothesis [S, H, 1]. positive: IVON's rule for the precision.
    """

    alpha: float | tf.Tensor
    beta: float
    momentum: float = 0.0
    momentum_kind: MomentumKind = "heavy-ball"
    preconditioner: Preconditioner = "precision"
    positive: bool = False

    @property
    def counts(self) -> bool:
        """Whether a step depends on its number."""
        return self.momentum_kind in ("gradient", "likelihood") or self.preconditioner == "root"


def begin(rates: Rates, start: Gaussian) -> Iterate:
    """Return the iterate before the first step."""
    return Iterate(
        *start,
        inverse_sqrt(start.precision),
        tf.zeros_like(start.mean),
        tf.zeros_like(start.mean, tf.bool),
        (tf.zeros([start.mean.shape[0], 1, 1]),) if rates.counts else (),
    )


@fused
def step(
    rates: Rates,
    now: Iterate,
    prior: Gaussian,
    gradient: tf.Tensor,
    curvature: tf.Tensor,
    rows: tf.Tensor,
    count: tf.Tensor,
) -> Iterate:
    """Return the next iterate; repetitions with an empty minibatch do not move.

    gradient: that of log p, and curvature, summed over the minibatch's rows, [S, H, P]; rows: their
    number [S]; count: N [S].
    """
    scale = (count / tf.maximum(rows, 1.0))[:, None, None]
    precision = _next_precision(rates, now.precision, scale * curvature + prior.precision)
    pull = prior.precision * (now.mean - prior.mean)
    steps = tuple(number + 1.0 for number in now.steps)
    divisor = precision
    if rates.preconditioner == "root":
        divisor = _root(rates.beta, precision - prior.precision, count, *steps) + prior.precision
    velocity, direction = _momentum(rates, now.velocity, pull, scale * gradient, divisor, steps)
    new = Iterate(
        now.mean - rates.alpha * direction,
        precision,
        inverse_sqrt(precision),
        velocity,
        now.touched | (curvature != 0),
        steps,
    )
    has_rows = (rows > 0)[:, None, None]
    return tf.nest.map_structure(lambda a, b: tf.where(has_rows, a, b), new, now)


def _next_precision(rates: Rates, precision: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Return the precision after a step towards C + p = target."""
    if rates.positive:
        u = rates.beta * (target - precision) / precision
        return precision * (1 + u + 0.5 * tf.square(u))
    return precision * (1 - rates.beta) + rates.beta * target


def _root(beta: float, added: tf.Tensor, count: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    """Return N (s / (1 - (1 - beta)^t))^1/2 for N s = added; rounding may leave it below 0."""
    share = 1 - tf.pow(1 - beta, steps)
    return tf.sqrt(count[:, None, None] * tf.maximum(added, 0.0) / share)


def _momentum(
    rates: Rates,
    velocity: tf.Tensor,
    pull: tf.Tensor,
    gradient: tf.Tensor,
    divisor: tf.Tensor,
    steps: tuple[tf.Tensor, ...],
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the new velocity, and the direction of the step.

    pull: the gradient of the prior's part of the loss; gradient: that of log p.
    """
    if rates.momentum_kind == "likelihood":
        velocity = rates.momentum * velocity - (1 - rates.momentum) * gradient
        return velocity, (velocity / (1 - tf.pow(rates.momentum, *steps)) + pull) / divisor
    loss_gradient = pull - gradient
    if rates.momentum_kind == "gradient":
        velocity = rates.momentum * velocity + (1 - rates.momentum) * loss_gradient
        return velocity, velocity / (1 - tf.pow(rates.momentum, *steps)) / divisor
    gain = 1.0 - rates.momentum if rates.momentum_kind == "exponential" else 1.0
    velocity = rates.momentum * velocity + gain * loss_gradient / divisor
    return velocity, velocity
