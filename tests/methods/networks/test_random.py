"""Draws for several seeds at once equal those of TensorFlow's functions, seed by seed."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.methods.networks import random
from shiftbench.methods.networks.backend import fused, graph, tf

SEEDS = np.random.default_rng(0).integers(-(2**31), 2**31, (5, 2)).astype(np.int32)


@pytest.mark.parametrize("compiled", [graph, fused])
@pytest.mark.parametrize("data", [0, 3, 123_456])
def test_seeds_are_folded_as_tensorflow_folds_them(compiled, data):
    expected = [tf.random.experimental.stateless_fold_in(seed, data) for seed in SEEDS]
    np.testing.assert_array_equal(random.fold_in(SEEDS, data), expected)
    folded = compiled(lambda number: random.fold_in(SEEDS, number))(np.int32(data))
    np.testing.assert_array_equal(folded, expected)


def test_numbers_are_those_of_tensorflow():
    shape = [33, 5]
    normals = [tf.random.stateless_normal(shape, seed) for seed in SEEDS]
    uniforms = [tf.random.stateless_uniform(shape, seed) for seed in SEEDS]
    integers = [tf.random.stateless_uniform([], seed, 0, 1_234_567, tf.int32) for seed in SEEDS]
    np.testing.assert_array_equal(graph(random.normals)(SEEDS, shape), normals)
    np.testing.assert_array_equal(graph(random.uniforms)(SEEDS, shape), uniforms)
    np.testing.assert_array_equal(graph(random.integers)(SEEDS, 1_234_567), integers)
