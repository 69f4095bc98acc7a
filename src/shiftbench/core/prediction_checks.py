"""Checks of the types and shapes that `predict` returns; they take microseconds.

Numbers that are not finite fail their seed in the harness; the contract tests that weights and
probabilities sum to one.
"""

from __future__ import annotations

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
    "classification": (Categorical, Gaussian),  # a Gaussian: the score of two classes
    "regression": (Gaussian, StudentT),
    "counts": (Categorical,),
    "word": (Categorical,),
}
"""Predictions that fit each kind of problem."""


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
