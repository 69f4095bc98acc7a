"""Truncated normal noise: each number lies within a bound (farquhar2020radial, appendix F).

The paper draws until a number falls inside. Here a standard normal number is mapped to the quantile
of the truncated normal at the same probability, so that a draw costs as much as a normal one. In
the paper and here the divergence stays that of the whole normal, so the likelihood is estimated
with a bias, on purpose, and with less noise.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from shiftbench.methods.lazy_probability import tfp
from shiftbench.methods.lazy_tensorflow import tf

FARTHEST = 9.0
"""A bound of normal draws in single precision."""
KNOTS = 2**13 + 1


def noise(normals: tf.Tensor, truncation: float) -> tf.Tensor:
    """Map standard normal numbers to normal ones truncated at |eps| <= truncation, elementwise.

    Interpolates SciPy's quantiles, finely enough for single precision, since TensorFlow's quantiles
    differ between processors.
    """
    outside = norm.cdf(-truncation)
    # From the lower tail, where small probabilities keep their digits.
    tail = norm.sf(np.linspace(0.0, FARTHEST, KNOTS))
    knots = norm.isf(outside + (1.0 - 2.0 * outside) * tail)
    size = tfp.math.interp_regular_1d_grid(
        tf.abs(normals), 0.0, FARTHEST, tf.constant(knots, tf.float32)
    )
    return tf.sign(normals) * tf.clip_by_value(size, 0.0, truncation)
