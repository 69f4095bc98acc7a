"""Definition of models: named linear layers and their composition.

A model never multiplies by a weight itself. It calls `linear(layer, x)`, which the learner
supplies: exactly x W + b for a point estimate, a Flipout or locally reparameterised draw for
variational learners, a recording one for per-example gradients. So each network is written once,
and works with every learner.

All weights and biases of a network form one flat vector [..., P]: elementwise work (Adam,
divergences, penalties) is a single operation, whatever the number of layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from shiftbench.core.interface import Problem
from shiftbench.core.seeds import generator
from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.lazy_tensorflow import tf

Linear = Callable[["Layer", Any], Any]
"""(layer, inputs) -> outputs of the layer."""
Likelihood = Literal["categorical", "gaussian"]


class Layer(NamedTuple):
    """A linear map [..., fan_in] -> [..., fan_out], and the position of its parameters.

    In a convolution fan_in is the number of channels times the size of the kernel.
    """

    name: str
    fan_in: int
    fan_out: int
    start: int

    @property
    def weights(self) -> slice:
        return slice(self.start, self.start + self.fan_in * self.fan_out)

    @property
    def biases(self) -> slice:
        return slice(self.weights.stop, self.weights.stop + self.fan_out)


class Model(NamedTuple):
    """A network with a likelihood.

    forward: (linear, inputs [S, H or 1, n, *input_shape]) -> [S, H, n, n_outputs], logits or means;
        with learnt noise the means and then log(standard deviation / noise_sd).
    likelihood: categorical, or gaussian with standard deviation noise_sd.
    """

    layers: tuple[Layer, ...]
    forward: Callable[[Linear, Any], Any]
    likelihood: Likelihood
    noise_sd: float = 1.0
    noise: Literal["fixed", "learnt"] = "fixed"

    @property
    def size(self) -> int:
        """The number P of parameters."""
        return self.layers[-1].biases.stop

    @property
    def convolves(self) -> bool:
        """Return whether some layer acts at several positions of an example."""
        return any(layer.name.startswith("conv") for layer in self.layers)

    def is_bias(self) -> np.ndarray:
        """Return [P] bool, True at the biases."""
        flags = np.zeros(self.size, dtype=bool)
        for layer in self.layers:
            flags[layer.biases] = True
        return flags


def chain(shapes: list[tuple[str, int, int]]) -> tuple[Layer, ...]:
    """Return layers for (name, fan_in, fan_out), whose parameters follow each other."""
    layers: list[Layer] = []
    start = 0
    for name, fan_in, fan_out in shapes:
        layers.append(Layer(name, fan_in, fan_out, start))
        start = layers[-1].biases.stop
    return tuple(layers)


def likelihood_of(problem: Problem) -> Likelihood:
    """Return the likelihood of a problem's targets."""
    return "categorical" if problem.kind == "classification" else "gaussian"


def weights_of(layer: Layer, parameters: tf.Tensor) -> tf.Tensor:
    """Return the weights [S, H, fan_in, fan_out] of a layer in flat vectors [S, H, P]."""
    flat = parameters[..., layer.weights]
    return tf.reshape(flat, [*parameters.shape[:-1], layer.fan_in, layer.fan_out])


def biases_of(layer: Layer, parameters: tf.Tensor) -> tf.Tensor:
    """Return the biases [S, H, fan_out] of a layer in flat vectors [S, H, P]."""
    return parameters[..., layer.biases]


