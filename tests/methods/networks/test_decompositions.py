"""Tests of decompositions of stacks with matrices that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.methods.decompositions import cholesky, eigh
from shiftbench.methods.lazy_tensorflow import tf


def stack(dtype):
    roots = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    return (roots @ np.swapaxes(roots, -1, -2)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_harms_no_other(dtype, wrong):
    matrices = stack(dtype)
    values, vectors = (a.numpy() for a in tf.linalg.eigh(matrices))
    root = tf.linalg.cholesky(matrices).numpy()
    matrices[1, 2, 3, 0] = wrong
    others = np.ones((2, 3), bool)
    others[1, 2] = False
    for result, expected in zip(
        (*eigh(matrices), cholesky(matrices)), (values, vectors, root), strict=True
    ):
        np.testing.assert_array_equal(result.numpy()[others], expected[others])
        assert np.isnan(result.numpy()[1, 2]).all()
