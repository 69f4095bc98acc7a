"""Settings and start values that natural-gradient learners share (VOGN, SLANG, noisy K-FAC)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core.seeds import generator
from shiftbench.methods.networks.model import Model


@dataclass(frozen=True)
class NaturalGradientSettings:
    """Settings of the fits of all learners that descend by natural gradients.

    Sources: eschenhagen2019vogn, 4.3 for permuted MNIST and 4.5 for split CIFAR.
    """

    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the data of a task (eschenhagen2019vogn, 4.3; 60, then 600, for split CIFAR)."""
    batch_size: Annotated[int, Ge(1)] = 256
    """Number of rows of a minibatch (eschenhagen2019vogn)."""
    dataset_size_scale: Annotated[float, Gt(0)] = 1.0
    """Factor of N, for augmented data (rho; eschenhagen2019vogn, 3.4); above 1 for a cold posterior
    (1 / lambda of Zhang et al. 2018)."""
    initial_precision_per: Literal["example", "task"] = "example"
    """Unit of initial_precision; example: times N (VOGN's public code; 20 N is the paper's 1e6)."""
    start: Literal["fresh", "prior"] = "fresh"
    """Start means of a task; fresh: drawn again (eschenhagen2019vogn, 4.3); prior: the last
    posterior's (split CIFAR)."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, which has mean zero (split CIFAR: 120^-0.5)."""
    prediction_draws: Annotated[int, Ge(1)] = 100
    """Number of weight draws of a prediction (eschenhagen2019vogn)."""
    elbo_draws: Annotated[int, Ge(1)] = 10
    """Number of weight draws of the final ELBO, which decides between hypotheses."""


def fresh(model: Model, seeds: np.ndarray) -> np.ndarray:
    """Return start values [S, 1, P], uniform within 1 / sqrt(fan_in): PyTorch's default."""
    start = np.empty((len(seeds), 1, model.size), np.float32)
    for s, seed in enumerate(seeds):
        draws = generator(seed)
        for layer in model.layers:
            bound = layer.fan_in**-0.5
            own = slice(layer.start, layer.biases.stop)
            start[s, 0, own] = draws.uniform(-bound, bound, own.stop - own.start)
    return start


def first_precision(
    values: tuple[float, ...], per: str, tasks: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """Return the precision [S, H] that a task starts with.

    values: of each task in order; the last holds for all later tasks. per: "example" multiplies by
    the number of rows, count [S]; "task" does not. tasks: [S, H], the number learnt before.
    """
    precision = np.array(values)[np.minimum(tasks, len(values) - 1)]
    return (precision * (count[:, None] if per == "example" else 1.0)).astype(np.float32)
