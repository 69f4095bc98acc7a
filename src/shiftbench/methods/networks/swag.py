"""SWAG: a Gaussian from the weights at the ends of the last epochs, at a constant rate.

After each of the last epochs the weights w enter a running mean m, the mean of squared deviations
v, and the last K deviations D from m, m taken after its update. A draw is

    m + sqrt(v / 2) z_1 + D z_2 / sqrt(2 (K - 1)),    z_1 [P] and z_2 [K] standard normal.

Source: Maddox et al. 2019, Algorithm 1. There v is the mean square minus the square of the mean;
Welford's sum here is the same number, and loses no digits where weights hardly move.

State: mean [S, H, P]; variance [S, H, P]; deviations [S, H, K, P].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftbench.core.interface import State
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Linear, point
from shiftbench.methods.networks.optimisers import Descent
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.resumable_loop import LoopPosition, loop
from shiftbench.methods.networks.sampling import Draw
from shiftbench.methods.networks.training import Data, Minibatch, one_epoch

DIAGONAL, LOW_RANK = range(2)
"""Parts of a draw, which its seeds are folded with."""


class Snapshots(NamedTuple):
    """Mean and sum of squared deviations [S, H, P] of weights, the last deviations [S, H, K, P]."""

    mean: tf.Tensor
    squares: tf.Tensor
    deviations: tf.Tensor


def first_state(shape: tuple[int, ...], rank: int) -> State:
    """Return the arrays beside the mean before the first task; shape: (S, H, P)."""
    *lead, parameters = shape
    return {
        "variance": np.zeros(shape, np.float32),
        "deviations": np.zeros((*lead, rank, parameters), np.float32),
    }


def nothing(like: tf.Tensor, rank: int) -> Snapshots:
    """Return the snapshots of no weights, for weights like [S, H, P]."""
    zeros = tf.zeros_like(like)
    return Snapshots(zeros, zeros, tf.stack([zeros] * rank, -2))


def added(before: Snapshots, x: tf.Tensor, number: tf.Tensor) -> Snapshots:
    """Return the snapshots with weights x [S, H, P], the `number`-th ones, from 1 on."""
    off = x - before.mean
    mean = before.mean + off / tf.cast(number, x.dtype)
    deviation = x - mean
    deviations = [before.deviations[..., 1:, :], deviation[..., tf.newaxis, :]]
    return Snapshots(mean, before.squares + off * deviation, tf.concat(deviations, -2))


def descend(
    step: Callable[[Any, Minibatch, tf.Tensor], Any],
    start: Descent,
    data: Data,
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
    last: int,
    rank: int,
) -> tuple[Descent, dict[str, tf.Tensor], tf.Tensor]:
    """Train as `training.epochs`; return the end, arrays of the state, and the number of steps.

    last: the number of last passes whose ends are collected; rank: deviations that are kept.
    """
    epoch, per_epoch = one_epoch(step, data, seeds, batch_size)
    before = passes - last

    def collected(
        position: LoopPosition, now: tuple[Descent, Snapshots]
    ) -> tuple[LoopPosition, tuple[Descent, Snapshots]]:
        (at, snapshots), number = now, position.epoch
        position, at = epoch(position, at, snapshots)
        # A look may end the loop within an epoch.
        counts = (position.epoch > number) & (position.epoch > before)
        snapshots = tf.cond(
            counts,
            lambda: added(snapshots, at.x, position.epoch - before),
            lambda: snapshots,
        )
        return position, (at, snapshots)

    first = start, nothing(start.x, rank)
    done, (end, snapshots) = loop(
        lambda number, _: number < passes, collected, first, passes, per_epoch
    )
    number = done - before
    # A look before the first snapshot sees the weights as they are.
    arrays = {
        "mean": tf.where(number > 0, snapshots.mean, end.x),
        "variance": snapshots.squares / tf.cast(tf.maximum(number, 1), tf.float32),
        "deviations": snapshots.deviations,
    }
    return end, arrays, passes * per_epoch


def drawn(
    mean: tf.Tensor, variance: tf.Tensor, deviations: tf.Tensor, z1: tf.Tensor, z2: tf.Tensor
) -> tf.Tensor:
    """Return weights [..., P] from noise z1 [..., P] and z2 [..., K]."""
    rank = deviations.shape[-2]
    low_rank = tf.reduce_sum(deviations * z2[..., tf.newaxis], -2) / (2 * (rank - 1)) ** 0.5
    return mean + tf.sqrt(variance / 2) * z1 + low_rank


def draws(mean: tf.Tensor, variance: tf.Tensor, deviations: tf.Tensor) -> Draw:
    """Return networks with drawn weights; hypotheses share the noise."""

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        z1 = normals(fold_in(seeds, DIAGONAL), [1, mean.shape[-1]])
        z2 = normals(fold_in(seeds, LOW_RANK), [1, deviations.shape[-2]])
        return point(drawn(mean, variance, deviations, z1, z2))

    return draw
