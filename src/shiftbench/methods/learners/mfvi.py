"""Mean-field variational inference for networks, such as variational continual learning (VCL).

The posterior q of a task is the prior of the next. Among independent normals for the weights w it
maximises

    E_q log p(rows | w) - kl_weight KL(q, posterior of the task before).

Source: li2021vbs, section 3.1, Eq. 4 and C.2; with s = 0 always, it is VCL. Knows: the likelihood.
Methods, by settings:

- VCL (Nguyen et al. 2018; its code): biases `gaussian`, estimator `sample`, draws 10, start
  `maximum-likelihood`, start_sd e^-3, prediction_draws 100. Start values of a new head are normal
  here, truncated normal there.
- Improved VCL (Swaroop et al. 2019): as VCL with start `fresh`, estimator `local` and a learning
  rate of 0.005. Its code shares the noise of the outputs between the rows of a minibatch and draws
  it for each class separately; here each row has its own noise, drawn once for all classes.
- Radial posteriors (farquhar2020radial, 3 and 4.2): family `radial`, start_sd softplus(-6) or
  softplus(-4), start_rho_sd 0.5. The first prior is normal, later ones are radial. The cross
  entropy is exact except for E log R (`posteriors/radial.py`); with several draws the public code
  sums, by mistake, instead of averaging. No radial density is a power of another one, so a radial
  posterior is broadened like the normal one of the same means and scales, and stays radial.
- Truncated noise (farquhar2020radial, appendix F): family `truncated`. The noise of a weight is cut
  at `truncation` standard deviations in training, ELBO and predictions, while the divergence stays
  that of the whole normal: biased on purpose. Broadened like the normal one.
- MFVI with tweaks (farquhar2020radial, 4.1.2): start `maximum-likelihood`, a small start_sd, and
  early stopping on held-back rows of the task (`networks/early_stopping.py`).
- TD-VCL (Melo et al. 2025) without its replayed likelihood: `merge` 0.5. A weighted sum of
  divergences from all posteriors so far is one from a normal (`posteriors/merged_gaussian.py`),
  plus a constant, which the ELBO leaves out so that it bounds the evidence under that normal.
- GVCL (Loo et al. 2021): kl_weight below 1 and anchor_weight above it. As kl_weight goes to 0 the
  means are those of online EWC, of strength anchor_weight. Its code limits the standard deviations
  at the start of a task, as start `means` does. The ELBO then is not a bound of the evidence.
- Fewer steps than a fixed number: stops_by `elbo` ends a task when its ELBO has converged. The
  evidence that a beam compares then has an error of the size of `tolerance`; the best epoch of each
  task is recorded.
- One data set spread over several tasks: prior `first` and start `prior` continue from the previous
  task, with Adam's moments at zero.

With kl_weight below 1 the likelihood counts more than once: q is near the posterior of
p(data)^(1 / kl_weight), which for one task is the tempered or cold posterior of Wenzel et al.
(2020). None of the five papers has it. In the public code of li2021vbs the divergence has full
weight; a similar effect may come from its few steps from standard deviations of 0.0486, which end
before the posterior has widened (not tried at that size). On tasks of 50 digits, kl_weight 1 is 16
to 21 points less accurate than 0.005 from 20 to 600 epochs, and 600 epochs are worse than 200. VOGN
and SLANG have the inverse of kl_weight as dataset_size_scale; UCB has its own kl_weight.

With several heads, parameters of heads without rows in the task stay unchanged and add nothing to
the divergence. A prior mean of exactly zero marks a parameter that no task has trained yet.

State: mean, sd [S, H, P] of q; point estimates have sd 0 (biases by default, as in the code of
li2021vbs: neither prior nor penalty); with `merge`, the sums of the merged prior.
Info, [S, H], in nats over the task: elbo = log_evidence = expected_log_likelihood - kl_weight kl,
and these two terms; elbo_se, the standard error of expected_log_likelihood as a mean over draws;
steps; best_epoch, whose posterior is kept, with held_back; gradient_sd and train_accuracy with
gradient_draws. With family `radial` and prior_density `published` the ELBO is not a bound of the
evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Categorical,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.networks import (
    carried_prior,
    drawn_predictions,
    early_stopping,
    optimisers,
    sampling,
    variational_fit,
    weight_draws,
)
from shiftbench.methods.networks.backend import graph
from shiftbench.methods.networks.carried_prior import CarriedPrior
from shiftbench.methods.networks.initialisation import Start, start_values
from shiftbench.methods.networks.mean_field import Anchor, MeanField
from shiftbench.methods.networks.model import Model
from shiftbench.methods.networks.task_schedule import head_of_each, heads_in
from shiftbench.methods.networks.variational_fit import FitData, FitSettings
from shiftbench.methods.networks.weight_draws import Draws

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "number": "gaussian"},
    offers={
        "broaden": {"prior": ("carried",)},
        "log_evidence": True,
        "truncation": {"family": ("truncated",)},
        "gradients": {"not gradient_draws": (0,)},
    },
    refuses={"convolution": {"estimator": ("local",)}},
    model=True,
)


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task (VCL: 100 permuted, 120 split; improved: 800, 600)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch (VCL: 256 permuted, all split; improved: 1024, 256)."""
    learning_rate: Annotated[float, Gt(0)] = 0.0005
    """Step size (li2021vbs, Table 3; VCL 0.001, improved VCL 0.005)."""
    optimiser: Literal["adam", "amsgrad", "sgd"] = "adam"
    """Adam, AMSGrad, or stochastic gradient descent with Nesterov momentum 0.9
    (farquhar2020radial, D.1)."""
    learning_rate_decay: Annotated[float, Gt(0), Le(1)] = 1.0
    """Factor of the step size after each epoch (farquhar2020radial, D.1: 0.96, 0.98 with sgd)."""
    family: Literal["gaussian", "radial", "truncated"] = "gaussian"
    """Posterior family: independent normals, the radial one of farquhar2020radial, or normals with
    truncated noise and the divergence of whole normals (its appendix F)."""
    truncation: Annotated[float, Gt(0)] = 1.0
    """truncated: bound of the noise of a weight, in standard deviations."""
    prior_density: Literal["full", "published"] = "full"
    """radial: density of the carried prior; published: without its Jacobian, Eq. 44 of
    farquhar2020radial."""
    estimator: Literal["flipout", "local", "sample"] = "flipout"
    """Weight draws: flipout; local reparameterisation (dense layers, gaussian only); sample: all
    rows of a minibatch share them (VCL)."""
    draws: Annotated[int, Ge(1)] = 1
    """Number K of weight draws of a step (VCL, improved VCL: 10)."""
    kl_weight: Annotated[float, Gt(0)] = 1.0
    """Weight of the divergence from the prior: 1 for the ELBO, below 1 for a cold posterior."""
    anchor_weight: Annotated[float, Gt(0)] = 1.0
    """Factor lambda of the precision that earlier tasks added to the prior, in the divergence's
    term for the means (GVCL, with kl_weight 0.2: 100, 1,000); 1 for the ELBO."""
    prior: Literal["carried", "first"] = "carried"
    """Prior of a task; carried: the posterior of the previous task; first: that of the first task,
    for training that continues over several tasks of the same rows."""
    merge: Annotated[float, Ge(0), Lt(1)] = 0.0
    """carried: weight of each earlier posterior, down to the first prior, relative to the next, in
    the sum of divergences (TD-VCL: lambda, 0.5); 0: from the previous task's posterior alone."""
    start: Literal["fresh", "means", "prior", "maximum-likelihood"] = "fresh"
    """Start values of a task. fresh: means near zero, as in li2021vbs; prior: the prior, except for
    untrained parameters; means: as prior, with standard deviations of at most start_sd, which a
    broadened prior needs if training is short; maximum-likelihood: as prior, after training the
    first task's means without prior and noise (VCL)."""
    pretraining_epochs: Annotated[int, Ge(0)] = 0
    """maximum-likelihood: epochs of training the first task's means; 0 for as many as epochs (code
    of farquhar2020radial: 1)."""
    start_mean_sd: Annotated[float, Ge(0)] = 0.1
    """fresh: standard deviation of the means' start values; layers with few inputs need more."""
    start_sd: Annotated[float, Gt(0)] = 0.0486
    """fresh, means: start value of the posterior standard deviations (softplus(-3); VCL: e^-3)."""
    start_rho_sd: Annotated[float, Ge(0)] = 0.0
    """fresh: standard deviation of the noise in rho = softplus^-1(start_sd) (code of
    farquhar2020radial: 0.5)."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, which has mean zero."""
    biases: Literal["point", "gaussian"] = "point"
    """Biases; point: trained without prior, penalty or noise; gaussian: treated like weights."""
    prediction_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of a prediction (li2021vbs, C.2: 10; VCL: 100, improved VCL: 20)."""
    elbo_draws: Annotated[int, Ge(1)] = 20
    """Number of weight draws for each row of the final ELBO, which decides between hypotheses."""
    held_back: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of a task's rows that are held back from training and decide after each epoch, by
    prediction_draws draws, whether it stops. 0: no early stopping."""
    stops_by: Literal["likelihood", "elbo"] = "likelihood"
    """held_back: score of an epoch. likelihood: that of the held-back rows; elbo: the ELBO as they
    estimate it, in which case they are trained on too, and training stops at convergence."""
    patience: Annotated[int, Ge(1)] = 10
    """held_back: number of epochs without a better score after which training stops."""
    tolerance: Annotated[float, Ge(0)] = 0.0
    """held_back: smallest improvement of the score that counts, in nats a row."""
    gradient_draws: Annotated[int, Ge(0)] = 0
    """Number of gradient draws, on one minibatch after each task, for gradient_sd and
    train_accuracy in the Info; 0: neither is computed."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    of_weights = {"radial": "independent weights", "truncated": "normal weights"}
    if settings.estimator == "local" and settings.family in of_weights:
        yield (
            f"local reparameterisation is for {of_weights[settings.family]}, not for"
            f" {settings.family} draws; set estimator to flipout or sample"
        )
    if settings.stops_by == "elbo" and settings.held_back == 0:
        yield "no row judges when training stops; set held_back to the share of those that do"
    if settings.anchor_weight != 1 and settings.family == "radial":
        yield "a radial divergence has no part for the means alone; set anchor_weight to 1"
    if settings.merge and (settings.prior == "first" or settings.family == "radial"):
        yield (
            "only normal posteriors that are carried are merged; set merge to 0, or prior to"
            " carried and family to gaussian"
        )
    if settings.gradient_draws == 1:
        yield "one draw has no spread; set gradient_draws to 0 or to 2 and more"


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build mean-field VI for a model; TensorFlow traces one graph for each size of task."""
    blocks = weight_draws.blocks_of(model, problem.heads) if settings.family == "radial" else None
    truncation = settings.truncation if settings.family == "truncated" else None
    draws = Draws(model, settings.estimator, blocks, settings.draws, truncation)
    weight_draws.check(draws, "mfvi")
    bayesian = np.ones(model.size, dtype=np.float32)
    if settings.biases == "point":
        bayesian[model.is_bias()] = 0.0
    owners = head_of_each(model, problem)
    priors = CarriedPrior(settings.prior, settings.prior_sd, bayesian, settings.merge)
    fit_settings = _fit_settings(settings, draws, bayesian)
    fit = graph(partial(variational_fit.fit, fit_settings))
    pretraining = fit_settings._replace(epochs=settings.pretraining_epochs or settings.epochs)
    pretrain = graph(partial(variational_fit.maximum_likelihood, pretraining))
    spread = graph(partial(variational_fit.gradient_sd, fit_settings, settings.gradient_draws))
    initial = Start(
        settings.start, settings.start_mean_sd, settings.start_sd, settings.start_rho_sd
    )
    predict = drawn_predictions.predict(draws, settings.prediction_draws)

    def init(seeds: np.ndarray) -> State:
        return carried_prior.first_state(priors, len(seeds))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        present = heads_in(batch, problem)
        active = (present[:, owners] | (owners < 0))[:, np.newaxis] if problem.heads > 1 else None
        judges = None
        if settings.held_back > 0:
            rest, judges = early_stopping.hold_back(batch, settings.held_back, seeds)
            batch = batch if settings.stops_by == "elbo" else rest
        mean, sd = start_values(initial, state["mean"], state["sd"], bayesian, seeds)
        if settings.start == "maximum-likelihood" and not state["mean"].any():
            mean = pretrain(mean, tuple(batch), seeds).numpy()
        previous = MeanField(state["mean"], state["sd"])
        task = FitData(previous, active, (*batch,), judges and (*judges,))
        prior = carried_prior.of_task(priors, state)
        *results, best_epoch = fit(prior, MeanField(mean, sd), task, seeds)
        mean, sd = (a.numpy() for a in results[:2])
        posterior = carried_prior.after_task(priors, state, mean, sd)
        info = sampling.info(*results[2:], kl_weight=settings.kl_weight)
        if judges is not None:
            info["best_epoch"] = best_epoch.numpy()
        if settings.gradient_draws > 0:
            info["gradient_sd"] = spread(mean, sd, tuple(batch), seeds).numpy()
            info |= _train_accuracy(predict(posterior, batch.inputs, seeds), batch)
        return posterior, info

    # The prior `first` is the same for all tasks, so broadening would have no effect.
    broaden = partial(carried_prior.broadened, priors) if settings.prior == "carried" else None
    return Learner(init, predict, observe, broaden=broaden)


