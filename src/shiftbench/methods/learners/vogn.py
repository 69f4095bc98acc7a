"""Natural-gradient variational inference with a mean-field Gaussian: VOGN, and its relatives.

With g the gradient of an example's negative log likelihood at one of K weight draws, N rows in the
task, and the posterior of the last task as the prior (mean m, precision p), a step is

    precision <- (1 - beta) precision + beta (C + p)
    mean      <- mean - alpha (N mean(g) + p (mean - m)) / precision

(eschenhagen2019vogn, Eq. 50-53; the mean step uses the new precision, as Eq. 52 and the public code
do). The means run over the rows of the minibatch and over the draws, each shared by all rows (Osawa
et al. 2019). Parameters for which no row of the task has a curvature, such as those of other heads,
keep their prior. Knows: the likelihood. Methods, by settings:

- VOGN (Khan et al. 2018), the default: C = N mean(g^2), the empirical Fisher (Eq. 50).
- VON (Khan et al. 2018; Eq. 49): curvature `hessian`, C = N times the examples' mean Hessian
  diagonal. In networks of rectified linear units that is never negative: the backtracking that the
  thesis names (3.1), or a correction that keeps the precision positive, has nothing to do. It takes
  a backward pass for each output.
- OGN (Osawa et al. 2019): draws 0, all at the mean. The precision is that of a Laplace
  approximation; predictions and the ELBO draw from it.
- Vadam (Khan et al. 2018, Fig. 1): curvature `minibatch`, C = N mean(g)^2, with preconditioner
  `root`, momentum 0.9 of kind `gradient`, draws 1, and the prior's precision as the first one.
- IVON (Shen et al. 2024): curvature `reparameterised`, C = N mean(g) z / sd at mean + sd z, with
  momentum 0.9 of kind `likelihood`, draws 1, start `prior` and initial_precision 1, to which the
  prior's is added at the start. As in the public code the mean's steps are alpha times that first
  precision of an example; here, with the first prior's, since elementwise that of a later prior
  would undo what it protects. The precision stays positive by itself. beta is 1 - beta2: the code's
  0.00001 leaves the precision where it starts in a few hundred steps, which need 0.001 to 0.01.
- Merged priors of TD-VCL (Melo et al. 2025), without its replayed likelihood: `merge`.

State: mean, precision [S, H, P]; tasks [S, H], the number of tasks learnt; with `merge`, the sums
of the merged prior.
Info, [S, H], in nats over the task: elbo = log_evidence = expected_log_likelihood - kl /
dataset_size_scale, and these two terms; elbo_se (Monte Carlo); steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt, MinLen

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Broadening, Info, Learner, Predictive, Problem, State
from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.lazy_probability import tfd
from shiftbench.methods.networks import diagonal_curvature, natural_gradient, sampling
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.diagonal_steps import Gaussian, Iterate, Rates, begin, step
from shiftbench.methods.networks.model import Model
from shiftbench.methods.networks.natural_gradient import NaturalGradientSettings
from shiftbench.methods.networks.random import fold_in
from shiftbench.methods.networks.training import Minibatch, epochs
from shiftbench.methods.posteriors import mean_field_gaussian, merged_gaussian

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical"},
    offers=("broaden", "log_evidence"),
    model=True,
)


@dataclass(frozen=True)
class Settings(NaturalGradientSettings):
    draws: Annotated[int, Ge(0)] = 10
    """Number K of weight draws of a step (eschenhagen2019vogn); 0: at the mean, without draws."""
    curvature: Literal["squares", "hessian", "minibatch", "reparameterised"] = "squares"
    """C; squares: N mean(g^2); hessian: N times the Hessian's diagonal; minibatch: N mean(g)^2;
    reparameterised: from the noise z of the weights, N mean(g) z / sd (IVON)."""
    preconditioner: Literal["precision", "root"] = "precision"
    """Divisor of the mean's steps; root: as Adam's, the prior's precision in place of epsilon."""
    alpha: Annotated[float, Gt(0)] = 0.001
    """Step size of the mean (eschenhagen2019vogn); ten epochs of 60,000 rows need 0.01."""
    beta: Annotated[float, Gt(0), Lt(1)] = 0.001
    """Step size of the precision (eschenhagen2019vogn; 0.0001 for split CIFAR); a shorter training
    needs a larger one, as for alpha."""
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Momentum of the mean's steps (0.9 for split CIFAR, eschenhagen2019vogn, 4.5)."""
    momentum_kind: Literal["exponential", "heavy-ball", "gradient", "likelihood"] = "heavy-ball"
    """Weight of a new step; exponential: 1 - momentum; heavy-ball: 1, as in the public code.
    gradient: Adam's mean of gradients, before they are divided, corrected for its bias; likelihood:
    the same of the data's part alone, to which the prior's is added (IVON)."""
    initial_precision: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (20.0,)
    """Start precisions, one a task; the last holds for all later tasks (split CIFAR: 4e3, 4e4)."""
    start_precision: Literal["initial", "prior"] = "initial"
    """Start precision of a task; initial: initial_precision, as always in eschenhagen2019vogn;
    prior: the last posterior's, from the second task on."""
    merge: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Weight of each earlier posterior, down to the first prior, relative to the next, in the prior
    of a task (TD-VCL: lambda, 0.5); 0: the posterior of the last task alone."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    if settings.curvature != "reparameterised":
        return
    if settings.draws == 0:
        yield "a curvature from the noise of the weights needs draws; set draws to 1 or more"
    if settings.preconditioner == "root":
        yield (
            "a curvature that may be negative has no root; set preconditioner to precision or"
            " curvature to minibatch"
        )


