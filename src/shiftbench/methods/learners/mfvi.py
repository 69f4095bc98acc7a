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
  entropy is exact but for E log R (methods/posteriors/radial.py); with several draws the public
  code
  adds up, by mistake, what it should average. No radial density is a power of another one: it is
  broadened as the normal one of the same means and scales, and stays radial.
- Truncated noise (farquhar2020radial, appendix F): family `truncated`; the noise of a weight is
  cut at `truncation` standard deviations, in training, the ELBO and predictions, while the
  divergence stays that of the whole normal: biased on purpose. Broadened as the normal one.
- MFVI with tweaks (farquhar2020radial, 4.1.2): start `maximum-likelihood`, a small start_sd, and
  early stopping on rows of the task that are held back (methods/networks/early_stopping.py).
- Fewer steps than are fixed: stops_by `elbo` ends a task whose ELBO has converged. What the beam
  compares then has the error that tolerance leaves; the task's best epoch is recorded.
- One data set over several tasks: prior `first`, start `prior` goes on where the task before
  ended, with the moments of Adam at zero again.

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
these two; elbo_se, the standard error of the second as a mean over draws; steps; best_epoch where
rows are held back, whose posterior is kept; gradient_sd and train_accuracy where gradient_draws are
asked for. No bound on the evidence with family `radial` and prior_density `published`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from shiftbench.core.interface import (
    Batch,
    Broadening,
    Categorical,
    Info,
    Learner,
    Predictive,
    Problem,
    State,
)
from shiftbench.methods.models._model import Model
from shiftbench.methods.networks import (
    early_stopping,
    elbo,
    optimisers,
    sampling,
    variational_fit,
    weight_draws,
)
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.initialisation import Start, start_values
from shiftbench.methods.networks.mean_field import MeanField
from shiftbench.methods.networks.task_schedule import head_of_each, heads_in
from shiftbench.methods.networks.variational_fit import FitData, FitSettings
from shiftbench.methods.networks.weight_draws import Draws
from shiftbench.methods.posteriors import mean_field_gaussian

