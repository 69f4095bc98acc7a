"""Check what `predict` returns, before anything is computed from it.

Only types and shapes are checked, which takes microseconds. Numbers that are not finite fail
their seed in the harness; whether weights and probabilities sum to one is tried by the contract.
"""

from __future__ import annotations

from dataclasses import replace

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

    component: named by the error. A learner that can be broadened, so that a combinator may
    stack hypotheses in its state, has to predict as many as there are.
    """

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        found = learner.predict(state, inputs, seeds)
        hypotheses = next(iter(state.values())).shape[1] if learner.broaden else None
        if wrong := fault(found, inputs, problem, hypotheses):
            raise UserError(f"{component}: {wrong}; correct what its `predict` returns")
        return found

    return replace(learner, predict=predict)


def fault(
    found: object, inputs: np.ndarray, problem: Problem, hypotheses: int | None = None
) -> str:
    """Say what is wrong with a prediction for inputs [S, n, ...]; empty if nothing is.

    hypotheses: the number that is expected; None: as many as there are weights, at least one.
    """
    kinds = PREDICTED[problem.kind]
    kind = next((one for one in kinds if isinstance(found, one)), None)
    if kind is None:
        names = " or ".join(one.__name__ for one in kinds)
        return f"predicts a {type(found).__name__}, expected a {names}"
    classification = problem.kind == "classification"
    sizes = {
        "seed": inputs.shape[0],
        "hypothesis": hypotheses or _hypotheses(found),
        "row": inputs.shape[1],
        "class": problem.n_outputs if classification else 2,
        "output": 1 if classification else problem.n_outputs,
    }
    for field, axes in AXES[kind].items():
        array = getattr(found, field)
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
    named = ", ".join(f"{axis} {sizes[axis]}" for axis in axes)
    return f"has the shape {array.shape}, expected {expected}: [{named}]"


def _hypotheses(found: object) -> int:
    """The number of hypotheses that a mixture has weights of; 1 if that cannot be told."""
    weights = getattr(found, "log_weights", None)
    return (weights.shape[1] or 1) if isinstance(weights, np.ndarray) and weights.ndim == 2 else 1