def _fit_settings(settings: Settings, draws: Draws, bayesian: np.ndarray) -> FitSettings:
    """Return the settings of a fit; bayesian [P] is 0 for parameters that are points."""
    rate = settings.learning_rate, settings.learning_rate_decay
    anchor = Anchor(settings.anchor_weight, settings.prior_sd**-2)
    return FitSettings(
        draws=draws,
        bayesian=bayesian,
        density=settings.prior_density,
        kl_weight=settings.kl_weight,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        optimiser=optimisers.named(settings.optimiser, *rate),
        elbo_draws=settings.elbo_draws,
        judge_draws=settings.prediction_draws,
        patience=settings.patience,
        tolerance=settings.tolerance,
        by_elbo=settings.stops_by == "elbo",
        anchor=None if settings.anchor_weight == 1 else anchor,
    )


def _train_accuracy(predictive: Predictive, batch: Batch) -> Info:
    """Return train_accuracy [S, H] on the batch's rows, or no Info for real targets."""
    if not isinstance(predictive, Categorical):
        return {}
    correct = predictive.probabilities.argmax(axis=-1) == batch.targets[:, np.newaxis]
    seen = batch.mask[:, np.newaxis]
    return {"train_accuracy": (correct & seen).sum(axis=-1) / seen.sum(axis=-1)}
