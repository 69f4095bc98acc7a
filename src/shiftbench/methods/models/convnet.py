"""Small convolutional network: pairs of 3x3 convolutions with max-pooling, then dense layers.

With filters (32, 64) it is the network of li2021vbs, Table 2, whose two dropout layers are left out
on purpose: in the authors' code they never act. With hidden (512,) too, it is that of split CIFAR
(eschenhagen2019vogn, 4.5), without dropout.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from annotated_types import Ge

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.networks.heads import headed
from shiftbench.methods.networks.model import Linear, Model, chain, likelihood_of

FACTS = Facts(
    takes=("image",),
    gives={"convolution": True, "hidden-layer": ({"not filters": ((),)}, {"not hidden": ((),)})},
)


@dataclass(frozen=True)
class Settings:
    filters: tuple[Annotated[int, Ge(1)], ...] = (32, 64)
    """Filters of each block of two convolutions and a 2x2 max-pooling."""
    hidden: tuple[Annotated[int, Ge(1)], ...] = ()
    """Units of each dense layer before the last; all heads share them."""


def build(settings: Settings, problem: Problem) -> Model:
    """Build the network for images [height, width, channels]."""
    height, width, channels = problem.input_shape
    shapes = []
    for i, filters in enumerate(settings.filters, 1):
        shapes.append((f"conv{i}a", 9 * channels, filters))
        shapes.append((f"conv{i}b", 9 * filters, filters))
        height, width, channels = -(-height // 2), -(-width // 2), filters
    sizes = (height * width * channels, *settings.hidden, problem.n_outputs)
    names = [f"hidden{i}" for i in range(1, len(sizes) - 1)] + ["dense"]
    convolutions = len(shapes)
    layers = chain(shapes + [(n, *ab) for n, ab in zip(names, pairwise(sizes), strict=True)])

    def forward(linear: Linear, inputs: Any) -> Any:
        x = inputs
        for first, second in zip(layers[:convolutions:2], layers[1:convolutions:2], strict=True):
            x = tf.nn.relu(linear(second, tf.nn.relu(linear(first, x))))
            x = _pool(x)
        x = tf.reshape(x, [*x.shape[:3], sizes[0]])
        for layer in layers[convolutions:-1]:
            x = tf.nn.relu(linear(layer, x))
        return linear(layers[-1], x)

    return headed(Model(layers, forward, likelihood_of(problem)), problem)


def _pool(x: Any) -> Any:
    flat = tf.reshape(x, [-1, *x.shape[3:]])
    pooled = tf.nn.max_pool2d(flat, 2, 2, "SAME")
    return tf.reshape(pooled, [*x.shape[:3], *pooled.shape[1:]])
