"""Training that ends where some rows say that it no longer gets better.

Rows that are held back and no longer better predicted are one of the tweaks of farquhar2020radial,
4.1.2; rows that are learnt from may say that the ELBO has converged. Each seed and each hypothesis
stops on its own: once it has, what goes on for others beside it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, LearnerError
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.optimisers import Descent, Optimiser, begin
from shiftbench.methods.networks.resumable_loop import Place, loop
from shiftbench.methods.networks.training import Gradient, one_descent


class Best(NamedTuple):
    """The best so far. x: parameters [S, H, P']; score, and epoch numbered from 1, [S, H]."""

    x: tf.Tensor
    score: tf.Tensor
    epoch: tf.Tensor


class Stopped(NamedTuple):
    """Where training ended. x: of the best epoch; epoch, steps: best epoch, steps taken [S, H]."""

    x: tf.Tensor
    epoch: tf.Tensor
    steps: tf.Tensor


def hold_back(batch: Batch, share: float, seeds: np.ndarray) -> tuple[Batch, Batch]:
    """The rows to learn from, others masked, and a share of the rows, drawn by each seed.

    LearnerError where the share of a task's rows is less than one row, or all of them.
    """
    counts = np.floor(share * batch.mask.sum(axis=1) + 1e-6).astype(int)
    if (counts < 1).any() or (counts >= batch.mask.sum(axis=1)).any():
        raise LearnerError(
            f"early stopping: {share:g} of a task's {int(batch.mask[0].sum())} rows is no row, or"
            " all; set held_back to another share, or to 0 for none"
        )
    keys = seeding.fold_each(seeds, "held-back")
    places = np.zeros((len(keys), counts.max()), int)
    kept, seen = batch.mask.copy(), np.zeros(places.shape, bool)
    for s, (key, count) in enumerate(zip(keys, counts, strict=True)):
        rows = np.flatnonzero(batch.mask[s])
        chosen = seeding.generator(key).permutation(rows)[:count]
        places[s, :count], seen[s, :count], kept[s, chosen] = chosen, True, False
    rows_of = np.arange(len(keys))[:, np.newaxis]
    held = Batch(batch.inputs[rows_of, places], batch.targets[rows_of, places], seen)
    return batch._replace(mask=kept), held


def minimise_until(
    judge: Callable[[tf.Tensor], tf.Tensor],
    patience: int,
    tolerance: float,
    gradient: Gradient,
    start: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
    passes: int,
    batch_size: int,
    optimiser: Optimiser,
) -> Stopped:
    """As `training.minimise`, until `patience` epochs have passed without a better score.

    judge: parameters [S, H, P'] -> score [S, H], asked after each epoch. tolerance: what a score
    must be above the best so far to be better.
    """
    epoch, per_epoch = one_descent(gradient, data, seeds, batch_size, optimiser)
    shape = start.shape[:2]
    none = Best(start, tf.fill(shape, -np.inf), tf.zeros(shape, tf.int32))

    def waits(number: tf.Tensor, best: Best) -> tf.Tensor:
        return number - best.epoch < patience

    def goes_on(number: tf.Tensor, now: tuple[Descent, Best]) -> tf.Tensor:
        return (number < passes) & tf.reduce_any(waits(number, now[1]))

    def once(place: Place, now: tuple[Descent, Best]) -> tuple[Place, tuple[Descent, Best]]:
        (at, best), number = now, place.epoch
        place, at = epoch(place, at, best)
        score = judge(at.x)
        better = waits(number, best) & (score > best.score + tolerance)
        found = Best(at.x, score, tf.fill(shape, number + 1))
        wide = better[..., tf.newaxis], better, better
        chosen = [tf.where(*parts) for parts in zip(wide, found, best, strict=True)]
        return place, (at, Best(*chosen))

    number, (_, best) = loop(goes_on, once, (begin(optimiser, start), none))
    taken = tf.minimum(best.epoch + patience, number)
    return Stopped(best.x, best.epoch, taken * per_epoch)
