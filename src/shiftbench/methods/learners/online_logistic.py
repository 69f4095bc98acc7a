"""Online logistic regression: one Newton step a row, by an extended Kalman filter.

The weights of the classes but the first have a joint Gaussian posterior. With the class
probabilities p at the mean and R = diag(p) - p p' over these classes, a row x of class y gives

    precision += R (x) x x',        mean += covariance (y - p) (x) x,

with the covariance after the row: one Newton step of Laplace's approximation, from the posterior
before (D. J. Spiegelhalter and S. L. Lauritzen, 1990, Networks 20). The rows of a Cholesky factor
of R are regressors of unit noise, so that rows update a root of the covariance, without an inverse
(`posteriors/normal_inverse_gamma.py`).

Predictions are moderated (D. J. C. MacKay, 1992, Neural Computation 4(5)): the difference of two
classes' logits is divided by sqrt(1 + pi s / 8), for its variance s. For several classes that is
done for each pair, and normalised (Z. Lu, E. Ie and F. Sha, 2020, arXiv:2006.07584). Knows:
nothing.

State, all [S, H, ...]: mean [P]; root [P, P], lower triangular, with covariance root root'. P is
the number of features with the bias, which comes last, times the number of classes but one.
Info: log_evidence [S, H], the moderated log probabilities of the labels, each before its row is
learnt, in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Gt
from numba import cfunc, njit

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Categorical, LearnerError, Problem, State
from shiftbench.methods.online import full_gaussian_rows, row_values, rows
from shiftbench.methods.online.rows import STEP, CompiledRows, RowLearner, borrowed
from shiftbench.methods.posteriors import normal_inverse_gamma

FACTS = Facts(
    takes={"two-classes": "categorical", "classes": "categorical"},
    offers=("broaden", "log_evidence"),
    refuses=("heads",),
)
LEAST = 1e-12
"""Smallest squared entry of the diagonal of the Cholesky factor of R."""


@dataclass(frozen=True)
class Settings:
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of every weight; the prior mean is 0."""
    bias: bool = True
    """Whether features get a constant regressor of 1."""


def build(settings: Settings, problem: Problem, model: None = None) -> RowLearner:
    """Build the learner of classes; LearnerError for real targets or several heads."""
    if problem.kind != "classification" or problem.heads != 1:
        raise LearnerError(
            "online-logistic: needs one of several classes a row, with one head; for real targets"
            " take linear-gaussian"
        )
    classes, bias = problem.n_outputs, settings.bias
    features = math.prod(problem.input_shape) + bias
    p = features * (classes - 1)
    layout = {"mean": (p,), "root": (p, p)}
    compiled = CompiledRows(
        check=partial(_checked_rows, classes=classes, bias=bias),
        features=partial(row_values.regressors, bias=bias),
        pack=partial(rows.pack, layout),
        unpack=partial(rows.unpack, layout),
        step=_step,
        predict=_predict,
        predictive=_categorical,
        outputs=classes,
        constants=np.array([1.0, 0.0, settings.prior_variance, classes]),
        scratch=max(p * p + p, (classes - 1) * p + 2 * p + classes * (classes + 4)),
        broaden=full_gaussian_rows.broaden,
    )

    def init(seeds: np.ndarray) -> State:
        size, sd = (len(seeds), 1), math.sqrt(settings.prior_variance)
        return {"mean": np.zeros((*size, p)), "root": np.tile(sd * np.eye(p), (*size, 1, 1))}

    widen = partial(full_gaussian_rows.broadened, "online-logistic", compiled)
    return RowLearner.of(init, compiled, broaden=widen)


