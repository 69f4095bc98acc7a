"""A network trained online in PyTorch: a few steps of SGD with momentum on each task.

It builds the study's network from its shapes (`shiftbench.core.shapes`); TensorFlow is not imported.
Each repetition has a network of its own, whose start is drawn from its seed.

State: weights and momentum [S, 1, P], the parameters of all layers one after the other.
Info: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Gt, Interval

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Categorical, Info, Learner, Problem, State
from shiftbench.core.seeds import generator
from shiftbench.core.shapes import Shapes

FACTS = Facts(
    takes={"classes": "categorical", "two-classes": "categorical", "image": "categorical"},
    refuses=("heads", "convolution"),
    model="shapes",
)


@dataclass(frozen=True)
class Settings:
    learning_rate: Annotated[float, Gt(0)] = 0.1
    """Of stochastic gradient descent."""
    momentum: Annotated[float, Interval(ge=0, lt=1)] = 0.9
    """What is kept of the last step."""
    epochs: Annotated[int, Ge(1)] = 50
    """Steps on all rows of a task."""


def build(settings: Settings, problem: Problem, model: Shapes) -> Learner:
    """The classifier of problem.n_outputs classes."""

    def init(seeds: np.ndarray) -> State:
        start = np.stack([_start(model, seed) for seed in seeds])[:, None]
        return {"weights": start, "momentum": np.zeros_like(start)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        with torch.no_grad():
            logits = [
                _logits(model, torch.from_numpy(weights[0]), _rows(values))
                for weights, values in zip(state["weights"], inputs, strict=True)
            ]
        probabilities = torch.softmax(torch.stack(logits), dim=-1).numpy()[:, None]
        return Categorical(np.zeros(probabilities.shape[:2]), probabilities)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        learnt = [
            _trained(settings, model, *one)
            for one in zip(state["weights"], state["momentum"], *batch, strict=True)
        ]
        weights, momentum = (np.stack(arrays)[:, None] for arrays in zip(*learnt, strict=True))
        return {"weights": weights, "momentum": momentum}, {}

    return Learner(init, predict, observe)


def _start(model: Shapes, seed: np.ndarray) -> np.ndarray:
    """Start values [P]: Gaussian weights of variance 2 / fan_in, zero biases."""
    draw = generator(seed)
    parts = []
    for layer in model.layers:
        spread = np.sqrt(2 / layer.fan_in)
        parts += [spread * draw.normal(size=layer.fan_in * layer.fan_out), np.zeros(layer.fan_out)]
    return np.concatenate(parts).astype(np.float32)


def _logits(model: Shapes, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Logits [n, classes] of rows [n, features]."""
    start = 0
    for number, (_, fan_in, fan_out) in enumerate(model.layers):
        matrix = weights[start : start + fan_in * fan_out].reshape(fan_in, fan_out)
        start += fan_in * fan_out
        rows = (torch.relu(rows) if number else rows) @ matrix + weights[start : start + fan_out]
        start += fan_out
    return rows


def _trained(
    settings: Settings,
    model: Shapes,
    weights: np.ndarray,
    momentum: np.ndarray,
    inputs: np.ndarray,
    targets: np.ndarray,
    mask: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and momentum [P] of one repetition after a task; both are [1, P] before."""
    if not mask.any():
        return weights[0], momentum[0]
    rows, labels = _rows(inputs[mask]), torch.from_numpy(targets[mask].astype(np.int64))
    now, last = torch.from_numpy(weights[0].copy()), torch.from_numpy(momentum[0].copy())
    for _ in range(settings.epochs):
        now.requires_grad_(True)
        loss = torch.nn.functional.cross_entropy(_logits(model, now, rows), labels)
        (slope,) = torch.autograd.grad(loss, now)
        last = settings.momentum * last + slope
        now = now.detach() - settings.learning_rate * last
    return now.numpy(), last.numpy()


def _rows(inputs: np.ndarray) -> torch.Tensor:
    """Rows [n, features] of inputs of any shape."""
    return torch.from_numpy(np.ascontiguousarray(inputs, np.float32)).flatten(1)
