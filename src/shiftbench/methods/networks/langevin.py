"""Stochastic gradient Langevin dynamics (SGLD): draws of weights by noisy minibatch gradients.

Source: Welling and Teh 2011. With N rows in the task, g the gradient of a minibatch's mean negative
log likelihood, and a normal prior N(m, s^2), a step is

    w <- w - rate G (g + (w - m) / (N s^2)) + (2 rate G / N)^1/2 noise

which is their Eq. 4 with the step size epsilon = 2 rate / N, but for G = N s^2 / (1 + N s^2). This
constant preconditioner is ours: about 1 under a wide prior, it keeps the steps of a narrow prior
stable, which are as stiff as 1 / (N s^2). The rate of step t falls as (1 + t / b)^-power, with b
such that the last step has a share of the first one's. Draws are kept at even distances after the
burn-in, each weighted by the rate of its step (their Eq. 11).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.backend import fused, tf
from shiftbench.methods.networks.model import Model
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.task_schedule import steps_per_epoch
from shiftbench.methods.networks.training import Data, Minibatch, epochs


class Rates(NamedTuple):
    """Rates of the steps: of the first, the last one's share of it, and the power of the fall."""

    first: float
    last_share: float
    power: float


class Plan(NamedTuple):
    """Passes over the data, rows of a minibatch, rates, and the share of the steps of burn-in."""

    passes: int
    batch_size: int
    rates: Rates
    burn_in_share: float


class Chain(NamedTuple):
    """The state of a chain.

    x: parameters [S, H, P]. steps: [S], the number taken. draws: [S, H, K, P], kept so far; slots
    that no step has reached hold what they did before. rates: [S, K], of the steps of the draws.
    """

    x: tf.Tensor
    steps: tf.Tensor
    draws: tf.Tensor
    rates: tf.Tensor


NOISE = 1
"""Purpose that a step's seeds are folded with."""


def run(
    plan: Plan,
    model: Model,
    start: tf.Tensor,
    draws: tf.Tensor,
    prior: tuple[tf.Tensor, tf.Tensor],
    data: Data,
    seeds: tf.Tensor,
) -> tuple[Chain, tf.Tensor]:
    """Return the chain after a task, from `start` [S, H, P], and the largest number of steps.

    draws: [S, H, K, P], which the new ones replace; a repetition without rows keeps them. prior:
    mean and sd [S, H, P]. A repetition with fewer rows than others takes fewer steps.
    """
    count = tf.reduce_sum(tf.cast(data[2], tf.float32), axis=1)[:, None, None]
    total = plan.passes * steps_per_epoch(data[2], plan.batch_size)
    gradient = partial(parameter_layout.mean_nll_gradient, model)

    def step(at: Chain, rows: Minibatch, step_seeds: tf.Tensor) -> Chain:
        rate = _rate(plan.rates, at.steps, total)
        noise = normals(fold_in(step_seeds, NOISE), [1, model.size])
        moved = _step(
            at.x, gradient(at.x, rows, step_seeds), *prior, noise, rate[:, None, None], count
        )
        has_rows = tf.reduce_any(rows.mask > 0, axis=1)
        x = tf.where(has_rows[:, None, None], moved, at.x)
        return _kept(plan, at._replace(x=x), has_rows, rate, total)

    first = Chain(start, tf.zeros_like(total), draws, tf.ones([*total.shape, draws.shape[2]]))
    return epochs(step, first, data, seeds, plan.passes, plan.batch_size)


# Fused: one pass over memory in place of six.
@fused
def _step(
    x: tf.Tensor,
    g: tf.Tensor,
    mean: tf.Tensor,
    sd: tf.Tensor,
    noise: tf.Tensor,
    rate: tf.Tensor,
    count: tf.Tensor,
) -> tf.Tensor:
    """Return x [S, H, P] after a Langevin step down g and the prior; rate and count [S, 1, 1]."""
    rows = tf.maximum(count, 1.0)
    width = rows * tf.square(sd)
    scaled = rate / (1 + width)
    drift = scaled * (width * g + x - mean)
    return x - drift + tf.sqrt(2 * scaled * width / rows) * noise


def _rate(rates: Rates, steps: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
    """Return the rates [S] of the steps with numbers `steps` [S], from 0, of `total` [S]."""
    if rates.last_share == 1:
        return tf.fill(steps.shape, tf.constant(rates.first, tf.float32))
    # 1 / b, of a fall to the last share at the last step.
    fall = (rates.last_share ** (-1 / rates.power) - 1) / tf.cast(
        tf.maximum(total - 1, 1), tf.float32
    )
    return rates.first * tf.pow(1 + tf.cast(steps, tf.float32) * fall, -rates.power)


def _kept(plan: Plan, at: Chain, has_rows: tf.Tensor, rate: tf.Tensor, total: tf.Tensor) -> Chain:
    """Return the chain one step further, its parameters in the slots that this step fills.

    Slot k of K is filled by the step after which k + 1 of K equal parts of the steps after the
    burn-in are done. With fewer steps than slots a step fills several.
    """
    slots = at.draws.shape[2]
    burnt = tf.cast(tf.floor(plan.burn_in_share * tf.cast(total, tf.float32)), tf.int32)
    sampling = tf.maximum(total - burnt, 1)

    def filled(steps: tf.Tensor) -> tf.Tensor:
        return tf.maximum(steps - burnt, 0) * slots // sampling

    steps = at.steps + tf.cast(has_rows, tf.int32)
    before, after = filled(at.steps)[:, None], filled(steps)[:, None]
    fills = (tf.range(slots) >= before) & (tf.range(slots) < after)

    def store() -> tuple[tf.Tensor, tf.Tensor]:
        drawn = tf.where(fills[:, None, :, None], at.x[:, :, None], at.draws)
        return drawn, tf.where(fills, rate[:, None], at.rates)

    draws, rates = tf.cond(tf.reduce_any(fills), store, lambda: (at.draws, at.rates))
    return Chain(at.x, steps, draws, rates)
