"""PyTorch's side of continual.py, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # PyTorch's threads spin otherwise, in ours' time

import numpy as np
import torch
from torch import Tensor

from perf.continual_shared import (
    ADAM,
    DRAWS,
    EWC,
    FLIPOUT,
    FRESH,
    LOCAL,
    PACKAGE,
    SAMPLED,
    SHARED,
    SI,
    VOGN,
    Network,
    Rows,
    seconds,
)
from perf.torch_steps import (
    Normals,
    Step,
    flipped,
    from_table,
    local,
    map_step,
    mfvi_step,
    package_step,
    pieces,
    sampled,
    shapes,
    vogn_step,
    vogn_sums,
)

_runs: dict[str, Callable[[int], None]] = {}
"""Epochs of the case that is prepared, by column."""


def use_threads(threads: int) -> None:
    """And the seed of all draws."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)


def prepare(
    case: str, network: Network, rows: Rows, batch_size: int, passes: Sequence[int]
) -> list[str]:
    """Makes the steps of a case and runs them once; their columns."""
    data = _tensors(rows)
    steps = STEPS[case](network, len(rows.labels))
    _runs.clear()
    for column, step in steps.items():
        _runs[column] = partial(_run, step, *data, batch_size)
        for epochs in passes:
            _runs[column](epochs)
    return list(_runs)


def timed(column: str, passes: int, wall: bool) -> float:
    """Seconds of some epochs of the case that is prepared."""
    return seconds(partial(_runs[column], passes), wall)


def sums_of_vogn(network: Network, rows: Rows, draws: np.ndarray) -> list[np.ndarray]:
    """Sums [P] over rows and weight draws of the loss's gradients, and of their squares."""
    each = [pieces(draw, shapes(network)) for draw in torch.tensor(draws)]
    parts = [torch.stack(part, int(i == 0)) for i, part in enumerate(zip(*each, strict=True))]
    return [found.numpy() for found in vogn_sums(parts, *_tensors(rows))]


def way(
    case: str, network: Network, rows: Rows, start: np.ndarray, precision: np.ndarray,
    rate: float, steps: int,
) -> list[np.ndarray]:  # fmt: skip
    """How far [P] some steps on all rows go, and their path integral for SI."""
    end, path = torch.tensor(start), torch.zeros(network.size)
    step = map_step(network, end, *_penalty(case, torch.tensor(precision), path), rate)
    for _ in range(steps):
        step(*_tensors(rows))
    return [end.detach().numpy() - start, path.numpy()]


def _tensors(rows: Rows) -> tuple[Tensor, Tensor]:
    inputs = torch.tensor(rows.inputs)
    if inputs.ndim == 4:  # the faster of PyTorch's layouts of images
        inputs = inputs.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    return inputs, torch.tensor(rows.labels)


def _run(step: Step, inputs: Tensor, labels: Tensor, batch_size: int, passes: int) -> None:
    """Epochs over shuffled rows."""
    for _ in range(passes):
        for rows in torch.randperm(len(labels)).split(batch_size):
            step(inputs[rows], labels[rows])


def _penalty(case: str, precision: Tensor, path: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """What map_step needs for a case."""
    return (None if case == ADAM else precision, path if case == SI else None)


def _vogn(network: Network, count: int) -> dict[str, Step]:
    return {column: vogn_step(network, count, normals) for column, normals in _normals().items()}


def _local(network: Network, count: int) -> dict[str, Step]:
    return {
        column: mfvi_step(network, count, partial(local, network, normals))
        for column, normals in _normals().items()
    }


def _sampled(network: Network, count: int) -> dict[str, Step]:
    steps = {
        column: mfvi_step(network, count, partial(sampled, network, normals))
        for column, normals in _normals().items()
    }
    return steps | {PACKAGE: package_step(network, "Reparameterization", DRAWS, count)}


def _map(case: str, network: Network, count: int) -> dict[str, Step]:
    penalty = _penalty(case, torch.rand(network.size), torch.zeros(network.size))
    return {FRESH: map_step(network, 0.05 * torch.randn(network.size), *penalty)}


def _flipout(network: Network, count: int) -> dict[str, Step]:
    return {
        FRESH: mfvi_step(network, count, partial(flipped, network)),
        PACKAGE: package_step(network, "Flipout", 1, count),
    }


def _normals() -> dict[str, Normals]:
    return {FRESH: torch.randn, SHARED: from_table()}


STEPS: dict[str, Callable[[Network, int], dict[str, Step]]] = {
    VOGN: _vogn,
    LOCAL: _local,
    SAMPLED: _sampled,
    ADAM: partial(_map, ADAM),
    EWC: partial(_map, EWC),
    SI: partial(_map, SI),
    FLIPOUT: _flipout,
}
"""PyTorch's steps of each case, by column: for a network and a number of rows."""
