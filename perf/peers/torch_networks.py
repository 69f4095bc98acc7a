"""Training steps in PyTorch from torch_steps.py, over shuffled epochs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from perf import problems
from perf.peers import torch_steps as steps
from perf.peers.torch_side_by_side import mean_field_step
from perf.problems import KL_WEIGHT, NEARLY_NONE, RATE, START_SD, Case, rows_of, start_of
from perf.work import Work

torch.set_num_threads(1)
torch.manual_seed(0)


def mean_field(case: str, number: int) -> Work:
    """Return MFVI by local reparameterisation of many networks; a minibatch has all rows."""
    of_case = getattr(problems, case)

    def prepared(of_case: Case, sd: float) -> tuple[torch.Tensor, Callable[[int], None]]:
        # Hypotheses of a seed share their rows.
        rows = (torch.tensor(array) for array in rows_of(of_case))
        inputs, labels = (array.repeat_interleave(of_case.hypotheses, 0) for array in rows)
        mean = torch.tensor(start_of(of_case)[0]).flatten(0, 1)
        step = mean_field_step(of_case, mean, sd, KL_WEIGHT, RATE)

        def run(number: int) -> None:
            for _ in range(number):
                step(inputs, labels)

        return mean, run

    def shows() -> dict[str, np.ndarray]:
        small = problems.small(of_case)
        mean, run = prepared(small, NEARLY_NONE)
        run(problems.STEPS)
        start, _ = start_of(small)
        return {"way of the means": mean.numpy().reshape(start.shape) - start}

    _, run = prepared(of_case, START_SD)
    return Work(partial(run, number), number, shows=shows)


def vogn_steps(noise: str, epochs: int) -> Work:
    """Return VOGN with ten draws."""

    def shows() -> dict[str, np.ndarray]:
        case = problems.small(problems.MANY_DRAWS)._replace(rows=2000, draws=200)
        start = start_of(case)[0].ravel()
        mean, precision = torch.tensor(start), torch.full((case.size,), 1e5)
        step = steps.vogn_step(case, mean, precision, _normals(noise), 0.5)
        step(*_tensors(case))
        gained = precision.numpy() - np.float32(50_000.5)
        found = {"step of the means": mean.numpy() - start, "gain of precision": gained}
        return {name: array[None, None] for name, array in found.items()}

    case = problems.MANY_DRAWS
    mean, precision = 0.03 * torch.randn(case.size), torch.full((case.size,), 20.0 * case.rows)
    step = steps.vogn_step(case, mean, precision, _normals(noise))
    return _epochs(case, step, epochs)._replace(shows=shows)


def many_draws(estimator: str, noise: str, epochs: int) -> Work:
    """Return MFVI with ten draws, `local` or `sample`."""
    case = problems.MANY_DRAWS
    forward = {"local": steps.local, "sample": steps.sampled}[estimator]
    step = steps.mfvi_step(case, case.rows, partial(forward, case, _normals(noise)))
    return _epochs(case, step, epochs)


def flipout(epochs: int) -> Work:
    """Return MFVI by Flipout on the convnet."""
    case = problems.CONVNET
    return _epochs(case, steps.mfvi_step(case, case.rows, partial(steps.flipped, case)), epochs)


def package(case: str, kind: str, epochs: int) -> Work:
    """Return bayesian-torch; kind: Reparameterization or Flipout."""
    of_case = getattr(problems, case)
    step = steps.package_step(of_case, kind, of_case.draws, of_case.rows)
    return _epochs(of_case, step, epochs)


def point_estimate(kind: str, epochs: int) -> Work:
    """Return Adam alone or with the penalty of EWC or SI."""

    def shows() -> dict[str, np.ndarray]:
        case = problems.small(problems.WIDE)
        start, precision = (array.ravel() for array in start_of(case))
        end, path = torch.tensor(start), torch.zeros(case.size)
        step = steps.map_step(case, end, *_penalty(kind, torch.tensor(precision), path), 0.01)
        for _ in range(problems.STEPS):
            step(*_tensors(case))
        way = end.detach().numpy() - start
        found = {"way": way[None, None]}
        if kind == "si":
            gained = 2 * np.maximum(path.numpy() / (way**2 + problems.DAMPING), 0)
            found["importance"] = gained[None, None]
        return found

    case = problems.WIDE
    penalty = _penalty(kind, torch.rand(case.size), torch.zeros(case.size))
    step = steps.map_step(case, 0.05 * torch.randn(case.size), *penalty)
    return _epochs(case, step, epochs)._replace(shows=shows)


def _penalty(kind: str, precision: torch.Tensor, path: torch.Tensor) -> tuple[Any, Any]:
    """Return the arguments of map_step for a kind of penalty."""
    return (None if kind == "adam" else precision, path if kind == "si" else None)


def _normals(noise: str) -> steps.Normals:
    return torch.randn if noise == "fresh" else steps.from_table()


def _tensors(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows of the only seed."""
    inputs, labels = (torch.tensor(array[0]) for array in rows_of(case))
    if inputs.ndim == 4:  # the faster of PyTorch's image layouts
        inputs = inputs.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    return inputs, labels


def _epochs(case: Case, step: steps.Step, epochs: int) -> Work:
    inputs, labels = _tensors(case)

    def run() -> None:
        for _ in range(epochs):
            for rows in torch.randperm(len(labels)).split(case.batch):
                step(inputs[rows], labels[rows])

    return Work(run, epochs * -(-case.rows // case.batch))
