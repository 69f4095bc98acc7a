"""Mean-field variational inference for networks (variational continual learning).

The posterior of one task is the prior of the next. Source: li2021vbs, section 3.1, Eq. 4
and C.2, where with s = 0 always it is VCL. Knows: the likelihood. The methods, by settings:

- VCL (Nguyen et al. 2018; its code): biases `gaussian`, estimator `sample`, draws 10, start
  `maximum-likelihood`, start_sd e^-3, prediction_draws 100. Its start values of a new head
  are a truncated normal's, here a normal's.
- Improved VCL (Swaroop et al. 2019): the same with start `fresh`, estimator `local` and a
  learning rate of 0.005. Its code shares the noise of the outputs between the rows of a
  minibatch and draws it anew for each class; here each row has its own, for all classes.
- Radial posteriors (farquhar2020radial, 3 and 4.2): family `radial`, start_sd softplus(-6) or
  softplus(-4), start_rho_sd 0.5. The first prior is normal, those after it radial. The cross
  entropy is exact but for E log R (posteriors/radial.py); with several draws the public code
  adds up, by mistake, what it should average. No AMSGrad. No radial density is a power of another
  one: it is broadened as the normal one of the same means and scales, and stays radial.

Where kl_weight is below 1, the likelihood counts more than once: q is near the posterior of
p(data)^(1 / kl_weight), which for one task is the tempered or cold posterior of Wenzel et al.
(2020). No paper of the five has it. In the public code of li2021vbs the divergence has its full
weight; what may play its part there are few steps from standard deviations of .0486, which end
before the posterior has widened (not tried at that size). On tasks of 50 digits, kl_weight 1 is 16
to 21 points less accurate than .005 from 20 to 600 epochs, and 600 are worse than 200.
VOGN and SLANG have the inverse of kl_weight, by the name dataset_size_scale; UCB its own.

Where rows tell their head, the parameters of heads that a task has no rows of stay as they
are, and add nothing to the divergence. A prior mean of exactly zero marks a parameter that no
task has trained: a new head, or all.

State: mean, sd [S, H, P] of q; parameters that are points have sd 0 (biases, by default,
as in the code of li2021vbs: neither prior nor penalty).
Info, [S, H] in nats over the task: elbo = log_evidence = expected_log_likelihood - kl_weight kl,
these two; elbo_se, the standard error of the second as a mean over draws; steps. No bound on the
evidence with family `radial` and prior_density `published`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
import tensorflow_probability as tfp
from annotated_types import Ge, Gt

from shiftbench.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.models._model import Linear, Model
from shiftbench.networks import layerwise, mean_field, sampling, weight_draws
from shiftbench.networks.backend import graph, tf
from shiftbench.networks.mean_field import Prior
from shiftbench.networks.random import fold_in, normals
from shiftbench.networks.tasks import head_of_each, heads_in
from shiftbench.networks.training import Adam, Minibatch, minimise
from shiftbench.networks.weight_draws import Draws, Noise
from shiftbench.posteriors import mean_field_gaussian, radial
from shiftbench.seeds import generator

NEEDS: tuple[str, ...] = ()
MODEL = True
TAKES = {"image": "categorical", "classes": "categorical", "number": "gaussian"}
REFUSES = {"convolution": {"estimator": ("local",)}}
WRONG = {
    "local reparameterisation is for independent weights, not for radial draws; set estimator to"
    " flipout or sample": {"estimator": ("local",), "family": ("radial",)},
}
OFFERS = ("broaden", "log_evidence")


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task (VCL: 100 permuted, 120 split; improved: 800, 600)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Rows of a minibatch (VCL: 256 permuted, all split; improved: 1024, 256)."""
    learning_rate: Annotated[float, Gt(0)] = 0.0005
    """Adam's step size (li2021vbs, Table 3; VCL 0.001, improved VCL 0.005)."""
    family: Literal["gaussian", "radial"] = "gaussian"
    """Of the posterior: independent normals, or the radial one of farquhar2020radial."""
    prior_density: Literal["full", "published"] = "full"
    """radial: of the carried prior; published: without its Jacobian, eq. 44 of
    farquhar2020radial."""
    estimator: Literal["flipout", "local", "sample"] = "flipout"
    """How weights are drawn: flipout; local reparameterisation (dense layers, gaussian only);
    sample: all rows of a minibatch share them (VCL)."""
    draws: Annotated[int, Ge(1)] = 1
    """Weight draws of a step, K (VCL, improved VCL: 10)."""
    kl_weight: Annotated[float, Gt(0)] = 1.0
    """Weight of the divergence from the prior: 1 is the ELBO, less a cold posterior."""
    start: Literal["fresh", "means", "prior", "maximum-likelihood"] = "fresh"
    """fresh: means near zero for every task, as in li2021vbs; prior: from the prior, but for
    what no task has trained; means: so, with standard deviations of start_sd at most, which a
    broadened prior needs if training is short; maximum-likelihood: as prior, and the first task's
    means trained first, without prior and noise, for as many epochs (VCL)."""
    start_mean_sd: Annotated[float, Ge(0)] = 0.1
    """fresh: standard deviation of the means' start values; layers of few inputs need more."""
    start_sd: Annotated[float, Gt(0)] = 0.0486
    """fresh, means: start value of the posterior standard deviations (softplus(-3); VCL e^-3)."""
    start_rho_sd: Annotated[float, Ge(0)] = 0.0
    """fresh: standard deviation of the noise in softplus^-1 of that (code of farquhar2020radial:
    0.5)."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero."""
    biases: Literal["point", "gaussian"] = "point"
    """point: trained without prior, penalty or noise; gaussian: treated like weights."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """Weight draws of a prediction (10 suffice, li2021vbs, C.2; VCL 100, improved VCL 20)."""
    elbo_draws: Annotated[int, Ge(1)] = 20
    """Weight draws per row of the final ELBO, which decides between hypotheses."""


class _Posterior(NamedTuple):
    """Independent normals, [S, H, P] each; sd is 0 where there is a point alone."""

    mean: tf.Tensor
    sd: tf.Tensor


STEPS, ELBO, PRETRAINING, NOISE = range(4)
"""What the seeds of a task are folded with, for each use of them."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    blocks = weight_draws.blocks_of(model, problem.heads) if settings.family == "radial" else None
    draws = Draws(model, settings.estimator, blocks, settings.draws)
    weight_draws.check(draws)
    bayesian = np.ones(model.size, dtype=np.float32)
    if settings.biases == "point":
        bayesian[model.is_bias()] = 0.0
    owners = head_of_each(model, problem)
    fit = graph(partial(_fit, settings, draws, bayesian))
    pretrain = graph(partial(_pretrain, settings, model))

    @graph
    def moments(mean: tf.Tensor, sd: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        draw, count = partial(_drawn, draws, mean, sd), settings.prediction_draws
        return sampling.predictive_moments(model, draw, count, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        sd = np.broadcast_to(settings.prior_sd * bayesian, shape)
        return {"mean": np.zeros(shape, np.float32), "sd": np.ascontiguousarray(sd, np.float32)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        found = partial(moments, state["mean"], state["sd"], seeds)
        return sampling.predictive(model, found, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        mean, sd = _start(settings, state, bayesian, seeds)
        if settings.start == "maximum-likelihood" and not state["mean"].any():
            mean = pretrain(mean, tuple(batch), seeds).numpy()
        present = heads_in(batch, problem)
        active = (present[:, owners] | (owners < 0))[:, np.newaxis] if problem.heads > 1 else None
        prior, start = Prior(state["mean"], state["sd"]), _Posterior(mean, sd)
        results = fit(prior, start, active, tuple(batch), seeds)
        mean, sd = (a.numpy() for a in results[:2])
        return {"mean": mean, "sd": sd}, sampling.info(*results[2:], settings.kl_weight)

    def broaden(state: State, broadening: Broadening) -> State:
        """Of means and standard deviations; a radial posterior takes those of the normal one."""
        points = state["sd"] == 0
        variance = np.where(points, 1.0, state["sd"].astype(np.float64) ** 2)
        mean, variance = mean_field_gaussian.broaden(
            state["mean"], variance, broadening, 0.0, settings.prior_sd**2
        )
        return {
            "mean": np.where(points, state["mean"], mean).astype(np.float32),
            "sd": np.where(points, 0.0, np.sqrt(variance)).astype(np.float32),
        }

    return Learner(init, predict, observe, broaden=broaden)


def _start(
    settings: Settings, state: State, bayesian: np.ndarray, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Start values of mean and sd [S, H, P]; fresh ones are the same for all hypotheses."""
    mean, sd = state["mean"], state["sd"]
    # A prior mean of zero throughout would also be a saddle point of a network.
    anew = (mean == 0) | (settings.start == "fresh")
    draws = [generator(seed).standard_normal((2, mean.shape[-1])) for seed in seeds]
    noise = np.stack(draws)[:, :, np.newaxis] * bayesian
    if settings.start == "means":
        sd = np.minimum(sd, settings.start_sd * bayesian)
    spread = np.full_like(sd, settings.start_sd)
    if settings.start_rho_sd > 0:
        rho = np.log(np.expm1(settings.start_sd)) + settings.start_rho_sd * noise[:, 1]
        spread = np.broadcast_to(np.logaddexp(0, rho), sd.shape)
    return (
        np.where(anew, settings.start_mean_sd * noise[:, 0], mean).astype(np.float32),
        np.where(anew, spread * bayesian, sd).astype(np.float32),
    )


def _pretrain(
    settings: Settings,
    model: Model,
    start: tf.Tensor,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
) -> tf.Tensor:
    """Parameters [S, H, P] of maximum likelihood, by as many epochs as the posterior takes."""
    fitted, _ = minimise(
        partial(layerwise.mean_nll_gradient, model),
        start,
        data,
        fold_in(seeds, PRETRAINING),
        settings.epochs,
        settings.batch_size,
        Adam(settings.learning_rate),
    )
    return fitted


def _fit(
    settings: Settings,
    draws: Draws,
    bayesian: np.ndarray,
    prior: Prior,
    start: _Posterior,
    active: tf.Tensor | None,
    data: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    seeds: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Adam on the negative ELBO over (mean, softplus^-1 sd), then the ELBO's two terms.

    active: the parameters [S, 1, P] bool that are learnt; None for all.
    """
    mask = data[2]
    counted = bayesian if active is None else bayesian * tf.cast(active, tf.float32)
    count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)[:, None, None]
    noise = _noise_of_steps(draws, min(settings.batch_size, mask.shape[1]), fold_in(seeds, NOISE))

    def gradient(parameters: tf.Tensor, rows: Minibatch, step_seeds: tf.Tensor) -> tf.Tensor:
        mean, sd = mean_field.unpack(parameters, bayesian)
        drawn = noise(step_seeds)
        with tf.GradientTape() as tape:
            tape.watch([mean, sd])
            linear = weight_draws.linear(draws, mean, sd, drawn, rows.inputs.shape[2])
            loss = layerwise.mean_nll(draws.model, linear, rows) / draws.number
        likelihood = tape.gradient(loss, [mean, sd])
        known = *likelihood, mean, sd, prior, counted, count / settings.kl_weight
        if draws.blocks is None:
            return mean_field.gaussian_gradient(*known)
        blocks, density = draws.blocks, settings.prior_density
        return mean_field.radial_gradient(*known, drawn.eps, blocks, density)

    rho = tfp.math.softplus_inverse(tf.maximum(start.sd, 1e-12))
    fitted, steps = minimise(
        gradient,
        tf.concat([start.mean, rho], -1),
        data,
        fold_in(seeds, STEPS),
        settings.epochs,
        settings.batch_size,
        Adam(settings.learning_rate),
    )
    mean, sd = mean_field.unpack(fitted, bayesian)
    if active is not None:
        mean, sd = tf.where(active, mean, prior.mean), tf.where(active, sd, prior.sd)
    seeds = fold_in(seeds, ELBO)
    log_lik = sampling.expected_log_likelihood(
        draws.model, partial(_drawn, draws, mean, sd), data, settings.elbo_draws, seeds
    )
    kl = _kl(settings, draws, mean, sd, prior, counted, seeds)
    return mean, sd, log_lik, kl, steps


def _noise_of_steps(draws: Draws, rows: int, seeds: tf.Tensor) -> Callable[[tf.Tensor], Noise]:
    """Seeds of a step -> its noise; for several draws from a table, which costs less."""
    needed = weight_draws.numbers_needed(draws, rows)
    if draws.number == 1:
        return partial(_noise, draws, rows)
    size = draws.number * needed
    table = sampling.table(seeds, size)

    def noise(step_seeds: tf.Tensor) -> Noise:
        numbers = sampling.excerpt(table, step_seeds, size)
        return weight_draws.noise(draws, tf.reshape(numbers, [-1, draws.number, needed]), rows)

    return noise


def _noise(draws: Draws, rows: int, seeds: tf.Tensor) -> Noise:
    """The noise of one draw, not from a table."""
    numbers = normals(fold_in(seeds, 0), [1, weight_draws.numbers_needed(draws, rows)])
    return weight_draws.noise(draws, numbers, rows)


def _drawn(draws: Draws, mean: tf.Tensor, sd: tf.Tensor, seeds: tf.Tensor, rows: int) -> Linear:
    """The network under one draw of its weights."""
    one = draws._replace(number=1)
    return weight_draws.linear(one, mean, sd, _noise(one, rows, seeds), rows)


def _kl(
    settings: Settings,
    draws: Draws,
    mean: tf.Tensor,
    sd: tf.Tensor,
    prior: Prior,
    counted: tf.Tensor,
    seeds: tf.Tensor,
) -> tf.Tensor:
    """KL(q || prior) [S, H] in nats, over the parameters that count."""
    blocks = draws.blocks
    if blocks is None:
        return mean_field.gaussian_divergence(mean, sd, prior, counted)

    def once(draw_seeds: tf.Tensor) -> tf.Tensor:
        eps = _noise(draws._replace(number=1), 1, draw_seeds).eps
        return radial.divergence(mean, sd, *prior, eps, counted, blocks, settings.prior_density)

    return sampling.average(once, settings.elbo_draws, seeds)