NEEDS: tuple[str, ...] = ()
MODEL = True
TAKES = {"image": "categorical", "classes": "categorical", "number": "gaussian"}
REFUSES = {"convolution": {"estimator": ("local",)}}
WRONG = {
    "local reparameterisation is for independent weights, not for radial draws; set estimator to"
    " flipout or sample": {"estimator": ("local",), "family": ("radial",)},
    "local reparameterisation is for normal weights, not for truncated draws; set estimator to"
    " flipout or sample": {"estimator": ("local",), "family": ("truncated",)},
    "no row judges when training stops; set held_back to the share of those that do": {
        "stops_by": ("elbo",),
        "held_back": (0.0,),
    },
    "one draw has no spread; set gradient_draws to 0 or to 2 and more": {"gradient_draws": (1,)},
}
OFFERS = {
    "broaden": {"prior": ("carried",)},
    "log_evidence": True,
    "truncation": {"family": ("truncated",)},
    "gradients": {"not gradient_draws": (0,)},
}


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task (VCL: 100 permuted, 120 split; improved: 800, 600)."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Rows of a minibatch (VCL: 256 permuted, all split; improved: 1024, 256)."""
    learning_rate: Annotated[float, Gt(0)] = 0.0005
    """Step size (li2021vbs, Table 3; VCL 0.001, improved VCL 0.005)."""
    optimiser: Literal["adam", "amsgrad", "sgd"] = "adam"
    """Adam, AMSGrad, or stochastic gradient descent with Nesterov momentum .9
    (farquhar2020radial, D.1)."""
    learning_rate_decay: Annotated[float, Gt(0), Le(1)] = 1.0
    """Factor of the step size after each epoch (farquhar2020radial, D.1: .96 or .98 with sgd)."""
    family: Literal["gaussian", "radial", "truncated"] = "gaussian"
    """Of the posterior: independent normals, the radial one of farquhar2020radial, or normals whose
    noise is cut off, with the divergence of whole ones (its appendix F)."""
    truncation: Annotated[float, Gt(0)] = 1.0
    """truncated: where the noise of a weight is cut, in standard deviations."""
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
    prior: Literal["carried", "first"] = "carried"
    """first: the prior of every task is that of the first, for training that goes on over several
    tasks of the same rows; carried: it is the posterior of the task before."""
    start: Literal["fresh", "means", "prior", "maximum-likelihood"] = "fresh"
    """fresh: means near zero for every task, as in li2021vbs; prior: from the prior, but for
    what no task has trained; means: so, with standard deviations of start_sd at most, which a
    broadened prior needs if training is short; maximum-likelihood: as prior, and the first task's
    means trained first, without prior and noise, for as many epochs (VCL)."""
    pretraining_epochs: Annotated[int, Ge(0)] = 0
    """maximum-likelihood: epochs of that training, 0 for as many as epochs (code of
    farquhar2020radial: 1)."""
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
    held_back: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Share of a task's rows that decide after each epoch whether training stops, under
    prediction_draws draws, and are not learnt from. 0: no early stopping."""
    stops_by: Literal["likelihood", "elbo"] = "likelihood"
    """held_back: how likely these rows are; or the ELBO as they estimate it, for which they are
    learnt from as well: training stops when that has converged."""
    patience: Annotated[int, Ge(1)] = 10
    """held_back: epochs without a better score after which training stops."""
    tolerance: Annotated[float, Ge(0)] = 0.0
    """held_back: nats a row by which a score must be above the best so far to be better."""
    gradient_draws: Annotated[int, Ge(0)] = 0
    """Draws of which the spread of the gradient is told after each task, on one
    minibatch, and with it the accuracy on the task's rows; 0: not told."""


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """The learner for a model; TensorFlow traces one graph for each size of task."""
    blocks = weight_draws.blocks_of(model, problem.heads) if settings.family == "radial" else None
    truncation = settings.truncation if settings.family == "truncated" else None
    draws = Draws(model, settings.estimator, blocks, settings.draws, truncation)
    weight_draws.check(draws)
    bayesian = np.ones(model.size, dtype=np.float32)
    if settings.biases == "point":
        bayesian[model.is_bias()] = 0.0
    owners = head_of_each(model, problem)
    plan = _plan(settings, draws, bayesian)
    fit = graph(partial(variational_fit.fit, plan))
    pretraining = plan._replace(epochs=settings.pretraining_epochs or settings.epochs)
    pretrain = graph(partial(variational_fit.maximum_likelihood, pretraining))
    spread = graph(partial(variational_fit.gradient_sd, plan, settings.gradient_draws))
    begin = Start(settings.start, settings.start_mean_sd, settings.start_sd, settings.start_rho_sd)

    @graph
    def moments(mean: tf.Tensor, sd: tf.Tensor, seeds: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        draw, count = partial(elbo.drawn, draws, mean, sd), settings.prediction_draws
        return sampling.predictive_moments(model, draw, count, seeds, inputs)

    def init(seeds: np.ndarray) -> State:
        shape = (len(seeds), 1, model.size)
        sd = np.broadcast_to(settings.prior_sd * bayesian, shape)
        return {"mean": np.zeros(shape, np.float32), "sd": np.ascontiguousarray(sd, np.float32)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        found = partial(moments, state["mean"], state["sd"], seeds)
        return sampling.predictive(model, found, inputs)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        present = heads_in(batch, problem)
        active = (present[:, owners] | (owners < 0))[:, np.newaxis] if problem.heads > 1 else None
        judges = None
        if settings.held_back > 0:
            rest, judges = early_stopping.hold_back(batch, settings.held_back, seeds)
            batch = batch if settings.stops_by == "elbo" else rest
        mean, sd = start_values(begin, state["mean"], state["sd"], bayesian, seeds)
        if settings.start == "maximum-likelihood" and not state["mean"].any():
            mean = pretrain(mean, tuple(batch), seeds).numpy()
        before = MeanField(state["mean"], state["sd"])
        task = FitData(before, active, tuple(batch), judges and tuple(judges))
        *results, best = fit(_prior(settings, bayesian, state), MeanField(mean, sd), task, seeds)
        mean, sd = (a.numpy() for a in results[:2])
        learnt = {"mean": mean, "sd": sd}
        info = sampling.info(*results[2:], settings.kl_weight)
        if judges is not None:
            info["best_epoch"] = best.numpy()
        if settings.gradient_draws > 0:
            info["gradient_sd"] = spread(mean, sd, tuple(batch), seeds).numpy()
            info |= _accuracy(predict(learnt, batch.inputs, seeds), batch)
        return learnt, info

    # A first prior that all tasks have is not broadened.
    broaden = partial(_broadened, settings.prior_sd) if settings.prior == "carried" else None
    return Learner(init, predict, observe, broaden=broaden)


def _prior(settings: Settings, bayesian: np.ndarray, state: State) -> MeanField:
    """The prior of the next task: the posterior, or that of the first task again."""
    if settings.prior == "carried":
        return MeanField(state["mean"], state["sd"])
    first = np.broadcast_to(np.float32(settings.prior_sd) * bayesian, state["sd"].shape)
    return MeanField(np.zeros_like(state["mean"]), first)


def _broadened(prior_sd: float, state: State, broadening: Broadening) -> State:
    """Of means and standard deviations; other families take those of the normal one."""
    points = state["sd"] == 0
    variance = np.where(points, 1.0, state["sd"].astype(np.float64) ** 2)
    mean, variance = mean_field_gaussian.broaden(
        state["mean"], variance, broadening, 0.0, prior_sd**2
    )
    return {
        "mean": np.where(points, state["mean"], mean).astype(np.float32),
        "sd": np.where(points, 0.0, np.sqrt(variance)).astype(np.float32),
    }


def _plan(settings: Settings, draws: Draws, bayesian: np.ndarray) -> FitSettings:
    return FitSettings(
        draws,
        bayesian,
        settings.prior_density,
        settings.kl_weight,
        settings.epochs,
        settings.batch_size,
        optimisers.named(settings.optimiser, settings.learning_rate, settings.learning_rate_decay),
        settings.elbo_draws,
        settings.prediction_draws,
        settings.patience,
        settings.tolerance,
        settings.stops_by == "elbo",
    )


def _accuracy(predictive: Predictive, batch: Batch) -> Info:
    """train_accuracy [S, H] on the rows learnt from, of classes; nothing for real targets."""
    if not isinstance(predictive, Categorical):
        return {}
    right = predictive.probabilities.argmax(axis=-1) == batch.targets[:, np.newaxis]
    seen = batch.mask[:, np.newaxis]
    return {"train_accuracy": (right & seen).sum(axis=-1) / seen.sum(axis=-1)}
