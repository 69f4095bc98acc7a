"""Level, or level and variance, of values by diffusion score matching: robust and in closed form.

Source: M. Altamirano, F.-X. Briol and J. Knoblauch, 2023, ICML (altamirano2023dsm), whose BOCPD is
`run-length` over this learner. A value x with density exp(eta' r(x) + b(x)) and weight m(x) adds

    2 omega m^2 r' r'^T to the precision of eta,  -2 omega (m^2 r' b' + (m^2 r')') to the shift,

where r' and b' are derivatives by x (`posteriors/score_matching.py`). A value far from 0 adds next
to nothing, so that an outlier moves no posterior by much. The order of rows does not matter. The
targets of a row are independent of each other.

Values are learnt as z = (y - centre) / scale, and all other settings refer to z. The weights are
fixed functions of z, so results depend on the units of a series. Knows: a noise level for `mean`.

Every kind of broadening keeps the family; tempering multiplies both sums. For `mean-variance`,
`diffuse` adds to the covariance before truncation. The density of a row is exact for `mean`, and by
64 nodes to 1e-10 for `mean-variance`, where the authors draw. There `predict` gives a Gaussian at
the posterior mean of the natural parameters, as the predictive variance is infinite.

State, all [S, H, d, ...]: precision [p, p] and shift [p], its product with the mean, of the p
natural parameters of each target: 1 for mean, 2 for mean-variance.
Info: log_evidence [S, H] of the task's rows, each before it is learnt, in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt
from numba import cfunc

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Broadening, Problem, State
from shiftbench.methods.online import row_values, rows
from shiftbench.methods.online.rows import STEP, CompiledRows, RowLearner, borrowed
from shiftbench.methods.posteriors import score_matching
from shiftbench.methods.posteriors.mean_field_gaussian import DIFFUSE, OU

FACTS = Facts(
    takes=dict.fromkeys(("value", "number", "design", "designs"), "gaussian"),
    offers=("broaden", "log_evidence"),
)
OWN = 9
"""Number of constants before the nodes and weights of the quadrature."""


@dataclass(frozen=True)
class Settings:
    learns: Literal["mean", "mean-variance"] = "mean-variance"
    """Parameters that are learnt: the mean of values of known noise, or mean and variance."""
    omega: Annotated[float, Gt(0)] = 0.1
    """Weight of the divergence against the prior (paper: .1 for simulated series; .00042 for the
    well-log, chosen on its first rows)."""
    centre: float = 0.0
    """Value that becomes z = 0, at which the weight is largest."""
    scale: Annotated[float, Gt(0)] = 1.0
    """Distance from the centre that becomes z = 1, at half the largest weight."""
    noise_sd: Annotated[float, Gt(0)] = 1.0
    """mean: standard deviation of z around the mean."""
    prior_mean: float = 0.0
    """Prior mean of the mean; for mean-variance, of mean / variance."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Its prior variance (paper: 10 for financial series, 100 for the well-log)."""
    prior_precision: float = 1.0
    """mean-variance: prior mean of 1 / variance, before truncation to positive values (paper: 1;
    10 for the well-log)."""
    prior_precision_variance: Annotated[float, Gt(0)] = 1.0
    """mean-variance: its prior variance (paper: 1; 100 for the well-log)."""


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the learner of d = problem.n_outputs independent values a row."""
    d, both = problem.n_outputs, settings.learns == "mean-variance"
    p = 2 if both else 1
    layout = {"precision": (d, p, p), "shift": (d, p)}
    prior = [settings.prior_mean, settings.prior_variance]
    prior += [settings.prior_precision, settings.prior_precision_variance]
    own = [d, settings.omega, settings.centre, settings.scale, settings.noise_sd**2, *prior]
    compiled = CompiledRows(
        check=partial(_checked_rows, d=d),
        features=row_values.no_features,
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step if both else _step_mean,
        predict=_predict if both else _predict_mean,
        predictive=rows.gaussian,
        outputs=2 * d,
        constants=np.array([*own, *score_matching.rule().ravel()]),
        scratch=1,
        broaden=_broaden if both else _broaden_mean,
    )

    def init(seeds: np.ndarray) -> State:
        size = len(seeds), 1, d
        precision = 1 / np.array(prior[1 : 2 * p : 2])
        shift = precision * np.array(prior[0 : 2 * p : 2])
        return {
            "precision": np.tile(np.diag(precision), (*size, 1, 1)),
            "shift": np.tile(shift, (*size, 1)),
        }

    def broaden(state: State, broadening: Broadening) -> State:
        return rows.broaden(compiled, state, broadening)[0]

    return RowLearner.of(init, compiled, broaden=broaden)


def _checked_rows(batch: Batch, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return no features [S, n, 0] and targets [S, n, d], all finite where they are seen."""
    return row_values.checked("dsm", batch._replace(inputs=row_values.no_features(batch.inputs)), d)