def _checked_rows(batch: Batch, classes: int, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return regressors [S, n, F] and labels [S, n, 1]; LearnerError for what a row cannot have."""
    x, y = row_values.regressors(batch.inputs, bias), batch.targets
    if (~np.isfinite(x) & batch.mask[..., None]).any():
        s, n, j = np.argwhere(~np.isfinite(x) & batch.mask[..., None])[0]
        raise LearnerError(
            f"online-logistic: feature {j} of row {n} of repetition {s} is {x[s, n, j]}; fill gaps,"
            " or mask the row, when the stream is built"
        )
    wrong = ((y < 0) | (y >= classes)) & batch.mask
    if wrong.any():
        s, n = np.argwhere(wrong)[0]
        raise LearnerError(
            f"online-logistic: label {y[s, n]} of row {n} of repetition {s} is not one of the"
            f" {classes} classes, which count from 0"
        )
    return x, y[..., None].astype(float)


def _categorical(log_weights: np.ndarray, out: np.ndarray) -> Categorical:
    """Return the prediction from the class probabilities [S, H, n, C]."""
    return Categorical(log_weights, out.copy())


@njit(cache=True, error_model="numpy")
def _moderated(x, mean, root, images, logits, out):
    """Set out [C] to the moderated log probabilities, and logits [C] at the mean; the first is 0.

    images: (C - 1) P numbers, set to root' times the regressors of each class.
    """
    p, features, classes = len(mean), len(x), len(out)
    logits[0] = 0.0
    images[:] = 0.0
    for c in range(classes - 1):
        logits[c + 1] = 0.0
        for i in range(features):
            place = c * features + i
            logits[c + 1] += x[i] * mean[place]
            for k in range(place + 1):
                images[c * p + k] += root[place * p + k] * x[i]
    for a in range(classes):
        out[a] = 0.0
        top, total = 0.0, 1.0  # first the logits of the others minus that of a, then that of a
        for b in range(classes):
            if b != a:
                variance = 0.0
                for k in range(p):
                    image = images[(a - 1) * p + k] if a > 0 else 0.0
                    if b > 0:
                        image -= images[(b - 1) * p + k]
                    variance += image * image
                ahead = (logits[b] - logits[a]) / math.sqrt(1.0 + 0.125 * math.pi * variance)
                if ahead > top:
                    total = total * math.exp(top - ahead) + 1.0
                    top = ahead
                else:
                    total += math.exp(ahead - top)
        out[a] = -(top + math.log(total))
    _normalise(out)


@njit(cache=True, error_model="numpy", forceinline=True)
def _normalise(logs):
    """Subtract from logs the logarithm of the sum of their exponentials, in place."""
    top, total = logs.max(), 0.0
    for c in range(len(logs)):
        total += math.exp(logs[c] - top)
    shift = top + math.log(total)
    for c in range(len(logs)):
        logs[c] -= shift


@njit(cache=True, error_model="numpy", forceinline=True)
def _others(probabilities, c):
    """Return one minus the probability of a class, as the sum of the other probabilities."""
    total = 0.0
    for other in range(len(probabilities)):
        if other != c:
            total += probabilities[other]
    return total


@njit(cache=True, error_model="numpy", forceinline=True)
def _error(probabilities, c, label):
    """Return the indicator of the label's class minus the probability of a class."""
    return _others(probabilities, c) if c == label else -probabilities[c]


@njit(cache=True, error_model="numpy")
def _as_regression(x, label, mean, logits, factor, regressors, targets):
    """Set regressors [(C - 1) P] and targets [C - 1] with unit noise that are equivalent to a row.

    logits [C] become probabilities. factor: (C - 1)^2 numbers, for the Cholesky factor L of R;
    the regressors are L' (x) x, and the errors of the targets L^-1 (y - p).
    """
    p, features, free = len(mean), len(x), len(targets)
    _normalise(logits)
    for c in range(free + 1):
        logits[c] = math.exp(logits[c])
    for j in range(free):
        for i in range(j, free):
            total = -logits[i + 1] * logits[j + 1]
            if i == j:
                total = logits[j + 1] * _others(logits, j + 1)
            for k in range(j):
                total -= factor[i * free + k] * factor[j * free + k]
            if i == j:
                factor[j * free + j] = math.sqrt(max(total, LEAST))
            else:
                factor[i * free + j] = total / factor[j * free + j]
    for j in range(free):
        error = _error(logits, j + 1, label)
        for k in range(j):
            error -= factor[j * free + k] * targets[k]
        targets[j] = error / factor[j * free + j]
    for j in range(free):
        for place in range(p):
            c, i = place // features, place % features
            share = factor[c * free + j] if c >= j else 0.0
            regressors[j * p + place] = share * x[i]
    for j in range(free):
        for place in range(p):
            targets[j] += regressors[j * p + place] * mean[place]


@cfunc(STEP, cache=True, error_model="numpy")
def _step(numbers, x, y, constants, scratch, evidence):
    """Update the hypotheses with a row, in place, and add its label's moderated log probability."""
    numbers, x, scratch = borrowed(numbers), borrowed(x), borrowed(scratch)
    classes, label = int(constants[3]), int(y[0])
    free, features = classes - 1, len(x)
    p = free * features
    images, work = scratch[: free * p], scratch[free * p : (free + 2) * p]
    rest = scratch[(free + 2) * p :]
    logits, logs, targets = rest[:classes], rest[classes : 2 * classes], rest[2 * classes :][:free]
    factor = rest[3 * classes : 3 * classes + free * free]
    for h in range(len(numbers)):
        if evidence[h] > -math.inf:
            mean, root = numbers[h, :p], numbers[h, p:]
            _moderated(x, mean, root, images, logits, logs)
            evidence[h] += logs[label]
            _as_regression(x, label, mean, logits, factor, images, targets)
            normal_inverse_gamma.learn(images, targets, 1.0, mean, root, work)


@cfunc(STEP, cache=True, error_model="numpy")
def _predict(numbers, x, nothing, constants, scratch, out):
    """Set out to the moderated class probabilities of a row, for each hypothesis."""
    numbers, x, scratch = borrowed(numbers), borrowed(x), borrowed(scratch)
    classes = int(constants[3])
    p = (classes - 1) * len(x)
    images, logits = scratch[: (classes - 1) * p], scratch[(classes - 1) * p :][:classes]
    for h in range(len(numbers)):
        logs = out[h * classes : (h + 1) * classes]
        _moderated(x, numbers[h, :p], numbers[h, p:], images, logits, logs)
        for c in range(classes):
            logs[c] = math.exp(logs[c])
