"""Kronecker factors of a network's Fisher information, a pair A, B for each layer.

For a linear map with inputs (x, 1) and the gradient g of an example in its outputs, A is the mean
of (x, 1)(x, 1)' and B the mean of g g' (Martens and Grosse 2015). A map that acts at T positions of
an example (a convolution) has the sum over positions in A and their mean in B (KFC, Grosse and
Martens 2016), as if positions were independent.
"""

from __future__ import annotations

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.example_gradients import Signal
from shiftbench.methods.networks.fisher import Recorded, mean_over_rows, over_scores
from shiftbench.methods.networks.model import Layer, Model, point, unfolded
from shiftbench.methods.networks.training import Data, Minibatch
from shiftbench.methods.posteriors.kronecker_gaussian import Sizes, flat

Factors = tuple["tf.Tensor", "tf.Tensor"]
"""A and B of all layers, flat: [S, H, sum of a^2] and [S, H, sum of b^2]."""


def sizes(model: Model) -> Sizes:
    """Return the sizes (fan_in + 1, fan_out) of the layers."""
    return tuple((layer.fan_in + 1, layer.fan_out) for layer in model.layers)


def mean_fisher(
    model: Model,
    parameters: tf.Tensor,
    data: Data,
    labels: str,
    rows_used: int,
    batch_size: int,
    seeds: tf.Tensor,
) -> Factors:
    """Return the factors of the Fisher of an example, averaged over at most `rows_used` rows.

    labels: as in `fisher.squared_gradients`.
    """
    s, h = parameters.shape[:2]
    zeros = tuple(
        tf.zeros([s, h, sum(n * n for n in side)]) for side in zip(*sizes(model), strict=True)
    )

    def sums(rows: Minibatch, draw: tf.Tensor) -> Factors:
        left = _lefts(model, parameters, rows)
        right = over_scores(model, parameters, rows, labels, draw, _rights, zeros[1])
        return left, right

    return mean_over_rows(sums, zeros, data, rows_used, batch_size, seeds)


def _lefts(model: Model, parameters: tf.Tensor, rows: Minibatch) -> tf.Tensor:
    """Return the sums over rows of A, [S, H, sum of a^2]."""
    exact, inputs = point(parameters), {}

    def recording(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        out = exact(layer, x)
        inputs[layer] = unfolded(layer, x, out)[0]
        return out

    model.forward(recording, rows.inputs)
    h = parameters.shape[1]
    return flat(tuple(_left(inputs[layer], rows.mask, h) for layer in model.layers))


def _rights(recorded: list[Recorded]) -> tf.Tensor:
    """Return the sums over rows of B, [S, H, sum of b^2]."""
    in_order = sorted(recorded, key=lambda one: one[0].start)
    return flat(tuple(_right(unfolded(*one)[1]) for one in in_order))


def sums(passed: list[Signal], mask: tf.Tensor, draws: int) -> Factors:
    """Return the sums over rows of A and of B, averaged over the K draws of a hypothesis.

    passed: in the order of the layers, as `example_gradients.signals` returns them.
    """
    hypotheses = passed[0].delta.shape[1] // draws
    left = flat(tuple(_left(signal.x, mask, hypotheses) for signal in passed))
    return left, flat(tuple(_right(signal.delta, draws) for signal in passed))


def _left(x: tf.Tensor, mask: tf.Tensor, hypotheses: int) -> tf.Tensor:
    """Return the sum over rows of A [S, H, a, a], the mean over draws.

    x: [S, 1 or H K, n, (positions,) fan_in], with axis 1 of size 1 where all draws share it.
    """
    x = tf.concat([x, tf.ones_like(x[..., :1])], -1)
    weights = tf.reshape(mask, [mask.shape[0], 1, mask.shape[1], *[1] * (x.shape.rank - 3)])
    draws = max(x.shape[1] // hypotheses, 1)
    rows, weighted = _merged(x, draws), _merged(x * weights, draws)
    left = tf.matmul(weighted, rows, transpose_a=True) / draws
    return tf.broadcast_to(left, [left.shape[0], hypotheses, *left.shape[2:]])


def _right(delta: tf.Tensor, draws: int = 1) -> tf.Tensor:
    """Return the sum over rows of B [S, H, b, b], the mean over draws.

    delta: [S, H K, n, (positions,) fan_out].
    """
    positions = delta.shape[3] if delta.shape.rank == 5 else 1
    rows = _merged(delta, draws)
    return tf.matmul(rows, rows, transpose_a=True) / (positions * draws)


def _merged(x: tf.Tensor, draws: int) -> tf.Tensor:
    """Reshape [S, H K, n, (positions,) c] to [S, H, K n positions, c].

    The draws are summed by the product: a sum over an axis gives other bytes for more seeds.
    """
    return tf.reshape(x, [x.shape[0], x.shape[1] // draws, -1, x.shape[-1]])
