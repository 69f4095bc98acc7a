"""EWC, online EWC, synaptic intelligence and fine-tuning, as settings of `map`, by hand."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
import yaml

from shiftbench.core import checkout, seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.learners.map import Settings
from shiftbench.methods.models import convnet, linear, mlp
from shiftbench.methods.networks import diagonal_penalty
from shiftbench.methods.networks.model import glorot, point

KEY = seeds.block([0, 1], "penalties")
FINETUNE = Settings(
    epochs=2, batch_size=8, importance="none", prior="flat", start="prior", biases="penalised"
)
ONLINE = replace(
    FINETUNE, importance="fisher", fisher_labels="expected", units="row", strength=100.0
)
EWC = replace(ONLINE, anchor="each")
SI = replace(ONLINE, importance="path", strength=0.5)
ROWS = 30


# Build each learner once, since tracing takes most of the time.
built = functools.cache(map_learner.build)


def learn(settings, model, problem, batches):
    learner = built(settings, problem, model)
    states = [learner.init(KEY)]
    for batch in batches:
        states.append(learner.observe(states[-1], batch, KEY)[0])
    return states


def labelled(shape, classes, seed, head=None):
    """Return random inputs and labels of two repetitions; with a head, its two classes."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(2, ROWS, *shape)).astype(np.float32)
    targets = rng.integers(0, classes, (2, ROWS))
    if head is not None:
        inputs = np.concatenate([inputs, np.full((2, ROWS, 1), head, np.float32)], -1)
        targets = 2 * head + targets % 2
    return Batch(inputs, targets, np.ones((2, ROWS), bool))


NOISE = 0.5
REGRESSION = Problem("regression", (2,), 1, ROWS, 3)
STRAIGHT = linear.build(linear.Settings(noise_sd=NOISE), REGRESSION)


