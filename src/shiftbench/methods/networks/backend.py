"""TensorFlow as every learner uses it: deterministic, on the threads that the job has.

The graph optimiser that rewrites sums is off: it orders their terms anew in every process, so
that runs of one spec would agree to rounding only. So is the one that folds constants: it makes
a reciprocal of 1 / x, which begins with the processor's own approximation
(methods/posteriors/_roots.py).
Determinism of operations, which TensorFlow can promise, is about single operations.

Python is traced as it stands, without AutoGraph, which took 5 s of every job to translate the
source of all functions. So a loop of the graph is a `repeat`.

Import it instead of tensorflow, before any operation runs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf

THREADS = int(os.environ.get("SHIFTBENCH_THREADS", "1"))

tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.experimental.enable_op_determinism()
tf.config.optimizer.set_experimental_options(
    {"arithmetic_optimization": False, "constant_folding": False}
)

graph = functools.partial(tf.function, autograph=False)
"""Decorator: one graph, traced anew for each shape of the arguments."""
fused = functools.partial(graph, jit_compile=True)
"""Decorator: a graph compiled by XLA, which fuses its operations."""


def repeat(
    body: Callable[[tf.Tensor, Any], Any],
    state: Any,
    stop: tf.Tensor | int,
    start: int = 0,
    step: int = 1,
) -> Any:
    """A nest of tensors after state = body(i, state) for i in range(start, stop, step)."""

    def advance(i: tf.Tensor, now: Any) -> tuple[tf.Tensor, Any]:
        return i + step, body(i, now)

    return tf.while_loop(lambda i, _: i < stop, advance, (tf.constant(start), state))[1]


__all__ = ["fused", "graph", "repeat", "tf"]
