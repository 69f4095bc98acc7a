"""HAT: frozen weights, and gradients against formulas derived by hand."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import hat
from shiftbench.methods.models import convnet, linear, mlp

KEY = seeds.block([0, 1], "hat")
FLAT = Problem("classification", (4,), 6, 20, 3, heads=3)
IMAGES = Problem("classification", (4, 4, 1), 6, 20, 3, heads=3)
MODELS = {
    "mlp": (FLAT, lambda p: mlp.build(mlp.Settings(hidden=(6, 4)), p)),
    "convnet": (IMAGES, lambda p: convnet.build(convnet.Settings(filters=(3, 2)), p)),
}


# Build each learner once, since tracing takes most of the time.
@functools.cache
def build_hat(name="mlp", **settings):
    problem, build = MODELS[name]
    model = build(problem)
    settings = {"epochs": 3, "batch_size": 8} | settings
    return hat.build(hat.Settings(**settings), problem, model), model, problem


def rows_of(problem, head, n=20, s=2):
    rng = np.random.default_rng(head)
    inputs = rng.normal(size=(s, n, problem.row_shape[0])).astype(np.float32)
    inputs[..., -1] = head
    return Batch(inputs, 2 * head + (inputs[..., 0] > 0), np.ones((s, n), bool))


def saturated(state):
    """Return the state with embeddings at their bounds, where gates are exactly 0 or 1.

    Every other unit is open, and the others in the next task, so that each layer has both kinds.
    """
    _, _, tasks, units = state["embedding"].shape
    signs = (-1.0) ** (np.arange(tasks)[:, None] + np.arange(units))
    bounds = np.broadcast_to(hat.EMBEDDING_BOUND * signs, state["embedding"].shape)
    return state | {"embedding": bounds.astype(np.float32)}


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_saturated_masks_freeze_what_an_earlier_task_uses(name):
    learner, model, problem = build_hat(name)
    state, _ = learner.observe(saturated(learner.init(KEY)), rows_of(problem, 0), KEY)
    own = state["embedding"][:, :, 0] > 0
    assert np.array_equal(state["used"], own) and own.any() and not own.all()
    inputs = rows_of(problem, 0).inputs
    before = learner.predict(state, inputs, KEY).probabilities
    after, _ = learner.observe(state, rows_of(problem, 1), KEY)
    np.testing.assert_array_equal(learner.predict(after, inputs, KEY).probabilities, before)
    moved = after["mean"] != state["mean"]
    into, start = np.ones((2, 1, model.layers[0].fan_in), bool), 0
    for layer in model.layers[:-1]:
        out = own[..., start : (start := start + layer.fan_out)]
        into = np.tile(into, layer.fan_in // into.shape[-1])
        both = into[..., None] & out[..., None, :]
        weights = moved[..., layer.weights].reshape(both.shape)
        assert both.any() and not weights[both].any()
        assert not moved[..., layer.biases][out].any()
        into = out
    assert moved.any()


@pytest.mark.long
def test_weights_between_half_used_units_move_by_the_formula():
    learner, model, problem = build_hat(epochs=1, batch_size=20, learning_rate=0.1)
    batch = rows_of(problem, 1)
    free = learner.init(KEY)
    used = np.random.default_rng(0).uniform(size=free["used"].shape).astype(np.float32)
    plain, _ = learner.observe(free, batch, KEY)
    held, _ = learner.observe(free | {"used": used}, batch, KEY)
    into = np.ones((2, 1, 4))
    outs = used[..., :6], used[..., 6:], np.zeros((2, 1, 6))
    for layer, out in zip(model.layers, outs, strict=True):
        factor = 1 - np.minimum(into[..., None], out[..., None, :])
        expected = (plain["mean"] - free["mean"])[..., layer.weights] * factor.reshape(2, 1, -1)
        actual = (held["mean"] - free["mean"])[..., layer.weights]
        np.testing.assert_allclose(actual, expected, atol=1e-6)
        into = out


def test_compensated_gradient_equals_the_derivation_by_hand():
    """With gates m = sigmoid(s e): s_max / s (cosh(s e) + 1) / (cosh e + 1) dm/de is s_max
    sigmoid'(e), since sigmoid'(x) = 1 / (2 (cosh x + 1)).
    """
    s_max, s = 400.0, 3.0
    e = np.linspace(-4, 4, 9).astype(np.float32)
    slope = np.random.default_rng(0).normal(size=9).astype(np.float32)
    step = 1e-3
    gate = [1 / (1 + np.exp(-s * (e.astype(float) + d))) for d in (step, -step)]
    difference = slope * (gate[0] - gate[1]) / (2 * step)
    actual = hat.compensated(tf.constant(difference, tf.float32), e, tf.constant(s), s_max)
    sigmoid = 1 / (1 + np.exp(-e))
    np.testing.assert_allclose(actual, s_max * slope * sigmoid * (1 - sigmoid), rtol=1e-3)
    # Beyond 50 the compensation is bounded and stays finite.
    far = hat.compensated(tf.ones(2), tf.constant([-6.0, 6.0]), tf.constant(400.0), s_max)
    np.testing.assert_allclose(far, (np.cosh(50.0) + 1) / (np.cosh(6.0) + 1), rtol=1e-4)


def test_gradients_equal_finite_differences_of_the_loss_by_hand():
    learner, model, problem = build_hat(strength=0.75)
    gated = hat._Gated(model, problem, hat._unit_slices(model))
    rng = np.random.default_rng(0)
    state = learner.init(KEY)
    used = rng.uniform(size=state["used"].shape).astype(np.float32)
    batch, s = rows_of(problem, 1, n=6), 2.0

    def network(mean, gate, x):
        first, second, last = (
            (mean[a.weights].reshape(a.fan_in, a.fan_out), mean[a.biases]) for a in model.layers
        )
        x = np.maximum(x @ first[0] + first[1], 0) * gate[:6]
        x = np.maximum(x @ second[0] + second[1], 0) * gate[6:]
        return x @ last[0][:, 2:4] + last[1][2:4]

    def loss(mean, embedding):
        total = np.zeros(2)
        for i in range(2):
            gate = 1 / (1 + np.exp(-s * embedding[i, 0, 1]))
            out = network(mean[i, 0], gate, batch.inputs[i, :, :-1].astype(float))
            out = out - np.log(np.exp(out).sum(axis=1, keepdims=True))
            nll = -out[np.arange(6), batch.targets[i] - 2].mean()
            unused = 1 - used[i, 0]
            total[i] = nll + 0.75 * (gate * unused).sum() / unused.sum()
        return total

    point = {k: state[k].astype(float) for k in ("mean", "embedding")}
    rows = hat.Minibatch(
        tf.constant(batch.inputs[:, None]), tf.constant(batch.targets), tf.ones((2, 6))
    )
    now = hat._Iterate(tf.constant(state["mean"]), tf.constant(state["embedding"]), tf.constant(0))
    task = tf.constant([[0.0, 1, 0]] * 2)
    actual = hat._gradients(hat.Settings(), gated, now, used, task, tf.constant(s), rows)
    for name, gradient in zip(("mean", "embedding"), actual, strict=True):
        towards = rng.normal(size=point[name].shape)
        ends = [loss(**point | {name: point[name] + h * towards}) for h in (1e-5, -1e-5)]
        axes = tuple(range(1, towards.ndim))
        expected = (np.asarray(gradient) * towards).sum(axis=axes)
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, expected, rtol=2e-3, atol=1e-4)


def test_only_the_embedding_and_the_head_of_the_task_change():
    learner, model, problem = build_hat()
    state = learner.init(KEY)
    after, _ = learner.observe(state, rows_of(problem, 2), KEY)
    same = (after["embedding"] == state["embedding"]).all(axis=(0, 1, 3))
    assert same.tolist() == [True, True, False]
    assert np.abs(after["embedding"][:, :, 2]).max() <= 6
    last = model.layers[-1]
    moved = (after["mean"] != state["mean"])[0, 0, last.biases]
    assert moved.tolist() == [False] * 4 + [True] * 2


@pytest.mark.long
def test_a_stronger_regulariser_uses_fewer_units():
    shares = []
    for strength in (0.0, 20.0):
        learner, _, problem = build_hat(strength=strength, epochs=30)
        _, info = learner.observe(learner.init(KEY), rows_of(problem, 0), KEY)
        shares.append(info["capacity"].mean())
    assert shares[1] < shares[0] - 0.2


def test_each_row_is_predicted_with_the_gates_of_its_task():
    learner, _, problem = build_hat()
    state = saturated(learner.init(KEY))
    batches = [rows_of(problem, head, n=3) for head in range(3)]
    mixed = np.concatenate([b.inputs for b in batches], axis=1)
    apart = [learner.predict(state, b.inputs, KEY).probabilities for b in batches]
    together = learner.predict(state, mixed, KEY).probabilities
    np.testing.assert_allclose(together, np.concatenate(apart, axis=2), atol=1e-6)


@pytest.mark.long
def test_hypotheses_do_not_touch_each_other():
    learner, _, problem = build_hat()
    one, two = learner.init(KEY), learner.init(seeds.block([0, 1], "other"))
    both = {k: np.concatenate([one[k], two[k]], axis=1) for k in one}
    together, _ = learner.observe(both, rows_of(problem, 0), KEY)
    for slot, alone in enumerate((one, two)):
        actual, _ = learner.observe(alone, rows_of(problem, 0), KEY)
        for k in actual:
            np.testing.assert_allclose(together[k][:, slot], actual[k][:, 0], atol=1e-5)


def test_refusals():
    single = Problem("classification", (4,), 6, 20, 3)
    with pytest.raises(LearnerError, match="several heads"):
        hat.build(hat.Settings(), single, mlp.build(mlp.Settings(), single))
    with pytest.raises(LearnerError, match="no hidden layer"):
        hat.build(hat.Settings(), FLAT, linear.build(linear.Settings(), FLAT))
    learner, _, problem = build_hat()
    both = [rows_of(problem, head) for head in (0, 1)]
    mixed = Batch(*(np.concatenate(arrays, axis=1) for arrays in zip(*both, strict=True)))
    with pytest.raises(LearnerError, match="several tasks"):
        learner.observe(learner.init(KEY), mixed, KEY)
