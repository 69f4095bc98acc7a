"""Rehearsal against the authors' formulas, fine-tuning, and the law of a reservoir."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods import row_memory
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.learners import rehearsal
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks import parameter_layout, replay
from shiftbench.methods.networks.training import Minibatch
from tests.resuming import goes_on_from_any_step

LOSSES = ("er", "der++", "a-gem")
S, TASKS = 2, 3
PROBLEM = Problem("classification", (3,), 3, 20, TASKS)
HEADED = Problem("classification", (3,), 4, 20, TASKS, heads=2)
KEY = seeds.block(range(S), "rehearsal")

# The toy problem: x_i = (1, sin i, cos 2i), labels i - 1 modulo 3, weights without biases.
NUMBERS = np.arange(1, 9)
X = np.stack([np.ones(8), np.sin(NUMBERS), np.cos(2 * NUMBERS)], axis=-1)
Y = (NUMBERS - 1) % 3
W = np.array([[0.1, -0.2, 0.3], [0, 0.2, -0.1], [0.3, 0.1, 0]])
STORED = np.cos(np.arange(1, 13)).reshape(4, 3)
WEIGHTS = np.concatenate([W.ravel(), np.zeros(3)]).astype(np.float32)[None, None]


def toy(rows: slice) -> Minibatch:
    """Return rows of the toy problem as a minibatch."""
    x, y = X[rows].astype(np.float32), Y[rows]
    return Minibatch(tf.constant(x[None, None]), tf.constant(y[None]), tf.ones((1, len(y))))


NEW, OLD = toy(slice(4)), toy(slice(4, 8))
LOGITS = tf.constant(STORED[None, None], tf.float32)
LINEAR = linear.build(linear.Settings(), PROBLEM)


def plain(rows: Minibatch) -> np.ndarray:
    return replay.nll_gradient(LINEAR, tf.constant(WEIGHTS), rows)


def weights_of(gradient: tf.Tensor) -> np.ndarray:
    """Return the weights' part [3, 3] of a gradient."""
    return gradient.numpy()[0, 0, :9].reshape(3, 3)


def numeric(loss) -> np.ndarray:
    """Return central differences of loss(weights [3, 3])."""
    steps = np.eye(9).reshape(9, 3, 3) * 1e-6
    return np.array([loss(W + d) - loss(W - d) for d in steps]).reshape(3, 3) / 2e-6


def nll(rows: slice, weights: np.ndarray = W) -> float:
    z = X[rows] @ weights
    return float((np.log(np.exp(z).sum(1)) - z[range(4), Y[rows]]).mean())


def test_dark_experience_replay_equals_the_authors_formula():
    assert nll(slice(4)) == pytest.approx(1.1283205637, abs=1e-9)
    error = ((X[4:] @ W - STORED) ** 2).mean()
    assert error == pytest.approx(0.5473288353, abs=1e-9)
    assert nll(slice(4, 8)) == pytest.approx(1.1962712715, abs=1e-9)
    golden = [
        [-0.1175391235, -0.1238949345, 0.2775511468],
        [0.0162127839, -0.1001987696, 0.0750292012],
        [0.1324693613, 0.3229280041, -0.4695858177],
    ]
    added = replay.dark_gradient(
        LINEAR, tf.constant(WEIGHTS), OLD, LOGITS, OLD, replay.Weights(0.2, 0.5), 1
    )
    np.testing.assert_allclose(weights_of(plain(NEW) + added), golden, atol=1e-6)


def test_experience_replay_is_the_mean_over_all_rows():
    both = (nll(slice(4)) + nll(slice(4, 8))) / 2
    assert both == pytest.approx(1.1622959176, abs=1e-9)
    found = replay.pooled(plain(NEW), NEW, plain(OLD), OLD)
    expected = numeric(lambda w: (nll(slice(4), w) + nll(slice(4, 8), w)) / 2)
    np.testing.assert_allclose(weights_of(found), expected, atol=1e-6)
    # Three new rows and four old ones have weight 1/7 each.
    three = NEW._replace(mask=tf.constant([[1.0, 1, 1, 0]]))
    found = replay.pooled(plain(three), three, plain(OLD), OLD)
    whole = Minibatch(*(tf.concat(pair, -2 if pair[0].shape.rank == 4 else -1)
                        for pair in zip(three, OLD, strict=True)))  # fmt: skip
    np.testing.assert_allclose(found, plain(whole), atol=1e-6)


