"""Maximum a posteriori with a quadratic penalty: Laplace propagation, EWC, SI, fine-tuning.

From task to task the learner minimises

    mean negative log likelihood + strength / 2 sum_i p_i (w_i - anchor_i)^2,

where p is the precision (units `row`), or the precision / N (units `task`). After a task of N rows

    precision <- decay precision + importance      (N times the importance with units `task`)

and the anchor becomes the estimate. Knows: the likelihood. Methods, by settings:

- Laplace propagation (Smola et al. 2003; li2021vbs, 4.2 and C.2), the default: the Fisher
  information of a task is added to a normal prior, so that its Laplace approximation is the next
  prior.
- EWC (Kirkpatrick et al. 2017): anchor `each`, units `row`, prior `flat`, biases `penalised`, start
  `prior`. One penalty F_k (w - w_k)^2 for each task k sums to a single one: sum_k F_k (w - w_k)^2 =
  P (w - a)^2 + constant, with P = sum_k F_k, a = sum_k F_k w_k / P.
- Online EWC (Schwarz et al. 2018): as EWC with anchor `last` and a decay. (The paper also has the
  decay in the penalty, which is a factor of the strength.)
- Synaptic intelligence (Zenke et al. 2017): importance `path`, otherwise as online EWC. Its penalty
  c Omega (w - w*)^2 has no factor 1/2, so the precision is 2 Omega and the strength is c.
- Fine-tuning: importance `none`, prior `flat`, start `prior`.
- L2 init (Kumar et al. 2023): anchor `initial`, importance `none`, units `row`, start `prior`,
  biases `penalised`. Its penalty is lambda |w - w_0|^2, and the precision of a normal prior of sd 1
  is 1 / n_train a row, so the strength is 2 lambda n_train.
- Kronecker factors (Ritter et al. 2018): curvature `kronecker`, in `networks/kronecker_laplace.py`.
- Learning without forgetting (Li and Hoiem 2016): as fine-tuning, with distil above 0.
- MC dropout (gal2016dropout): dropout, prediction_draws 50, importance `none`; the paper's weight
  decay is the prior `normal`. Importance, log likelihood and evidence are those of the network
  without masks.

- Last-layer Laplace (Daxberger et al. 2021) and SWAG (Maddox et al. 2019): prediction
  `laplace-last` or `swag`, importance `none`. They are posteriors of a task's rows, with which
  predictions are averaged; no later task has them as its prior, so they have no `broaden` and no
  log evidence. Their formulas are in `networks/last_layer_laplace.py` and `networks/swag.py`.

State: mean, precision [S, H, P]; a precision of 0 marks a parameter without penalty. anchor
[S, H, P] with anchor `each` or `initial`; otherwise the mean is the anchor. With optimiser_state
`kept`: first, second [S, H, P], steps [S, H]. With distil: taught [S, H, heads],
whether an earlier task had rows of a head. With prediction
`laplace-last`: root [S, H, P', P']; `swag`: variance [S, H, P], deviations [S, H, K, P].
Info, [S, H], in nats over the task: log_likelihood at the estimate; log_evidence, its Laplace
approximation over the parameters that had a precision; steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval, Le

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.networks import around_estimates, diagonal_penalty, kronecker_laplace
from shiftbench.methods.networks.around_estimates import without_posterior
from shiftbench.methods.networks.kronecker_laplace import without_factors
from shiftbench.methods.networks.model import Model

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "number": "gaussian"},
    offers={
        "broaden": {"prediction": ("estimate",)},
        "log_evidence": {"prediction": ("estimate",)},
    },
    refuses={
        "learnt-noise": (
            {"importance": ("fisher",), "not fisher_labels": ("observed",)},
            {"prediction": ("laplace-last",)},
        ),
        "number": {"not distil": (0.0,)},
    },
    model=True,
)


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.001
    """Adam's step size (li2021vbs, Table 3)."""
    curvature: Literal["diagonal", "kronecker"] = "diagonal"
    """Form of the precision; kronecker: a pair of factors for each layer."""
    importance: Literal["none", "fisher", "path"] = "fisher"
    """Added to the precision after a task: nothing, the diagonal Fisher, or SI's path integral."""
    fisher_labels: Literal["sampled", "expected", "observed"] = "sampled"
    """Labels of the Fisher: drawn from the model, its expectation, or the data's."""
    fisher_estimator: Literal["per-example", "summed"] = "per-example"
    """Fisher estimator; summed: squared sum of gradients, the noisy one of li2021vbs's code."""
    fisher_rows: Annotated[int, Ge(1)] = 1000
    """Largest number of training rows that the Fisher is estimated from."""
    damping: Annotated[float, Gt(0)] = 0.1
    """path: SI's xi, added to a parameter's squared displacement (Zenke et al.; split: 0.001)."""
    strength: Annotated[float, Ge(0)] = 1.0
    """Factor of the penalty: 1 for Laplace's approximation, EWC's lambda, SI's c."""
    units: Literal["task", "row"] = "task"
    """Weight of a task in the penalty. task: its number of rows, as in Laplace's approximation;
    row: the same for all tasks, as in EWC and SI. Equivalent if all tasks have n_train rows."""
    anchor: Literal["last", "each", "initial"] = "last"
    """Centre of the penalty; last: the last estimate; each: for each task its own estimate;
    initial: the start values of the first task (Kumar et al. 2023)."""
    decay: Annotated[float, Ge(0), Le(1)] = 1.0
    """Factor of the previous precision after a task (online EWC's gamma)."""
    prior: Literal["normal", "flat"] = "normal"
    """First prior; flat: no penalty in the first task."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """normal: standard deviation of the first prior, which has mean zero."""
    start: Literal["fresh", "prior"] = "fresh"
    """Start of a task; fresh: Glorot's weights, as in li2021vbs; prior: the last estimate."""
    biases: Literal["free", "penalised"] = "free"
    """Biases; free: they have no penalty and no importance, as in li2021vbs, C.2."""
    optimiser_state: Literal["reset", "kept"] = "reset"
    """Adam's moments at the start of a task; kept: as in SI's code for permuted images. With
    several heads, kept moments go on moving earlier heads."""
    dropout: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Dropout probability of the inputs of each layer but the first, drawn for each row."""
    input_dropout: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Dropout probability of the network's inputs, drawn for each row."""
    prediction: Literal["estimate", "laplace-last", "swag"] = "estimate"
    """Weights of a prediction: the estimate, a Laplace approximation of the last layer, or SWAG."""
    prediction_draws: Annotated[int, Ge(0)] = 0
    """Number of draws that a prediction averages over: of dropout's masks, or of weights; 0: no
    masks, and with laplace-last the probit approximation."""
    last_prior: Literal["evidence", "trained"] = "evidence"
    """laplace-last: prior precision of the last layer; evidence: that of the largest marginal
    likelihood; trained: 1 / prior_sd^2."""
    swag_epochs: Annotated[int, Ge(2)] = 20
    """swag: number of last epochs after each of which the weights are collected."""
    swag_rank: Annotated[int, Ge(2)] = 20
    """swag: number of last deviations from the mean that are kept, at most swag_epochs."""
    distil: Annotated[float, Ge(0)] = 0.0
    """Weight of the cross entropy with the outputs of the last estimate on a task's rows (LwF)."""
    temperature: Annotated[float, Gt(0)] = 2.0
    """distil: temperature of these outputs (Li and Hoiem 2016)."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    drops = settings.dropout or settings.input_dropout
    if settings.prediction_draws and settings.prediction == "estimate" and not drops:
        yield (
            "the draws of a prediction are those of dropout; set dropout above 0, or"
            " prediction_draws to 0"
        )
    if settings.prediction != "estimate":
        yield from without_posterior(settings)
    if settings.anchor == "initial" and (settings.importance, settings.prior) != ("none", "normal"):
        yield (
            "the first start values are the centre of the first prior alone; with anchor initial,"
            " set importance to none and prior to normal"
        )
    if settings.curvature == "kronecker":
        yield from without_factors(settings)
    if settings.distil and (settings.dropout or settings.input_dropout):
        yield "distil is for networks without dropout; set distil to 0, or both dropouts"
    if settings.distil and settings.curvature != "diagonal":
        yield "distil is for a diagonal curvature; set distil to 0, or curvature to diagonal"


def build(settings: Settings, problem: Problem, model: Model) -> Learner:
    """Build the MAP learner for a model."""
    curvature = kronecker_laplace if settings.curvature == "kronecker" else diagonal_penalty
    predict = around_estimates.predict(settings, model)
    return curvature.build(settings, problem, model, predict)
