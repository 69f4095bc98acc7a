"""Diagonal Fisher information of a network, without storing the gradient of each example.

For a linear map y = x W the gradient of an example is x^T delta, so the sum over examples of its
square is (x^2)^T (delta^2): as cheap as one more backward pass. Maps that act at several positions
of an example (convolutions) need the sum over positions before the square; for these the gradients
of a minibatch are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftbench.methods.networks.backend import repeat, tf
from shiftbench.methods.networks.model import Layer, Model, log_likelihood, point, unfolded
from shiftbench.methods.networks.random import fold_in, uniforms
from shiftbench.methods.networks.training import Data, Minibatch, shuffled, take

Recorded = tuple[Layer, "tf.Tensor", "tf.Tensor"]
"""A layer, its inputs, and the gradient of a score in its outputs."""


def mean_fisher(
    model: Model,
    parameters: tf.Tensor,
    data: Data,
    labels: str,
    summed: bool,
    rows_used: int,
    batch_size: int,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Return the diagonal Fisher per example [S, H, P], averaged over at most `rows_used` rows.

    labels, summed: see `squared_gradients`.
    """
    # One minibatch at a time, for memory; the summed estimator is a single sum over all rows.
    batch = rows_used if summed else batch_size

    def squares(rows: Minibatch, draw: tf.Tensor) -> tf.Tensor:
        return squared_gradients(model, parameters, rows, labels, summed, draw)

    return mean_over_rows(squares, tf.zeros_like(parameters), data, rows_used, batch, seeds)


