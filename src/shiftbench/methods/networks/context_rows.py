"""Rows for which a network's outputs are compared with those of an earlier posterior: its context.

Each step has its own. In the first task they are noise, or rows of the minibatch; in later ones
rows of a memory, or the same as in the first where there is no memory (Rudner et al. 2022).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.random import fold_in, uniforms
from shiftbench.methods.networks.training import Data, Minibatch, shuffled, take

Kind = Literal["uniform", "minibatch"]
NUMBERS, HEADS, MEMORY = range(3)
"""Purposes that a step's seeds are folded with."""


class Context(NamedTuple):
    """Inputs [S, 1, m, ...] and a mask [S, m], 0 or 1."""

    inputs: tf.Tensor
    mask: tf.Tensor


class Situation(NamedTuple):
    """What is known before a task.

    learnt: [S] bool, whether a task has been learnt. heads: [S, heads] bool, those that rows
    without a memory can have. low, high: [S], bounds of the numbers of the task's rows.
    """

    learnt: tf.Tensor
    heads: tf.Tensor
    low: tf.Tensor
    high: tf.Tensor


def drawn(
    kind: Kind,
    number: int,
    memory: Data,
    situation: Situation,
    rows: Minibatch,
    seeds: tf.Tensor,
) -> Context:
    """Return `number` rows for a step; missing rows have mask 0."""
    own = of_task(kind, number, situation, rows, seeds)
    if memory[2].shape[1] == 0:
        return own
    old = of_memory(memory, number, fold_in(seeds, MEMORY))

    def chosen(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return tf.where(_like(situation.learnt, a), a, b)

    return Context(chosen(old.inputs, own.inputs), chosen(old.mask, own.mask))


def of_memory(memory: Data, number: int, seeds: tf.Tensor) -> Context:
    """Return different rows of a memory at random."""
    rows = take(*memory, shuffled(memory[2], number, seeds))
    filled = tf.reduce_sum(tf.cast(memory[2], tf.int32), -1)[:, tf.newaxis]
    inside = tf.cast(tf.range(number) < filled, tf.float32)
    return Context(tf.cast(rows.inputs, tf.float32), rows.mask * inside)


def of_task(
    kind: Kind, number: int, situation: Situation, rows: Minibatch, seeds: tf.Tensor
) -> Context:
    """Return rows of a minibatch, or as many of uniform noise between the task's bounds."""
    count = rows.mask.shape[1]
    index = tf.minimum(tf.range(number), count - 1)
    inputs = tf.cast(tf.gather(rows.inputs, index, axis=2), tf.float32)
    inside = tf.cast(tf.range(number) < count, tf.float32)
    mask = tf.gather(rows.mask, index, axis=1) * inside
    if kind == "uniform":
        noise = uniforms(fold_in(seeds, NUMBERS), [*inputs.shape[1:]])
        low, high = (_like(a, inputs) for a in (situation.low, situation.high))
        inputs, mask = low + (high - low) * noise, tf.ones_like(mask)
    if situation.heads.shape[1] > 1:
        inputs = _with_heads(inputs, situation.heads, fold_in(seeds, HEADS))
    return Context(inputs, mask)


def _with_heads(inputs: tf.Tensor, heads: tf.Tensor, seeds: tf.Tensor) -> tf.Tensor:
    """Append a random head, among those in `heads`, to each row as its last number."""
    count = tf.reduce_sum(tf.cast(heads, tf.int32), -1)[:, tf.newaxis]
    draws = uniforms(seeds, [inputs.shape[2]]) * tf.cast(count, tf.float32)
    place = tf.clip_by_value(tf.cast(draws, tf.int32), 0, tf.maximum(count - 1, 0))
    order = tf.argsort(tf.where(heads, 0, 1), axis=1, stable=True)
    head = tf.cast(tf.gather(order, place, batch_dims=1), inputs.dtype)
    return tf.concat([inputs[..., :-1], head[:, tf.newaxis, :, tf.newaxis]], -1)


def _like(values: tf.Tensor, array: tf.Tensor) -> tf.Tensor:
    """Return values [S] with as many axes as an array [S, ...]."""
    return tf.reshape(values, [-1] + [1] * (array.shape.rank - 1))
