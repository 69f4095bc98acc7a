"""Normal noise cut off at a radius: each number lies within it (farquhar2020radial, appendix F).

The paper draws until a number falls inside. Here the number z itself is moved to where as much of
the cut normal lies below it as of the whole normal below z, so that a draw costs what one of the
whole normal costs. The divergence stays that of the whole normal, in the paper and here: the
likelihood is then estimated with a bias, on purpose, and with less noise.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from shiftbench.methods.lazy_probability import tfp
from shiftbench.methods.lazy_tensorflow import tf

FARTHEST = 9.0
"""No normal draw in single precision is larger."""
KNOTS = 2**13 + 1


def noise(normals: tf.Tensor, truncation: float) -> tf.Tensor:
    """Numbers of the normal cut at |eps| <= truncation, from standard normal ones, elementwise.

    Between knots of SciPy's quantiles, near enough for single precision: TensorFlow's own differ
    between processors.
    """
    outside = norm.cdf(-truncation)
    # By the lower tail, where small probabilities keep their digits.
    tail = norm.sf(np.linspace(0.0, FARTHEST, KNOTS))
    knots = norm.isf(outside + (1.0 - 2.0 * outside) * tail)
    size = tfp.math.interp_regular_1d_grid(
        tf.abs(normals), 0.0, FARTHEST, tf.constant(knots, tf.float32)
    )
    return tf.sign(normals) * tf.clip_by_value(size, 0.0, truncation)
