"""Training that stops when a score on some rows no longer improves.

Early stopping on held-back rows is one of the tweaks of farquhar2020radial, 4.1.2. On rows that are
learnt from, the score may be the ELBO, and training stops when it has converged. Each seed and each
hypothesis stops on its own: training that continues for others does not change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, LearnerError
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.optimisers import Descent, begin
from shiftbench.methods.networks.resumable_loop import LoopPosition, loop
from shiftbench.methods.networks.training import Data, Gradient, Schedule, one_descent


class Best(NamedTuple):
    """The best epoch so far: parameters x [S, H, P'], score and number from 1, [S, H]."""

    x: tf.Tensor
    score: tf.Tensor
    epoch: tf.Tensor


class StoppedFit(NamedTuple):
    """The end of training: parameters x of the best epoch, steps taken and best epoch, [S, H]."""

    x: tf.Tensor
    steps: tf.Tensor
    epoch: tf.Tensor


class StoppingRule(NamedTuple):
    """Stop after `patience` epochs without a better score.

    score: parameters [S, H, P'] -> [S, H], computed after each epoch. tolerance: the least by which
    a score must exceed the best so far.
    """

    score: Callable[[tf.Tensor], tf.Tensor]
    patience: int
    tolerance: float


def hold_back(batch: Batch, share: float, seeds: np.ndarray) -> tuple[Batch, Batch]:
    """Return the rows to learn from, the others masked, and a share of the rows, drawn by seed.

    Raises LearnerError if the share of a task's rows is less than one row, or all of them.
    """
    counts = np.floor(share * batch.mask.sum(axis=1) + 1e-6).astype(int)
    if (counts < 1).any() or (counts >= batch.mask.sum(axis=1)).any():
        raise LearnerError(
            f"early stopping: {share:g} of a task's {int(batch.mask[0].sum())} rows is less"
            " than one, or all; set held_back to another share, or to 0 for no early stopping"
        )
    keys = seeding.fold_each(seeds, "held-back")
    index = np.zeros((len(keys), counts.max()), int)
    mask, held_mask = batch.mask.copy(), np.zeros(index.shape, bool)
    for s, (key, count) in enumerate(zip(keys, counts, strict=True)):
        rows = np.flatnonzero(batch.mask[s])
        chosen = seeding.generator(key).permutation(rows)[:count]
        index[s, :count], held_mask[s, :count], mask[s, chosen] = chosen, True, False
    repetition = np.arange(len(keys))[:, np.newaxis]
    held = Batch(batch.inputs[repetition, index], batch.targets[repetition, index], held_mask)
    return batch._replace(mask=mask), held


def minimise_until(
    rule: StoppingRule,
    gradient: Gradient,
    start: tf.Tensor,
    data: Data,
    seeds: tf.Tensor,
    schedule: Schedule,
) -> StoppedFit:
    """Train like `training.minimise`, until a rule stops it or all passes are done."""
    epoch, per_epoch = one_descent(gradient, data, seeds, schedule)
    shape = start.shape[:2]
    initial = Best(start, tf.fill(shape, -np.inf), tf.zeros(shape, tf.int32))

    def waits(number: tf.Tensor, best: Best) -> tf.Tensor:
        return number - best.epoch < rule.patience

    def goes_on(number: tf.Tensor, now: tuple[Descent, Best]) -> tf.Tensor:
        return (number < schedule.passes) & tf.reduce_any(waits(number, now[1]))

    def scored_epoch(
        position: LoopPosition, now: tuple[Descent, Best]
    ) -> tuple[LoopPosition, tuple[Descent, Best]]:
        (at, best), number = now, position.epoch
        position, at = epoch(position, at, best)
        score = rule.score(at.x)
        better = waits(number, best) & (score > best.score + rule.tolerance)
        better &= position.epoch > number  # a look may end the loop within an epoch
        new = Best(at.x, score, tf.fill(shape, number + 1))
        masks = better[..., tf.newaxis], better, better
        best = Best(*(tf.where(*parts) for parts in zip(masks, new, best, strict=True)))
        return position, (at, best)

    first = begin(schedule.optimiser, start), initial
    number, (_, best) = loop(goes_on, scored_epoch, first, schedule.passes, per_epoch)
    epochs = tf.minimum(best.epoch + rule.patience, number)
    return StoppedFit(best.x, epochs * per_epoch, best.epoch)
