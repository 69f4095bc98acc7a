"""Jacobian products of networks against TensorFlow's Jacobian."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.interface import Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models import convnet, mlp
from shiftbench.methods.networks import linearised
from shiftbench.methods.networks.model import point

DENSE = Problem("classification", (4,), 4, 20, 2, heads=2)
IMAGES = Problem("classification", (4, 4, 1), 3, 20, 2)
MODELS = {
    "heads": (mlp.build(mlp.Settings(hidden=(5, 3)), DENSE), DENSE),
    "convolutions": (convnet.build(convnet.Settings(filters=(2, 3)), IMAGES), IMAGES),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_the_jacobian_and_products_with_it_equal_those_of_the_tape(name):
    model, problem = MODELS[name]
    rng = np.random.default_rng(0)
    x = tf.constant(0.3 * rng.normal(size=(1, 2, model.size)), tf.float32)
    inputs = rng.normal(size=(1, 1, 3, *problem.row_shape)).astype(np.float32)
    if problem.heads > 1:
        inputs[..., -1] = [0, 1, 0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        expected = model.forward(point(x), tf.constant(inputs))
    whole = tape.jacobian(expected, x).numpy()
    # Outputs of a hypothesis do not depend on the parameters of another.
    dense = np.stack([whole[0, h, :, :, 0, h] for h in range(2)])[None]
    outputs, slopes = linearised.linearise(model, x, tf.constant(inputs))
    np.testing.assert_allclose(outputs, expected, rtol=1e-6)
    np.testing.assert_allclose(linearised.jacobian(slopes), dense, atol=1e-5)
    vectors = rng.normal(size=(1, 2, model.size, 2))
    product = linearised.times(slopes, tf.constant(vectors))
    np.testing.assert_allclose(product, np.einsum("shncp,shpr->shncr", dense, vectors), atol=1e-4)
    weights = rng.uniform(size=(1, 2, model.size))
    squares = linearised.squares_times(slopes, tf.constant(weights))
    expected = np.einsum("shncp,shp->shnc", dense**2, weights)
    np.testing.assert_allclose(squares, expected, rtol=1e-4, atol=1e-6)
