"""Metaplasticity from synaptic uncertainty (MESU): mean-field, of the last N minibatches.

With C the expected negative log likelihood of a minibatch, summed over its rows, each step is

    mean <- mean - sd^2 dC/dmean + sd^2 (0 - mean) / (N prior_sd^2)
    sd   <- sd - sd^2 / 2 dC/dsd + sd (prior_sd^2 - sd^2) / (2 N prior_sd^2)

(Bonnet et al. 2025, with the prior's mean at zero; so does its code for permuted images, while that
for CIFAR has other factors). Certain weights take short steps, and the pull towards the prior
forgets: where all minibatches have the curvature a the precision settles at N a + prior_sd^-2, that
of the exact posterior of N of them. No step knows where a task begins, so that it learns from a
stream without boundaries; epochs beyond the first count rows again, and heads without rows are
pulled, too. Knows: the likelihood.

Without the pull (N without bound) it is Bayesian gradient descent (Zeno et al. 2018).

State: mean, sd [S, H, P].
Info, [S, H], in nats over the task, the prior being the state before it: elbo = log_evidence =
expected_log_likelihood - kl, and these two terms; elbo_se (Monte Carlo); steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Info, Learner, Problem, State
from shiftbench.methods.networks import (
    carried_prior,
    drawn_predictions,
    elbo,
    mean_field,
    natural_gradient,
    sampling,
    weight_draws,
)
from shiftbench.methods.networks.backend import fused, graph, tf
from shiftbench.methods.networks.carried_prior import CarriedPrior
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.networks.model import Model
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Minibatch, epochs
from shiftbench.methods.networks.weight_draws import Draws

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "number": "gaussian"},
    offers=("broaden", "log_evidence"),
    refuses={"convolution": {"estimator": ("local",)}},
    model=True,
)


@dataclass(frozen=True)
class Settings:
    window: Annotated[float, Gt(0)] = 300_000
    """Number N of minibatches that the posterior remembers (Bonnet et al. 2025, of one row each:
    300,000)."""
    epochs: Annotated[int, Ge(1)] = 1
    """Passes over the data of a task (Bonnet et al. 2025: 1)."""
    batch_size: Annotated[int, Ge(1)] = 1
    """Number of rows of a minibatch (Bonnet et al. 2025: 1)."""
    draws: Annotated[int, Ge(1)] = 10
    """Number K of weight draws of a step (Bonnet et al. 2025: 10)."""
    estimator: Literal["flipout", "local", "sample"] = "sample"
    """Weight draws, as those of mfvi (Bonnet et al. 2025: sample)."""
    start_sd: Annotated[float, Gt(0)] = 0.05
    """Standard deviation of each weight before the first row."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the prior, which has mean zero (Bonnet et al. 2025: 1)."""
    largest_step: Annotated[float, Gt(0), Lt(1)] = 0.5
    """Largest change of a mean or a standard deviation in a step, in standard deviations, so that
    these stay positive (the code for CIFAR: 0.02)."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of a prediction."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of the final ELBO, which decides between hypotheses."""


class Rule(NamedTuple):
    """The settings of a step, as in `Settings`."""

    window: float
    prior_sd: float
    largest_step: float


NOISE, STEPS, ELBO = range(3)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build MESU for a model; TensorFlow traces one graph for each size of task."""
    draws = Draws(model, settings.estimator, None, settings.draws)
    weight_draws.check(draws, "mesu")
    fit = graph(partial(_fit, settings, draws))
    broadening = CarriedPrior("carried", settings.prior_sd, np.ones(model.size, np.float32), 0.0)
    predict = drawn_predictions.predict(draws, settings.prediction_draws)

    def init(seeds: np.ndarray) -> State:
        mean = natural_gradient.fresh(model, seeds)
        return {"mean": mean, "sd": np.full_like(mean, settings.start_sd)}

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        mean, sd, *rest = fit(MeanField(state["mean"], state["sd"]), batch, seeds)
        return {"mean": mean.numpy(), "sd": sd.numpy()}, sampling.info(*rest)

    broaden = partial(carried_prior.broadened, broadening)
    return Learner(init, predict, observe, broaden=broaden)


def _fit(
    settings: Settings, draws: Draws, before: MeanField, data: Batch, seeds: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Learn from a task; return mean, sd, the ELBO's two terms, and the number of steps."""
    rule = Rule(settings.window, settings.prior_sd, settings.largest_step)
    batch_size = min(settings.batch_size, data.mask.shape[1])
    noise_of_step = elbo.noise_of_steps(draws, batch_size, fold_in(seeds, NOISE))

    def one_step(now: MeanField, rows: Minibatch, step_seeds: tf.Tensor) -> MeanField:
        gradient = elbo.likelihood_gradient(draws, *now, noise_of_step(step_seeds), rows)
        return step(rule, now, gradient, tf.reduce_sum(rows.mask, 1))

    start = MeanField(*map(tf.convert_to_tensor, before))
    q, steps = epochs(
        one_step, start, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    draw, number = partial(elbo.drawn, draws, *q), settings.elbo_draws
    log_lik = sampling.expected_log_likelihood(
        draws.model, draw, data, number, fold_in(seeds, ELBO)
    )
    kl = mean_field.gaussian_divergence(q, before, np.float32(1))
    return *q, log_lik, kl, steps


@fused
def step(rule: Rule, q: MeanField, gradient: MeanField, rows: tf.Tensor) -> MeanField:
    """Return q after a minibatch, given the gradient of the mean negative log likelihood of a row.

    rows: their number [S].
    """
    count, variance = rows[:, None, None], tf.square(q.sd)
    pull = 1 / (rule.window * rule.prior_sd**2)
    in_mean = -variance * (count * gradient.mean + pull * q.mean)
    in_sd = 0.5 * (-variance * count * gradient.sd + pull * q.sd * (rule.prior_sd**2 - variance))
    bound = rule.largest_step * q.sd
    limited = [tf.clip_by_value(change, -bound, bound) for change in (in_mean, in_sd)]
    return MeanField(q.mean + limited[0], q.sd + limited[1])
