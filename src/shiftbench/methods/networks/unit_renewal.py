"""Continual backpropagation: after each step the least useful hidden units are reinitialised.

The utility of a hidden unit with output h, incoming weights w_in and outgoing weights w_out is a
trace of

    mean |h - mean h| mean |w_out| / mean |w_in|

over the rows of a minibatch, where mean h is a trace of its output (Dohare et al. 2024, Eq. 1; the
quotient and the difference are from its code, `adaptable contribution`). Where all incoming weights
are zero it is 0, and not the code's nan. A unit older than
`maturity` steps may be replaced. Each step adds to what is due in a layer a share `rate` of its
mature units; for each whole unit that is due, the one of the least utility gets new incoming
weights, outgoing weights and a bias of zero, and moments of zero.

So that a replacement does not change the mean output, the next layer's biases gain mean h w_out.
This follows the paper; its code sets mean h to zero first, and so loses this correction.

Units are those of all hidden layers in turn, U of them in L layers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.model import Layer, Model
from shiftbench.methods.networks.optimisers import Descent
from shiftbench.methods.networks.parameter_layout import pieces
from shiftbench.methods.networks.random import uniforms


class Renewal(NamedTuple):
    """The constants. decay: of both traces. rate: share of the mature units for each step."""

    rate: float
    maturity: int
    decay: float = 0.99


class Units(NamedTuple):
    """The hidden units: utility, mean output and age in steps [S, H, U]; due, units [S, H, L]."""

    utility: tf.Tensor
    output: tf.Tensor
    age: tf.Tensor
    due: tf.Tensor


def sizes(model: Model) -> list[int]:
    """Return the number of units of each hidden layer."""
    return [layer.fan_out for layer in model.layers[:-1]]


def step(
    renewal: Renewal,
    model: Model,
    at: Descent,
    units: Units,
    outputs: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[Descent, Units]:
    """Return optimiser and units after a step of the optimiser has been taken.

    outputs: of the hidden units for a minibatch, [S, H, n, U]. mask: [S, n]. seeds: of the step.
    """
    units = _traced(renewal, model, at.x, units, outputs, mask)
    chosen, due = _chosen(renewal, model, units)
    units = units._replace(due=due)

    def replace() -> tuple[tf.Tensor, ...]:
        x, first, second = _replaced(renewal, model, at, units, chosen, seeds)
        kept = tf.cast(~chosen, units.utility.dtype)
        return x, first, second, kept * units.utility, kept * units.output, kept * units.age

    def keep() -> tuple[tf.Tensor, ...]:
        return at.x, at.first, at.second, units.utility, units.output, units.age

    # New weights are drawn only where they are needed, once in some hundred steps.
    x, first, second, utility, output, age = tf.cond(tf.reduce_any(chosen), replace, keep)
    return at._replace(x=x, first=first, second=second), Units(utility, output, age, due)


def none_seen(model: Model, repetitions: int) -> Units:
    """Return the units before the first step."""
    zeros = tf.zeros([repetitions, 1, sum(sizes(model))])
    return Units(zeros, zeros, zeros, tf.zeros([repetitions, 1, len(sizes(model))]))


def _traced(
    renewal: Renewal,
    model: Model,
    x: tf.Tensor,
    units: Units,
    outputs: tf.Tensor,
    mask: tf.Tensor,
) -> Units:
    """Return the units with the traces of utility and output after a minibatch."""
    age, decay = units.age + 1, renewal.decay
    share = mask[:, None, :, None] / tf.reduce_sum(mask, -1)[:, None, None, None]
    output = decay * units.output + (1 - decay) * tf.reduce_sum(share * outputs, 2)
    away = tf.abs(outputs - (output / (1 - decay**age))[:, :, None])
    now = tf.reduce_sum(share * away, 2) * _weight_ratio(model, x)
    return Units(decay * units.utility + (1 - decay) * now, output, age, units.due)


def _weight_ratio(model: Model, x: tf.Tensor) -> tf.Tensor:
    """Return mean |w_out| / mean |w_in| of each unit [S, H, U], 0 where all w_in are 0.

    All are 0 after each unit of the layer before was replaced while this one had no gradient.
    """
    magnitudes = [
        (tf.reduce_mean(tf.abs(outgoing), -1), tf.reduce_mean(tf.abs(incoming), -2))
        for incoming, outgoing in pairwise(_matrices(model, x))
    ]
    return tf.concat([tf.math.divide_no_nan(*pair) for pair in magnitudes], -1)


def _chosen(renewal: Renewal, model: Model, units: Units) -> tuple[tf.Tensor, tf.Tensor]:
    """Return which units are to be replaced [S, H, U], and what stays due [S, H, L]."""
    utility = units.utility / (1 - renewal.decay**units.age)
    mature = units.age > renewal.maturity
    chosen, rest = [], []
    parts = (tf.split(a, sizes(model), -1) for a in (utility, mature))
    for number, (of_layer, ready) in enumerate(zip(*parts, strict=True)):
        share = renewal.rate * tf.reduce_sum(tf.cast(ready, utility.dtype), -1)
        due = units.due[..., number] + share
        whole = tf.floor(due)
        order = tf.argsort(tf.where(ready, of_layer, tf.constant(float("inf"))), stable=True)
        rank = tf.argsort(order, stable=True)
        chosen.append(ready & (tf.cast(rank, utility.dtype) < whole[..., None]))
        rest.append(due - whole)
    return tf.concat(chosen, -1), tf.stack(rest, -1)


def _replaced(
    renewal: Renewal,
    model: Model,
    at: Descent,
    units: Units,
    chosen: tf.Tensor,
    seeds: tf.Tensor,
) -> list[tf.Tensor]:
    """Return weights and moments [S, H, P] with the chosen units reinitialised."""
    drawn = 2 * uniforms(seeds, [model.size])[:, None] - 1
    fresh = [
        _bound(layer) * w for layer, w in zip(model.layers, pieces(model, drawn)[::2], strict=True)
    ]
    output = units.output / (1 - renewal.decay ** tf.maximum(units.age, 1.0))
    parts = [pieces(model, array) for array in (at.x, at.first, at.second)]
    layers = zip(*(tf.split(a, sizes(model), -1) for a in (chosen, output)), strict=True)
    for number, (new, mean) in enumerate(layers):
        layer, following = model.layers[number : number + 2]
        incoming = _spread(new[..., None, :], layer)
        outgoing = _spread(new[..., None], following)
        place = 2 * number
        weights = tf.reshape(parts[0][place + 2], [*new.shape, following.fan_out])
        mean = tf.where(new, mean, 0.0)[..., None]
        parts[0][place + 3] += tf.reduce_sum(mean * weights, -2)
        for array, start in zip(parts, (fresh[number], 0.0, 0.0), strict=True):
            array[place] = tf.where(incoming, start, array[place])
            array[place + 1] = tf.where(new, 0.0, array[place + 1])
            array[place + 2] = tf.where(outgoing, 0.0, array[place + 2])
    return [tf.concat(array, -1) for array in parts]


def _spread(chosen: tf.Tensor, layer: Layer) -> tf.Tensor:
    """Return flags of a layer's weights [S, H, fan_in fan_out] from flags of rows or columns."""
    lead = chosen.shape[:2]
    all_weights = tf.broadcast_to(chosen, [*lead, layer.fan_in, layer.fan_out])
    return tf.reshape(all_weights, [*lead, layer.fan_in * layer.fan_out])


def _bound(layer: Layer) -> float:
    """Return the bound of Glorot's uniform weights, as at the start of training."""
    return (6.0 / (layer.fan_in + layer.fan_out)) ** 0.5


def _matrices(model: Model, x: tf.Tensor) -> list[tf.Tensor]:
    """Return the weights [S, H, fan_in, fan_out] of each layer."""
    lead = x.shape[:2]
    return [
        tf.reshape(w, [*lead, layer.fan_in, layer.fan_out])
        for layer, w in zip(model.layers, pieces(model, x)[::2], strict=True)
    ]
