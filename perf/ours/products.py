"""Only the matrix products of a step, at TensorFlow's speed."""

from __future__ import annotations

from collections.abc import Callable

from perf import problems
from perf.problems import Case
from perf.work import Work
from shiftbench.methods.networks.backend import graph, tf

Product = tuple[int, int, int, int]
"""A number of products [m, k] x [k, n] of one shape, as (number, m, k, n)."""


def of_local(case: Case) -> list[Product]:
    """Return the products of local reparameterisation: means and variances, both passes."""
    number, found = case.seeds * case.hypotheses, []
    for i, layer in enumerate(case.layers):
        found += 2 * _linear(number, case.batch, layer.fan_in, layer.fan_out, first=i == 0)
    return found


def of_points(case: Case) -> list[Product]:
    """Return the products of a point estimate."""
    found = []
    for i, layer in enumerate(case.layers):
        found += _linear(1, case.batch, layer.fan_in, layer.fan_out, first=i == 0)
    return found


def of_vogn(case: Case) -> list[Product]:
    """Return the products of VOGN: sums of gradients and of their squares are one product each.

    In the first layer all draws see the same rows, so its forward pass is one product.
    """
    draws, n, found = case.draws, case.batch, []
    for i, layer in enumerate(case.layers):
        a, b = layer.fan_in, layer.fan_out
        if i == 0:
            found += [(1, n, a, draws * b), (1, a, n, b), (1, a, n, b)]
        else:
            found += [(draws, n, a, b), (draws, n, b, a)]
            found += 2 * [(1, a, draws * n, b)]
    return found


def _linear(number: int, n: int, a: int, b: int, first: bool) -> list[Product]:
    """Return the products of a layer: forward, and gradients in weights and, later, in inputs."""
    return [(number, n, a, b), (number, a, n, b)] + ([] if first else [(number, n, b, a)])


KINDS: dict[str, Callable[[Case], list[Product]]] = {
    "local": of_local,
    "points": of_points,
    "vogn": of_vogn,
}


COPIES = 10
"""Steps whose products of one shape are one operation, so that its overhead is small."""


def steps(kind: str, case: str, number: int) -> Work:
    """Return the products of some steps, a multiple of COPIES."""
    shapes = KINDS[kind](getattr(problems, case))
    left = [tf.ones([COPIES * count, m, k]) for count, m, k, _ in shapes]
    right = [tf.ones([COPIES * count, k, n]) for count, _, k, n in shapes]
    run = graph(
        lambda left, right: [tf.matmul(a, b)[0, 0, 0] for a, b in zip(left, right, strict=True)]
    )
    return Work(lambda: [run(left, right) for _ in range(number // COPIES)], number)


def convolutions(number: int) -> Work:
    """Return the convolutions of Flipout's steps: of means and of perturbations, both passes."""
    case = problems.CONVNET
    side, layers = case.inputs[0], case.layers
    given = []
    for i, layer in enumerate(layers[:-1]):
        size = side // 2 ** (i // 2)
        x = tf.ones([case.batch, size, size, layer.fan_in // 9])
        kernel = tf.ones([3, 3, layer.fan_in // 9, layer.fan_out])
        given.append((x, kernel, tf.ones([case.batch, size, size, layer.fan_out])))

    @graph
    def run(given):
        found = []
        for i, (x, kernel, delta) in enumerate(given):
            found.append(tf.nn.conv2d(x, kernel, 1, "SAME"))
            options = {"strides": [1, 1, 1, 1], "padding": "SAME"}
            found.append(
                tf.raw_ops.Conv2DBackpropFilter(
                    input=x, filter_sizes=kernel.shape, out_backprop=delta, **options
                )
            )
            if i:
                found.append(
                    tf.raw_ops.Conv2DBackpropInput(
                        input_sizes=x.shape, filter=kernel, out_backprop=delta, **options
                    )
                )
        return found

    return Work(lambda: [run(given) for _ in range(2 * number)], number)
