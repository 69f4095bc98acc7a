"""Multilayer perceptron with rectified linear units.

eschenhagen2019vogn uses 784-100-100-10, farquhar2020radial four layers of 200.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models._noise import noisy
from shiftbench.methods.networks.heads import headed
from shiftbench.methods.networks.model import Linear, Model, chain, likelihood_of

FACTS = Facts(
    gives={"hidden-layer": {"not hidden": ((),)}, "learnt-noise": {"noise": ("learnt",)}},
    refuses={
        "image": {"noise": ("learnt",)},
        "classes": {"noise": ("learnt",)},
        "two-classes": {"noise": ("learnt",)},
    },
)


@dataclass(frozen=True)
class Settings:
    hidden: tuple[Annotated[int, Ge(1)], ...] = (100, 100)
    """Units of each hidden layer."""
    noise_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the Gaussian likelihood, or its start value if it is learnt;
    regression only."""
    noise: Literal["fixed", "learnt"] = "fixed"
    """learnt: the standard deviation of each output is a parameter of the network, treated like
    a bias; regression only."""


def build(settings: Settings, problem: Problem) -> Model:
    """Build the network for a problem: inputs are flattened, outputs are logits or means."""
    sizes = (math.prod(problem.input_shape), *settings.hidden, problem.n_outputs)
    layers = chain([(f"dense{i}", a, b) for i, (a, b) in enumerate(pairwise(sizes), 1)])

    def forward(linear: Linear, inputs: Any) -> Any:
        x = tf.cast(tf.reshape(inputs, [*inputs.shape[:3], sizes[0]]), tf.float32)
        for layer in layers[:-1]:
            x = tf.nn.relu(linear(layer, x))
        return linear(layers[-1], x)

    model = Model(layers, forward, likelihood_of(problem), settings.noise_sd)
    return headed(noisy(model, problem.n_outputs, settings.noise), problem)
