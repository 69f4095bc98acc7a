"""Rehearsal: a network that learns each task together with rows kept from earlier ones.

Each step has a minibatch of the task and as many rows of the memory, drawn at random. It is a step
of Adam along the gradient of

    er: -log p(minibatch and memory rows)
    der++: -log p(minibatch) + a |logits - stored logits|^2 - b log p(other memory rows)
    a-gem: -log p(minibatch), without its part against the gradient of -log p(memory rows)

Losses:

- er, experience replay (Chaudhry et al. 2019, "On tiny episodic memories"): the mean negative log
  likelihood of all these rows.
- der++, dark experience replay (Buzzega et al. 2020): that of the minibatch, plus logit_weight
  times the squared error of the logits against those stored with the rows, plus label_weight times
  the negative log likelihood of other rows of the memory.
- a-gem, averaged gradient episodic memory (Chaudhry et al. 2019, "Efficient lifelong learning"):
  the gradient of the minibatch, projected where it would raise the loss of the memory's rows.

Each task starts with fresh moments of Adam and the last task's network. Without memory, all are
fine-tuning (`map` without a penalty), to the byte.

The memory holds `size` rows of each task, drawn at random as for `coreset`; these rows are learnt
from in their own task, too. Or it is a reservoir (Vitter 1985) of as many rows in all, size
n_tasks: when it has seen n rows, it holds each with the same probability. It needs no boundaries,
but has more rows of early tasks while there are few. Both are filled at the end of a task, when
the authors' code of DER++ fills a reservoir at each step; so logits are those of the finished task.

State: mean [S, H, P]; the memory, inputs [S, 1, size n_tasks, ...], targets, and mask, False where
there is no row; logits [S, H, size n_tasks, C] with der++; seen [S, 1], the number of tasks, or of
rows for a reservoir.
Info, [S, H]: log_likelihood of the task in nats; steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State
from shiftbench.core.seeds import fold_each
from shiftbench.methods import row_memory
from shiftbench.methods.networks import replay, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.model import Model, glorot, point
from shiftbench.methods.networks.optimisers import begin
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Adam, descend

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    refuses={"warm-up": {"memory": ("tasks",)}, "one-row": {"memory": ("tasks",)}},
    model=True,
)


@dataclass(frozen=True)
class Settings:
    loss: Literal["er", "der++", "a-gem"] = "er"
    """Loss of a step."""
    memory: Literal["tasks", "reservoir"] = "tasks"
    """Rows kept; tasks: equally many of each task; reservoir: of all rows so far, at random."""
    size: Annotated[int, Ge(0)] = 200
    """Number of rows of each task, of a short one at most half; in a reservoir on average."""
    logit_weight: Annotated[float, Ge(0)] = 0.5
    """der++: weight alpha of the logits' squared error (code for permuted MNIST: .5 to 1)."""
    label_weight: Annotated[float, Ge(0)] = 0.5
    """der++: weight beta of the labels' loss (code for permuted MNIST: .5 to 1)."""
    epochs: Annotated[int, Ge(1)] = 20
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch, and of the memory's rows in a step."""
    learning_rate: Annotated[float, Gt(0)] = 0.001
    """Adam's step size."""


def rows_kept(settings: Settings, problem: Problem) -> tuple[int, int]:
    """Return how many rows it keeps of a whole stream, and the numbers of a row."""
    logits = problem.n_outputs // problem.heads if settings.loss == "der++" else 0
    numbers = row_memory.numbers_of_row(problem) + logits
    if settings.memory == "tasks":
        return row_memory.kept(settings.size, problem), numbers
    capacity = settings.size * problem.n_tasks
    return min(capacity, problem.n_train * problem.n_tasks), numbers


STEPS = 0
"""Purpose that a task's seeds are folded with, the number that `map` has for it."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the learner for a model; TensorFlow traces one graph for each size of task."""
    capacity = settings.size * problem.n_tasks
    dark = settings.loss == "der++"
    fit = graph(partial(_fit, settings, model, problem.heads))

    @graph
    def outputs(mean: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        return model.forward(point(mean), inputs[:, tf.newaxis])

    moments = graph(partial(sampling.point_moments, model))

    def init(seeds: np.ndarray) -> State:
        s = len(seeds)
        state = {"mean": np.zeros((s, 1, model.size), np.float32)}
        state |= {"seen": np.zeros((s, 1), np.int64), **row_memory.empty(problem, s, capacity)}
        if dark:
            state["logits"] = np.zeros((s, 1, capacity, problem.n_outputs), np.float32)
        return state

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return sampling.predictive(model, partial(moments, state["mean"]), inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        trained = state["mean"].any(axis=-1, keepdims=True)
        start = np.where(trained, state["mean"], glorot(model, seeds))
        none = np.zeros((*start.shape[:2], capacity, 0), np.float32)
        old = replay.Memory(row_memory.as_batch(state, batch), state.get("logits", none))
        mean, log_lik, steps = (a.numpy() for a in fit(start, old, batch, seeds))
        slots = _slots(settings, state, batch.mask, fold_each(seeds, "memory"))
        after = row_memory.filled(state, batch, slots) | {"mean": mean}
        by_task = settings.memory == "tasks"
        after["seen"] = state["seen"] + (1 if by_task else batch.mask.sum(axis=1, keepdims=True))
        if dark and capacity:
            logits = partial(outputs, mean)
            fresh = sampling.in_pieces(model, logits, after["inputs"][:, 0])
            after["logits"] = state["logits"].copy()
            for s, rows in enumerate(slots):
                after["logits"][s][:, [*rows]] = fresh[s][:, [*rows]]
        info = {"log_likelihood": log_lik, "steps": np.full(log_lik.shape, steps)}
        return state | after, info

    return Learner(init, predict, observe)


def _fit(
    settings: Settings,
    model: Model,
    heads: int,
    start: tf.Tensor,
    memory: replay.Memory,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Train on a task by Adam; return the parameters, the task's log likelihood and the steps."""
    adam = Adam(settings.learning_rate)
    weights = replay.Weights(settings.logit_weight, settings.label_weight)
    end, steps = descend(
        replay.gradient(settings.loss, model, memory, settings.batch_size, weights, heads),
        begin(adam, start),
        data,
        fold_in(seeds, STEPS),
        settings.epochs,
        settings.batch_size,
        adam,
    )
    log_lik = sampling.log_likelihood(model, end.x, data)
    return end.x, log_lik, steps


def _slots(
    settings: Settings, state: State, mask: np.ndarray, seeds: np.ndarray
) -> list[row_memory.Slots]:
    """Return the slots of the memory that rows of a task [S, n] fill at its end."""
    size, capacity = settings.size, state["mask"].shape[2]
    if settings.memory == "tasks":
        chosen, task = row_memory.random_rows(mask, size, seeds), int(state["seen"].max())
        return row_memory.slots_of_task("rehearsal", capacity, chosen, task, size)
    return [
        row_memory.reservoir(np.flatnonzero(rows), int(seen), capacity, seed)
        for rows, (seen,), seed in zip(mask, state["seen"], seeds, strict=True)
    ]