def mean_over_rows(
    function: Callable[[Minibatch, tf.Tensor], Any],
    zeros: Any,
    data: Data,
    rows_used: int,
    batch_size: int,
    seeds: tf.Tensor,
) -> Any:
    """Return the mean over at most `rows_used` rows, drawn at random, of sums over minibatches.

    function: (minibatch, seeds) -> a nest of sums [S, H, P'] over its rows, like `zeros`.
    """
    mask = data[2]
    length = min(rows_used, mask.shape[1])
    batch = min(batch_size, length)
    batches = -(-length // batch)
    order = shuffled(mask, batches * batch, fold_in(seeds, 0))
    filled = tf.minimum(tf.reduce_sum(tf.cast(mask, tf.int32), axis=1), length)
    used = tf.range(batches * batch) < filled[:, tf.newaxis]

    def add(i: tf.Tensor, total: Any) -> Any:
        rows = take(*data, tf.reshape(order[:, i * batch : (i + 1) * batch], [-1, batch]))
        inside = tf.cast(used[:, i * batch : (i + 1) * batch], tf.float32)
        rows = rows._replace(mask=rows.mask * inside)
        draw = fold_in(seeds, i + 1)
        # One minibatch at a time, for memory.
        with tf.control_dependencies(tf.nest.flatten(total)):
            return tf.nest.map_structure(tf.add, total, function(rows, draw))

    count = tf.cast(filled, tf.float32)[:, tf.newaxis, tf.newaxis]
    return tf.nest.map_structure(lambda sums: sums / count, repeat(add, zeros, batches))


def squared_gradients(
    model: Model,
    parameters: tf.Tensor,
    rows: Minibatch,
    labels: str,
    summed: bool,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Return the sum over the rows of squared gradients of log p(label | input), [S, H, P].

    labels: "sampled" from the model's predictive (an unbiased draw of the Fisher), "expected" over
        it (the exact Fisher) or "observed" (the empirical Fisher).
    summed: square the gradient of the sum instead, as the public code of li2021vbs does; for
        sampled labels the expectation is the same, with a relative sd of sqrt(2).
    """

    def of_layers(recorded: list[Recorded]) -> tf.Tensor:
        return tf.concat([_squares(*unfolded(*one), summed) for one in recorded], -1)

    return over_scores(model, parameters, rows, labels, seeds, of_layers, tf.zeros_like(parameters))


def over_scores(
    model: Model,
    parameters: tf.Tensor,
    rows: Minibatch,
    labels: str,
    seeds: tf.Tensor,
    function: Callable[[list[Recorded]], Any],
    zeros: Any,
) -> Any:
    """Return the sum over scores of function(recorded layers), a nest of tensors like `zeros`.

    The scores are scalars; the outer products of an example's gradients add up to its Fisher.
    """
    exact = point(parameters)

    def add_score(k: tf.Tensor, total: Any) -> Any:
        layers: dict[Layer, tuple[tf.Tensor, tf.Tensor]] = {}

        def recording(layer: Layer, x: tf.Tensor) -> tf.Tensor:
            out = exact(layer, x)
            layers[layer] = (x, out)
            return out

        # After score k - 1: TensorFlow else runs iterations at the same time, each with its own
        # patches, which took 22 GB for sixty outputs of a small convnet.
        with tf.control_dependencies(tf.nest.flatten(total)), tf.GradientTape() as tape:
            tape.watch(parameters)
            outputs = model.forward(recording, rows.inputs)
            score = _score(model, outputs, rows, labels, seeds, k)
        deltas = tape.gradient(score, [out for _, out in layers.values()])
        recorded = [
            (layer, x, delta) for (layer, (x, _)), delta in zip(layers.items(), deltas, strict=True)
        ]
        return tf.nest.map_structure(tf.add, total, function(recorded))

    single = labels == "observed" or (labels == "sampled" and model.likelihood != "gaussian")
    scores = 1 if single else model.forward(exact, rows.inputs).shape[-1]
    return repeat(add_score, zeros, scores)


def _score(
    model: Model, outputs: tf.Tensor, rows: Minibatch, labels: str, seeds: tf.Tensor, k: tf.Tensor
) -> tf.Tensor:
    """Return score k, a scalar; the scores' squared gradients add up to the Fisher's diagonal."""
    mask = rows.mask[:, None]
    if labels == "observed":
        return tf.reduce_sum(log_likelihood(model, outputs, rows.targets) * mask)
    if model.likelihood == "gaussian":
        # For the Fisher J^T J / noise^2; sampled residuals of unit variance would only add noise.
        return tf.reduce_sum(outputs[..., k] / model.noise_sd * mask)
    log_prob = tf.nn.log_softmax(outputs)
    if labels == "sampled":
        uniform = uniforms(seeds, [1, outputs.shape[2], outputs.shape[-1]])
        drawn = tf.argmax(log_prob - tf.math.log(-tf.math.log(uniform + 1e-20)), -1)
        return tf.reduce_sum(tf.gather(log_prob, drawn, batch_dims=3) * mask)
    weight = tf.stop_gradient(tf.exp(0.5 * log_prob[..., k]))
    return tf.reduce_sum(weight * log_prob[..., k] * mask)


def _squares(x: tf.Tensor, delta: tf.Tensor, summed: bool) -> tf.Tensor:
    """Return the squares [S, H, fan_in * fan_out + fan_out] of a layer, summed over the rows.

    x: [S, H or 1, n, (positions,) fan_in]; delta: [S, H, n, (positions,) fan_out].
    """
    if summed:
        x = tf.reshape(x, [*x.shape[:2], 1, -1, x.shape[-1]])
        delta = tf.reshape(delta, [*delta.shape[:2], 1, -1, delta.shape[-1]])
    if x.shape.rank == 4:
        weights = tf.matmul(tf.square(x), tf.square(delta), transpose_a=True)
        biases = tf.reduce_sum(tf.square(delta), 2)
    else:
        gradients = tf.matmul(x, delta, transpose_a=True)
        weights = tf.reduce_sum(tf.square(gradients), 2)
        biases = tf.reduce_sum(tf.square(tf.reduce_sum(delta, 3)), 2)
    return tf.concat([tf.reshape(weights, [*weights.shape[:2], -1]), biases], -1)
