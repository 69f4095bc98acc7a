"""Learnt noise: a standard deviation for each output, the same for all inputs.

It is a layer without inputs, whose biases are the logarithms of the standard deviations in units of
noise_sd. So it is part of the parameters, and every learner treats it like biases, prior included.
"""

from __future__ import annotations

from typing import Any, Literal

from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.networks.model import Layer, Linear, Model

Noise = Literal["fixed", "learnt"]


def noisy(model: Model, n_outputs: int, noise: Noise) -> Model:
    """Return the model with a layer of learnt noise; itself for fixed noise or classes."""
    if noise == "fixed" or model.likelihood != "gaussian":
        return model
    layer = Layer("noise", 0, n_outputs, model.size)

    def forward(linear: Linear, inputs: Any) -> Any:
        means = model.forward(linear, inputs)
        log_sd = linear(layer, tf.zeros([*inputs.shape[:3], 0]))
        return tf.concat([means, log_sd], -1)

    return model._replace(layers=(*model.layers, layer), forward=forward, noise="learnt")
