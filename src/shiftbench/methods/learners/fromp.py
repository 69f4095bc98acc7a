"""FROMP: functional regularisation of memorable past, a penalty on outputs for a few old rows.

From task to task the learner minimises

    mean negative log likelihood + tau / 2 sum over tasks t and classes c of D_tc' K_tc^-1 D_tc,

where D is the change of class probabilities for the rows of the memory since the last task, and K
the kernel of these probabilities under a Laplace approximation with precision F + prior_precision
(`networks/functional_prior.py`). After a task, F gains the diagonal of the Fisher information of
all its rows. Source: Pan et al. 2020; the public code has 1 / tau at the likelihood, which is the
same for Adam, and it clips the gradient, which we do not.

The memory holds `size` rows of each task, as many of each class as can be: those with the largest
sum over classes of p (1 - p), near the decision boundaries, or random ones. They are learnt from in
their own task, too. Labels of the memory are not used. Knows: boundaries of tasks.

State: mean, fisher [S, H, P]; the memory, inputs [S, 1, size n_tasks, ...], targets, and mask,
False where there is no row; tasks [S, 1], the number of tasks learnt.
Info, [S, H]: log_likelihood of the task in nats; steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State
from shiftbench.core.seeds import fold_each
from shiftbench.methods import row_memory
from shiftbench.methods.networks import functional_prior, parameter_layout, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.fisher import mean_fisher
from shiftbench.methods.networks.model import Model, glorot
from shiftbench.methods.networks.optimisers import begin
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Adam, Data, Gradient, Minibatch, descend

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    refuses=("warm-up", "one-row"),
    model=True,
)


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(0)] = 200
    """Number of rows of each task, of a short one at most half (permuted MNIST: 200)."""
    memory: Literal["memorable", "random"] = "memorable"
    """Choice of the rows; memorable: those about which the network is least sure."""
    tau: Annotated[float, Gt(0)] = 0.5
    """Weight of the penalty beside the mean loss (permuted MNIST: .5; split: 10)."""
    prior_precision: Annotated[float, Gt(0)] = 1e-5
    """Precision of the weights without data (permuted MNIST: 1e-5)."""
    epochs: Annotated[int, Ge(1)] = 10
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 128
    """Number of rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.001
    """Adam's step size."""


rows_kept = row_memory.rows_kept

STEPS, FISHER = range(2)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the learner for a model; TensorFlow traces one graph for each size of task."""
    capacity = settings.size * problem.n_tasks
    fit = graph(partial(_fit, settings, model, problem.n_tasks))

    moments = graph(partial(sampling.point_moments, model))

    def init(seeds: np.ndarray) -> State:
        zeros = np.zeros((len(seeds), 1, model.size), np.float32)
        tasks = np.zeros((len(seeds), 1), np.int64)
        memory = row_memory.empty(problem, len(seeds), capacity)
        return {"mean": zeros, "fisher": zeros, "tasks": tasks, **memory}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return sampling.predictive(model, partial(moments, state["mean"]), inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        trained = state["mean"].any(axis=-1, keepdims=True)
        start = np.where(trained, state["mean"], glorot(model, seeds))
        memory = row_memory.as_batch(state, batch)
        mean, fisher, log_lik, steps = (
            a.numpy() for a in fit(start, state["fisher"], memory, batch, seeds)
        )
        chosen = row_memory.random_rows(batch.mask, settings.size, fold_each(seeds, "memory"))
        if settings.memory == "memorable":
            p = sampling.in_pieces(model, partial(moments, mean), batch.inputs)[0][:, 0]
            sizes = [len(rows) for rows in chosen]
            chosen = memorable(p, batch.targets, batch.mask, sizes)
        task = int(state["tasks"].max())
        slots = row_memory.slots_of_task("fromp", capacity, chosen, task, settings.size)
        after = row_memory.filled(state, batch, slots)
        new = {"mean": mean, "fisher": fisher, "tasks": state["tasks"] + 1, **after}
        return new, {"log_likelihood": log_lik, "steps": np.full(log_lik.shape, steps)}

    return Learner(init, predict, observe)


def memorable(
    p: np.ndarray, targets: np.ndarray, mask: np.ndarray, sizes: Sequence[int]
) -> list[np.ndarray]:
    """Choose `sizes` rows of each repetition, the same number of each class as far as it goes.

    p: class probabilities [S, n, C]. The first of each class are those with the largest
    sum p (1 - p) (Pan et al. 2020, section 3.2); if not all classes get the same number, the larger
    ones count. Returns indices into mask [S, n].
    """
    chosen = []
    for probabilities, labels, filled, size in zip(p, targets, mask, sizes, strict=True):
        rows = np.flatnonzero(filled)
        score = (probabilities * (1 - probabilities)).sum(axis=-1)[rows]
        rows = rows[np.argsort(-score, kind="stable")]
        of_class, place = labels[rows], np.empty(len(rows), int)
        for label in np.unique(of_class):
            same = np.flatnonzero(of_class == label)
            place[same] = np.arange(len(same))
        chosen.append(rows[np.argsort(place, kind="stable")[:size]])
    return chosen


def _fit(
    settings: Settings,
    model: Model,
    tasks: int,
    start: tf.Tensor,
    fisher: tf.Tensor,
    memory: Data,
    data: Data,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Train on a task by Adam; return mean, Fisher, the task's log likelihood and the steps."""
    adam = Adam(settings.learning_rate)
    end, steps = descend(
        _gradient(settings, model, tasks, start, fisher, memory),
        begin(adam, start),
        data,
        fold_in(seeds, STEPS),
        settings.epochs,
        settings.batch_size,
        adam,
    )
    rows, size = data[2].shape[1], settings.batch_size
    fold = fold_in(seeds, FISHER)
    added = mean_fisher(model, end.x, data, "expected", False, rows, size, fold)
    count = tf.reduce_sum(tf.cast(data[2], tf.float32), axis=1)[:, tf.newaxis, tf.newaxis]
    log_lik = sampling.log_likelihood(model, end.x, data)
    return end.x, fisher + count * added, log_lik, steps


def _gradient(
    settings: Settings,
    model: Model,
    tasks: int,
    start: tf.Tensor,
    fisher: tf.Tensor,
    memory: Data,
) -> Gradient:
    """Return the gradient of a minibatch's loss with the penalty around the task's start."""
    plain = partial(parameter_layout.mean_nll_gradient, model)
    if settings.size == 0:
        return plain
    precision = fisher + settings.prior_precision
    prior = functional_prior.functional_prior(model, start, precision, memory, tasks)

    def penalised(x: tf.Tensor, rows: Minibatch, seeds: tf.Tensor) -> tf.Tensor:
        g = plain(x, rows, seeds)
        # While there is no memory, as in the first task, a step costs no more than without.
        return tf.cond(
            tf.reduce_any(memory[2]),
            lambda: g + settings.tau * functional_prior.gradient(model, x, prior),
            lambda: g,
        )

    return penalised
