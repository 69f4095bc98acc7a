"""SWAG against a published draw, brute force over iterates, and plain training."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shiftbench.core import loop_checkpoint, seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.core.loop_checkpoint import LoopMonitor, PollInterval
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import mlp
from shiftbench.methods.networks import swag
from tests.methods.networks import side_by_side
from tests.resuming import goes_on_from_any_step

KEY = seeds.block([0, 1], "swag")
PROBLEM = Problem("classification", (4,), 3, 20, 2)
SETTINGS = map_learner.Settings(
    epochs=6, batch_size=8, learning_rate=0.01, importance="none", prediction="swag",
    prediction_draws=4, swag_epochs=4, swag_rank=3,
)  # fmt: skip
PLAIN = replace(SETTINGS, prediction="estimate", prediction_draws=0)


@functools.cache
def built(settings):
    return map_learner.build(settings, PROBLEM, mlp.build(mlp.Settings(hidden=(5,)), PROBLEM))


def labelled(seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(2, 20, 4)).astype("f4")
    return Batch(inputs, rng.integers(0, 3, (2, 20)), np.ones((2, 20), bool))


def test_a_draw_is_that_of_the_formulas_in_double_precision():
    iterates = np.sin(np.arange(1, 7)[:, None] + np.arange(3))
    kept = swag.nothing(tf.zeros((1, 1, 3), tf.float64), 4)
    for number, x in enumerate(iterates, 1):
        kept = swag.added(kept, tf.constant(x[None, None]), tf.constant(number))
    z1, z2 = (
        tf.constant([[[1, -1, 0.5]]], tf.float64),
        tf.constant([[[0.3, -0.2, 0.1, 0.4]]], tf.float64),
    )
    found = swag.drawn(kept.mean, kept.squares / 6, kept.deviations, z1, z2)
    np.testing.assert_allclose(found[0, 0], [0.4345757476, -0.4625429976, 0.3507353671], rtol=1e-9)
    np.testing.assert_allclose(kept.squares[0, 0] / 6, iterates.var(axis=0))


@pytest.mark.long
def test_the_state_is_made_from_the_weights_at_the_ends_of_the_last_epochs():
    batch = labelled()
    found, info = built(SETTINGS).observe(built(SETTINGS).init(KEY), batch, KEY)
    ends = []
    for epochs in range(3, 7):
        plain = built(replace(PLAIN, epochs=epochs))
        ends.append(plain.observe(plain.init(KEY), batch, KEY)[0]["mean"])
    np.testing.assert_allclose(found["mean"], np.mean(ends, axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["variance"], np.var(ends, axis=0), rtol=1e-3, atol=1e-9)
    for k in range(3):
        off = ends[k + 1] - np.mean(ends[: k + 2], axis=0)
        np.testing.assert_allclose(found["deviations"][:, :, k], off, rtol=1e-3, atol=1e-6)
    assert "log_evidence" not in info and built(SETTINGS).broaden is None


def test_a_look_sees_the_mean_so_far_and_changes_no_byte_of_the_end():
    learner, batch = built(SETTINGS), labelled()
    first = learner.init(KEY)
    whole, _ = learner.observe(first, batch, KEY)
    monitor = LoopMonitor({}, lambda: None, lambda: "", PollInterval())
    seen = []
    with loop_checkpoint.monitored(monitor):
        for share in (Fraction(4, 18), Fraction(11, 18), Fraction(1)):
            with loop_checkpoint.look(share):
                seen.append(learner.observe(first, batch, KEY)[0])
    # With 3 steps per epoch: before the first snapshot, after one, and at the end.
    for looked, epochs in zip(seen, (None, 3), strict=False):
        assert not looked["variance"].any() and looked["mean"].any()
        if epochs:
            plain = built(replace(PLAIN, epochs=epochs))
            expected = plain.observe(plain.init(KEY), batch, KEY)[0]["mean"]
            np.testing.assert_allclose(looked["mean"], expected, rtol=1e-5)
    for name in whole:
        np.testing.assert_array_equal(whole[name], seen[-1][name], err_msg=name)


def test_a_task_that_is_stopped_within_it_goes_on_to_the_same_bytes():
    goes_on_from_any_step(built(SETTINGS), built(SETTINGS).init(KEY), labelled(), KEY)


def test_two_seeds_side_by_side_have_the_bytes_of_each_alone():
    side_by_side.have_the_bytes_of_each_alone(built(SETTINGS), labelled(), KEY)


def test_a_draw_without_deviations_is_the_mean():
    mean, zeros = tf.constant([[[0.3, -0.2]]]), tf.zeros((1, 1, 2))
    found = swag.drawn(mean, zeros, tf.zeros((1, 1, 3, 2)), mean, tf.ones((1, 1, 3)))
    np.testing.assert_array_equal(found, mean)
