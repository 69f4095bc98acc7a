"""Dropout: a share of the inputs of a linear map is left out, and the rest scaled up.

A mask multiplies each number that enters a map by 0, with the probability of the layer's share
p, or else by 1 / (1 - p), so that its mean is 1 (Srivastava et al. 2014; gal2016dropout, where
the masks at prediction are draws of a posterior). It acts on what `linear(layer, x)` is asked
for, and hence in every model. Each row has masks of its own, in training and in each draw of a
prediction; of images each number has, not each channel. Hypotheses share them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from shiftbench.methods.models._model import Layer, Linear, Model, point
from shiftbench.methods.networks import parameter_layout
from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.random import fold_in, uniforms
from shiftbench.methods.networks.sampling import Draw
from shiftbench.methods.networks.training import Gradient


class Dropout(NamedTuple):
    """Shares left out, from 0 to below 1: of the first layer's inputs, and of all others'."""

    inputs: float
    hidden: float

    @property
    def acts(self) -> bool:
        return max(self) > 0


def masked(dropout: Dropout, model: Model, linear: Linear, seeds: tf.Tensor) -> Linear:
    """The linear maps of inputs under masks that are drawn from seeds [S, 2]."""

    def under_mask(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        number = model.layers.index(layer)
        share = dropout.hidden if number else dropout.inputs
        # A layer without inputs, such as that of the noise, has nothing to leave out.
        if share == 0 or layer.fan_in == 0:
            return linear(layer, x)
        kept = uniforms(fold_in(seeds, number), [1, *x.shape[2:]]) >= share
        return linear(layer, x * tf.where(kept, 1 / (1 - share), 0.0))

    return under_mask


def draws(dropout: Dropout, model: Model, parameters: tf.Tensor) -> Draw:
    """Networks with these parameters [S, H, P], each under masks of its own."""

    def draw(seeds: tf.Tensor, rows: int) -> Linear:
        return masked(dropout, model, point(parameters), seeds)

    return draw


def mean_nll_gradient(dropout: Dropout, model: Model) -> Gradient:
    """Of the mean negative log likelihood of a minibatch, under the masks of the step."""
    if not dropout.acts:
        return partial(parameter_layout.mean_nll_gradient, model)
    return partial(
        parameter_layout.mean_nll_gradient, model, changed=partial(masked, dropout, model)
    )
