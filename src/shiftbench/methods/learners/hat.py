"""Hard attention to the task (HAT): each task gates the units, and used weights are frozen.

Unit u of a hidden layer passes relu(z) sigmoid(s e_u), with an embedding e for each task that is
trained along with the weights. Source: Serra et al. 2018, whose results eschenhagen2019vogn cites.
In each epoch s rises from 1 / s_max to s_max, where gates are nearly 0 or 1; predictions use s_max.
The loss is the mean negative log likelihood plus

    strength sum m (1 - used) / sum (1 - used)

with m the task's gates and used, for each unit, the largest gate of all earlier tasks, so that
units in use cost nothing. A weight's gradient is multiplied by 1 - min(used of its output unit,
used of its input unit). The optimiser is plain stochastic gradient descent. Three things of the
public code are left out: dropout, the choice of the best epoch, and the division of the learning
rate by 3 when the validation loss stalls; the rate can decay by a fixed factor each epoch instead.
Knows: the likelihood, and the task of each row, so it needs a multi-head protocol.

State: mean [S, H, P]; embedding [S, H, tasks, units]; used [S, H, units].
Info, [S, H]: log_likelihood of the task in nats; capacity, the share of units in use; steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Le

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, LearnerError, Predictive, Problem, State
from shiftbench.core.seeds import fold_each, generator
from shiftbench.methods.networks import natural_gradient, parameter_layout, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.heads import split
from shiftbench.methods.networks.model import (
    Layer,
    Linear,
    Model,
    log_likelihood,
    per_example,
    point,
)
from shiftbench.methods.networks.task_schedule import heads_in, steps_per_epoch
from shiftbench.methods.networks.training import Minibatch, epochs, total

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    requires=("heads", "hidden-layer"),
    refuses=("mixed",),
    model=True,
)

EMBEDDING_BOUND = 6.0
"""Bound of the embeddings' absolute values (public code)."""
EXPONENT_BOUND = 50.0
"""Bound of |s e| where gradients are compensated, against overflow (public code)."""


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 200
    """Passes over the data of a task (public code: at most 200, with early stopping)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch (public code)."""
    learning_rate: Annotated[float, Gt(0)] = 0.05
    """Step size (public code)."""
    decay: Annotated[float, Gt(0), Le(1)] = 1.0
    """Factor of the learning rate after each epoch (public code: 1/3 on plateaus)."""
    strength: Annotated[float, Ge(0)] = 0.75
    """Factor of the regulariser, lambda (public code, chosen from 0.1 to 4)."""
    s_max: Annotated[float, Gt(1)] = 400.0
    """Steepest slope of the gates (public code, chosen from 25 to 800)."""
    longest_gradient: Annotated[float, Gt(0)] = 10000.0
    """Bound of the gradient norm; larger gradients are scaled down to it (public code)."""


class _Iterate(NamedTuple):
    """Parameters after a number of steps."""

    mean: tf.Tensor
    embedding: tf.Tensor
    count: tf.Tensor


