"""S-FSVI: variational inference that compares what posteriors predict, not their weights.

The posterior q of the weights is normal and independent. A task minimises

    mean of E_q[negative log likelihood] + kl_scale mean over context rows of sum over outputs of
    KL(N(f(x; mean), J diag(sd^2) J') || the same of the posterior after the last task),

with f the network's outputs before the softmax, linearised at the means of each posterior
(`networks/function_divergence.py`). The context is `context_rows` rows a step: in the first task
noise, for which the prior of each output is N(0, prior_sd^2); later, rows of a memory of `size`
random rows of each task, or noise again without a memory (`networks/context_rows.py`). With several
heads the outputs of a row's own head count. Source: Rudner et al. 2022 and its public code, whose
kl_scale `equal` is 1 here. There, each step draws 40 rows of each earlier task where we draw them
of the whole memory, which has the same expectation and costs the same at every task. Other
differences: the noise lies between the smallest and the largest number of the task's rows, not
between 0 and 1; standard deviations start as one value and are softplus(rho), not exp(rho / 2);
start values are Glorot's; Adam starts anew with each task; predictions average probabilities, not
outputs.

There is no log_evidence: the objective compares outputs for a few rows with a weight of its own,
and no bound of the evidence of weights follows. Knows: the likelihood and the boundaries of tasks.

State: mean, sd [S, H, P]; the memory, inputs [S, 1, size n_tasks, ...], targets, and mask, False
where there is no row; heads [S, 1, heads], those learnt so far; tasks [S, 1], the number learnt.
Info, [S, H]: log_likelihood, the expected one of the task in nats; steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Problem, State
from shiftbench.core.seeds import fold_each
from shiftbench.methods import row_memory
from shiftbench.methods.lazy_probability import tfp
from shiftbench.methods.networks import (
    context_rows,
    drawn_predictions,
    elbo,
    function_divergence,
    mean_field,
    sampling,
    weight_draws,
)
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.context_rows import Situation
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.networks.model import Model, glorot
from shiftbench.methods.networks.optimisers import Adam
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.task_schedule import heads_in
from shiftbench.methods.networks.training import Data, Gradient, Minibatch, Schedule, minimise
from shiftbench.methods.networks.weight_draws import Draws

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    refuses={"warm-up": True, "one-row": True, "convolution": {"estimator": ("local",)}},
    model=True,
)


@dataclass(frozen=True)
class Settings:
    size: Annotated[int, Ge(0)] = 200
    """Number of rows of each task, of a short one at most half (permuted MNIST: 200)."""
    context_rows: Annotated[int, Ge(1)] = 40
    """Number of rows of a step at which outputs are compared (public code: 40 a task)."""
    context: Literal["uniform", "minibatch"] = "uniform"
    """These rows in the first task, and in all without a memory; uniform: noise (permuted MNIST);
    minibatch: the task's own rows (split MNIST without a memory)."""
    kl_scale: Annotated[float, Ge(0)] = 1.0
    """Weight of a context row's divergence beside the negative log likelihood of a row."""
    prior_sd: Annotated[float, Gt(0)] = 0.0316
    """Standard deviation of each output for context rows before the first task (permuted MNIST:
    variance 0.001; split MNIST without a memory: 100)."""
    covariance: Literal["diagonal", "full"] = "diagonal"
    """Of the outputs for context rows; diagonal: rows count as independent; full: they do not,
    which takes a Jacobian of all weights for each row and output."""
    epochs: Annotated[int, Ge(1)] = 10
    """Passes over the data of a task (permuted MNIST: 10; split: 60 to 80)."""
    batch_size: Annotated[int, Ge(1)] = 128
    """Number of rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.0005
    """Adam's step size."""
    start_sd: Annotated[float, Gt(0)] = 0.0111
    """Standard deviation of weights that no task has trained (public code: e^-5 to e^-4)."""
    estimator: Literal["flipout", "local", "sample"] = "sample"
    """Weight draws, as of `mfvi`; sample: all rows of a minibatch share them (public code)."""
    draws: Annotated[int, Ge(1)] = 5
    """Number of weight draws of a step."""
    prediction_draws: Annotated[int, Ge(1)] = 5
    """Number of weight draws of a prediction, and of the log likelihood in the Info."""


rows_kept = row_memory.rows_kept

