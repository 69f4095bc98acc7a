"""Checks of what `predict` returns, the same for runs and for the contract.

Wrong types and shapes are an error. Numbers that cannot be scored fail their seed: a component
whose weights sum to two would otherwise get a score, and might win.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import wraps

import numpy as np

from shiftbench.core.errors import UserError
from shiftbench.core.interface import (
    Categorical,
    Gaussian,
    Learner,
    Predictive,
    Problem,
    State,
    StudentT,
)

WEIGHTS = ("seed", "hypothesis")
ROWS = (*WEIGHTS, "row")
OUTPUTS = (*ROWS, "output")
AXES: dict[type, dict[str, tuple[str, ...]]] = {
    Categorical: {"log_weights": WEIGHTS, "probabilities": (*ROWS, "class"), "entropy": ROWS},
    Gaussian: {"log_weights": WEIGHTS, "mean": OUTPUTS, "variance": OUTPUTS},
    StudentT: {
        "log_weights": WEIGHTS,
        "mean": OUTPUTS,
        "scale": (*OUTPUTS, "output"),
        "df": WEIGHTS,
    },
}
"""Axes of each field of a prediction."""
PREDICTED: dict[str, tuple[type, ...]] = {
    "classification": (Categorical, Gaussian),  # a Gaussian is the score of two classes
    "regression": (Gaussian, StudentT),
    "counts": (Categorical,),
    "word": (Categorical,),
}
"""Predictions that fit each kind of problem."""
TOLERANCE = 1e-3
"""Largest distance of a sum of weights or of probabilities from one."""


def checked(learner: Learner, problem: Problem, component: str) -> Learner:
    """Return the learner with a `predict` that raises UserError for a malformed prediction.

    component: the name in the message. A learner that can be broadened must predict as many
    hypotheses as its state has, since combinators stack them there.
    """

    @wraps(learner.predict)
    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        prediction = learner.predict(state, inputs, seeds)
        hypotheses = next(iter(state.values())).shape[1] if learner.broaden else None
        if wrong := fault(prediction, inputs, problem, hypotheses):
            raise UserError(f"{component}: {wrong}; correct what its `predict` returns")
        return prediction

    return replace(learner, predict=predict)


def fault(
    prediction: object, inputs: np.ndarray, problem: Problem, hypotheses: int | None = None
) -> str:
    """Return what is wrong with a prediction for inputs [S, n, ...]; empty if nothing is.

    hypotheses: the expected number; None: the number of weights, at least one.
    """
    kinds = PREDICTED[problem.kind]
    kind = next((kind for kind in kinds if isinstance(prediction, kind)), None)
    if kind is None:
        names = " or ".join(kind.__name__ for kind in kinds)
        return f"predicts a {type(prediction).__name__}, expected a {names}"
    classification = problem.kind == "classification"
    sizes = {
        "seed": inputs.shape[0],
        "hypothesis": hypotheses or _hypotheses(prediction),
        "row": inputs.shape[1],
        "class": problem.n_outputs if classification else 2,
        "output": 1 if classification else problem.n_outputs,
    }
    for field, axes in AXES[kind].items():
        array = getattr(prediction, field)
        if array is None and field == "entropy":
            continue
        if wrong := _wrong(array, axes, sizes):
            return f"predicts a {kind.__name__} whose {field} {wrong}"
    return ""


def usable(predictive: Predictive) -> np.ndarray:
    """Return for which seeds [S] a well-formed prediction can be scored.

    Numbers are finite, weights and probabilities sum to one, and no probability or variance is
    negative.
    """
    log_weights, *numbers = predictive
    good = np.abs(np.exp(log_weights).sum(axis=1, dtype=float) - 1) < TOLERANCE
    for array in numbers:
        if array is not None:
            good &= _all(np.isfinite(array))
    if isinstance(predictive, Categorical):
        probabilities = predictive.probabilities
        sums = probabilities.sum(axis=-1, dtype=float)
        return good & _all(probabilities >= 0) & _all(np.abs(sums - 1) < TOLERANCE)
    if isinstance(predictive, StudentT):
        diagonal = np.diagonal(predictive.scale, axis1=-2, axis2=-1)
        return good & _all(diagonal >= 0) & _all(predictive.df > 0)
    return good & _all(predictive.variance >= 0)  # 0: a point prediction


def flaw(predictive: Predictive, seed: int) -> str:
    """Return what is wrong with the numbers of a seed's prediction; empty if nothing is.

    A variance of 0 is named too: it is usable, but gives a density no logarithm.
    """
    fields = predictive._asdict().items()
    parts = {name: array[seed] for name, array in fields if array is not None}
    kind, total = type(predictive).__name__, np.exp(parts["log_weights"]).sum(dtype=float)
    if not abs(total - 1) < TOLERANCE:
        return f"the {kind} has log_weights whose exponentials have the sum {total:g}, expected 1"
    for name, array in parts.items():
        if name != "log_weights" and not np.isfinite(array).all():
            first = array[~np.isfinite(array)][0]
            return f"the {kind} has {first} in its {name}"
    if isinstance(predictive, Categorical):
        return _flaw_of_probabilities(predictive.probabilities[seed])
    if isinstance(predictive, StudentT):
        spread = {"scale": np.diagonal(predictive.scale[seed], axis1=-2, axis2=-1)}
        spread["df"] = predictive.df[seed]
    else:
        spread = {"variance": predictive.variance[seed]}
    low = {name: array.min() for name, array in spread.items() if (array <= 0).any()}
    found = [f"the {kind} has {least:g} in its {name}" for name, least in low.items()]
    return f"{found[0]}, which must be above 0" if found else ""


def _flaw_of_probabilities(probabilities: np.ndarray) -> str:
    if (probabilities < 0).any():
        return f"the Categorical has {probabilities.min():g} in its probabilities, below 0"
    sums = probabilities.sum(axis=-1, dtype=float)
    far = sums[np.abs(sums - 1) >= TOLERANCE]
    return (
        f"the Categorical has probabilities with the sum {far[0]:g}, expected 1" if far.size else ""
    )


def _all(flags: np.ndarray) -> np.ndarray:
    """Return whether all flags of a seed are set, [S]."""
    by_seed: np.ndarray = flags.reshape(len(flags), math.prod(flags.shape[1:]))
    return np.all(by_seed, axis=1)


def _wrong(array: object, axes: tuple[str, ...], sizes: dict[str, int]) -> str:
    if not isinstance(array, np.ndarray):
        return f"is a {type(array).__name__}, expected a NumPy array"
    if array.dtype.kind not in "fiu":
        return f"has the type {array.dtype}, expected real numbers"
    expected = tuple([sizes[axis] for axis in axes])
    if array.shape == expected:
        return ""
    named_axes = ", ".join(f"{axis} {sizes[axis]}" for axis in axes)
    return f"has the shape {array.shape}, expected {expected}: [{named_axes}]"


def _hypotheses(prediction: object) -> int:
    """Return the number of hypotheses with weights; 1 if there are no usable weights."""
    weights = getattr(prediction, "log_weights", None)
    return (weights.shape[1] or 1) if isinstance(weights, np.ndarray) and weights.ndim == 2 else 1
