"""AMSGrad and Nesterov's momentum against Keras, and rate decay, on a quadratic."""

from __future__ import annotations

import numpy as np
import pytest
import tf_keras

from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.networks import optimisers
from shiftbench.methods.networks.training import Schedule, minimise
from tests.methods.networks.test_training import CURVATURE, KEY, START, quadratic

STEPS = 30


def gradients_of(optimiser, steps=STEPS):
    """Return the end of `optimiser` and its gradients: a large one, then small ones."""
    seen, at = [], optimisers.begin(optimiser, tf.constant(START))
    for step in range(steps):
        g = CURVATURE * at.x * (10.0 if step == 0 else 0.01)
        seen.append(g)
        at = optimisers.advance(optimiser, at, g, tf.constant(step // 10))
    return at, seen


@pytest.mark.parametrize(
    ("name", "keras"),
    [
        ("adam", lambda: tf_keras.optimizers.legacy.Adam(0.05)),
        ("amsgrad", lambda: tf_keras.optimizers.Adam(0.05, amsgrad=True)),
        ("sgd", lambda: tf_keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True)),
    ],
)
def test_follows_keras_step_by_step(name, keras):
    at, seen = gradients_of(optimisers.named(name, 0.05))
    reference, x = keras(), tf.Variable(START)
    for g in seen:
        reference.apply_gradients([(g, x)])
    np.testing.assert_allclose(at.x, x, rtol=2e-4, atol=2e-5)
    assert (at.steps.numpy() == STEPS).all()


def test_amsgrad_is_not_adam_where_gradients_fade():
    ends = [gradients_of(optimisers.named(name, 0.05), 100)[0] for name in ("adam", "amsgrad")]
    assert np.abs(ends[0].x - ends[1].x).max() > 1e-3
    assert (ends[1].second >= ends[1].moving[0]).numpy().all()


@pytest.mark.parametrize("name", ["adam", "amsgrad", "sgd"])
def test_the_rate_decays_by_the_factor_each_epoch(name):
    """With epochs of one step, each epoch multiplies the rate by the factor."""
    whole, _ = gradients_of(optimisers.named(name, 0.05), 1)
    one = optimisers.advance(optimisers.named(name, 0.05 * 0.5**3), whole, whole.first, 0)
    decayed = optimisers.named(name, 0.05, decay=0.5)
    two = optimisers.advance(decayed, whole, whole.first, tf.constant(3))
    np.testing.assert_allclose(two.x - whole.x, one.x - whole.x, rtol=1e-5)


def test_epochs_are_counted_by_their_steps():
    """A rate that vanishes after the first epoch leaves the parameters where that epoch ended."""
    first = optimisers.named("sgd", 0.05)
    fading = first._replace(decay=1e-9)
    inputs = tf.zeros([1, 6, 1]), tf.zeros([1, 6], tf.int32), tf.ones([1, 6], tf.bool)
    (one, steps), (more, _), (faded, _) = (
        minimise(quadratic, tf.constant(START), inputs, KEY, Schedule(epochs, 2, optimiser))
        for epochs, optimiser in ((1, first), (5, first), (5, fading))
    )
    assert int(steps) == 3
    np.testing.assert_allclose(faded, one, atol=1e-6)
    assert np.abs(more - one).max() > 0.01