STEPS, NOISE, SCORE, CONTEXT = range(4)
"""Purposes that a task's or a step's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the learner for a model; TensorFlow traces one graph for each size of task."""
    capacity = settings.size * problem.n_tasks
    draws = Draws(model, settings.estimator, None, settings.draws)
    weight_draws.check(draws, "fsvi")
    fit = graph(partial(_fit, settings, draws))
    predict = drawn_predictions.predict(draws, settings.prediction_draws)

    def init(seeds: np.ndarray) -> State:
        zeros = np.zeros((len(seeds), 1, model.size), np.float32)
        heads = np.zeros((len(seeds), 1, problem.heads), bool)
        tasks = np.zeros((len(seeds), 1), np.int64)
        memory = row_memory.empty(problem, len(seeds), capacity)
        return {"mean": zeros, "sd": zeros, "heads": heads, "tasks": tasks, **memory}

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        learnt, present = state["tasks"] > 0, heads_in(batch, problem)
        start = MeanField(
            np.where(learnt[..., np.newaxis], state["mean"], glorot(model, seeds)),
            np.where(learnt[..., np.newaxis], state["sd"], np.float32(settings.start_sd)),
        )
        heads = np.where(learnt, state["heads"][:, 0], present)
        situation = Situation(learnt[:, 0], heads, *_bounds(batch, problem))
        old = row_memory.as_batch(state, batch)
        mean, sd, log_lik, steps = (a.numpy() for a in fit(start, old, situation, batch, seeds))
        chosen = row_memory.random_rows(batch.mask, settings.size, fold_each(seeds, "memory"))
        task = int(state["tasks"].max())
        slots = row_memory.slots_of_task("fsvi", capacity, chosen, task, settings.size)
        new = {"mean": mean, "sd": sd, "tasks": state["tasks"] + 1}
        new["heads"] = state["heads"] | present[:, np.newaxis]
        new |= row_memory.filled(state, batch, slots)
        return new, {"log_likelihood": log_lik, "steps": np.full(log_lik.shape, steps)}

    return Learner(init, predict, observe)


def _bounds(batch: Batch, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest number [S] of each repetition's rows, heads apart."""
    numbers = batch.inputs[..., :-1] if problem.heads > 1 else batch.inputs
    rows = [of_seed[filled] for of_seed, filled in zip(numbers, batch.mask, strict=True)]
    low = [r.min() if r.size else 0 for r in rows]
    high = [r.max() if r.size else 0 for r in rows]
    return np.array(low, np.float32), np.array(high, np.float32)


def _fit(
    settings: Settings,
    draws: Draws,
    start: MeanField,
    memory: Data,
    situation: Situation,
    data: Data,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Train on a task; return mean, sd, the expected log likelihood of the task, and the steps."""
    gradient = _gradient(settings, draws, start, memory, situation, data[2], seeds)
    parameters = tf.concat([start.mean, tfp.math.softplus_inverse(start.sd)], -1)
    schedule = Schedule(settings.epochs, settings.batch_size, Adam(settings.learning_rate))
    end, steps = minimise(gradient, parameters, data, fold_in(seeds, STEPS), schedule)
    mean, sd = mean_field.unpack(end, _all(draws.model))
    draw, count = partial(elbo.drawn, draws, mean, sd), settings.prediction_draws
    score = sampling.expected_log_likelihood(draws.model, draw, data, count, fold_in(seeds, SCORE))
    return mean, sd, score.mean, steps


def _gradient(
    settings: Settings,
    draws: Draws,
    start: MeanField,
    memory: Data,
    situation: Situation,
    mask: tf.Tensor,
    seeds: tf.Tensor,
) -> Gradient:
    """Return the gradient of a minibatch's loss in (mean, rho), [S, H, 2 P].

    start: the posterior of earlier tasks, wherever one has been learnt. mask: of the task's rows.
    """
    batch_size = min(settings.batch_size, mask.shape[1])
    noise_of_step = elbo.noise_of_steps(draws, batch_size, fold_in(seeds, NOISE))

    def pull(q: MeanField, rows: Minibatch, step_seeds: tf.Tensor) -> MeanField:
        seeds = fold_in(step_seeds, CONTEXT)
        context = context_rows.drawn(
            settings.context, settings.context_rows, memory, situation, rows, seeds
        )
        prior = _prior(settings, draws.model, start, situation.learnt, context.inputs)
        return function_divergence.gradient(draws.model, q, prior, context, settings.covariance)

    def gradient(parameters: tf.Tensor, rows: Minibatch, step_seeds: tf.Tensor) -> tf.Tensor:
        q = MeanField(*mean_field.unpack(parameters, _all(draws.model)))
        in_mean, in_sd = elbo.likelihood_gradient(draws, *q, noise_of_step(step_seeds), rows)
        if settings.kl_scale > 0:
            held = pull(q, rows, step_seeds)
            in_mean += settings.kl_scale * held.mean
            in_sd += settings.kl_scale * held.sd
        return tf.concat([in_mean, in_sd * -tf.math.expm1(-q.sd)], -1)

    return gradient


def _prior(
    settings: Settings, model: Model, old: MeanField, learnt: tf.Tensor, inputs: tf.Tensor
) -> function_divergence.Outputs:
    """Return the outputs of the old posterior, or before the first task independent ones."""
    last = function_divergence.outputs(model, old, inputs, settings.covariance)
    first = function_divergence.independent(settings.prior_sd, last)

    def chosen(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return tf.where(tf.reshape(learnt, [-1] + [1] * (a.shape.rank - 1)), a, b)

    return function_divergence.Outputs(*(chosen(a, b) for a, b in zip(last, first, strict=True)))


def _all(model: Model) -> np.ndarray:
    """Return [P] ones: all parameters have a distribution, biases too."""
    return np.ones(model.size, np.float32)
