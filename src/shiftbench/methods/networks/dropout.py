"""Dropout: zero a share of the inputs of a linear map, and scale up the rest.

A mask multiplies each input of a map by 0 with probability p, the share of the layer, or else by
1 / (1 - p), so that its mean is 1 (Srivastava et al. 2014; for gal2016dropout the masks of a
prediction are draws of a posterior). It wraps `linear(layer, x)`, and so works in every model. Each
row has its own masks, in training and in each draw of a prediction; in images they are drawn for
each value, not for each channel. Hypotheses share them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Layer, Linear, Model, point
from shiftbench.methods.networks.random import fold_in, uniforms
from shiftbench.methods.networks.sampling import Draw
from shiftbench.methods.networks.training import Gradient


class Dropout(NamedTuple):
    """Shares of zeroed inputs, from 0 to below 1: of the first layer, and of all others."""

    inputs: float
    hidden: float

    @property
    def acts(self) -> bool:
        return max(self) > 0


class DropoutSettings(Protocol):
    """The settings of a learner with dropout."""

    @property
    def input_dropout(self) -> float: ...
    @property
    def dropout(self) -> float: ...


def of_settings(settings: DropoutSettings) -> Dropout:
    """Return the shares that the settings ask for."""
    return Dropout(settings.input_dropout, settings.dropout)


def masked(dropout: Dropout, model: Model, linear: Linear, seeds: tf.Tensor) -> Linear:
    """Return the linear maps under masks that are drawn from seeds [S, 2]."""

    def under_mask(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        number = model.layers.index(layer)
        share = dropout.hidden if number else dropout.inputs
        # The layer of a learnt noise has no inputs.
        if share == 0 or layer.fan_in == 0:
            return linear(layer, x)
        kept = uniforms(fold_in(seeds, number), [1, *x.shape[2:]]) >= share
        return linear(layer, x * tf.where(kept, 1 / (1 - share), 0.0))

    return under_mask


def draws(dropout: Dropout, model: Model, parameters: tf.Tensor) -> Draw:
    """Return networks with these parameters [S, H, P], each draw under its own masks."""

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        return masked(dropout, model, point(parameters), seeds)

    return draw


def mean_nll_gradient(dropout: Dropout, model: Model) -> Gradient:
    """Return the gradient of a minibatch's mean negative log likelihood, under the step's masks."""
    gradient = partial(parameter_layout.mean_nll_gradient, model)
    if not dropout.acts:
        return gradient
    return partial(gradient, transform=partial(masked, dropout, model))
