"""What the two processes of continual.py share; imports neither TensorFlow nor PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DRAWS, RATE = 10, 1e-3
OURS, FRESH, SHARED, PACKAGE = "ours", "plain PyTorch", "with a noise table", "bayesian-torch"

VOGN, LOCAL, SAMPLED = "VOGN, 10 draws", "MFVI, local, 10 draws", "MFVI, weights drawn, 10 draws"
ADAM, EWC, SI = "Adam", "online EWC", "SI"
FLIPOUT = "MFVI, Flipout, convnet"
DAMPING = 0.1
"""Of synaptic intelligence."""


class Rows(NamedTuple):
    """Inputs [n, *shape] and labels [n]."""

    inputs: np.ndarray
    labels: np.ndarray


class Layer(NamedTuple):
    """As a layer of our models; a convolution's fan_in counts all nine places."""

    name: str
    fan_in: int
    fan_out: int


class Network(NamedTuple):
    """The shape of a model."""

    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        return sum((layer.fan_in + 1) * layer.fan_out for layer in self.layers)


def seconds(work: Callable[[], object], wall: bool) -> float:
    """What it takes: processor time of this process, or wall time."""
    clock = time.perf_counter if wall else time.process_time
    start = clock()
    work()
    return clock() - start
