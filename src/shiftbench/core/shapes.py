"""A study's network in words and numbers, for learners that build their own of it.

A learner with MODEL = "shapes" gets this in the place of a model, and no TensorFlow: it may be
written in PyTorch, JAX or NumPy. The networks themselves are in `models`; a test holds both
together. A user's model describes itself, with a function `describe(settings, problem)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from shiftbench.core.interface import Problem


class Layer(NamedTuple):
    """A linear map with biases: fan_in -> fan_out; of a convolution fan_in counts 3 x 3 places."""

    name: str
    fan_in: int
    fan_out: int


class Shapes(NamedTuple):
    """A network of convolutions, dense layers and one layer of outputs, in this order.

    kind: the name of the model, such as mlp. input_shape: of a row, without its head; dense layers
    take it flat. filters: of each block of two 3 x 3 convolutions with zero padding, each with
    the activation, and a 2 x 2 max-pooling that rounds up. hidden: units of each hidden layer.
    n_outputs: logits or means, of all heads together; see `interface.Problem` for heads.
    likelihood: categorical, or gaussian with the standard deviation noise_sd; where noise is
    learnt, that is its start value, and each output has its own.
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
    activation: str = "relu"

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The linear maps from the inputs on; a learnt noise is a last one without inputs."""
        found, shape = [], list(self.input_shape)
        for number, filters in enumerate(self.filters, 1):
            found.append(Layer(f"conv{number}a", 9 * shape[2], filters))
            found.append(Layer(f"conv{number}b", 9 * filters, filters))
            shape = [-(-shape[0] // 2), -(-shape[1] // 2), filters]
        sizes = (math.prod(shape), *self.hidden, self.n_outputs)
        found += [Layer(f"dense{number}", *ab) for number, ab in enumerate(pairwise(sizes), 1)]
        noise = [Layer("noise", 0, self.n_outputs)] if self.noise == "learnt" else []
        return (*found, *noise)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum((layer.fan_in + 1) * layer.fan_out for layer in self.layers)


def describe(kind: str, settings: Mapping[str, Any], problem: Problem) -> Shapes:
    """One of our models with all its settings, for a problem."""
    of_classes = problem.kind == "classification"
    return Shapes(
        kind,
        problem.input_shape,
        tuple(settings.get("filters", ())),
        tuple(settings.get("hidden", ())),
        problem.n_outputs,
        problem.heads,
        "categorical" if of_classes else "gaussian",
        settings.get("noise_sd", 1.0),
        "fixed" if of_classes else settings.get("noise", "fixed"),
    )
