"""BONG: an online natural gradient, which filters row after row, with a precision W W' + D.

A step linearises the network at the mean m: with J the Jacobian of the outputs, F their Fisher
information and g the gradient of the log likelihood in them, it makes

    W~ = (W, J' F^1/2),   m <- m + (W~ W~' + D)^-1 J' g,

keeps as W the `rank` largest terms of W~ W~', and adds the diagonal of the others to D. So the
diagonal of the precision is that of the linearised posterior at any rank. By rank, this is

- 0: the variational diagonal extended Kalman filter (VD-EKF; Chang et al. 2022);
- L: the low-rank filter LoFi (Chang et al. 2023);
- P, the number of parameters, or more: the extended Kalman filter, and for a linear model of real
  values the exact posterior. It is BONG with a full covariance and a linearised likelihood (Jones
  et al. 2024).

With gain `natural` the new precision replaces W~ W~' + D, which is the natural gradient step
proper. At full rank, both are the same.

Each row is seen once, in order. For classes the filters are commonly written in class
probabilities, whose covariance F is singular and needs a jitter. In logits, it needs no inverse:
F^1/2 = diag(p^1/2) - p p^1/2'. Predictions are those of the linearised network; class probabilities
are softmax(f_c / (1 + pi v_c / 8)^1/2) for logits of mean f and variance v (MacKay 1992).

The prior is normal around start weights that are drawn, as a network has no gradient at zero.
Everything but the network itself is in float64. Knows: the likelihood.

State: mean, diagonal, prior_mean [S, H, P]; low_rank [S, H, P, rank].
Info, [S, H]: log_evidence, the sum of the log predictive densities of the rows before each is
learnt, in nats; steps. It is exact for linear models of real values at full rank; otherwise it is
no bound of the evidence of the network, on either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Broadening,
    Categorical,
    Gaussian,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.networks import extended_kalman
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.extended_kalman import LowRank
from shiftbench.methods.networks.model import Model, glorot
from shiftbench.methods.networks.resumable_loop import (
    LoopPosition,
    after_epoch,
    after_step,
    end_of_epoch,
    loop,
)
from shiftbench.methods.networks.training import Data, take
from shiftbench.methods.posteriors import low_rank_gaussian

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "number": "gaussian"},
    offers=("broaden", "log_evidence"),
    refuses=("learnt-noise",),
    model=True,
)


@dataclass(frozen=True)
class Settings:
    rank: Annotated[int, Ge(0)] = 10
    """Rank L of the low-rank part; 0: VD-EKF; as many as parameters, or more: full."""
    gain: Literal["filter", "natural"] = "filter"
    """Covariance of a step of the mean; filter: of the linearised posterior, as LoFi and VD-EKF;
    natural: after the cut to the rank, as a natural gradient. Equal at full rank."""
    batch_size: Annotated[int, Ge(1)] = 1
    """Number of rows of a step, which are linearised at the same mean (1 in all three papers)."""
    prior_mean: Literal["drawn", "zero"] = "drawn"
    """Prior mean; drawn: Glorot's weights; zero: only for linear models."""
    prior_sd: Annotated[float, Gt(0)] = 0.3
    """Standard deviation of the first prior around its mean."""


Now = tuple[LowRank, "tf.Tensor"]
"""The posterior after a number of rows, and their log evidence [S, H]."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the filter for a model; TensorFlow traces one graph for each size of task."""
    rank = min(settings.rank, model.size)
    fit = graph(partial(_fit, settings, model))
    moments = graph(partial(extended_kalman.moments, model))

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        drawn = settings.prior_mean == "drawn"
        mean = glorot(model, seeds).astype(float) if drawn else np.zeros(shape)
        return {
            "mean": mean,
            "low_rank": np.zeros((*shape, rank)),
            "diagonal": np.full(shape, settings.prior_sd**-2),
            "prior_mean": mean,
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        mean, variance = (a.numpy() for a in moments(_posterior(state), inputs))
        log_weights = np.full(mean.shape[:2], -np.log(mean.shape[1]))
        if model.likelihood == "categorical":
            logits = extended_kalman.moderated(mean, variance)
            return Categorical(log_weights, tf.nn.softmax(logits).numpy())
        return Gaussian(log_weights, mean, variance + model.noise_sd**2)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        try:
            posterior, evidence, steps = fit(_posterior(state), batch)
        except tf.errors.InvalidArgumentError as error:  # a matrix that is too large to be factored
            raise LearnerError(
                "bong: diverged; take a smaller prior_sd, or a broadening that ends at the prior"
            ) from error
        new = {name: array.numpy() for name, array in posterior._asdict().items()}
        info = {"log_evidence": evidence.numpy()}
        return state | new, info | {"steps": np.full(evidence.shape, steps.numpy())}

    def broaden(state: State, broadening: Broadening) -> State:
        prior = state["prior_mean"], settings.prior_sd**2
        broad = low_rank_gaussian.broaden(*_posterior(state), broadening, *prior)
        return state | LowRank(*broad)._asdict()

    return Learner(init, predict, observe, broaden=broaden)


def _posterior(state: State) -> LowRank:
    """Return the posterior that a state holds."""
    return LowRank(*(state[name] for name in LowRank._fields))


def _fit(
    settings: Settings, model: Model, prior: LowRank, data: Data
) -> tuple[LowRank, tf.Tensor, tf.Tensor]:
    """Learn a task's rows in order; return the posterior, the evidence and the number of steps."""
    n, natural = data[2].shape[1], settings.gain == "natural"
    size = min(settings.batch_size, n)
    filled = tf.reduce_sum(tf.cast(data[2], tf.int32), axis=1)
    steps = (tf.reduce_max(filled) + size - 1) // size
    # The rows that the mask keeps, in order, then the others.
    order = tf.argsort(tf.where(data[2], 0, 1), axis=1, stable=True)

    def one_step(at: LoopPosition, now: Now) -> tuple[LoopPosition, Now]:
        places = at.step * size + tf.range(size)
        rows = take(*data, tf.gather(order, tf.minimum(places, n - 1), axis=1))
        rows = rows._replace(mask=rows.mask * tf.cast(places < n, tf.float32))
        posterior, density = extended_kalman.update(model, now[0], rows, natural)
        after = posterior, now[1] + density
        return after_step(at, after), after

    def once(position: LoopPosition, now: Now) -> tuple[LoopPosition, Now]:
        last = end_of_epoch(position, steps)
        position, now = tf.while_loop(lambda at, _: at.step < last, one_step, (position, now))
        return after_epoch(position, steps), now

    start = prior, tf.zeros(prior.mean.shape[:2], tf.float64)
    _, (posterior, evidence) = loop(lambda number, _: number < 1, once, start, 1, steps)
    return posterior, evidence, steps