def product(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return x W for x [S, H or 1, n, (positions,) fan_in] and W [S, H, fan_in, fan_out].

    For images x [S, H or 1, n, h, w, c] whose c is not fan_in, a convolution with zero padding: W
    holds square kernels, with rows by row, column and channel.
    """
    if weights.shape[-2] != x.shape[-1]:
        return _convolution(x, weights)
    rows = tf.reshape(x, [*x.shape[:2], math.prod(x.shape[2:-1]), x.shape[-1]])
    out = tf.matmul(rows, weights)
    return tf.reshape(out, [*out.shape[:2], *x.shape[2:-1], weights.shape[-1]])


def _convolution(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    s, h, fan_in, fan_out = weights.shape
    size, channels = math.isqrt(fan_in // x.shape[-1]), x.shape[-1]
    kernels = tf.reshape(weights, [s * h, size, size, channels, fan_out])
    images = tf.unstack(tf.reshape(x, [-1, *x.shape[2:]]))
    # TensorFlow's convolution has a single kernel for all images.
    images = [image for image in images for _ in range(s * h // len(images))]
    outs = [
        tf.nn.conv2d(image, kernel, 1, "SAME")
        for image, kernel in zip(images, tf.unstack(kernels), strict=True)
    ]
    return tf.reshape(tf.stack(outs), [s, h, *outs[0].shape])


def unfolded(layer: Layer, x: tf.Tensor, delta: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return inputs and output gradient of a layer in the form of a matrix product.

    For a convolution, with patches: x [S, H or 1, n, positions, fan_in] and delta
    [S, H, n, positions, fan_out].
    """
    if x.shape[-1] == layer.fan_in:
        return x, delta
    height, width, channels = x.shape[3:]
    size = math.isqrt(layer.fan_in // channels)
    before, after = (size - 1) // 2, size // 2
    edges = [[0, 0], [before, after], [before, after], [0, 0]]
    padded = tf.pad(tf.reshape(x, [-1, height, width, channels]), edges)
    shifts = [padded[:, i : i + height, j : j + width] for i in range(size) for j in range(size)]
    patches = tf.reshape(tf.concat(shifts, -1), [*x.shape[:3], height * width, layer.fan_in])
    return patches, tf.reshape(delta, [*delta.shape[:3], height * width, layer.fan_out])


def per_example(values: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """Reshape [S, H, n, k] or [S, H, 1, k] to broadcast against `like` [S, H, n, (h, w,) k]."""
    positions = [1] * (len(like.shape) - len(values.shape))
    return tf.reshape(values, [*values.shape[:3], *positions, values.shape[3]])


def point(parameters: tf.Tensor) -> Linear:
    """Return the deterministic linear map x W + b."""

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        out = product(x, weights_of(layer, parameters))
        return out + per_example(biases_of(layer, parameters)[:, :, tf.newaxis], out)

    return linear


def recorded(
    model: Model, linear: Linear, inputs: tf.Tensor, tape: tf.GradientTape
) -> tuple[tf.Tensor, dict[Layer, tuple[tf.Tensor, tf.Tensor]]]:
    """Return the outputs for inputs, and inputs and outputs of each layer, which the tape watches.

    The layers are in the order of their use.
    """
    passed: dict[Layer, tuple[tf.Tensor, tf.Tensor]] = {}

    def recording(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        out = linear(layer, x)
        tape.watch(out)
        passed[layer] = (x, out)
        return out

    return model.forward(recording, inputs), passed


def log_likelihood(model: Model, outputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return log p(target | outputs) [S, H, n]; targets [S, n] labels or [S, n, d] reals."""
    targets = targets[:, tf.newaxis]
    if model.likelihood == "categorical":
        # The gradient of a gathered entry is a sum over segments, which costs more than softmax.
        own = tf.one_hot(targets, outputs.shape[-1])
        return tf.reduce_sum(own * tf.nn.log_softmax(outputs), -1)
    likelihood = tfd.Normal(*mean_and_sd(model, outputs))
    return tf.reduce_sum(likelihood.log_prob(tf.cast(targets, outputs.dtype)), -1)


def mean_and_sd(model: Model, outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | float]:
    """Return mean [S, H, n, d] and sd, of equal shape or a number, of the Gaussian likelihood."""
    if model.noise == "fixed":
        return outputs, model.noise_sd
    mean, log_sd = tf.split(outputs, 2, -1)
    return mean, model.noise_sd * tf.exp(log_sd)


def log_likelihood_of(
    model: Model, linear: Linear, inputs: tf.Tensor, targets: tf.Tensor, mask: tf.Tensor
) -> tf.Tensor:
    """Return the log likelihood [S, H] of a minibatch, inputs [S, 1, b, ...], mask [S, b]."""
    per_row = log_likelihood(model, model.forward(linear, inputs), targets)
    return tf.reduce_sum(per_row * mask[:, tf.newaxis], -1)


def glorot(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Return start values [S, 1, P]: Glorot's uniform weights, zero biases (li2021vbs, C.2)."""
    start = np.zeros((len(seeds), 1, model.size), dtype=np.float32)
    for s, seed in enumerate(seeds):
        draws = generator(seed)
        for layer in model.layers:
            bound = np.sqrt(6.0 / (layer.fan_in + layer.fan_out))
            start[s, 0, layer.weights] = draws.uniform(-bound, bound, layer.fan_in * layer.fan_out)
    return start
