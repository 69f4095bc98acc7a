"""Parameters of networks, for tests of one posterior."""

from __future__ import annotations

import numpy as np

from shiftbench.methods.lazy_tensorflow import tf


def shaped(*numbers: float) -> tf.Tensor:
    """Return numbers as the parameters [S, H, P] of one network."""
    return tf.constant(np.reshape(numbers, (1, 1, -1)), tf.float32)
