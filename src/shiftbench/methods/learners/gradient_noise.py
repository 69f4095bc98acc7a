"""Standard deviation of variational gradients at the start of training; nothing is learnt.

Source: farquhar2020radial, section 5, Fig. 6. With draws w = mean + sd noise, it is

    (mean over weights of Var[d / d mean of the mean of -log p(row | w)])^1/2.

At randomly initialised means, the gradient in the means of the mean negative log likelihood of some
rows is drawn many times, for each of several standard deviations of the weights: one hypothesis
each. Measured is the standard deviation over draws, as the root of the mean variance over the
parameters of a layer. With family `radial` also that of the cross entropy with a radial prior
around other random means, both as the paper estimates it (Eq. 44) and with the Jacobian that Eq. 44
lacks. Knows: the likelihood.

It learns nothing and predicts equal probabilities of all classes.

State: tasks [S, H], the number of tasks seen.
Info, [S, H], of the last task: gradient_sd; with family radial published_sd and full_sd, of the
cross entropies in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, MinLen

from shiftbench.core import seeds as seeding
from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Categorical,
    Info,
    Learner,
    LearnerError,
    Problem,
    State,
)
from shiftbench.methods.networks import elbo, gradient_spread, weight_draws
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.model import Layer, Model
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.weight_draws import Draws
from shiftbench.methods.posteriors import radial

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    offers=("gradients_at_start",),
    requires=("hidden-layer",),
    model=True,
)


@dataclass(frozen=True)
class Settings:
    family: Literal["gaussian", "radial", "truncated"] = "gaussian"
    """Posterior family of the weight draws, as in mfvi."""
    truncation: Annotated[float, Gt(0)] = 1.0
    """truncated: bound of the noise of a weight, in standard deviations."""
    sds: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (0.1, 1.0)
    """Standard deviations of the weights, one for each hypothesis."""
    draws: Annotated[int, Ge(2)] = 20
    """Number of draws of the gradient."""
    batch_size: Annotated[int, Ge(1)] = 16
    """Largest number of the task's rows that gradients are taken of."""
    estimator: Literal["flipout", "sample"] = "sample"
    """Weight draws; sample: all rows share them, as in the paper; flipout: rows differ in signs."""
    layer: str = ""
    """Name of the layer whose weights' gradient is measured; empty for all layers."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """radial: scale of the prior in the cross entropy."""


ROWS, DRAWS, PRIOR = range(1, 4)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the instrument for a model; LearnerError if the model has no such layer."""
    weights = _measured_weights(settings, model)
    blocks = weight_draws.blocks_of(model, problem.heads) if settings.family == "radial" else None
    truncation = settings.truncation if settings.family == "truncated" else None
    draws = Draws(model, settings.estimator, blocks, 1, truncation)
    measure = graph(partial(_measure, settings, draws, weights))
    width = len(settings.sds)

    def init(seeds: np.ndarray) -> State:
        return {"tasks": np.zeros((len(seeds), width), np.int64)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        s, h = state["tasks"].shape
        uniform = np.full((s, h, inputs.shape[1], problem.n_outputs), 1 / problem.n_outputs)
        return Categorical(np.full((s, h), -np.log(h)), uniform)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        mean, prior_mean = (
            _he_means(model, seeding.fold_each(seeds, purpose)) for purpose in ("means", "prior")
        )
        data = tuple(batch)
        # One standard deviation at a time, for memory: a wide layer has millions of weights.
        results = [measure(mean, prior_mean, tf.constant(sd), data, seeds) for sd in settings.sds]
        names = ("gradient_sd", "published_sd", "full_sd")
        # Families other than radial give only the first.
        columns = zip(names, zip(*results, strict=True), strict=False)
        info = {name: np.concatenate([a.numpy() for a in sds], axis=1) for name, sds in columns}
        return {"tasks": state["tasks"] + 1}, info

    return Learner(init, predict, observe)


def _measured_weights(settings: Settings, model: Model) -> slice:
    """Return the slice of the parameters whose gradient is measured; LearnerError if none."""
    if not settings.layer:
        return slice(None)
    layers: dict[str, Layer] = {layer.name: layer for layer in model.layers}
    if settings.layer not in layers:
        raise LearnerError(
            f"gradient-noise: the model has no layer {settings.layer}; set layer to one of"
            f" {', '.join(layers)}"
        )
    return layers[settings.layer].weights


def _he_means(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Draw means [S, 1, P] with He's variance 2 / fan_in; biases are 0."""
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
    weights: slice,
    mean: tf.Tensor,
    prior_mean: tf.Tensor,
    sd: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Return gradient_sd and, if radial, published_sd and full_sd [S, 1] at one weight sd."""
    rows = gradient_spread.some_rows(data, settings.batch_size, fold_in(seeds, ROWS))
    sds = tf.fill(mean.shape, sd)
    number = settings.draws
    gradient_sd = gradient_spread.of_likelihood(
        draws, mean, sds, rows, number, fold_in(seeds, DRAWS), weights
    )
    if draws.blocks is None:
        return (gradient_sd,)
    cross = partial(_cross_entropy_gradients, settings, draws, mean, prior_mean, sds)
    cross_sds = gradient_spread.over_draws(
        lambda draw_seeds: cross(draw_seeds)[..., weights], number, fold_in(seeds, PRIOR)
    )
    return gradient_sd, cross_sds[:, :1], cross_sds[:, 1:]


def _cross_entropy_gradients(
    settings: Settings,
    draws: Draws,
    mean: tf.Tensor,
    prior_mean: tf.Tensor,
    sds: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Return one draw's gradients in the means [S, 2, P]: of Eq. 44 and of the full density."""
    w = mean + sds * elbo.noise(draws, 1, seeds).eps[:, :, 0]
    scale, blocks = tf.fill(mean.shape, settings.prior_sd), draws.blocks or ()
    densities: tuple[radial.PriorDensity, ...] = ("published", "full")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(w)
        losses = [-radial.log_density(w, prior_mean, scale, blocks, d) for d in densities]
    return tf.concat([tape.gradient(loss, w) for loss in losses], 1)
