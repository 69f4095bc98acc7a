"""Gradients of a minibatch together with rows of a memory: ER, DER++ and A-GEM.

Each step draws different rows of the memory, as many as a minibatch has, or all if there are fewer.
Repetitions whose memory has no row get the gradient of the minibatch alone, to the bit.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Model, log_likelihood
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Data, Gradient, Minibatch, shuffled, take

Loss = Literal["er", "der++", "a-gem"]


class Memory(NamedTuple):
    """Rows of earlier tasks, and for DER++ the logits that they had when they were stored.

    data: inputs [S, M, ...], targets [S, M], mask [S, M]; logits: [S, H, M, C], or [S, H, M, 0].
    """

    data: Data
    logits: tf.Tensor


class Weights(NamedTuple):
    """DER++: the weights of the logits' squared error (alpha) and of the labels' loss (beta)."""

    logits: float
    labels: float


def gradient(
    loss: Loss, model: Model, memory: Memory, batch_size: int, weights: Weights, heads: int
) -> Gradient:
    """Return the gradient of a minibatch's mean negative log likelihood under a rule of rehearsal.

    weights: of DER++ alone. heads: the number of heads among which the outputs are divided.
    """
    plain = partial(parameter_layout.mean_nll_gradient, model)
    mask = memory.data[2]
    if mask.shape[1] == 0:
        return plain

    def with_memory(x: tf.Tensor, rows: Minibatch, seeds: tf.Tensor) -> tf.Tensor:
        alone = plain(x, rows, seeds)

        def together() -> tf.Tensor:
            old, index = drawn(memory, batch_size, fold_in(seeds, 0))
            if loss == "der++":
                logits = gathered(memory.logits, index)
                other, _ = drawn(memory, batch_size, fold_in(seeds, 1))
                return alone + dark_gradient(model, x, old, logits, other, weights, heads)
            reference = nll_gradient(model, x, old)
            if loss == "a-gem":
                return projected(alone, reference)
            return pooled(alone, rows, reference, old)

        # While no repetition has a memory, as in the first task, a step costs no more than without.
        return tf.cond(tf.reduce_any(mask), together, lambda: alone)

    return with_memory


def drawn(memory: Memory, size: int, seeds: tf.Tensor) -> tuple[Minibatch, tf.Tensor]:
    """Draw `size` different rows of a memory, or all if it has fewer; others have mask 0.

    Returns them, and their numbers [S, b].
    """
    mask = memory.data[2]
    index = shuffled(mask, min(size, mask.shape[1]), seeds)
    return take(*memory.data, index), index


def pooled(g: tf.Tensor, rows: Minibatch, reference: tf.Tensor, old: Minibatch) -> tf.Tensor:
    """Return ER's gradient [S, H, P], that of the mean over both minibatches' rows.

    g, reference: the gradients of the mean over the new rows, and over the rows of the memory.
    """
    new_rows, old_rows = (
        tf.reduce_sum(each.mask, -1)[:, tf.newaxis, tf.newaxis] for each in (rows, old)
    )
    share = new_rows / (new_rows + old_rows)
    return share * g + (1 - share) * reference


def projected(g: tf.Tensor, reference: tf.Tensor) -> tf.Tensor:
    """Return A-GEM's gradient [S, H, P]: orthogonal to the reference if it points away from it.

    Chaudhry et al. 2019, eq. 11; all parameters are one vector.
    """
    product = tf.reduce_sum(g * reference, -1, keepdims=True)
    square = tf.reduce_sum(tf.square(reference), -1, keepdims=True)
    return g - tf.math.divide_no_nan(tf.minimum(product, 0.0), square) * reference


def nll_gradient(model: Model, x: tf.Tensor, rows: Minibatch) -> tf.Tensor:
    """Return the gradient [S, H, P] of the mean negative log likelihood; 0 without any rows."""
    parts = parameter_layout.pieces(model, x)
    with tf.GradientTape() as tape:
        tape.watch(parts)
        outputs = model.forward(parameter_layout.point(model, parts), rows.inputs)
        loss = -masked_mean(log_likelihood(model, outputs, rows.targets), rows)
    return tf.concat(tape.gradient(loss, parts), -1)


def gathered(logits: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """Return the logits [S, H, b, C] of rows `index` [S, b], of logits [S, H, M, C]."""
    of_all = tf.repeat(index[:, tf.newaxis], logits.shape[1], axis=1)
    return tf.gather(logits, of_all, batch_dims=2)


def dark_gradient(
    model: Model,
    x: tf.Tensor,
    old: Minibatch,
    logits: tf.Tensor,
    other: Minibatch,
    weights: Weights,
    heads: int,
) -> tf.Tensor:
    """Return the gradient [S, H, P] of what DER++ adds to the loss of a minibatch.

    Buzzega et al. 2020, eq. 6, from two draws: the squared error of the first one's outputs against
    its stored logits [S, H, b, C], mean over rows and over the classes of a row's head as in the
    authors' code (the paper has a squared norm), and the second one's negative log likelihood.
    """
    parts = parameter_layout.pieces(model, x)
    with tf.GradientTape() as tape:
        tape.watch(parts)
        linear = parameter_layout.point(model, parts)
        # The logits of other heads are the same constant on both sides.
        squares = tf.square(model.forward(linear, old.inputs) - logits)
        error = heads * masked_mean(tf.reduce_mean(squares, -1), old)
        outputs = model.forward(linear, other.inputs)
        log_lik = masked_mean(log_likelihood(model, outputs, other.targets), other)
        loss = weights.logits * error - weights.labels * log_lik
    return tf.concat(tape.gradient(loss, parts), -1)


def masked_mean(values: tf.Tensor, rows: Minibatch) -> tf.Tensor:
    """Return the mean [S, H] of values [S, H, b] over the rows that the mask keeps, or 0."""
    total = tf.reduce_sum(values * rows.mask[:, tf.newaxis], -1)
    return tf.math.divide_no_nan(total, tf.reduce_sum(rows.mask, -1)[:, tf.newaxis])
