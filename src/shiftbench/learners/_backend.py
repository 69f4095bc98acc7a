"""TensorFlow as every learner uses it: deterministic, on the threads that the job has.

The graph optimiser that rewrites sums is off: it orders their terms anew in every process, so
that runs of one spec would agree to rounding only. Determinism of operations, which
TensorFlow can promise, is about single operations.

Import it instead of tensorflow, before any operation runs.
"""

from __future__ import annotations

import os

import tensorflow as tf

THREADS = int(os.environ.get("SHIFTBENCH_THREADS", "1"))

tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.experimental.enable_op_determinism()
tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})

__all__ = ["tf"]
