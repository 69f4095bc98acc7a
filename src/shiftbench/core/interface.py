"""The interface of streams, learners and predictions.

The first axis of every array is the *seed*: the S independent repetitions that one job runs side
by side. In a state, an Info or a prediction the second axis is the *hypothesis*: H of them, 1 for
a plain learner. Data have no hypothesis axis, because all hypotheses see the same data. So a
learner is vectorised over repetitions and over whatever a combinator stacks: beams, run lengths,
ensemble members.

All arrays that cross this interface are NumPy arrays. A learner that computes with TensorFlow
converts them inside, so that its callers need no TensorFlow.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from shiftbench.core.errors import UserError

State = dict[str, np.ndarray]
"""Named arrays [S, H, ...]: at once checkpoint, posterior snapshot and test fixture. Never
changed in place."""

Info = dict[str, np.ndarray]
"""Named numbers [S, H] about one update: elbo, log_evidence, steps, ..."""


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
    """One step of a stream: data to learn from, and data to be evaluated on, if any."""

    train: Batch
    validation: Batch | None
    test: Batch | None


class Context(NamedTuple):
    """Facts about a task that the protocol reveals; None for facts that it does not reveal.

    boundary: [S] bool, True where the distribution has changed just before this task.
    task: [S] int, the number of the task's distribution, in the order of first appearance: one that
        comes back has its number again.
    """

    boundary: np.ndarray | None
    task: np.ndarray | None


@dataclass(frozen=True)
class Problem:
    """The shapes of a stream, which a learner may see before it starts; never data.

    kind: classification (targets are labels below n_outputs) or regression (targets are
        n_outputs real values). counts: a row is a pair (word, context) that occurs in the period;
        inputs [S, n, 2] are integers below the size of the vocabulary, n_outputs, and targets
        [S, n, 1] the weighted counts. word: the data of a single word; a row is a context, its
        inputs are features and its targets [S, n, 2] the positive and the negative count.
    n_train: the number of training rows of the largest task. n_tasks: the number of tasks.
    heads: 1, or the number of heads of a multi-head protocol, which reveals each row's task:
        head k owns the n_outputs / heads outputs from k n_outputs / heads on, and inputs are
        flat: prod(input_shape) values and then the number of the row's head.
    """

    kind: Literal["classification", "regression", "counts", "word"]
    input_shape: tuple[int, ...]
    n_outputs: int
    n_train: int
    n_tasks: int
    heads: int = 1

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of one row of inputs, including the head if there are several."""
        return self.input_shape if self.heads == 1 else (math.prod(self.input_shape) + 1,)


class Categorical(NamedTuple):
    """A mixture over hypotheses of class probabilities.

    log_weights: [S, H], normalised. probabilities: [S, H, n, C], averaged over the posterior draws
    of each hypothesis. entropy: [S, H, n] in nats, the mean over draws of the entropy of a draw's
    class probabilities; None without draws, where it is the entropy of `probabilities`.
    """

    log_weights: np.ndarray
    probabilities: np.ndarray
    entropy: np.ndarray | None = None

    @property
    def mixture(self) -> np.ndarray:
        """The class probabilities [S, n, C], averaged over hypotheses by their weights."""
        return np.einsum("sh,shnc->snc", np.exp(self.log_weights), self.probabilities)


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


BroadeningKind = Literal["temper", "temper-prior", "geometric", "diffuse", "ou"]