def regressed(seed):
    """Return rows whose location and coefficients differ between seeds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, ROWS, 2)) + 0.5 * seed
    y = x @ rng.normal(size=(2, 1)) + NOISE * rng.normal(size=(2, ROWS, 1))
    return Batch(x.astype(np.float32), y.astype(np.float32), np.ones((2, ROWS), bool))


def design(batch):
    """Return the inputs with a column of ones, in double precision."""
    return np.concatenate([batch.inputs, np.ones((2, ROWS, 1))], -1).astype(float)


@pytest.mark.long
def test_offline_ewc_equals_the_sum_of_a_penalty_for_each_task():
    batches = [regressed(seed) for seed in range(3)]
    settings = replace(EWC, epochs=2000, batch_size=ROWS, learning_rate=0.01, strength=2.0)
    states = learn(settings, STRAIGHT, REGRESSION, batches)
    estimates, fishers = [], []
    for batch, state in zip(batches, states[1:], strict=True):
        x = design(batch)
        curvature = np.swapaxes(x, 1, 2) @ x / (ROWS * NOISE**2)
        pull = np.swapaxes(x, 1, 2) @ batch.targets / (ROWS * NOISE**2)
        for fisher, estimate in zip(fishers, estimates, strict=True):
            curvature += 2.0 * np.einsum("si,ij->sij", fisher, np.eye(3))
            pull += 2.0 * (fisher * estimate)[..., None]
        estimates.append(np.linalg.solve(curvature, pull)[..., 0])
        fishers.append((x**2).mean(axis=1) / NOISE**2)
        np.testing.assert_allclose(state["mean"][:, 0], estimates[-1], atol=2e-3)
        np.testing.assert_allclose(state["precision"][:, 0], sum(fishers), rtol=1e-4)
    weighted = sum(f * w for f, w in zip(fishers, estimates, strict=True))
    np.testing.assert_allclose(states[-1]["anchor"][:, 0], weighted / sum(fishers), atol=2e-3)


MODELS = {
    "mlp": lambda p: mlp.build(mlp.Settings(hidden=(5,)), p),
    "convnet": lambda p: convnet.build(convnet.Settings(filters=(2,)), p),
}


def exact_fisher(model, parameters, batch):
    """Return the mean over examples and classes of squared gradients, example by example."""

    @tf.function
    def of_example(flat, inputs):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(flat)
            outputs = model.forward(point(flat), inputs)
            scores = tf.unstack(tf.nn.log_softmax(outputs)[:, :, 0], axis=-1)
        squares = [tf.square(tape.gradient(score, flat)) for score in scores]
        return sum(tf.exp(p)[..., None] * g for p, g in zip(scores, squares, strict=True))

    examples = (tf.constant(batch.inputs[:, None, i : i + 1]) for i in range(ROWS))
    return sum(of_example(tf.constant(parameters), one).numpy() for one in examples) / ROWS


@pytest.mark.parametrize("name", ["mlp", pytest.param("convnet", marks=pytest.mark.long)])
def test_online_ewc_decays_the_exact_fisher_of_all_layers_and_biases(name):
    problem = Problem("classification", (4, 4, 1), 3, ROWS, 2)
    model = MODELS[name](problem)
    batches = [labelled((4, 4, 1), 3, seed) for seed in range(2)]
    _, one, two = learn(replace(ONLINE, decay=0.25), model, problem, batches)
    first = exact_fisher(model, one["mean"], batches[0])
    second = exact_fisher(model, two["mean"], batches[1])
    np.testing.assert_allclose(one["precision"], first, rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(two["precision"], 0.25 * first + second, rtol=1e-3, atol=1e-7)
    assert (one["precision"][..., model.is_bias()] > 0).mean() > 0.5


@pytest.mark.long
def test_the_fisher_is_that_of_softmax_regression_and_no_square_of_a_batch_mean():
    problem = Problem("classification", (4,), 3, ROWS, 1)
    model = linear.build(linear.Settings(), problem)
    batch = labelled((4,), 3, 0)
    _, state = learn(EWC, model, problem, [batch])
    parameters = state["mean"][:, 0]
    logits = batch.inputs @ parameters[:, :12].reshape(2, 4, 3) + parameters[:, None, 12:]
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    weights = np.swapaxes(batch.inputs**2, 1, 2) @ (p * (1 - p)) / ROWS
    exact = np.concatenate([weights.reshape(2, -1), (p * (1 - p)).mean(axis=1)], -1)
    np.testing.assert_allclose(state["precision"][:, 0], exact, rtol=1e-4)


def test_omega_by_hand():
    path, end = tf.constant([0.3, -0.2]), tf.constant([0.5, 1.0])
    np.testing.assert_allclose(diagonal_penalty.omega(path, 0.0 * end, end, 0.1), [0.3 / 0.35, 0.0])


@pytest.mark.parametrize(("units", "factor"), [("row", 1), ("task", ROWS)])
def test_si_after_a_single_step_of_adam(units, factor):
    batch = regressed(1)
    settings = replace(SI, epochs=1, batch_size=ROWS, learning_rate=0.01, units=units)
    _, state = learn(settings, STRAIGHT, REGRESSION, [batch])
    start = glorot(STRAIGHT, KEY)[:, 0].astype(float)
    x = design(batch)
    residual = batch.targets - x @ start[..., None]
    gradient = -(np.swapaxes(x, 1, 2) @ residual)[..., 0] / (ROWS * NOISE**2)
    # Adam's first step has the size of the rate, against the gradient's sign.
    change = -0.01 * np.sign(gradient)
    exact = 2 * -gradient * change / (change**2 + settings.damping)
    np.testing.assert_allclose(state["mean"][:, 0], start + change, atol=1e-5)
    np.testing.assert_allclose(state["precision"][:, 0], factor * exact, rtol=1e-3)


@pytest.mark.long
def test_fine_tuning_is_a_map_without_penalty():
    problem = Problem("classification", (4,), 3, ROWS, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    batches = [labelled((4,), 3, seed) for seed in range(2)]
    plain = learn(FINETUNE, model, problem, batches)
    other = learn(replace(FINETUNE, prior="normal", prior_sd=1e6), model, problem, batches)
    for state, same in zip(plain, other, strict=True):
        np.testing.assert_allclose(state["mean"], same["mean"], atol=1e-6)
    assert not plain[-1]["precision"].any()


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [FINETUNE, EWC, ONLINE, SI], ids=["none", "each", "last", "si"]
)
def test_training_a_head_leaves_the_others_as_they_are(settings):
    problem = Problem("classification", (4,), 4, ROWS, 2, heads=2)
    model = linear.build(linear.Settings(), problem)
    batches = [labelled((4,), 2, head, head) for head in range(2)]
    _, one, two = learn(replace(settings, epochs=5), model, problem, batches)
    owner = np.concatenate([np.tile([0, 0, 1, 1], 4), [0, 0, 1, 1]])
    begin = glorot(model, KEY)
    np.testing.assert_array_equal(one["mean"][..., owner == 1], begin[..., owner == 1])
    np.testing.assert_array_equal(two["mean"][..., owner == 0], one["mean"][..., owner == 0])
    assert (one["mean"] != begin)[..., owner == 0].all()
    assert (two["mean"] != one["mean"])[..., owner == 1].all()
    assert not one["precision"][..., owner == 1].any()


@pytest.mark.long
def test_a_kept_optimiser_goes_on_where_it_was():
    problem = Problem("classification", (4,), 3, ROWS, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    batch = labelled((4,), 3, 0)
    kept = replace(FINETUNE, batch_size=ROWS, epochs=5, optimiser_state="kept")
    *_, in_two = learn(kept, model, problem, [batch, batch])
    *_, at_once = learn(replace(kept, epochs=10), model, problem, [batch])
    *_, restarted = learn(replace(kept, optimiser_state="reset"), model, problem, [batch, batch])
    assert (in_two["steps"] == 10).all()
    for name in ("mean", "first", "second"):
        np.testing.assert_allclose(in_two[name], at_once[name], rtol=1e-3, atol=1e-6)
    assert np.abs(restarted["mean"] - at_once["mean"]).max() > 1e-4


@pytest.mark.long
def test_rows_and_tasks_are_the_same_units_for_tasks_of_one_size():
    problem = Problem("classification", (4,), 3, ROWS, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    batches = [labelled((4,), 3, seed) for seed in range(2)]
    by_rows = Settings(epochs=3, units="row")
    by_tasks = replace(by_rows, units="task")
    infos = []
    for settings in (by_rows, by_tasks):
        learner = built(settings, problem, model)
        states = learn(settings, model, problem, batches)
        widened = learner.broaden(states[-1], Broadening("temper-prior", beta=0.5))
        scale = ROWS if settings.units == "row" else 1
        infos.append((widened["mean"], scale * widened["precision"]))
        infos[-1] += tuple(learner.observe(states[1], batches[1], KEY)[1].values())
    for one, two in zip(*infos, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)


@pytest.mark.long
def test_broadening_widens_around_the_anchors_and_not_around_the_estimate():
    batches = [regressed(seed) for seed in range(2)]
    state = learn(EWC, STRAIGHT, REGRESSION, batches)[-1]
    learner = built(EWC, REGRESSION, STRAIGHT)
    for kind in ("temper", "temper-prior"):
        widened = learner.broaden(state, Broadening(kind, beta=0.5))
        np.testing.assert_array_equal(widened["mean"], state["mean"])
        np.testing.assert_allclose(widened["anchor"], state["anchor"], rtol=1e-6)
        np.testing.assert_allclose(widened["precision"], state["precision"] / 2, rtol=1e-6)


def test_a_repetition_that_starts_over_gets_fresh_weights_beside_one_that_goes_on():
    problem = Problem("classification", (4,), 3, ROWS, 2)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    batch = labelled((4,), 3, 0)
    learner = built(ONLINE, problem, model)
    begin, once, twice = learn(ONLINE, model, problem, [batch, batch])
    mixed = {name: np.stack([begin[name][0], once[name][1]]) for name in begin}
    after, _ = learner.observe(mixed, batch, KEY)
    np.testing.assert_allclose(after["mean"][0], once["mean"][0], rtol=1e-5)
    np.testing.assert_allclose(after["mean"][1], twice["mean"][1], rtol=1e-5)


@pytest.mark.long
def test_l2_init_pulls_towards_the_first_draw_in_every_task():
    """The minimum of 1/2 (w - c)' A (w - c) + lambda |w - w0|^2, in closed form."""
    strength = 0.3
    settings = replace(
        FINETUNE, prior="normal", units="row", anchor="initial", strength=2 * strength * ROWS,
        epochs=2000, batch_size=ROWS, learning_rate=0.01,
    )  # fmt: skip
    batches = [regressed(seed) for seed in range(2)]
    first = glorot(STRAIGHT, KEY)[:, 0, :, None].astype(float)
    for batch, state in zip(
        batches, learn(settings, STRAIGHT, REGRESSION, batches)[1:], strict=True
    ):
        x = design(batch)
        curvature = np.swapaxes(x, 1, 2) @ x / (ROWS * NOISE**2)
        pull = np.swapaxes(x, 1, 2) @ batch.targets / (ROWS * NOISE**2)
        exact = np.linalg.solve(curvature + 2 * strength * np.eye(3), pull + 2 * strength * first)
        np.testing.assert_allclose(state["mean"][:, 0], exact[..., 0], atol=2e-3)
        np.testing.assert_array_equal(state["anchor"][:, 0], first[..., 0].astype(np.float32))
    widened = built(settings, REGRESSION, STRAIGHT).broaden(state, Broadening("geometric", 0.5))
    np.testing.assert_allclose(widened["anchor"], state["anchor"], rtol=1e-6)


