"""Training steps in JAX, with JAX's gradients; a round is one compiled loop."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np

from perf import problems
from perf.problems import DAMPING, KL_WEIGHT, NEARLY_NONE, RATE, START_SD, Case, rows_of, start_of
from perf.work import Work

Parameters = Any
"""A list of arrays, or of tuples of arrays."""


def mean_field(case: str, number: int) -> Work:
    """Return MFVI by local reparameterisation of many networks; a minibatch has all rows."""
    of_case = getattr(problems, case)

    def prepared(of_case: Case, sd: float) -> tuple[Parameters, Callable[[int], Parameters]]:
        x, y = rows_of(of_case)
        start = [(w, b, jnp.full_like(w, math.log(math.expm1(sd)))) for w, b in _start(of_case)]
        gradient = partial(_gradient_of_elbo, x[:, None], y[:, None])
        run = jax.jit(partial(_descent, gradient, RATE), static_argnums=1)
        return start, lambda number: jax.block_until_ready(run(start, number))

    def shows() -> dict[str, np.ndarray]:
        start, run = prepared(problems.small(of_case), NEARLY_NONE)
        end = [(w, b) for w, b, _ in run(problems.STEPS)]
        return {"way of the means": _flat(end) - _flat([(w, b) for w, b, _ in start])}

    _, run = prepared(of_case, START_SD)
    return Work(partial(run, number), number, shows=shows)


def point_estimate(kind: str, epochs: int) -> Work:
    """Return Adam alone or with the penalty of EWC or SI, over shuffled epochs."""

    def prepared(case: Case, rate: float) -> tuple[Parameters, Callable[[int], Parameters]]:
        x, y = (array[0] for array in rows_of(case))
        start, precision = _start(case), _pieces(case, start_of(case)[1])
        run = jax.jit(partial(_epochs, kind, case, rate, x, y, precision), static_argnums=1)
        return start, lambda epochs: jax.block_until_ready(run(start, epochs))

    def shows() -> dict[str, np.ndarray]:
        start, run = prepared(problems.small(problems.WIDE), 0.01)
        end, path = run(problems.STEPS)
        way = _flat(end) - _flat(start)
        gained = 2 * np.maximum(_flat(path) / (way**2 + DAMPING), 0)
        return {"way": way} | ({"importance": gained} if kind == "si" else {})

    case = problems.WIDE
    _, run = prepared(case, RATE)
    return Work(partial(run, epochs), epochs * -(-case.rows // case.batch), shows=shows)


def _start(case: Case) -> list[tuple[jax.Array, jax.Array]]:
    return _pieces(case, start_of(case)[0])


def _pieces(case: Case, flat: np.ndarray) -> list[tuple[jax.Array, jax.Array]]:
    """Return weights [S, H, fan_in, fan_out] and biases [S, H, 1, fan_out] of each layer."""
    found, place, networks = [], 0, flat.shape[:2]
    for layer in case.layers:
        end = place + layer.fan_in * layer.fan_out
        weights = flat[..., place:end].reshape(*networks, layer.fan_in, layer.fan_out)
        place = end + layer.fan_out
        found.append((jnp.array(weights), jnp.array(flat[..., None, end:place])))
    return found


def _flat(pieces: list[tuple[jax.Array, jax.Array]]) -> np.ndarray:
    flat = [np.asarray(array).reshape(*array.shape[:2], -1) for piece in pieces for array in piece]
    return np.concatenate(flat, axis=-1)


def _gradient_of_elbo(x: Any, y: Any, at: Parameters, key: jax.Array) -> Parameters:
    """Return the gradient of the negative ELBO per row, with the divergence in closed form."""
    scales = [jax.nn.softplus(rho) for _, _, rho in at]
    share = KL_WEIGHT / x.shape[2]

    def loss(of: list[tuple[Any, Any, Any]]) -> jax.Array:
        h = x
        for i, (w, b, s) in enumerate(of):
            h = jax.nn.relu(h) if i else h
            sd = jnp.sqrt(jnp.square(h) @ jnp.square(s) + 1e-12)
            h = h @ w + b + sd * jax.random.normal(jax.random.fold_in(key, i), sd.shape)
        return jnp.sum(_nll(h, y)) / x.shape[2]

    given = [(w, b, s) for (w, b, _), s in zip(at, scales, strict=True)]
    found = []
    for (w, _, s), (in_w, in_b, in_s) in zip(given, jax.grad(loss)(given), strict=True):
        in_s = (in_s + share * (s - 1 / s)) * -jnp.expm1(-s)
        found.append((in_w + share * w, in_b, in_s))
    return found


def _nll(logits: jax.Array, labels: jax.Array) -> jax.Array:
    # A product with one-hot labels is faster than a gather.
    chosen = jnp.sum(logits * jax.nn.one_hot(labels, logits.shape[-1]), axis=-1)
    return jax.nn.logsumexp(logits, axis=-1) - chosen


def _descent(gradient: Callable, rate: float, start: Parameters, number: int) -> Parameters:
    """Take Adam's steps, each with its own noise."""
    key = jax.random.key(0)

    def step(i: int, now: tuple) -> tuple:
        return _adam(now, gradient(now[0], jax.random.fold_in(key, i)), i + 1, rate)

    return jax.lax.fori_loop(0, number, step, _with_moments(start))[0]


def _with_moments(start: Parameters) -> tuple:
    zeros = jax.tree.map(jnp.zeros_like, start)
    return start, zeros, zeros


def _adam(now: tuple, gradient: Parameters, number: Any, rate: float) -> tuple:
    at, first, second = now
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    size = rate * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    moved = jax.tree.map(lambda x, m, v: x - size * m / (jnp.sqrt(v) + 1e-7), at, first, second)
    return moved, first, second


def _epochs(
    kind: str, case: Case, rate: float, x: Any, y: Any, precision: Parameters,
    start: Parameters, epochs: int,
) -> tuple[Parameters, Parameters]:  # fmt: skip
    """Return the parameters after some epochs, and SI's path integral."""

    def loss(at: Parameters, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        h = inputs
        for i, (w, b) in enumerate(at):
            h = (jax.nn.relu(h) if i else h) @ w + b
        return jnp.mean(_nll(h[0, 0], labels))

    def step(now: tuple, rows: jax.Array) -> tuple[tuple, None]:
        number, state, path = now
        data = gradient = jax.grad(loss)(state[0], x[rows], y[rows])
        if kind != "adam":
            pulled = jax.tree.map(lambda p, a, b: p * (a - b), precision, state[0], start)
            gradient = jax.tree.map(jnp.add, data, pulled)
        after = _adam(state, gradient, number, rate)
        if kind == "si":
            path = jax.tree.map(lambda p, g, a, b: p - g * (b - a), path, data, state[0], after[0])
        return (number + 1, after, path), None

    def epoch(i: int, now: tuple) -> tuple:
        order = jax.random.permutation(jax.random.fold_in(key, i), case.rows)
        return jax.lax.scan(step, now, order.reshape(-1, case.batch))[0]

    key, x, y = jax.random.key(0), jnp.array(x), jnp.array(y)
    state = _with_moments(start)
    _, state, path = jax.lax.fori_loop(0, epochs, epoch, (1, state, state[1]))
    return state[0], path
