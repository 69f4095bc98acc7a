"""Graphs and loops of TensorFlow as every learner uses them.

Python is traced as it stands, without AutoGraph, which took 5 s of every job to translate the
source of all functions. So a loop of the graph is a `repeat`. Importing this loads no TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftbench.methods.lazy_tensorflow import tf


class _Graph:
    """A function that TensorFlow compiles at its first call, so that it loads no earlier."""

    def __init__(self, function: Callable[..., Any], jit_compile: bool | None) -> None:
        self._function, self._jit_compile = function, jit_compile
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self._compiled is None:
            self._compiled = tf.function(
                self._function, autograph=False, jit_compile=self._jit_compile
            )
        return self._compiled(*arguments, **keywords)


def graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make one graph of a function, traced again for each shape of the arguments."""
    return _Graph(function, None)


def fused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a graph of a function that XLA compiles, which fuses its operations."""
    return _Graph(function, True)


def repeat(
    body: Callable[[tf.Tensor, Any], Any],
    state: Any,
    stop: tf.Tensor | int,
    step: int = 1,
) -> Any:
    """Return the nest of tensors after state = body(i, state) for i in range(0, stop, step).

    A single step is not traced as a loop, because that would take longer.
    """
    first = tf.constant(0)
    if isinstance(stop, int) and len(range(0, stop, step)) == 1:
        return body(first, state)

    def advance(i: tf.Tensor, now: Any) -> tuple[tf.Tensor, Any]:
        return i + step, body(i, now)

    return tf.while_loop(lambda i, _: i < stop, advance, (first, state))[1]


def traced(function: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    """Return a function of an integer that is traced once, here, wherever it is called.

    Its `output_shapes` and `output_dtypes` are those of a result. It may use tensors of the graph
    around it.
    """
    return tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([], tf.int32))


def summed(term: Callable[[tf.Tensor], tf.Tensor], stop: int, step: int = 1) -> tf.Tensor:
    """Return term(0) + term(step) + ..., with arguments below stop, added in this order."""
    if stop <= step:
        return term(tf.constant(0))
    once = traced(term)
    zeros = tf.zeros(once.output_shapes, once.output_dtypes)
    return repeat(lambda i, sums: sums + once(i), zeros, stop, step=step)


__all__ = ["fused", "graph", "repeat", "summed", "tf", "traced"]