@dataclass(frozen=True)
class Broadening:
    """A way to widen a posterior q before it serves as a prior (li2021vbs, 3.2 and Eq. 3).

    temper: q^beta. temper-prior: q^beta times the initial prior. geometric: q^beta times the
    initial prior to the power 1 - beta, so that beta = 0 gives the prior. All three are
    renormalised. diffuse: convolution with N(0, variance). ou: a step of the Ornstein-Uhlenbeck
    process whose stationary distribution is the initial prior N(m0, V0): the mean becomes beta m +
    (1 - beta) m0 and the covariance beta^2 V + (1 - beta^2) V0, so that beta = 0 gives the prior.
    """

    kind: BroadeningKind
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

    A learner with further functions for combinators is of a subtype, such as
    `online.rows.RowLearner`; `dataclasses.replace` keeps the type.

    init(seeds) -> State
        seeds: [S, 2] integers, see `shiftbench.core.seeds`.
    predict(state, inputs, seeds) -> Predictive
        inputs: [S, n, *row_shape]. Never sees targets.
    observe(state, batch, seeds) -> (State, Info)
        Info holds "log_evidence" [S, H] (exact, or the ELBO; in nats, summed over the
        task) if combinators are to weigh the learner's hypotheses.
    warm_up(state, batch, seeds) -> (State, Info)
        Like observe, for data from before the stream (task -1), about which a combinator
        takes no decision; None if `observe` itself serves.
    drift(state, seeds) -> State
        Time update before each task, but not before a warm-up; identity by default.
    boundary(state, context, seeds) -> State
        Called only if the learner declares in FACTS.reveals what the protocol must reveal.
    broaden(state, broadening) -> State
        Widen the posterior; None if the posterior family cannot be widened.
    block(state, batch, drift_first) -> (State, Predictive, Info)
        n tasks of one row each in one call: drift, predict, observe, or predict, drift, observe if
        drift_first is false. The results have the same bytes as these three functions task by task.
        None if not offered. Draws nothing. Predictive has each row as a repetition of its own, [S
        n, H, 1, ...], and Info an axis of rows, [S, n, H, ...]. Raises LearnerError or
        ArithmeticError if a task fails; the caller repeats the rows task by task to find which. A
        `Block` also learns rows that arrive one at a time. `dataclasses.replace` with another
        predict, observe, drift or broaden drops it, unless that is marked by `functools.wraps`.
    """

    init: Callable[[np.ndarray], State]
    predict: Callable[[State, np.ndarray, np.ndarray], Predictive]
    observe: Callable[[State, Batch, np.ndarray], tuple[State, Info]]
    drift: Callable[[State, np.ndarray], State] = _same_state
    boundary: Callable[[State, Context, np.ndarray], State] = _same_state
    broaden: Callable[[State, Broadening], State] | None = None
    warm_up: Callable[[State, Batch, np.ndarray], tuple[State, Info]] | None = None
    block: Callable[[State, Batch, bool], tuple[State, Predictive, Info]] | None = None

    def __post_init__(self) -> None:
        if self.block is None:
            return
        functions = self.predict, self.observe, self.drift, self.broaden
        stands_for = tuple(inspect.unwrap(one) if one else None for one in functions)
        if vars(self.block).setdefault("stands_for", stands_for) != stands_for:
            object.__setattr__(self, "block", None)

    @property
    def begin(self) -> Callable[[State, Batch, np.ndarray], tuple[State, Info]]:
        """The function for data from before the stream: `warm_up`, or else `observe`."""
        return self.warm_up or self.observe


@dataclass(eq=False)
class Block:
    """`Learner.block` in three steps, so that single rows are learnt without a State for each.

    open: State -> working memory of the compiled loops, of any type. advance: (memory, batch,
    drift_first) -> (memory after the rows, function that makes the prediction, Info). It may work
    in place, but leaves the memory unchanged if it raises. close: memory -> State.
    """

    open: Callable[[State], Any]
    advance: Callable[[Any, Batch, bool], tuple[Any, Callable[[], Predictive], Info]]
    close: Callable[[Any], State]

    def __call__(
        self, state: State, batch: Batch, drift_first: bool
    ) -> tuple[State, Predictive, Info]:
        """Predict and learn n rows, each of them a task; see `Learner.block`."""
        after, predicted, info = self.advance(self.open(state), batch, drift_first)
        return self.close(after), predicted(), info


def mapped(function: Callable[[np.ndarray], np.ndarray], state: Mapping[str, np.ndarray]) -> State:
    """Return the state with `function` applied to each of its arrays."""
    return {name: function(array) for name, array in state.items()}


def prefixed(state: Mapping[str, np.ndarray], prefix: str) -> State:
    """Return the state with `prefix` before its names, to become a part of another state."""
    return {prefix + name: array for name, array in state.items()}


def part(state: Mapping[str, np.ndarray], prefix: str) -> State:
    """Return the part of a state whose names start with `prefix`, without the prefix."""
    return {k.removeprefix(prefix): a for k, a in state.items() if k.startswith(prefix)}


class LearnerError(UserError):
    """A learner cannot continue with this input; all seeds of the job fail, with this reason.

    A learner of which one seed diverges returns NaN in that seed's state, and only this seed fails.
    """
