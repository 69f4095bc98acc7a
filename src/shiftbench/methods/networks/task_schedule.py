"""Heads and steps of a task, for learners that schedule their own steps."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Model


def heads_in(batch: Batch, problem: Problem) -> np.ndarray:
    """Return which heads the rows of a batch have, [S, heads] bool."""
    if problem.heads == 1:
        return np.ones((len(batch.mask), 1), bool)
    own = batch.inputs[..., -1:].astype(int) == np.arange(problem.heads)
    return (own & batch.mask[..., np.newaxis]).any(axis=1)


def head_of_each(model: Model, problem: Problem) -> np.ndarray:
    """Return the head [P] that each parameter belongs to; -1 for parameters of all heads."""
    owners, last = np.full(model.size, -1), model.layers[-1]
    if problem.heads > 1:
        heads = np.arange(last.fan_out) // (last.fan_out // problem.heads)
        owners[last.weights] = np.tile(heads, last.fan_in)
        owners[last.biases] = heads
    return owners


def steps_per_epoch(mask: tf.Tensor, batch_size: int) -> tf.Tensor:
    """Return the number of minibatches that the unmasked rows of each seed fill, [S]."""
    batch = min(batch_size, mask.shape[1])
    return (tf.reduce_sum(tf.cast(mask, tf.int32), axis=1) + batch - 1) // batch