@cfunc(STEP, cache=True, error_model="numpy")
def _step_mean(numbers, x, y, constants, scratch, evidence):
    """Update the means with a row, in place, and add the log density of its targets."""
    numbers, constants = borrowed(numbers), borrowed(constants)
    d, omega, centre, scale, noise = len(y), constants[1], constants[2], constants[3], constants[4]
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            for j in range(d):
                z = (y[j] - centre) / scale
                precision, shift = numbers[h, j], numbers[h, d + j]
                variance, error = noise + 1.0 / precision, z - shift / precision
                density = math.log(2 * math.pi * variance) + error * error / variance
                evidence[h] -= 0.5 * density + math.log(scale)
                numbers[h, j], numbers[h, d + j] = score_matching.learn_mean(
                    z, omega, noise, precision, shift
                )


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update means and variances with a row, in place, and add the log density of its targets."""
    numbers, constants = borrowed(numbers), borrowed(constants)
    d, omega, centre, scale = len(y), constants[1], constants[2], constants[3]
    size = (len(constants) - OWN) // 2
    nodes, weights = constants[OWN : OWN + size], constants[OWN + size :]
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            for j in range(d):
                z = (y[j] - centre) / scale
                precision = numbers[h, 4 * j : 4 * j + 4]
                shift = numbers[h, 4 * d + 2 * j : 4 * d + 2 * j + 2]
                density = score_matching.log_predictive(z, precision, shift, nodes, weights)
                evidence[h] += density - math.log(scale)
                score_matching.learn(z, omega, precision, shift)


@cfunc(STEP, cache=True, error_model="numpy")
def _predict_mean(numbers, x, nothing, constants, scratch, out):
    """Set out to the means and the variances of the targets of a row, for each hypothesis."""
    d, centre, scale, noise = int(constants[0]), constants[2], constants[3], constants[4]
    for h in range(len(numbers)):
        for j in range(d):
            precision, shift = numbers[h, j], numbers[h, d + j]
            out[2 * d * h + j] = centre + scale * (shift / precision)
            out[2 * d * h + d + j] = scale * scale * (noise + 1.0 / precision)


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to the means and the variances at the posterior mean, for each hypothesis."""
    d, centre, scale = int(constants[0]), constants[2], constants[3]
    for h in range(len(numbers)):
        for j in range(d):
            precision = numbers[h, 4 * j : 4 * j + 4]
            shift = numbers[h, 4 * d + 2 * j : 4 * d + 2 * j + 2]
            mean, variance = score_matching.plug_in(precision, shift)
            out[2 * d * h + j] = centre + scale * mean
            out[2 * d * h + d + j] = scale * scale * variance


@cfunc(STEP, cache=True, error_model="numpy")
def _broaden_mean(numbers, widening, nothing, constants, scratch, refused):
    """Widen the hypotheses, in place."""
    d, prior_mean, prior_variance = int(constants[0]), constants[5], constants[6]
    beta, share, added, way = widening
    for h in range(len(numbers)):
        for j in range(d):
            precision, shift = numbers[h, j], numbers[h, d + j]
            if way == DIFFUSE:
                ratio = 1.0 / (1.0 + added * precision)
                numbers[h, j], numbers[h, d + j] = precision * ratio, shift * ratio
            elif way == OU:
                kept = beta * beta
                mean = beta * shift / precision + (1.0 - beta) * prior_mean
                precision = 1.0 / (kept / precision + (1.0 - kept) * prior_variance)
                numbers[h, j], numbers[h, d + j] = precision, precision * mean
            else:
                numbers[h, j] = beta * precision + share / prior_variance
                numbers[h, d + j] = beta * shift + share * prior_mean / prior_variance


@cfunc(STEP, cache=True, error_model="numpy")
def _broaden(numbers, widening, nothing, constants, scratch, refused):
    """Widen the hypotheses, in place."""
    d, prior = int(constants[0]), constants[5:OWN]
    beta, share, added, way = widening
    for h in range(len(numbers)):
        for j in range(d):
            precision = numbers[h, 4 * j : 4 * j + 4]
            shift = numbers[h, 4 * d + 2 * j : 4 * d + 2 * j + 2]
            if way == DIFFUSE:
                score_matching.diffuse(precision, shift, added)
            elif way == OU:
                score_matching.relax(precision, shift, beta, prior)
            else:
                for i in range(4):
                    precision[i] *= beta
                for i in range(2):
                    precision[3 * i] += share / prior[2 * i + 1]
                    shift[i] = beta * shift[i] + share * prior[2 * i] / prior[2 * i + 1]
