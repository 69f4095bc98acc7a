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

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner, Problem
from shiftbench.methods.networks import around_estimates, diagonal_penalty, kronecker_laplace
from shiftbench.methods.networks.around_estimates import without_posterior
from shiftbench.methods.networks.kronecker_laplace import without_factors
from shiftbench.methods.networks.map_settings import MapSettings
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
class Settings(MapSettings):
    """The settings of `map`, which the modules of its parts take."""


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
