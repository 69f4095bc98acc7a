"""Normal noise cut off at a radius: each number lies within it (farquhar2020radial, appendix F).

The paper draws until a number falls inside. Here the number z itself is moved to where as much of
the cut normal lies below it as of the whole normal below z, so that a draw costs what one of the
whole normal costs. The divergence stays that of the whole normal, in the paper and here: the
likelihood is then estimated with a bias, on purpose, and with less noise.
"""

from __future__ import annotations

import math

import tensorflow as tf
from scipy.special import ndtr


def noise(normals: tf.Tensor, truncation: float) -> tf.Tensor:
    """Numbers of the normal cut at |eps| <= truncation, from standard normal ones, elementwise."""
    outside = float(ndtr(-truncation))
    # By the lower tail on both sides, where small probabilities keep their digits.
    tail = 0.5 * tf.math.erfc(tf.abs(normals) / math.sqrt(2))
    inside = -tf.math.ndtri(outside + (1.0 - 2.0 * outside) * tail)
    return tf.sign(normals) * tf.clip_by_value(inside, 0.0, truncation)
