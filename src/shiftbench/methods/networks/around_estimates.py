"""Predictions of the learner `map`: by the estimate, by dropout's masks, or by weights around it.

The posteriors around the estimate are in `last_layer_laplace.py` and `swag.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from shiftbench.core.interface import Predictive, State
from shiftbench.methods.networks import dropout, last_layer_laplace, sampling, swag
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.map_settings import MapSettings
from shiftbench.methods.networks.model import Model, point

ARRAYS = {"laplace-last": ("mean", "root"), "swag": ("mean", "variance", "deviations")}
"""The arrays of the state that a prediction needs, if these are not the mean alone."""


def without_posterior(settings: Any) -> Iterator[str]:
    """Yield each setting that does not go with a posterior for predictions, with its remedy."""
    needed = {"importance": "none", "curvature": "diagonal", "dropout": 0, "input_dropout": 0}
    for name, value in needed.items():
        if getattr(settings, name) != value:
            yield (
                f"prediction `{settings.prediction}` needs `{name}: {value}`; set it, or prediction"
                " to estimate"
            )
    if settings.prediction == "swag" and settings.prediction_draws == 0:
        yield "SWAG predicts by draws; set prediction_draws above 0"
    if settings.prediction == "swag" and settings.swag_epochs > settings.epochs:
        yield (
            f"SWAG collects weights in the last {settings.swag_epochs} of {settings.epochs} epochs;"
            " set swag_epochs to fewer, or epochs to more"
        )


def predict(
    settings: MapSettings, model: Model
) -> Callable[[State, np.ndarray, np.ndarray], Predictive]:
    """Return the function `predict` of a learner with a state of `map`."""
    moments = graph(partial(_moments, settings, model))
    used = ARRAYS.get(settings.prediction, ("mean",))

    def predictive(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        arrays = tuple(state[name] for name in used)
        return sampling.predictive(model, partial(moments, arrays, seeds), inputs)

    return predictive


def _moments(
    settings: MapSettings,
    model: Model,
    arrays: tuple[tf.Tensor, ...],
    seeds: tf.Tensor,
    inputs: tf.Tensor,
) -> tf.Tensor:
    """Return `sampling.moments` of a prediction from arrays of the state, its mean first."""
    draws, masks = settings.prediction_draws, dropout.of_settings(settings)
    if settings.prediction == "laplace-last":
        mean, root = arrays
        return last_layer_laplace.moments(model, draws, mean, root, seeds, inputs)
    if settings.prediction == "swag":
        draw = swag.draws(*arrays)
    elif draws and masks.acts:
        draw = dropout.draws(masks, model, *arrays)
    else:
        return sampling.moments(model, model.forward(point(*arrays), inputs[:, tf.newaxis]))
    return sampling.predictive_moments(model, draw, draws, seeds, inputs)
