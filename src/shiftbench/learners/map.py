"""Maximum a posteriori estimation with a quadratic penalty; Laplace propagation.

Minimises mean negative log likelihood + strength / (2 N) sum_i precision_i (w_i - m_i)^2
and then, with importance `fisher`, adds N times the diagonal Fisher to the precision:
the Laplace approximation of one task is the prior of the next (Laplace propagation,
Smola et al. 2003; seed 000, 4.2 and C.2). Knows: the likelihood.

State: mean, precision [S, H, P]; a precision of 0 marks a parameter without penalty
(biases, by default).
Info, [S, H] in nats over the task: log_likelihood at the estimate; log_evidence, its
Laplace approximation over the penalised parameters; steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.interface import (
    Batch,
    Broadening,
    Categorical,
    Gaussian,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.learners._backend import tf
from shiftbench.learners._fisher import squared_gradients
from shiftbench.learners._random import fold_in
from shiftbench.learners._training import Adam, Rows, minimise, shuffled, take
from shiftbench.models._model import Model, glorot, log_likelihood, point
from shiftbench.posteriors import mean_field_gaussian

NEEDS: tuple[str, ...] = ()
MODEL = True


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.001
    """Adam's step size (seed 000, Table 3)."""
    importance: Literal["none", "fisher"] = "fisher"
    """What is added to the precision after a task: nothing, or N times the diagonal Fisher."""
    fisher_labels: Literal["sampled", "expected", "observed"] = "sampled"
    """Labels of the Fisher: drawn from the model, all of them weighted, or the data's."""
    fisher_estimator: Literal["per-example", "summed"] = "per-example"
    """summed: the square of a sum of gradients, the noisy estimator of seed 000's code."""
    fisher_rows: Annotated[int, Ge(1)] = 1000
    """Training rows that the Fisher is estimated from, at most."""
    strength: Annotated[float, Ge(0)] = 1.0
    """Factor of the penalty; 1 is Laplace's approximation."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero."""
    start: Literal["fresh", "prior"] = "fresh"
    """fresh: Glorot's weights for every task, as in seed 000; prior: from the last estimate."""
    biases: Literal["free", "penalised"] = "free"
    """free: neither penalty nor importance, as in seed 000, C.2."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    penalised = np.ones(model.size, dtype=np.float32)
    if settings.biases == "free":
        penalised[model.is_bias()] = 0.0
    fit = tf.function(partial(_fit, settings, model, penalised), reduce_retracing=False)
    forward = tf.function(lambda mean, inputs: model.forward(point(mean), inputs[:, None]))

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        precision = np.broadcast_to(penalised / settings.prior_sd**2, shape).astype(np.float32)
        return {"mean": np.zeros(shape, np.float32), "precision": precision}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        s, h = state["mean"].shape[:2]
        log_weights = np.full((s, h), -np.log(h))
        outputs = forward(state["mean"], inputs)
        if model.likelihood == "categorical":
            return Categorical(log_weights, tf.nn.softmax(outputs).numpy())
        noise = np.full(outputs.shape, model.noise_sd**2)
        return Gaussian(log_weights, outputs.numpy(), noise)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        start = state["mean"]
        if settings.start == "fresh" or not start.any():
            start = np.broadcast_to(glorot(model, seeds), start.shape)
        results = fit(state["mean"], state["precision"], start, *batch, seeds)
        mean, precision, log_lik, evidence, steps = (a.numpy() for a in results)
        info = {
            "log_likelihood": log_lik,
            "log_evidence": evidence,
            "steps": np.full(evidence.shape, steps),
        }
        return {"mean": mean, "precision": precision}, info

    def broaden(state: State, broadening: Broadening) -> State:
        free = state["precision"] == 0
        variance = 1.0 / np.where(free, 1.0, state["precision"].astype(np.float64))
        mean, variance = mean_field_gaussian.broaden(
            state["mean"], variance, broadening, 0.0, settings.prior_sd**2
        )
        return {
            "mean": np.where(free, state["mean"], mean).astype(np.float32),
            "precision": np.where(free, 0.0, 1.0 / variance).astype(np.float32),
        }

    return Learner(init, predict, observe, broaden=broaden)


def _fit(
    settings: Settings,
    model: Model,
    penalised: np.ndarray,
    prior_mean: tf.Tensor,
    precision: tf.Tensor,
    start: tf.Tensor,
    inputs: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Adam on the penalised loss, then the new precision and Laplace's evidence."""
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None]

    def gradient(parameters: tf.Tensor, rows: Rows, step_seeds: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(parameters)
            outputs = model.forward(point(parameters), rows.inputs)
            per_row = log_likelihood(model, outputs, rows.targets) * rows.mask[:, None]
            mean_nll = -tf.reduce_sum(per_row, -1) / tf.reduce_sum(rows.mask, -1)[:, None]
        pull = settings.strength * precision * (parameters - prior_mean) / count[..., None]
        return tape.gradient(mean_nll, parameters) + pull

    data = inputs, targets, mask
    mean, steps = minimise(
        gradient,
        start,
        data,
        fold_in(seeds, 0),
        settings.epochs,
        settings.batch_size,
        Adam(settings.learning_rate),
    )
    outputs = model.forward(point(mean), inputs[:, None])
    weight = tf.cast(mask, tf.float32)[:, None]
    log_lik = tf.reduce_sum(log_likelihood(model, outputs, targets) * weight, -1)
    new_precision = precision
    if settings.importance == "fisher":
        fisher = _mean_fisher(settings, model, mean, data, fold_in(seeds, 1))
        new_precision += count[..., None] * fisher * penalised
    squares = tf.reduce_sum(precision * tf.square(mean - prior_mean), -1)
    log_ratio = tf.math.log(precision + 1 - penalised) - tf.math.log(new_precision + 1 - penalised)
    evidence = log_lik - 0.5 * squares + 0.5 * tf.reduce_sum(log_ratio, -1)
    return mean, new_precision, log_lik, evidence, steps


def _mean_fisher(
    settings: Settings,
    model: Model,
    mean: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Diagonal Fisher per example [S, H, P], averaged over at most `fisher_rows` rows."""
    mask = data[2]
    length = min(settings.fisher_rows, mask.shape[1])
    # One minibatch at a time for memory; the summed estimator is one sum over all rows.
    batch = length if settings.fisher_estimator == "summed" else min(settings.batch_size, length)
    batches = -(-length // batch)
    order = shuffled(mask, batches * batch, fold_in(seeds, 0))
    filled = tf.minimum(tf.reduce_sum(tf.cast(mask, tf.int32), axis=1), length)
    used = tf.range(batches * batch) < filled[:, None]
    total = tf.zeros_like(mean)
    for i in tf.range(batches):
        here = slice(i * batch, (i + 1) * batch)
        rows = take(*data, tf.reshape(order[:, here], [-1, batch]))
        rows = rows._replace(mask=rows.mask * tf.cast(used[:, here], tf.float32))
        total += squared_gradients(
            model,
            mean,
            rows,
            settings.fisher_labels,
            settings.fisher_estimator == "summed",
            fold_in(seeds, i + 1),
        )
    return total / tf.cast(filled, tf.float32)[:, None, None]
