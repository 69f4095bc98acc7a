"""Inverse roots with equal bytes on every processor.

tf.math.rsqrt and tf.math.reciprocal begin with an approximation by the processor, which differs
between manufacturers; so does XLA for a division by a root. Roots and quotients themselves are
rounded as IEEE 754 says.
"""

from __future__ import annotations

from shiftbench.methods.lazy_tensorflow import tf


def inverse_sqrt(x: tf.Tensor) -> tf.Tensor:
    """Return 1 / sqrt(x) of positive numbers, in a form that XLA does not replace."""
    return tf.sqrt(x) / x