def test_averaged_gradient_episodic_memory_equals_the_authors_formula():
    g, r = (weights_of(plain(rows)).ravel()[None, None] for rows in (NEW, OLD))
    assert (g * r).sum() == pytest.approx(0.1326905662, abs=1e-6)
    np.testing.assert_array_equal(replay.projected(tf.constant(g), tf.constant(r)), g)
    golden = [
        0.1933320057, -0.0996527994, -0.0936792062, -0.1101248638, 0.1457366542,
        -0.0356117904, -0.1661685274, 0.0003508562, 0.1658176713,
    ]  # fmt: skip
    found = replay.projected(tf.constant(-g), tf.constant(r)).numpy()
    np.testing.assert_allclose(found[0, 0], golden, atol=1e-6)
    assert (found * r).sum() == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_repetitions_without_a_memory_get_the_gradient_of_the_minibatch_to_the_bit(loss):
    """This holds alone and side by side with a repetition that has a memory."""
    inputs, targets = X[None].repeat(2, 0).astype(np.float32), Y[None].repeat(2, 0)
    rows = Minibatch(tf.constant(inputs[:, None]), tf.constant(targets), tf.ones((2, 8)))
    x = tf.constant(WEIGHTS.repeat(2, 0))
    expected = parameter_layout.mean_nll_gradient(LINEAR, x, rows, KEY).numpy()
    for filled in ([False, True], [False, False]):
        mask = np.array(filled)[:, None].repeat(8, 1)
        data = tf.constant(inputs), tf.constant(targets), tf.constant(mask)
        memory = replay.Memory(data, tf.ones((2, 1, 8, 3)))
        of_loss = replay.gradient(loss, LINEAR, memory, 4, replay.Weights(0.5, 0.5), 1)
        found = of_loss(x, rows, tf.constant(KEY)).numpy()
        np.testing.assert_array_equal(found[0], expected[0])
        assert np.isfinite(found).all()
        # A-GEM keeps a gradient that agrees in direction with the memory's.
        assert (found[1] == expected[1]).all() == (not filled[1] or loss == "a-gem")


@pytest.mark.long
def test_a_draw_has_different_rows_of_the_memory_or_all():
    mask = tf.constant([[True] * 5 + [False] * 3, [True] * 2 + [False] * 6])
    data = tf.zeros((2, 8, 1)), tf.tile(tf.range(8)[None], [2, 1]), mask
    memory = replay.Memory(data, tf.zeros((2, 1, 8, 0)))
    counts = np.zeros(8)
    for number in range(400):
        rows, index = replay.drawn(memory, 3, seeds.block(range(2), number))
        assert rows.mask.numpy().sum(1).tolist() == [3, 2]
        assert len(set(index.numpy()[0])) == 3 and (rows.targets.numpy() == index.numpy()).all()
        assert set(index.numpy()[1][rows.mask.numpy()[1] > 0]) == {0, 1}
        counts += np.bincount(index.numpy()[0], minlength=8)
    # Each of five rows is in three of five draws on average, with standard deviation 9.8.
    assert np.abs(counts[:5] - 240).max() < 5 * 9.8 and not counts[5:].any()


def task(problem: Problem, seed: int, n: int = 20) -> Batch:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(S, n, *problem.row_shape)).astype(np.float32)
    targets = rng.integers(0, problem.n_outputs // problem.heads, (S, n))
    if problem.heads > 1:
        inputs[..., -1] = seed % 2
        targets += seed % 2 * (problem.n_outputs // problem.heads)
    return Batch(inputs, targets, np.ones((S, n), bool))


def built(module, problem: Problem, **fields):
    made = module.Settings(epochs=2, batch_size=8, **fields)
    return module.build(made, problem, mlp.build(mlp.Settings(hidden=(5,)), problem))


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "problem"), [("er", PROBLEM), ("der++", HEADED), ("a-gem", PROBLEM)], ids=LOSSES
)
def test_without_memory_it_is_fine_tuning_to_the_byte(loss, problem):
    """Include all tasks with an empty memory, and the first task with any memory."""
    tuned = {"importance": "none", "prior": "flat", "start": "prior"}
    plain = built(map_learner, problem, **tuned)
    for size, tasks in ((0, 2), (4, 1)):
        learner = built(rehearsal, problem, loss=loss, size=size)
        one, other = plain.init(KEY), learner.init(KEY)
        for t in range(tasks):
            one, info = plain.observe(one, task(problem, t), KEY)
            other, its_info = learner.observe(other, task(problem, t), KEY)
            for name in its_info:
                np.testing.assert_array_equal(its_info[name], info[name])
            np.testing.assert_array_equal(one["mean"], other["mean"])
        found = (
            each.predict(state, task(problem, 9).inputs, KEY).probabilities
            for each, state in ((plain, one), (learner, other))
        )
        np.testing.assert_array_equal(*found)
    # The last repetition has a memory now.
    again, _ = plain.observe(one, task(problem, 1), KEY)
    later, _ = learner.observe(other, task(problem, 1), KEY)
    assert (again["mean"] != later["mean"]).any()


