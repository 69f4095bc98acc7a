"""PyTorch packages for uncertainty: steps of ivon-opt, and a fit of laplace-torch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from perf import problems
from perf.problems import NEARLY_NONE, SURE, Case, rows_of, start_of
from perf.work import Work

torch.set_num_threads(1)
torch.manual_seed(0)


def ivon(epochs: int) -> Work:
    """Return IVON with one draw and default settings; shows steps from a large precision."""
    from ivon import IVON

    def step(network: nn.Module, optimiser: IVON, x: torch.Tensor, y: torch.Tensor) -> None:
        with optimiser.sampled_params(train=True):
            optimiser.zero_grad()
            F.cross_entropy(network(x), y).backward()
        optimiser.step()

    def shows() -> dict[str, np.ndarray]:
        case = problems.small(problems.WIDE)
        network = _network(case)
        before = _flat(network)
        optimiser = IVON(
            network.parameters(), 0.1, case.rows, hess_init=SURE, beta2=0.99,
            weight_decay=NEARLY_NONE / case.rows,
        )  # fmt: skip
        for _ in range(problems.STEPS):
            step(network, optimiser, *_tensors(case))
        return {"way": (_flat(network) - before)[None, None]}

    case = problems.WIDE
    network = _network(case)
    optimiser = IVON(network.parameters(), 0.1, case.rows, weight_decay=1 / case.rows)
    inputs, labels = _tensors(case)

    def run() -> None:
        for _ in range(epochs):
            for rows in torch.randperm(len(labels)).split(case.batch):
                step(network, optimiser, inputs[rows], labels[rows])

    return Work(run, epochs * -(-case.rows // case.batch), shows=shows)


def kronecker_fit() -> Work:
    """Return a Kronecker-factored Laplace fit of all rows, with spectrum; shows factors."""
    from laplace import Laplace

    case = problems.WIDE
    network = _network(case)
    data = torch.utils.data.TensorDataset(*_tensors(case))
    loader = torch.utils.data.DataLoader(data, case.batch)

    def fit() -> Laplace:
        found = Laplace(network, "classification", "all", "kron")
        found.fit(loader)
        return found

    def shows() -> dict[str, np.ndarray]:
        # For each layer, the factors of outputs and inputs come before that of the biases.
        factors = fit().H_facs.kfacs[::2]
        inputs, outputs = ([pair[i].numpy().ravel() for pair in factors] for i in (1, 0))
        return {"of inputs": np.concatenate(inputs), "of outputs": np.concatenate(outputs)}

    return Work(fit, 1, shows=shows)


def _network(case: Case) -> nn.Module:
    """Return the network of a case, with the initial weights of both sides."""
    sizes = (*case.inputs, *(case.hidden or ()), 10)
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    parts = torch.tensor(start_of(case)[0].ravel()).split(
        [n for a, b in pairwise(sizes) for n in (a * b, b)]
    )
    with torch.no_grad():
        for layer, weights, biases in zip(layers, parts[::2], parts[1::2], strict=True):
            layer.weight.copy_(weights.view(layer.in_features, -1).T)
            layer.bias.copy_(biases)
    active = [part for layer in layers for part in (layer, nn.ReLU())]
    return nn.Sequential(*active[:-1])


def _flat(network: nn.Module) -> np.ndarray:
    """Return the parameters in our order: weights [fan_in, fan_out], then biases, per layer."""
    flat = [one.detach().T.reshape(-1) for one in network.parameters()]
    return torch.cat(flat).numpy().copy()


def _tensors(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows of the only seed."""
    inputs, labels = (torch.tensor(array[0]) for array in rows_of(case))
    return inputs, labels
