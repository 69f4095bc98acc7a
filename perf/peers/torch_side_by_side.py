"""A step of mean-field inference for many small networks side by side, in plain PyTorch.

It uses local reparameterisation, biases as points, and a hand-written gradient: with autograd a
step takes half as long again.
"""

from __future__ import annotations

import math
from itertools import count

import torch
import torch.nn.functional as F
from torch import Tensor

from perf.peers.torch_steps import Step
from perf.problems import Case


def mean_field_step(case: Case, mean: Tensor, sd: float, weight: float, rate: float) -> Step:
    """Return an Adam step on the negative ELBO per row, which changes mean [seed x hypothesis, P].

    Parameters are means and then rho of the weights, sd = softplus(rho). weight: of the divergence.
    """
    of = [(layer.fan_in, layer.fan_out) for layer in case.layers]
    weights = torch.cat([torch.arange(a * b + b) < a * b for a, b in of])
    size, networks = case.size, len(mean)
    rho = torch.full((networks, int(weights.sum())), math.log(math.expm1(sd)))
    both = torch.cat([mean, rho], 1).requires_grad_()
    mean.set_(both.detach()[:, :size])  # a view, so that the caller sees changes
    share = weight / case.rows
    pull = share * weights
    optimiser, numbers = torch.optim.Adam([both], rate, fused=True), count(1)
    both.grad = torch.zeros_like(both)
    gradient = both.grad

    def step(inputs: Tensor, labels: Tensor) -> None:
        # Our epsilon is added before Adam's bias correction, PyTorch's after it.
        optimiser.param_groups[0]["eps"] = 1e-7 / math.sqrt(1 - 0.999 ** next(numbers))
        means, scales = both[:, :size], F.softplus(both[:, size:])
        torch.mul(means, pull, out=gradient[:, :size])
        torch.sub(scales, scales.reciprocal(), out=gradient[:, size:]).mul_(share)
        add_likelihood(of, means, scales, inputs, labels, gradient)
        gradient[:, size:].mul_(-torch.expm1(-scales))
        optimiser.step()

    return torch.no_grad()(step)


def add_likelihood(
    of: list[tuple[int, int]], means: Tensor, scales: Tensor, x: Tensor, labels: Tensor, to: Tensor
) -> None:
    """Add the gradient of the mean loss in means and standard deviations, for one draw per row."""
    kept, place, number = [], 0, 0
    for i, (a, b) in enumerate(of):
        w = slice(place, place + a * b), slice(number, number + a * b)
        m, s = means[:, w[0]].view(-1, a, b), scales[:, w[1]].view(-1, a, b)
        bias = slice(place + a * b, place + a * b + b)
        x = x.relu() if i else x
        squares, variances = x * x, s * s
        centre = torch.baddbmm(means[:, bias].unsqueeze(1), x, m)
        sd = torch.bmm(squares, variances).add_(1e-12).sqrt_()
        noise = torch.randn_like(sd)
        kept.append((w, bias, m, s, variances, x, squares, sd, noise))
        x = torch.addcmul(centre, sd, noise)
        place, number = bias.stop, w[1].stop
    delta = x.softmax(-1)
    delta.scatter_add_(-1, labels.unsqueeze(-1), delta.new_full((*labels.shape, 1), -1.0))
    delta.mul_(1 / labels.shape[1])
    for i, (w, bias, m, s, variances, x, squares, sd, noise) in reversed(list(enumerate(kept))):
        in_variance = (delta * noise).div_(sd).mul_(0.5)
        to[:, w[0]] += torch.bmm(x.mT, delta).flatten(1)
        to[:, bias] += delta.sum(1)
        in_sd = torch.bmm(squares.mT, in_variance).mul_(s).flatten(1)
        to[:, scales_of(to, scales, w[1])].add_(in_sd, alpha=2)
        if i:
            through = torch.bmm(delta, m.mT)
            through.addcmul_(x, torch.bmm(in_variance, variances.mT), value=2)
            delta = torch.ops.aten.threshold_backward(through, x, 0)


def scales_of(to: Tensor, scales: Tensor, part: slice) -> slice:
    """Return the columns of some scales in the gradient, after those of the means."""
    first = to.shape[1] - scales.shape[1]
    return slice(first + part.start, first + part.stop)
