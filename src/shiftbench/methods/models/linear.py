"""Linear (softmax) regression: a single layer; its exact solutions serve in tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models._noise import noisy
from shiftbench.methods.networks.heads import headed
from shiftbench.methods.networks.model import Linear, Model, chain, likelihood_of

FACTS = Facts(
    gives={"learnt-noise": {"noise": ("learnt",)}},
    refuses={
        "image": {"noise": ("learnt",)},
        "classes": {"noise": ("learnt",)},
        "two-classes": {"noise": ("learnt",)},
    },
)


@dataclass(frozen=True)
class Settings:
    noise_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the Gaussian likelihood, or its start value if it is learnt;
    regression only."""
    noise: Literal["fixed", "learnt"] = "fixed"
    """learnt: the standard deviation of each output is a parameter of the network, treated like
    a bias; regression only."""


def build(settings: Settings, problem: Problem) -> Model:
    """Build the model: outputs = inputs W + b."""
    size = math.prod(problem.input_shape)
    layers = chain([("dense1", size, problem.n_outputs)])

    def forward(linear: Linear, inputs: Any) -> Any:
        rows = tf.reshape(inputs, [*inputs.shape[:3], size])
        return linear(layers[0], tf.cast(rows, tf.float32))

    model = Model(layers, forward, likelihood_of(problem), settings.noise_sd)
    return headed(noisy(model, problem.n_outputs, settings.noise), problem)
