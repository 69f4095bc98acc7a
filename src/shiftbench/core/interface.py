"""The one interface: what a stream hands out, what a learner is, what it predicts.

Array convention, everywhere: the first axis of every array is the *seed* (the
independent repetitions that one job runs side by side, S of them). In a state, in an
Info and in a prediction the second axis is the *hypothesis* (H of them; 1 for a plain
learner). Data have no hypothesis axis: all hypotheses see the same data. So a learner
written once is vectorised over repetitions and over whatever a combinator stacks:
beams, run lengths, ensemble members.

All arrays that cross this interface are NumPy arrays; a learner that computes with
TensorFlow converts inside, so that nothing around it has to import TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from shiftbench.core.errors import UserError

State = dict[str, np.ndarray]
"""A flat set of named arrays [S, H, ...]: the checkpoint, the posterior snapshot and
the test fixture at once. Never changed in place."""

Info = dict[str, np.ndarray]
"""Named numbers about one update, [S, H] each: elbo, log_evidence, steps, ..."""


class Batch(NamedTuple):
    """Data of one task, for S repetitions side by side.

    inputs: [S, n, *row_shape]; a series without covariates has input_shape (0,).
    targets: [S, n] integer class labels, or [S, n, d] real values.
    mask: [S, n] bool; False marks padding, which has no effect on any result.
    """

    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray


class Task(NamedTuple):
    """One step of a stream: data to learn from, and data to be judged on (or None)."""

    train: Batch
    validation: Batch | None
    test: Batch | None


class Context(NamedTuple):
    """What the protocol reveals about a task; None for everything it does not reveal.

    boundary: [S] bool, True where the distribution has changed just before this task.
    task: [S] int, the identity of the task.
    """

    boundary: np.ndarray | None
    task: np.ndarray | None


@dataclass(frozen=True)
class Problem:
    """What a learner may know of a stream before it starts: shapes, never data.

    kind: classification (targets are labels below n_outputs) or regression (targets are
        n_outputs real values). counts: a row is a pair (word, context) with a count above
        zero in the period, inputs [S, n, 2] integers below the size of the vocabulary, which
        is n_outputs, and targets [S, n, 1] the weighted counts. word: of one word alone, a row
        is a context, inputs its features and targets [S, n, 2] its positive and negative count.
    n_train: the number of training rows of the largest task; n_tasks: of tasks.
    heads: 1, or the number of heads of a multi-head protocol, which tells each row's task:
        head k owns the n_outputs / heads outputs from k n_outputs / heads on, and inputs are
        flat, prod(input_shape) values and then the number of the row's head.
    """

    kind: Literal["classification", "regression", "counts", "word"]
    input_shape: tuple[int, ...]
    n_outputs: int
    n_train: int
    n_tasks: int
    heads: int = 1

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row of inputs, with the head if there are several."""
        return self.input_shape if self.heads == 1 else (math.prod(self.input_shape) + 1,)


class Categorical(NamedTuple):
    """A mixture over hypotheses of class probabilities.

    log_weights: [S, H], normalised; probabilities: [S, H, n, C], averaged over the
    posterior draws of each hypothesis. entropy: [S, H, n] in nats, of the class probabilities of
    a draw, averaged over the draws; None where there are no draws, and so it is the entropy of
    `probabilities`.
    """

    log_weights: np.ndarray
    probabilities: np.ndarray
    entropy: np.ndarray | None = None


class Gaussian(NamedTuple):
    """A mixture over hypotheses of Gaussians, independent over targets.

    log_weights: [S, H], normalised; mean and variance: [S, H, n, d].
    """

    log_weights: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class StudentT(NamedTuple):
    """A mixture over hypotheses of multivariate Student's t distributions.

    log_weights: [S, H], normalised; mean: [S, H, n, d]; scale: [S, H, n, d, d]; df: [S, H].
    """

    log_weights: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    df: np.ndarray


Predictive = Categorical | Gaussian | StudentT


@dataclass(frozen=True)
class Broadening:
    """How a posterior is widened before it serves as a prior (li2021vbs, 3.2 and Eq. 3).

    temper: q^beta, renormalised. temper-prior: q^beta times the initial prior,
    renormalised. geometric: q^beta times the initial prior to the power 1 - beta, renormalised
    (forgetting between the posterior and the prior, which is where it ends for beta = 0).
    diffuse: convolution with N(0, variance).
    """

    kind: Literal["temper", "temper-prior", "geometric", "diffuse"]
    beta: float = 1.0
    variance: float = 0.0

    @property
    def prior_share(self) -> float:
        """The power of the initial prior that q^beta is multiplied by."""
        return {"temper-prior": 1.0, "geometric": 1.0 - self.beta}.get(self.kind, 0.0)


def _same_state(state: State, *_: Any) -> State:
    return state


@dataclass(frozen=True)
class Learner:
    """Pure functions over a state. The harness owns the order in which they are called.

    A learner that offers more to the combinators that ask for it is of a subtype, such as
    `online.rows.RowLearner`; `dataclasses.replace` keeps it.

    init(seeds) -> State
        seeds: [S, 2] integers, see `shiftbench.core.seeds`.
    predict(state, inputs, seeds) -> Predictive
        inputs: [S, n, *row_shape]. Never sees targets.
    observe(state, batch, seeds) -> (State, Info)
        Info holds "log_evidence" [S, H] (exact, or the ELBO; nats, summed over the
        task) where a combinator shall weigh hypotheses.
    warm_up(state, batch, seeds) -> (State, Info)
        As observe, for data from before the stream (task -1), where a combinator has no
        decision to make about them; None where it is `observe` itself.
    drift(state, seeds) -> State
        Time update before each task, not before a warm-up; identity by default.
    boundary(state, context, seeds) -> State
        Called only if the learner declares in NEEDS what the protocol reveals.
    broaden(state, broadening) -> State
        Widens the posterior; None where the posterior family cannot be widened.
    """

    init: Callable[[np.ndarray], State]
    predict: Callable[[State, np.ndarray, np.ndarray], Predictive]
    observe: Callable[[State, Batch, np.ndarray], tuple[State, Info]]
    drift: Callable[[State, np.ndarray], State] = _same_state
    boundary: Callable[[State, Context, np.ndarray], State] = _same_state
    broaden: Callable[[State, Broadening], State] | None = None
    warm_up: Callable[[State, Batch, np.ndarray], tuple[State, Info]] | None = None

    @property
    def begin(self) -> Callable[[State, Batch, np.ndarray], tuple[State, Info]]:
        """What takes the data from before the stream: `warm_up`, or else `observe`."""
        return self.warm_up or self.observe


def mapped(function: Callable[[np.ndarray], np.ndarray], state: Mapping[str, np.ndarray]) -> State:
    """The state with `function` applied to each of its arrays."""
    return {name: function(array) for name, array in state.items()}


def prefixed(state: Mapping[str, np.ndarray], prefix: str) -> State:
    """The state under names that start with `prefix`, to live inside another state."""
    return {prefix + name: array for name, array in state.items()}


def part(state: Mapping[str, np.ndarray], prefix: str) -> State:
    """The state that lives inside another one under names that start with `prefix`."""
    return {k.removeprefix(prefix): a for k, a in state.items() if k.startswith(prefix)}


class LearnerError(UserError):
    """A learner cannot go on with this input; the run is kept as failed, with the reason."""
