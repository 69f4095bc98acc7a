"""Utility-based perturbed gradient descent: useful weights move little, others are perturbed.

The utility u of a weight is a trace of -g w, which is, to first order, the rise of the loss without
the weight. With b its decay and t the step's number,

    w <- (1 - rate weight_decay) w - rate (g + noise) (1 - sigmoid(u / (1 - b^t) / max u)),

where max is over all weights (Elsayed and Mahmood 2024, global utility, first order). As in the
authors' code, u is corrected for its start at zero and max u is not, so that the first steps
protect useful weights more; corrected alike, the factors would cancel. Where no utility is
positive, that quotient would protect the most harmful weight; there the divisor is the largest
absolute utility. The rate is that of the paper's experiments; the README of the code doubles it.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftbench.methods.networks.backend import tf


class Upgd(NamedTuple):
    """The constants. decay: b. noise_sd: of the noise of each weight."""

    learning_rate: float
    decay: float = 0.999
    noise_sd: float = 0.001
    weight_decay: float = 0.0


class Utilities(NamedTuple):
    """Weights x and utilities [S, H, P], and the number of steps taken [S, H, 1]."""

    x: tf.Tensor
    utility: tf.Tensor
    steps: tf.Tensor


def step(upgd: Upgd, at: Utilities, g: tf.Tensor, noise: tf.Tensor) -> Utilities:
    """Return the state after a step down g [S, H, P] with standard normal noise of its shape."""
    utility = upgd.decay * at.utility - (1 - upgd.decay) * g * at.x
    largest = tf.reduce_max(utility, -1, keepdims=True)
    size = tf.reduce_max(tf.abs(utility), -1, keepdims=True)
    # Without any utility, as at zero weights, all weights move alike.
    divisor = tf.where(largest > 0, largest, tf.where(size > 0, size, tf.ones_like(size)))
    steps = at.steps + 1
    correction = 1 - upgd.decay ** tf.cast(steps, utility.dtype)
    free = 1 - tf.sigmoid(utility / correction / divisor)
    moved = (1 - upgd.learning_rate * upgd.weight_decay) * at.x
    x = moved - upgd.learning_rate * (g + upgd.noise_sd * noise) * free
    return Utilities(x, utility, steps)
