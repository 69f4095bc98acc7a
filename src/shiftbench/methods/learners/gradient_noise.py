"""How noisy the gradients of variational learning are at its start: an instrument, no method.

Source: farquhar2020radial, section 5, Fig. 6. On rows of a task, at means like those that a
network starts from, the gradient of the mean negative log likelihood in the means is drawn many
times, for each of several standard deviations of the weights: one hypothesis each. Its standard
deviation over draws, as the root of the mean variance over the parameters of a layer, is what it
tells. With family `radial` also that of the cross entropy with a radial prior around other such
means, as the paper estimates it (eq. 44), and with the Jacobian that eq. 44 lacks.

It learns nothing, and predicts that all classes are alike.

State: tasks [S, H], how many it has seen. Info, [S, H], of the last task: gradient_sd;
of family radial published_sd and full_sd, of the cross entropies in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, MinLen

from shiftbench.core import seeds as seeding
from shiftbench.core.interface import (
    Batch,
    Categorical,
    Info,
    Learner,
    LearnerError,
    Problem,
    State,
)
from shiftbench.methods.models._model import Layer, Model
from shiftbench.methods.networks import elbo, gradient_spread, weight_draws
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.weight_draws import Draws
from shiftbench.methods.posteriors import radial

NEEDS: tuple[str, ...] = ()
MODEL = True
TAKES = {"image": "categorical", "classes": "categorical"}
REQUIRES = ("hidden-layer",)
OFFERS = ("gradients_at_start",)


@dataclass(frozen=True)
class Settings:
    family: Literal["gaussian", "radial", "truncated"] = "gaussian"
    """Of the weights' draws, as in mfvi."""
    truncation: Annotated[float, Gt(0)] = 1.0
    """truncated: where the noise of a weight is cut, in standard deviations."""
    sds: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (0.1, 1.0)
    """Standard deviations of the weights, of each hypothesis."""
    draws: Annotated[int, Ge(2)] = 20
    """Draws of the gradient."""
    batch_size: Annotated[int, Ge(1)] = 16
    """Rows of the task that the gradients are of, at most."""
    estimator: Literal["flipout", "sample"] = "sample"
    """How weights are drawn: sample: all rows share them, as in the paper; flipout."""
    layer: str = ""
    """The layer whose weights' gradient it is, by its name in the model; all if empty."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """radial: the scale of the prior whose cross entropy is drawn."""


MEANS, ROWS, DRAWS, PRIOR = range(4)
"""What the seeds of a task are folded with, for each use of them."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The instrument for a model; LearnerError where it has no such layer."""
    part = _part(settings, model)
    blocks = weight_draws.blocks_of(model, problem.heads) if settings.family == "radial" else None
    truncation = settings.truncation if settings.family == "truncated" else None
    draws = Draws(model, settings.estimator, blocks, 1, truncation)
    measure = graph(partial(_measure, settings, draws, part))
    width = len(settings.sds)

    def init(seeds: np.ndarray) -> State:
        return {"tasks": np.zeros((len(seeds), width), np.int64)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        s, h = state["tasks"].shape
        alike = np.full((s, h, inputs.shape[1], problem.n_outputs), 1 / problem.n_outputs)
        return Categorical(np.full((s, h), -np.log(h)), alike)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        mean, other = (_fresh(model, seeding.fold_each(seeds, use)) for use in ("means", "prior"))
        # One after the other, for memory: a wide layer has millions of weights.
        found = [measure(mean, other, tf.constant(sd), tuple(batch), seeds) for sd in settings.sds]
        names = ("gradient_sd", "published_sd", "full_sd")
        # Of other families the first alone.
        each = zip(names, zip(*found, strict=True), strict=False)
        info = {name: np.concatenate([a.numpy() for a in of_sds], axis=1) for name, of_sds in each}
        return {"tasks": state["tasks"] + 1}, info

    return Learner(init, predict, observe)


def _part(settings: Settings, model: Model) -> slice:
    """Where the layer's weights lie."""
    if not settings.layer:
        return slice(None)
    layers: dict[str, Layer] = {layer.name: layer for layer in model.layers}
    if settings.layer not in layers:
        raise LearnerError(
            f"gradient-noise: the model has no layer {settings.layer}; set layer to one of"
            f" {', '.join(layers)}"
        )
    return layers[settings.layer].weights


def _fresh(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Means [S, 1, P] of variance 2 / fan_in, as rectified linear units want it; biases 0."""
    means = np.zeros((len(seeds), 1, model.size), np.float32)
    for s, seed in enumerate(seeds):
        random = seeding.generator(seed)
        for layer in model.layers:
            size = layer.fan_in * layer.fan_out
            noise = random.standard_normal(size, np.float32)
            means[s, 0, layer.weights] = np.float32(np.sqrt(2 / layer.fan_in)) * noise
    return means


def _measure(
    settings: Settings,
    draws: Draws,
    part: slice,
    mean: tf.Tensor,
    other: tf.Tensor,
    sd: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """gradient_sd and, if radial, published_sd and full_sd [S, 1] of one standard deviation."""
    rows = gradient_spread.some_rows(data, settings.batch_size, fold_in(seeds, ROWS))
    sds = tf.fill(mean.shape, sd)
    number = settings.draws
    found = gradient_spread.of_likelihood(
        draws, mean, sds, rows, number, fold_in(seeds, DRAWS), part
    )
    if draws.blocks is None:
        return (found,)
    cross = partial(_cross_entropy_gradients, settings, draws, mean, other, sds)
    both = gradient_spread.over_draws(
        lambda draw_seeds: cross(draw_seeds)[..., part], number, fold_in(seeds, PRIOR)
    )
    return found, both[:, :1], both[:, 1:]


def _cross_entropy_gradients(
    settings: Settings,
    draws: Draws,
    mean: tf.Tensor,
    other: tf.Tensor,
    sds: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """In the means [S, 2, P], under one draw: by eq. 44, and with the Jacobian."""
    w = mean + sds * elbo.noise(draws, 1, seeds).eps[:, :, 0]
    scale, densities = tf.fill(mean.shape, settings.prior_sd), ("published", "full")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(w)
        losses = [-radial.log_density(w, other, scale, draws.blocks, one) for one in densities]
    return tf.concat([tape.gradient(loss, w) for loss in losses], 1)
