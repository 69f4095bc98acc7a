"""A network that is trained on each task in turn and partly renewed, so that it keeps learning.

A network that is trained for a long time learns new tasks less and less well: it loses plasticity.
Renewals, with the start values `fresh` and the utilities u of weights or units:

    shrink-perturb: w <- keep w + (1 - keep) fresh, before a task
    continual-backprop: the unit of the least u is fresh again
    upgd: w <- w - rate (g + noise) (1 - sigmoid(u / max u))

- shrink-perturb (Ash and Adams 2020): a task starts from these weights. The paper adds normal noise
  in place of a share of fresh weights, which its code has; Dohare et al. 2024 do it at every step,
  with a weight decay.
- continual-backprop (Dohare et al. 2024): the least useful hidden units are replaced one by one,
  see `networks/unit_renewal.py`. For multilayer perceptrons.
- upgd (Elsayed and Mahmood 2024): plain gradient descent in which useless weights are perturbed and
  useful ones protected, see `networks/upgd.py`. The other renewals have Adam.
- none: fine-tuning, as `map` without a penalty, to the byte.

Adam starts each task with fresh moments; utilities and ages go on. Knows: nothing; shrink-perturb
acts at every task.

State: mean [S, H, P]. With upgd: utility [S, H, P], steps [S, H, 1]. With continual-backprop, for U
hidden units in L layers: utility, output, age [S, H, U], due [S, H, L].
Info, [S, H]: log_likelihood of the task at its end, in nats; steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval, Lt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Predictive, Problem, State
from shiftbench.methods.networks import sampling, unit_renewal, upgd
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.model import Model, glorot
from shiftbench.methods.networks.optimisers import Adam, Descent, adam_step, begin
from shiftbench.methods.networks.parameter_layout import mean_nll_gradient
from shiftbench.methods.networks.random import fold_in, normals
from shiftbench.methods.networks.training import Minibatch, descend, epochs
from shiftbench.methods.networks.unit_renewal import Renewal, Units
from shiftbench.methods.networks.upgd import Upgd, Utilities

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "number": "gaussian"},
    requires={"hidden-layer": {"renewal": ("continual-backprop",)}},
    refuses={"convolution": {"renewal": ("continual-backprop",)}},
    model=True,
)


@dataclass(frozen=True)
class Settings:
    renewal: Literal["none", "shrink-perturb", "continual-backprop", "upgd"] = "continual-backprop"
    """Part that is renewed: none, all weights before a task, units, or weights of little use."""
    epochs: Annotated[int, Ge(1)] = 20
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.001
    """Step size of Adam, with upgd of gradient descent (its experiments: .01)."""
    keep: Annotated[float, Interval(ge=0, le=1)] = 0.6
    """shrink-perturb: share of the last weights (Ash and Adams: .6 of the weights, and noise)."""
    rate: Annotated[float, Ge(0)] = 0.0001
    """continual-backprop: share of the mature units that a step replaces (paper: 1e-4 to 1e-6)."""
    maturity: Annotated[int, Ge(0)] = 100
    """continual-backprop: steps before a unit may be replaced (paper: 100)."""
    utility_decay: Annotated[float, Ge(0), Lt(1)] = 0.99
    """Decay of the utilities a step (continual backpropagation: .99; upgd: .9 to .9999)."""
    noise_sd: Annotated[float, Ge(0)] = 0.001
    """upgd: standard deviation of the noise in a gradient (paper: .0001 to .1)."""
    weight_decay: Annotated[float, Ge(0)] = 0.0
    """upgd: share of a weight that a step of size 1 removes."""


STEPS, NOISE = range(2)
"""Purposes that a task's seeds, or a step's, are folded with; the first is that of `map`."""
UNITS = Units._fields


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the learner for a model; TensorFlow traces one graph for each size of task."""
    fit = graph(partial(FITS[settings.renewal], settings, model))

    moments = graph(partial(sampling.point_moments, model))

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        state = {"mean": np.zeros(shape, np.float32)}
        if settings.renewal == "upgd":
            state["utility"] = np.zeros(shape, np.float32)
            state["steps"] = np.zeros((len(seeds), 1, 1), np.int32)
        if settings.renewal == "continual-backprop":
            units = unit_renewal.none_seen(model, len(seeds))
            state |= {name: a.numpy() for name, a in units._asdict().items()}
        return state

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        return sampling.predictive(model, partial(moments, state["mean"]), inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        trained = state["mean"].any(axis=-1, keepdims=True)
        last, fresh = state["mean"], glorot(model, seeds)
        if settings.renewal == "shrink-perturb":
            seen = np.asarray(batch.mask.any(axis=1))[:, np.newaxis, np.newaxis]
            share = np.float32(settings.keep)
            last = np.where(seen, share * last + (1 - share) * fresh, last)
        start = np.where(trained, last, fresh)
        after, log_lik, steps = fit(state, start, batch, seeds)
        info = {"log_likelihood": log_lik.numpy(), "steps": np.full(log_lik.shape, steps.numpy())}
        return {name: a.numpy() for name, a in after.items()}, info

    return Learner(init, predict, observe)


Fitted = tuple[dict[str, "tf.Tensor"], "tf.Tensor", "tf.Tensor"]
"""The state after a task, the task's log likelihood [S, H], and the steps."""


def _fit_by_adam(
    settings: Settings,
    model: Model,
    state: dict[str, tf.Tensor],
    start: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> Fitted:
    """Train on a task by Adam."""
    adam = Adam(settings.learning_rate)
    end, steps = descend(
        partial(mean_nll_gradient, model),
        begin(adam, start),
        data,
        fold_in(seeds, STEPS),
        settings.epochs,
        settings.batch_size,
        adam,
    )
    return {"mean": end.x}, sampling.log_likelihood(model, end.x, data), steps


def _fit_with_new_units(
    settings: Settings,
    model: Model,
    state: dict[str, tf.Tensor],
    start: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> Fitted:
    """Train on a task by Adam, and replace units after each step."""
    adam = Adam(settings.learning_rate)
    renewal = Renewal(settings.rate, settings.maturity, settings.utility_decay)

    def step(
        at: tuple[Descent, Units], rows: Minibatch, step_seeds: tf.Tensor
    ) -> tuple[Descent, Units]:
        descent, units = at
        g, outputs = _gradient_and_outputs(model, descent.x, rows, step_seeds)
        steps = descent.steps + 1
        number = tf.cast(steps, tf.float32)
        x, first, second, _ = adam_step(adam, descent, g, number)
        moved = Descent(x, first, second, steps)
        noise = fold_in(step_seeds, NOISE)
        return unit_renewal.step(renewal, model, moved, units, outputs, rows.mask, noise)

    first = begin(adam, start), Units(*(state[name] for name in UNITS))
    (end, units), steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    after = {"mean": end.x} | units._asdict()
    return after, sampling.log_likelihood(model, end.x, data), steps


def _gradient_and_outputs(
    model: Model, x: tf.Tensor, rows: Minibatch, seeds: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the gradient [S, H, P] of the loss, and the outputs of hidden units [S, H, n, U]."""
    inputs: dict[str, tf.Tensor] = {}

    def recording(linear, _):
        def recorded(layer, values):
            inputs[layer.name] = values
            return linear(layer, values)

        return recorded

    g = mean_nll_gradient(model, x, rows, seeds, recording)
    return g, tf.concat([inputs[layer.name] for layer in model.layers[1:]], -1)


def _fit_by_upgd(
    settings: Settings,
    model: Model,
    state: dict[str, tf.Tensor],
    start: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> Fitted:
    """Train on a task by utility-based perturbed gradient descent."""
    constants = settings.learning_rate, settings.utility_decay, settings.noise_sd
    how = Upgd(*constants, settings.weight_decay)

    def step(at: Utilities, rows: Minibatch, step_seeds: tf.Tensor) -> Utilities:
        g = mean_nll_gradient(model, at.x, rows, step_seeds)
        noise = normals(fold_in(step_seeds, NOISE), [model.size])[:, None]
        return upgd.step(how, at, g, noise)

    first = Utilities(start, state["utility"], state["steps"])
    end, steps = epochs(
        step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    after = {"mean": end.x, "utility": end.utility, "steps": end.steps}
    return after, sampling.log_likelihood(model, end.x, data), steps


FITS = {
    "none": _fit_by_adam,
    "shrink-perturb": _fit_by_adam,
    "continual-backprop": _fit_with_new_units,
    "upgd": _fit_by_upgd,
}
