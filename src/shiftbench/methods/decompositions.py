"""Decompositions of stacks of matrices [..., n, n] in which a matrix with a NaN harms no other.

TensorFlow raises an error for a whole stack if one of its matrices has an entry that is not
finite. Here only that matrix has a NaN as its result, so a repetition that diverges fails alone.
"""

from __future__ import annotations

import math

from shiftbench.methods.lazy_tensorflow import tf


def eigh(matrices: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return eigenvalues [..., n] and eigenvectors [..., n, n] of symmetric matrices."""
    finite = _finite(matrices)
    values, vectors = tf.linalg.eigh(_or_identity(matrices, finite))
    return tf.where(finite[..., 0], values, math.nan), tf.where(finite, vectors, math.nan)


def cholesky(matrices: tf.Tensor) -> tf.Tensor:
    """Return lower triangular roots [..., n, n] of positive definite matrices."""
    finite = _finite(matrices)
    return tf.where(finite, tf.linalg.cholesky(_or_identity(matrices, finite)), math.nan)


def _finite(matrices: tf.Tensor) -> tf.Tensor:
    """Return whether all entries of a matrix are finite, [..., 1, 1]."""
    return tf.reduce_all(tf.math.is_finite(matrices), axis=(-2, -1), keepdims=True)


def _or_identity(matrices: tf.Tensor, finite: tf.Tensor) -> tf.Tensor:
    """Return the matrices, with the identity in place of those that are not finite."""
    return tf.where(finite, matrices, tf.eye(matrices.shape[-1], dtype=matrices.dtype))
