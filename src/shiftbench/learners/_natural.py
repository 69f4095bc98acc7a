"""Shared by natural-gradient learners (VOGN, SLANG): start values, noise, predictions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftbench.interface import Categorical, Gaussian, Predictive
from shiftbench.learners._backend import tf
from shiftbench.learners._random import fold_in, normals
from shiftbench.models._model import Model, log_likelihood, point
from shiftbench.seeds import generator

TABLE = 2**20
"""Least number of normal draws in a table."""
ALIGNED = 16
"""Places are multiples of it: TensorFlow then does not copy the excerpt."""


def fresh(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Start values [S, 1, P] uniform within 1 / sqrt(fan_in), biases too: PyTorch's default."""
    start = np.empty((len(seeds), 1, model.size), np.float32)
    for s, seed in enumerate(seeds):
        draws = generator(seed)
        for layer in model.layers:
            bound = layer.fan_in**-0.5
            here = slice(layer.start, layer.biases.stop)
            start[s, 0, here] = draws.uniform(-bound, bound, here.stop - here.start)
    return start


def first_precision(
    values: tuple[float, ...], per: str, tasks: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """Precision [S, H] that a task starts with; its last value holds for all later tasks.

    per: "example" multiplies by the number of rows, count [S]; "task" does not.
    tasks: [S, H], tasks learnt before.
    """
    chosen = np.array(values)[np.minimum(tasks, len(values) - 1)]
    return (chosen * (count[:, None] if per == "example" else 1.0)).astype(np.float32)


def table(seeds: tf.Tensor, size: int) -> tf.Tensor:
    """Normal draws [S, T] from which each step of a task takes `size` in a row.

    Fresh draws for each step would cost more than the step of a network itself. A step
    starts at a random place (as in Salimans et al. 2017, 2.1), so a parameter meets new noise.
    """
    return normals(seeds, [max(TABLE, 5 * size)])


def excerpt(numbers: tf.Tensor, seeds: tf.Tensor, size: int) -> tf.Tensor:
    """`size` numbers in a row [S, size] from a random place of each table [S, T]."""
    parts = []
    for row, seed in zip(tf.unstack(numbers), tf.unstack(seeds), strict=True):
        last = (numbers.shape[1] - size) // ALIGNED + 1
        place = ALIGNED * tf.random.stateless_uniform([], seed, 0, last, tf.int32)
        parts.append(tf.slice(row, [place], [size]))
    return tf.stack(parts)


Sampler = Callable[[tf.Tensor], tf.Tensor]
"""Seeds [S, 2] -> one draw of the parameters [S, H, P] from the posterior."""


def expected_log_likelihood(
    model: Model,
    sample: Sampler,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    draws: int,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Mean over draws of log p(data) [S, H], summed over the rows."""
    inputs, targets, mask = data
    weight = tf.cast(mask, tf.float32)[:, None]

    def once(parameters: tf.Tensor) -> tf.Tensor:
        outputs = model.forward(point(parameters), inputs[:, None])
        return tf.reduce_sum(log_likelihood(model, outputs, targets) * weight, -1)

    return _average(once, sample, draws, seeds)


def predictive_moments(
    model: Model, sample: Sampler, inputs: tf.Tensor, draws: int, seeds: tf.Tensor
) -> tf.Tensor:
    """Means over draws of (probabilities or means, their squares), [2, S, H, n, n_outputs]."""

    def once(parameters: tf.Tensor) -> tf.Tensor:
        outputs = model.forward(point(parameters), inputs[:, None])
        if model.likelihood == "categorical":
            outputs = tf.nn.softmax(outputs)
        return tf.stack([outputs, tf.square(outputs)])

    return _average(once, sample, draws, seeds)


def predictive(model: Model, moments: tf.Tensor) -> Predictive:
    """The predictive distribution from `predictive_moments`."""
    first, second = moments.numpy()
    s, h = first.shape[:2]
    log_weights = np.full((s, h), -np.log(h))
    if model.likelihood == "categorical":
        return Categorical(log_weights, first)
    return Gaussian(log_weights, first, np.maximum(second - first**2, 0.0) + model.noise_sd**2)


def _average(
    function: Callable[[tf.Tensor], tf.Tensor], sample: Sampler, draws: int, seeds: tf.Tensor
) -> tf.Tensor:
    """Mean over draws of function(parameters); one draw at a time, for memory."""
    total = function(sample(fold_in(seeds, 0)))
    for i in tf.range(1, draws):
        total += function(sample(fold_in(seeds, i)))
    return total / draws