def test_first_weights_as_the_anchor_are_refused_where_tasks_are_important():
    for other in ({"importance": "fisher"}, {"prior": "flat"}):
        given = {"importance": "none", "prior": "normal"} | other
        (reason,) = map_learner.unsupported(Settings(anchor="initial", **given))
        assert "importance to none" in reason
    assert not [*map_learner.unsupported(Settings(anchor="initial", importance="none"))]


@pytest.mark.parametrize("name", ["weight-decay", "l2-init"])
def test_shipped_penalties_are_those_of_the_paper(name):
    """The loss is the mean plus lambda |w - w0|^2.

    kumar2023plasticity searches lambda from .00001 to .01; the methods of the library have .001.
    """
    method = yaml.safe_load((checkout.CONFIGS / "methods" / "plasticity.yaml").read_text())[name]
    settings = Settings(**method["pipeline"][0]["map"])
    rows = replace(REGRESSION, n_train=256)
    precision = map_learner.build(settings, rows, STRAIGHT).init(KEY)["precision"]
    np.testing.assert_allclose(0.5 * settings.strength * precision, 0.001, rtol=0.05)
    searched = np.array(method["search"]["map.strength"]) * precision.max() / 2
    np.testing.assert_allclose(searched, [1e-5, 1e-4, 1e-3, 1e-2], rtol=0.05)