@pytest.mark.long
def test_rows_and_logits_are_those_of_each_task_at_its_end():
    problem = HEADED
    learner = built(rehearsal, problem, loss="der++", size=4)
    state, after_first = learner.init(KEY), {}
    for t in range(TASKS):
        batch = task(problem, t)
        state, _ = learner.observe(state, batch, KEY)
        assert (state["mask"].sum(axis=2) == 4 * (t + 1)).all()
        own = {tuple(x): y for x, y in zip(batch.inputs[0], batch.targets[0], strict=True)}
        kept = slice(4 * t, 4 * t + 4)
        for x, y in zip(state["inputs"][0, 0, kept], state["targets"][0, 0, kept], strict=True):
            assert own[tuple(x)] == y
        found = learner.predict(state, state["inputs"][:, 0], KEY).probabilities
        expected = np.exp(state["logits"] - state["logits"].max(axis=-1, keepdims=True))
        expected /= expected.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(found[:, :, kept], expected[:, :, kept], atol=1e-5)
        after_first = after_first or state
        np.testing.assert_array_equal(state["logits"][:, :, :4], after_first["logits"][:, :, :4])
    with pytest.raises(LearnerError, match="rehearsal: no room for task 4"):
        learner.observe(state, task(problem, 3), KEY)
    goes_on_from_any_step(learner, after_first, task(problem, 1), KEY)


def test_a_reservoir_holds_each_row_with_the_same_probability():
    """A reservoir of 6 out of 30 rows, in three tasks of 12, 3 and 15."""
    counts, trials = np.zeros(30), 2000
    for trial in range(trials):
        slots: row_memory.Slots = {}
        for first, last in ((0, 12), (12, 15), (15, 30)):
            seed = seeds.fold("reservoir", trial, first)
            slots |= row_memory.reservoir(np.arange(first, last), first, 6, seed)
        assert sorted(slots) == [*range(6)] and len(set(slots.values())) == 6
        counts[[*slots.values()]] += 1
    sd = np.sqrt(trials * 0.2 * 0.8)
    assert np.abs(counts - 0.2 * trials).max() < 4.5 * sd
    assert row_memory.reservoir(np.arange(3), 0, 0, seeds.fold("none")) == {}


def test_a_reservoir_goes_on_from_the_rows_it_has_seen():
    learner = built(rehearsal, PROBLEM, memory="reservoir", size=4)
    state = learner.init(KEY)
    for t in range(TASKS + 1):
        before = state
        state, _ = learner.observe(state, task(PROBLEM, t), KEY)
        assert (state["mask"].sum(axis=2) == 4 * TASKS).all()
        assert (state["seen"] == 20 * (t + 1)).all()
    kept = (state["inputs"] == before["inputs"]).all(axis=-1)
    assert kept.any() and not kept.all()


def test_it_says_how_many_rows_it_keeps():
    made = rehearsal.Settings(size=4)
    assert rehearsal.rows_kept(made, HEADED) == (12, 5)
    assert rehearsal.rows_kept(dataclasses.replace(made, loss="der++"), HEADED) == (12, 7)
    assert rehearsal.rows_kept(dataclasses.replace(made, size=90), PROBLEM) == (30, 4)
    many = dataclasses.replace(made, size=15, memory="reservoir")
    assert rehearsal.rows_kept(many, PROBLEM) == (45, 4)
    for name, rows in (("coreset", 12), ("joint", 60)):
        module = components.load("combinators", name)
        given = {"size": 4} if name == "coreset" else {}
        assert module.rows_kept(module.Settings(**given), HEADED) == (rows, 5)
