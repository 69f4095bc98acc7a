"""Roots that are the same on every processor.

tf.math.rsqrt and tf.math.reciprocal begin with an approximation that the processor makes, and
each maker's is another; so does XLA where it sees a division by a root. Roots and quotients are
rounded as IEEE 754 says.
"""

from __future__ import annotations

from shiftbench.methods.lazy_tensorflow import tf


def inverse_sqrt(x: tf.Tensor) -> tf.Tensor:
    """1 / sqrt(x) of positive numbers, written so that XLA does not see it."""
    return tf.sqrt(x) / x
