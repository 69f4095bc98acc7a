"""Training steps in PyTorch: plain ones, written for speed, and bayesian-torch's.

Gradients are written by hand if autograd costs more. Each step function holds its parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from torch import Tensor, nn

from perf.problems import RATE, Case

TABLE = 5 * 2**20

Step = Callable[[Tensor, Tensor], None]
"""A training step on the inputs and labels of a minibatch."""
Normals = Callable[[int], Tensor]
"""Maps a number n to n standard normal draws."""


def from_table() -> Normals:
    """Return draws from a random position of a table, as ours."""
    numbers = torch.randn(TABLE)

    def normals(size: int) -> Tensor:
        place = int(torch.randint(len(numbers) - size, ()))
        return numbers[place : place + size]

    return normals


def shapes(network: Case) -> list[torch.Size]:
    """Return the shapes of each layer's weights and biases, in our order."""
    found = []
    for layer in network.layers:
        kernel = (layer.fan_out, layer.fan_in // 9, 3, 3)
        dense = (layer.fan_in, layer.fan_out)
        found += [kernel if layer.name.startswith("conv") else dense, (layer.fan_out,)]
    return [torch.Size(shape) for shape in found]


def pieces(flat: Tensor, of: list[torch.Size]) -> list[Tensor]:
    """Split a flat vector by one split, whose backward pass is a single concatenation."""
    parts = flat.split([shape.numel() for shape in of])
    return [part.view(shape) for part, shape in zip(parts, of, strict=True)]


# Plain PyTorch ------------------------------------------------------------------------------


def weight_draws(
    draws: int, mean: Tensor, sd: Tensor, eps: Tensor, of: list[torch.Size]
) -> list[Tensor]:
    """Return K draws of each piece [K, ...]; those of the first weights are [fan_in, K, .]."""
    found = []
    sizes = [draws * shape.numel() for shape in of]
    for m, s, e in zip(pieces(mean, of), pieces(sd, of), eps.split(sizes), strict=True):
        axis = 1 if not found else 0
        shape = list(m.shape)
        shape.insert(axis, draws)
        found.append(torch.addcmul(m.unsqueeze(axis), s.unsqueeze(axis), e.view(shape)))
    return found


def first_layer(x: Tensor, weights: Tensor, biases: Tensor) -> Tensor:
    """Return outputs [K, n, fan_out]. All draws see the same x, so this is one product."""
    out = (x @ weights.flatten(1)).view(len(x), *weights.shape[1:]) + biases
    return out.transpose(0, 1).contiguous()


def vogn_sums(parts: list[Tensor], x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return sums over rows and draws of the loss's gradients and of their squares, each [P]."""
    inputs, out = [], first_layer(x, *parts[:2])
    for weights, biases in zip(parts[2::2], parts[3::2], strict=True):
        inputs.append(out.relu())
        out = torch.baddbmm(biases[:, None], inputs[-1], weights)
    delta = out.softmax(-1)
    delta[:, torch.arange(len(y)), y] -= 1
    sums = []
    for h, weights in zip(reversed(inputs), reversed(parts[2::2]), strict=True):
        rows, deltas = h.flatten(0, 1), delta.flatten(0, 1)
        sums.append(moments(rows, deltas, deltas.square()))
        delta = torch.bmm(delta, weights.transpose(1, 2))
        delta = torch.ops.aten.threshold_backward(delta, h, 0)  # ten times as fast as a product
    sums.append(moments(x, delta.sum(0), delta.square().sum(0)))
    first, second = zip(*reversed(sums), strict=True)
    return torch.cat(first), torch.cat(second)


def moments(x: Tensor, delta: Tensor, squares: Tensor) -> tuple[Tensor, Tensor]:
    """Return x' delta, (x^2)' (delta^2) and the biases' sums, without gradients per example."""
    both = ((x, delta), (x * x, squares))
    first, second = (torch.cat([(a.t() @ b).flatten(), b.sum(0)]) for a, b in both)
    return first, second


def vogn_step(
    network: Case, mean: Tensor, precision: Tensor, normals: Normals, rate: float = RATE
) -> Step:
    """Return a step of VOGN, which changes mean and precision; the prior is N(mean, 1)."""
    of, draws = shapes(network), network.draws
    prior_mean, prior_precision = mean.clone(), torch.ones_like(mean)

    def step(x: Tensor, y: Tensor) -> None:
        eps = normals(draws * network.size)
        parts = weight_draws(draws, mean, precision.rsqrt(), eps, of)
        gradients, squares = vogn_sums(parts, x, y)
        scale = network.rows / (draws * len(y))
        precision.lerp_(torch.add(prior_precision, squares, alpha=scale), rate)
        pull = torch.addcmul(scale * gradients, prior_precision, mean - prior_mean)
        mean.addcdiv_(pull, precision, value=-rate)

    return torch.no_grad()(step)


Forward = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Maps mean and sd [P] and x to logits of all draws, [K n, classes]."""


def mfvi_step(network: Case, count: int, forward: Forward) -> Step:
    """Return an Adam step on the negative ELBO over (mean, rho), with an analytic divergence."""
    both = torch.cat([0.1 * torch.randn(network.size), torch.full((network.size,), -3.0)])
    both.requires_grad_()
    prior_mean, prior_precision = torch.zeros(network.size), torch.ones(network.size)
    optimiser = torch.optim.Adam([both], RATE, fused=True)

    def step(x: Tensor, y: Tensor) -> None:
        mean, rho = both.detach().chunk(2)
        sd = F.softplus(rho)
        of_mean, of_sd = mean.requires_grad_(), sd.requires_grad_()
        logits = forward(of_mean, of_sd, x)
        loss = F.cross_entropy(logits, y.repeat(len(logits) // len(y)))
        in_mean, in_sd = torch.autograd.grad(loss, [of_mean, of_sd])
        with torch.no_grad():
            in_mean += prior_precision * (mean - prior_mean) / count
            in_sd += (sd * prior_precision - 1 / sd) / count
            both.grad = torch.cat([in_mean, in_sd * -torch.expm1(-sd)])
        optimiser.step()

    return step


def local(network: Case, normals: Normals, mean: Tensor, sd: Tensor, x: Tensor) -> Tensor:
    """Return logits by local reparameterisation: each row and draw has its own noise."""
    of, n, draws = shapes(network), len(x), network.draws
    means, variances = pieces(mean, of), pieces(sd.square(), of)
    eps = normals(draws * n * sum(shape.numel() for shape in of[1::2]))
    numbers = eps.split([draws * n * shape.numel() for shape in of[1::2]])
    for i, number in enumerate(numbers):
        centre = torch.addmm(means[2 * i + 1], x, means[2 * i])
        variance = torch.addmm(variances[2 * i + 1] + 1e-12, x * x, variances[2 * i])
        # In the first layer x is the same for all draws.
        number = number.view(draws, n, -1) if i == 0 else number.view_as(centre)
        x = (centre + variance.sqrt() * number).flatten(0, -2)
        x = x.relu() if i < len(numbers) - 1 else x
    return x


def sampled(network: Case, normals: Normals, mean: Tensor, sd: Tensor, x: Tensor) -> Tensor:
    """Return logits under weight draws that all rows share."""
    eps = normals(network.draws * network.size)
    parts = weight_draws(network.draws, mean, sd, eps, shapes(network))
    out = first_layer(x, *parts[:2])
    for weights, biases in zip(parts[2::2], parts[3::2], strict=True):
        out = torch.baddbmm(biases[:, None], out.relu(), weights)
    return out.flatten(0, 1)


def flipped(network: Case, mean: Tensor, sd: Tensor, x: Tensor) -> Tensor:
    """Return logits by Flipout with one draw: each row flips the perturbation's channel signs."""
    of = shapes(network)
    means, noisy = pieces(mean, of), pieces(sd * torch.randn(network.size), of)
    for i in range(0, len(of), 2):
        if i == len(of) - 2:
            x = x.flatten(1)
        left, right = signs(x, x.shape[1]), signs(x, len(means[i + 1]))
        if x.ndim == 2:
            return x @ means[i] + means[i + 1] + (x * left @ noisy[i] + noisy[i + 1]) * right
        around = F.conv2d(x * left, noisy[i], noisy[i + 1], padding=1) * right
        x = (F.conv2d(x, means[i], means[i + 1], padding=1) + around).relu()
        x = F.max_pool2d(x, 2) if i % 4 else x
    return x


def signs(x: Tensor, width: int) -> Tensor:
    """Return -1 or 1 for each row of x and `width` channels."""
    flips = torch.empty(len(x), width, *[1] * (x.ndim - 2)).random_(2)
    return flips.mul_(2).sub_(1)


def map_step(
    network: Case, x: Tensor, precision: Tensor | None, path: Tensor | None, rate: float = RATE
) -> Step:
    """Return an Adam step, which changes x and path.

    precision: of EWC's penalty around x. path: accumulates SI's path integral.
    """
    of, anchor = shapes(network), x.detach().clone()
    x.requires_grad_()
    optimiser, numbers = torch.optim.Adam([x], rate, fused=True), itertools.count(1)

    def step(inputs: Tensor, labels: Tensor) -> None:
        # Our epsilon is added before Adam's bias correction, PyTorch's after it.
        optimiser.param_groups[0]["eps"] = 1e-7 / math.sqrt(1 - 0.999 ** next(numbers))
        parts = pieces(x, of)
        out = torch.addmm(parts[1], inputs, parts[0])
        for weights, biases in zip(parts[2::2], parts[3::2], strict=True):
            out = torch.addmm(biases, out.relu(), weights)
        (gradient,) = torch.autograd.grad(F.cross_entropy(out, labels), x)
        before = x.detach().clone() if path is not None else None
        at = x.detach()
        x.grad = gradient if precision is None else gradient.addcmul(precision, at - anchor)
        optimiser.step()
        if path is not None:
            path.addcmul_(gradient, at - before, value=-1)

    return step


# bayesian-torch -----------------------------------------------------------------------------


def package_step(network: Case, kind: str, number: int, count: int) -> Step:
    """Return a step with as many forward passes as draws; kind: Reparameterization or Flipout."""
    layers: list[nn.Module] = []
    for i, layer in enumerate(network.layers):
        if layer.name.startswith("conv"):
            layers += [nn.Conv2d(layer.fan_in // 9, layer.fan_out, 3, padding=1), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if i % 2 else []
        else:
            layers += [nn.Flatten(), nn.Linear(layer.fan_in, layer.fan_out), nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    prior = {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0}
    dnn_to_bnn(net, prior | {"posterior_rho_init": -3.0, "type": kind, "moped_enable": False})
    optimiser = torch.optim.Adam(net.parameters(), RATE, fused=True)

    def step(x: Tensor, y: Tensor) -> None:
        optimiser.zero_grad()
        loss = sum(F.cross_entropy(net(x), y) for _ in range(number)) / number
        (loss + get_kl_loss(net) / count).backward()
        optimiser.step()

    return step