class _Gated(NamedTuple):
    """A model, and the slice of each hidden layer's units among all units."""

    model: Model
    problem: Problem
    units: dict[Layer, slice]


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build HAT for a model; TensorFlow traces one graph for each size of task.

    Raises LearnerError for a single head, or a model whose layers are no chain of units.
    """
    gated = _Gated(model, problem, _unit_slices(model))
    if problem.heads == 1:
        raise LearnerError("hat: has to know each row's task; give the stream several heads")
    size = max(units.stop for units in gated.units.values())
    fit = graph(partial(_fit, settings, gated))

    @graph
    def moments(mean: tf.Tensor, embedding: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        gate = gates(embedding, settings.s_max)
        outputs = forward(gated, point(mean), gate, inputs[:, tf.newaxis])
        return sampling.moments(model, outputs)

    def init(seeds: np.ndarray) -> State:
        shape = (1, problem.heads, size)
        draws = [generator(seed).standard_normal(shape) for seed in fold_each(seeds, "embedding")]
        return {
            "mean": natural_gradient.fresh(model, seeds),
            "embedding": np.stack(draws).astype(np.float32),
            "used": np.zeros((len(seeds), 1, size), np.float32),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        of_state = partial(moments, state["mean"], state["embedding"])
        return sampling.predictive(model, of_state, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        task = heads_in(batch, problem)
        if (task.sum(axis=1) > 1).any():
            raise LearnerError(
                "hat: rows of several tasks at once, but it learns one after the other; train it"
                " without a combinator that mixes tasks"
            )
        arrays = (state[name] for name in ("mean", "embedding", "used"))
        results = fit(*arrays, task.astype(np.float32), batch, seeds)
        mean, embedding, used, log_lik, steps = (a.numpy() for a in results)
        info = {
            "log_likelihood": log_lik,
            "capacity": used.mean(axis=-1),
            "steps": np.full(log_lik.shape, steps),
        }
        return {"mean": mean, "embedding": embedding, "used": used}, info

    return Learner(init, predict, observe)


def _unit_slices(model: Model) -> dict[Layer, slice]:
    """Return the slice of each hidden layer's units among all units.

    Raises LearnerError if a layer's inputs are not the units of the layer before it, each at one or
    several positions.
    """
    hidden, start = {}, 0
    for layer, following in zip(model.layers, model.layers[1:], strict=False):
        if following.fan_in % layer.fan_out:
            raise LearnerError(
                f"hat: layer {following.name} of the model does not take the units of"
                f" {layer.name}; use mlp or convnet"
            )
        hidden[layer] = slice(start, start := start + layer.fan_out)
    if not hidden:
        raise LearnerError("hat: the model has no hidden layer to gate; use mlp or convnet")
    return hidden


def gates(embedding: tf.Tensor, s: tf.Tensor | float) -> tf.Tensor:
    """Return the gates sigmoid(s e) [S, H, tasks, units] of all tasks."""
    return tf.sigmoid(s * embedding)


def forward(gated: _Gated, exact: Linear, gate: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
    """Return the gated network's outputs [S, H, n, n_outputs].

    gate: the gates of all tasks [S, H, tasks, units].
    """
    _, head = split(inputs, gated.problem)
    of_row = tf.matmul(tf.one_hot(head, gated.problem.heads), gate)

    def linear(layer: Layer, x: tf.Tensor) -> tf.Tensor:
        out = exact(layer, x)
        if layer not in gated.units:
            return out
        # The gate m >= 0 commutes with relu and max-pooling: relu(z) m = relu(z m).
        return out * per_example(of_row[..., gated.units[layer]], out)

    return gated.model.forward(linear, inputs)


def freedom(gated: _Gated, used: tf.Tensor) -> tf.Tensor:
    """Return the factor [S, H, P] of the gradients, 0 for weights that earlier tasks rely on.

    Inputs of the network are always in use, outputs never: each task has its own.
    """
    lead, frozen = used.shape[:2], []
    used_inputs = tf.ones([*lead, gated.model.layers[0].fan_in])
    for layer in gated.model.layers:
        units = gated.units.get(layer)
        used_outputs = tf.zeros([*lead, layer.fan_out]) if units is None else used[..., units]
        # Channels come last, so positions repeat the units.
        tiled = tf.tile(used_inputs, [1, 1, layer.fan_in // used_inputs.shape[-1]])
        weights = tf.minimum(tiled[..., :, tf.newaxis], used_outputs[..., tf.newaxis, :])
        frozen += [tf.reshape(weights, [*lead, -1]), used_outputs]
        used_inputs = used_outputs
    return 1.0 - tf.concat(frozen, -1)


def compensated(gradient: tf.Tensor, embedding: tf.Tensor, s: tf.Tensor, s_max: float) -> tf.Tensor:
    """Rescale the embeddings' gradient, which vanishes through steep gates sigmoid(s e).

    The result is s_max times the gradient through sigmoid(e) (Serra et al. 2018, embedding gradient
    compensation).
    """
    steepness = tf.cosh(tf.clip_by_value(s * embedding, -EXPONENT_BOUND, EXPONENT_BOUND)) + 1.0
    return gradient * s_max / s * steepness / (tf.cosh(embedding) + 1.0)


def _fit(
    settings: Settings,
    gated: _Gated,
    mean: tf.Tensor,
    embedding: tf.Tensor,
    used: tf.Tensor,
    task: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Train on a task; return mean, embedding, used units, its log likelihood, number of steps."""
    free = freedom(gated, used)
    minibatches = steps_per_epoch(data.mask, settings.batch_size)
    longest = tf.maximum(tf.reduce_max(minibatches), 1)
    s_min = 1 / settings.s_max

    def step(now: _Iterate, rows: Minibatch, _: tf.Tensor) -> _Iterate:
        done = tf.cast(now.count % longest, tf.float32)
        share = done / tf.cast(tf.maximum(minibatches - 1, 1), tf.float32)
        s = s_min + (settings.s_max - s_min) * tf.minimum(share, 1.0)[:, None, None, None]
        in_mean, in_embedding = _gradients(settings, gated, now, used, task, s, rows)
        in_embedding = compensated(in_embedding, now.embedding, s, settings.s_max)
        scale = _clip_factor(settings, [in_mean * free, in_embedding])
        rate = settings.learning_rate * settings.decay ** tf.cast(now.count // longest, tf.float32)
        # Repetitions whose minibatch is empty do not move.
        rate *= scale * tf.cast(tf.reduce_any(rows.mask > 0, -1), tf.float32)[:, None]
        embedding = now.embedding - rate[..., None, None] * in_embedding
        return _Iterate(
            now.mean - rate[..., None] * free * in_mean,
            tf.clip_by_value(embedding, -EMBEDDING_BOUND, EMBEDDING_BOUND),
            now.count + 1,
        )

    first = _Iterate(mean, embedding, tf.constant(0))
    last, steps = epochs(step, first, data, seeds, settings.epochs, settings.batch_size)
    gate = gates(last.embedding, settings.s_max)
    log_lik = total(partial(_log_likelihood, gated, point(last.mean), gate), data)
    used = tf.maximum(used, _gates_of_task(gate, task))
    return last.mean, last.embedding, used, log_lik, steps


def _gates_of_task(gate: tf.Tensor, task: tf.Tensor) -> tf.Tensor:
    """Select the gates [S, H, units] of one task; task [S, tasks] is its one-hot code."""
    return tf.reduce_sum(gate * task[:, None, :, None], 2)


def _gradients(
    settings: Settings,
    gated: _Gated,
    now: _Iterate,
    used: tf.Tensor,
    task: tf.Tensor,
    s: tf.Tensor,
    rows: Minibatch,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the gradients of the regularised loss in mean and embedding."""
    pieces = parameter_layout.pieces(gated.model, now.mean)
    with tf.GradientTape() as tape:
        tape.watch([pieces, now.embedding])
        gate = gates(now.embedding, s)
        network = parameter_layout.point(gated.model, pieces)
        log_lik = _log_likelihood(gated, network, gate, rows)
        count = tf.maximum(tf.reduce_sum(rows.mask, -1), 1.0)[:, None]
        unused = 1.0 - used
        claimed = tf.reduce_sum(_gates_of_task(gate, task) * unused, -1)
        cost = tf.math.divide_no_nan(claimed, tf.reduce_sum(unused, -1))
        loss = settings.strength * cost - log_lik / count
    in_pieces, in_embedding = tape.gradient(loss, [pieces, now.embedding])
    return tf.concat(in_pieces, -1), in_embedding


def _log_likelihood(gated: _Gated, exact: Linear, gate: tf.Tensor, rows: Minibatch) -> tf.Tensor:
    """Return the log likelihood [S, H] of a minibatch under the gated network."""
    outputs = forward(gated, exact, gate, rows.inputs)
    per_row = log_likelihood(gated.model, outputs, rows.targets) * rows.mask[:, None]
    return tf.reduce_sum(per_row, -1)


def _clip_factor(settings: Settings, gradients: list[tf.Tensor]) -> tf.Tensor:
    """Return the factor [S, H] that clips the global norm of all gradients."""
    squares = [tf.reduce_sum(tf.square(g), list(range(2, g.shape.rank))) for g in gradients]
    norm = tf.sqrt(tf.add_n(squares))
    return tf.minimum(1.0, settings.longest_gradient / tf.maximum(norm, 1e-12))
