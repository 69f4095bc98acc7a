"""TensorFlow, loaded at its first use.

Its import takes seconds, and a learner is imported in many processes that never compute with it.
When it loads, its operations are made deterministic, and it gets the threads of the job.

The graph optimiser that rewrites sums is off: it orders their terms differently in every process,
so that runs of one spec would agree to rounding only. So is the one that folds constants: it
makes a reciprocal of 1 / x, which begins with the processor's own approximation
(methods/inverse_root.py).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shiftbench.core import shared_clusters


@functools.cache
def _tensorflow() -> ModuleType:
    """Import TensorFlow and set it up, before any operation runs."""
    import tensorflow

    threads = int(os.environ.get("SHIFTBENCH_THREADS", "1"))
    shared_clusters.use(threads)
    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    tensorflow.config.experimental.enable_op_determinism()
    tensorflow.config.optimizer.set_experimental_options(
        {"arithmetic_optimization": False, "constant_folding": False}
    )
    return tensorflow


class Lazy:
    """A stand-in for a module that loads it at the first look at an attribute."""

    def __init__(self, load: Callable[[], ModuleType]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


if TYPE_CHECKING:
    import tensorflow as tf
else:
    tf = Lazy(_tensorflow)
