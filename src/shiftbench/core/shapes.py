"""The description of a study's network, for learners that build it themselves.

A learner with model="shapes" gets a description instead of a model, and no TensorFlow: it may
be written in PyTorch, JAX or NumPy. The networks are in `methods.models`; a test compares the two.
A user's model describes itself by a function `describe(settings, problem)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from shiftbench.core.interface import Problem


class LayerShape(NamedTuple):
    """A linear map with biases; in a convolution fan_in counts 3 x 3 positions of each channel."""

    name: str
    fan_in: int
    fan_out: int


class Shapes(NamedTuple):
    """A network of convolutions, dense layers and one layer of outputs, in this order.

    kind: the name of the model, such as mlp.
    input_shape: the shape of a row without its head; dense layers take it flat.
    filters: a number for each block of two 3 x 3 convolutions with zero padding, each followed by
        ReLU, and a 2 x 2 max-pooling that rounds up.
    hidden: the units of each hidden layer, which ReLU follows.
    n_outputs: the logits or means of all heads together; see `interface.Problem` for heads.
    likelihood: categorical, or gaussian with the standard deviation noise_sd. If the noise is
        learnt, noise_sd is its start value, and each output has its own.
    """

    kind: str
    input_shape: tuple[int, ...]
    filters: tuple[int, ...]
    hidden: tuple[int, ...]
    n_outputs: int
    heads: int
    likelihood: Literal["categorical", "gaussian"]
    noise_sd: float = 1.0
    noise: Literal["fixed", "learnt"] = "fixed"

    @property
    def layers(self) -> tuple[LayerShape, ...]:
        """The linear maps, inputs first; a learnt noise is a last layer without inputs."""
        layers, shape = [], list(self.input_shape)
        for number, filters in enumerate(self.filters, 1):
            layers.append(LayerShape(f"conv{number}a", 9 * shape[2], filters))
            layers.append(LayerShape(f"conv{number}b", 9 * filters, filters))
            shape = [-(-shape[0] // 2), -(-shape[1] // 2), filters]
        sizes = (math.prod(shape), *self.hidden, self.n_outputs)
        for number, (fan_in, fan_out) in enumerate(pairwise(sizes), 1):
            layers.append(LayerShape(f"dense{number}", fan_in, fan_out))
        if self.noise == "learnt":
            layers.append(LayerShape("noise", 0, self.n_outputs))
        return tuple(layers)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum((layer.fan_in + 1) * layer.fan_out for layer in self.layers)


def describe(kind: str, settings: Mapping[str, Any], problem: Problem) -> Shapes:
    """Return the description of one of our models, with its settings, for a problem."""
    classifies = problem.kind == "classification"
    return Shapes(
        kind,
        problem.input_shape,
        tuple(settings.get("filters", ())),
        tuple(settings.get("hidden", ())),
        problem.n_outputs,
        problem.heads,
        "categorical" if classifies else "gaussian",
        settings.get("noise_sd", 1.0),
        "fixed" if classifies else settings.get("noise", "fixed"),
    )