NOISE, STEPS, ELBO = range(3)
"""Purposes that a task's seeds are folded with."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build VOGN for a model; TensorFlow traces one graph for each size of task."""
    fit = graph(partial(_fit, settings, model))

    @graph
    def moments(
        mean: tf.Tensor, precision: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor
    ) -> tf.Tensor:
        draw = sampling.gaussian(mean, inverse_sqrt(precision))
        return sampling.predictive_moments(model, draw, settings.prediction_draws, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        precision = np.full(shape, settings.prior_sd**-2, np.float32)
        tasks = np.zeros(shape[:2], np.int32)
        state = {"mean": np.zeros(shape, np.float32), "precision": precision, "tasks": tasks}
        return state | merged_gaussian.begin(state["mean"], precision) if settings.merge else state

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        of_state = partial(moments, state["mean"], state["precision"], seeds)
        return sampling.predictive(model, of_state, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        prior = _prior(settings, state)
        start, alpha = _start(settings, model, state, prior, batch, seeds)
        results = fit(prior, start, alpha, batch, seeds)
        mean, precision = (a.numpy() for a in results[:2])
        posterior = {"mean": mean, "precision": precision, "tasks": state["tasks"] + 1}
        if settings.merge:
            posterior |= merged_gaussian.added(state, settings.merge, mean, precision)
        return posterior, sampling.info(*results[2:], kl_weight=1 / settings.dataset_size_scale)

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"],
            1.0 / state["precision"].astype(np.float64),
            broadening,
            0.0,
            settings.prior_sd**2,
        )
        broad = {"mean": mean.astype(np.float32), "precision": (1 / variance).astype(np.float32)}
        if settings.merge:
            broad |= merged_gaussian.broadened(state, broadening, settings.prior_sd**2)
        return state | broad

    return Learner(init, predict, observe, broaden=broaden)


def _prior(settings: Settings, state: State) -> Gaussian:
    """Return the prior of the next task."""
    if not settings.merge:
        return Gaussian(state["mean"], state["precision"])
    return Gaussian(*(a.astype(np.float32) for a in merged_gaussian.moments(state)))


def _start(
    settings: Settings,
    model: Model,
    state: State,
    prior: Gaussian,
    batch: Batch,
    seeds: np.ndarray,
) -> tuple[Gaussian, np.ndarray]:
    """Return the means and precisions that a task starts with, and the step size of the means."""
    tasks, mean = state["tasks"], state["mean"]
    count = np.maximum(settings.dataset_size_scale * batch.mask.sum(axis=1), 1)
    initial = natural_gradient.first_precision(
        settings.initial_precision, settings.initial_precision_per, tasks, count
    )[..., None]
    alpha: float | np.ndarray = settings.alpha
    if settings.curvature == "reparameterised":
        alpha = alpha * (initial + settings.prior_sd**-2) / count[:, None, None]
        initial = initial + prior.precision
    # The mean of the first prior is zero, a saddle point of a network.
    first = (tasks == 0)[..., None]
    redrawn = first | (settings.start == "fresh")
    reset = first | (settings.start_precision == "initial")
    start = Gaussian(
        np.where(redrawn, natural_gradient.fresh(model, seeds), mean),
        np.where(reset, initial, state["precision"]),
    )
    return start, np.asarray(alpha, np.float32)


def _fit(
    settings: Settings,
    model: Model,
    prior: Gaussian,
    start: Gaussian,
    alpha: tf.Tensor,
    data: Batch,
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Fit q to a task; return mean, precision, the ELBO's two terms, and the number of steps."""
    size = settings.draws * model.size
    count = tf.reduce_sum(tf.cast(data.mask, tf.float32), axis=1) * settings.dataset_size_scale
    noise = sampling.table(fold_in(seeds, NOISE), size) if settings.draws else None
    positive = settings.curvature == "reparameterised"
    rates = Rates(
        alpha if positive else settings.alpha,
        settings.beta,
        settings.momentum,
        settings.momentum_kind,
        settings.preconditioner,
        positive,
    )

    def one_step(now: Iterate, rows: Minibatch, step_seeds: tf.Tensor) -> Iterate:
        excerpt = None if noise is None else sampling.excerpt(noise, step_seeds, size)
        estimates = diagonal_curvature.estimate(
            settings.curvature, settings.draws, model, now.mean, now.sd, rows, excerpt
        )
        return step(rates, now, prior, *estimates, tf.reduce_sum(rows.mask, 1), count)

    first = begin(rates, start)
    last, steps = epochs(
        one_step, first, data, fold_in(seeds, STEPS), settings.epochs, settings.batch_size
    )
    mean = tf.where(last.touched, last.mean, prior.mean)
    precision = tf.where(last.touched, last.precision, prior.precision)
    sd = inverse_sqrt(precision)
    draw = sampling.gaussian(mean, sd)
    log_lik = sampling.expected_log_likelihood(
        model, draw, data, settings.elbo_draws, fold_in(seeds, ELBO)
    )
    q, p = tfd.Normal(mean, sd), tfd.Normal(prior.mean, inverse_sqrt(prior.precision))
    return mean, precision, log_lik, tf.reduce_sum(tfd.kl_divergence(q, p), -1), steps
