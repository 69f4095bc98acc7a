"""Online Laplace propagation with Kronecker factors: the learner `map`, curvature `kronecker`.

With the posterior of the last task as the prior (mean m, and precision A (x) B + delta I for the
weights and biases of each layer), the learner minimises over a task of N rows

    mean negative log likelihood + strength / (2 N) (w - m)' (A (x) B + delta I) (w - m).

The mean becomes the estimate, and the precision gains N times the Fisher at the estimate, A1 (x)
N B1: the sum is carried as its nearest pair (`posteriors/kronecker_gaussian.py`). The other choice
is a pair for each task, an exact sum whose memory grows. delta is the precision of the first,
normal prior. Source: Ritter et al. 2018.

State: mean [S, H, P]; left [S, H, sum a^2] and right [S, H, sum b^2], the factors of all layers;
ridge [S, H], delta. Info: as `map`; the evidence is Laplace's, over all parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from shiftbench.core.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.networks import dropout, kronecker_factors, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.map_settings import MapSettings
from shiftbench.methods.networks.model import Model, glorot
from shiftbench.methods.networks.optimisers import begin
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Adam, Gradient, Minibatch, descend
from shiftbench.methods.posteriors import kronecker_gaussian
from shiftbench.methods.posteriors.kronecker_gaussian import Precision

STEPS, IMPORTANCE = range(2)
"""Purposes that a task's seeds are folded with."""


def without_factors(settings: Any) -> Iterator[str]:
    """Yield each setting that does not go with Kronecker factors, with its remedy."""
    needed = {
        "importance": "fisher",
        "fisher_estimator": "per-example",
        "units": "task",
        "anchor": "last",
        "prior": "normal",
        "biases": "penalised",
        "optimiser_state": "reset",
    }
    for name, value in needed.items():
        if getattr(settings, name) != value:
            yield f"curvature `kronecker` needs `{name}: {value}`; set it, or curvature to diagonal"


def build(
    settings: MapSettings,
    problem: Problem,
    model: Model,
    predict: Callable[[State, np.ndarray, np.ndarray], Predictive],
) -> Learner:
    """Build the learner; TensorFlow traces one graph for each size of task."""
    sizes = kronecker_factors.sizes(model)
    gradient = dropout.mean_nll_gradient(dropout.of_settings(settings), model)
    fit = graph(partial(_fit, settings, model, gradient))

    def init(seeds: np.ndarray) -> State:
        return kronecker_gaussian.first_state(len(seeds), sizes, settings.prior_sd**-2)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        # A mean of all zeros is untrained, and a saddle point that a network cannot leave.
        continues = state["mean"].any(axis=-1, keepdims=True) & (settings.start == "prior")
        start = np.where(continues, state["mean"], glorot(model, seeds))
        posterior, info = fit(state, start, batch, seeds)
        info = {name: a.numpy() for name, a in info.items()}
        info["steps"] = np.full(info["log_evidence"].shape, info["steps"])
        return {name: a.numpy() for name, a in posterior.items()}, info

    def broaden(state: State, broadening: Broadening) -> State:
        return kronecker_gaussian.broaden_state(state, sizes, broadening, settings.prior_sd**2)

    return Learner(init, predict, observe, broaden=broaden)


def _fit(
    settings: MapSettings,
    model: Model,
    gradient: Gradient,
    state: dict[str, tf.Tensor],
    start: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Minimise the penalised loss by Adam; return the new state and the Info."""
    sizes, mean = kronecker_factors.sizes(model), state["mean"]
    prior = kronecker_gaussian.precision_of(state["left"], state["right"], state["ridge"], sizes)
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1)[:, None, None]

    def penalised(x: tf.Tensor, rows: Minibatch, step_seeds: tf.Tensor) -> tf.Tensor:
        pull = kronecker_gaussian.precision_times(prior, x - mean)
        return gradient(x, rows, step_seeds) + settings.strength / count * pull

    adam = Adam(settings.learning_rate)
    end, steps = descend(
        penalised,
        begin(adam, start),
        data,
        fold_in(seeds, STEPS),
        settings.epochs,
        settings.batch_size,
        adam,
    )
    posterior = _updated(settings, model, prior, end.x, data, fold_in(seeds, IMPORTANCE))
    log_lik = sampling.log_likelihood(model, end.x, data)
    volumes = [
        kronecker_gaussian.log_det(kronecker_gaussian.spectrum(one)) for one in (prior, posterior)
    ]
    square = kronecker_gaussian.square(prior, end.x - mean)
    evidence = log_lik + 0.5 * (volumes[0] - volumes[1] - square)
    new = kronecker_gaussian.state_of(end.x, posterior)
    return new, {"log_likelihood": log_lik, "log_evidence": evidence, "steps": steps}


def _updated(
    settings: MapSettings,
    model: Model,
    prior: Precision,
    estimate: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> Precision:
    """Return the precision after the task, the nearest pair of the old one and the Fisher."""
    left, right = kronecker_factors.mean_fisher(
        model,
        estimate,
        data,
        settings.fisher_labels,
        settings.fisher_rows,
        settings.batch_size,
        seeds,
    )
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1)[:, None, None]
    sizes, none = kronecker_factors.sizes(model), tf.zeros_like(prior.ridge)
    added = kronecker_gaussian.precision_of(left, count * right, none, sizes)
    decayed = Precision(
        prior.left,
        tuple(settings.decay * factor for factor in prior.right),
        settings.decay * prior.ridge,
    )
    return kronecker_gaussian.nearest_pair(decayed, added)
