"""Predictions of learners whose posterior is a mean and a standard deviation of each parameter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shiftbench.core.interface import Predictive, State
from shiftbench.methods.networks import elbo, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.weight_draws import Draws


def predict(draws: Draws, number: int) -> Callable[[State, np.ndarray, np.ndarray], Predictive]:
    """Return the function `predict` of a learner with mean and sd [S, H, P] in its state.

    number: of draws that a prediction averages over, whatever the number in training.
    """

    @graph
    def moments(mean: tf.Tensor, sd: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        draw = partial(elbo.drawn, draws, mean, sd)
        return sampling.predictive_moments(draws.model, draw, number, seeds, inputs)

    def predictive(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        of_state = partial(moments, state["mean"], state["sd"], seeds)
        return sampling.predictive(draws.model, of_state, inputs)

    return predictive
