"""A noise that is learnt: one standard deviation for each output, the same for all inputs.

It is a layer without inputs, whose biases are the logarithms of standard deviations in units of
noise_sd. So it lies among the parameters, and every learner treats it as it treats biases; where
these have a prior, the logarithm has it.
"""

from __future__ import annotations

from typing import Any, Literal

from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models._model import Layer, Linear, Model

Noise = Literal["fixed", "learnt"]


def noisy(model: Model, n_outputs: int, noise: Noise) -> Model:
    """The model itself with fixed noise, else with a layer of it; of regression alone."""
    if noise == "fixed" or model.likelihood != "gaussian":
        return model
    layer = Layer("noise", 0, n_outputs, model.size)

    def forward(linear: Linear, inputs: Any) -> Any:
        means = model.forward(linear, inputs)
        log_sd = linear(layer, tf.zeros([*inputs.shape[:3], 0]))
        return tf.concat([means, log_sd], -1)

    return model._replace(layers=(*model.layers, layer), forward=forward, noise="learnt")
