"""The Laplace approximation of a last layer against published numbers and exact regression."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.special

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.models import linear, mlp
from shiftbench.methods.networks import last_layer_laplace
from shiftbench.methods.networks.backend import graph
from shiftbench.methods.networks.model import Model, point
from shiftbench.methods.networks.training import Minibatch
from tests.methods.learners.test_laplace_kronecker import ROWS, tanh_network
from tests.methods.networks import side_by_side

KEY = seeds.block([0, 1], "last layer")


def network() -> tuple[Model, tf.Tensor, tuple[tf.Tensor, ...]]:
    """Return the network of the published numbers, its parameters [1, 1, P] and its data."""
    model, numbers = tanh_network()
    x = np.stack([np.ones(8), np.sin(ROWS), np.cos(2 * ROWS)], -1)
    labels = np.array([[0, 1, 2, 0, 1, 2, 0, 1]])
    data = tuple(map(tf.constant, (x[None].astype("f4"), labels, np.ones((1, 8), bool))))
    return model, tf.constant(numbers[None, None], tf.float32), data


@pytest.mark.parametrize(
    ("precision", "log_marginal"), [(1.0, -11.562259649), (1.5544337515, -11.4552434821)]
)
def test_the_evidence_is_that_of_laplace_torch(precision, log_marginal):
    found = last_layer_laplace.fitted(*network(), precision)
    np.testing.assert_allclose(found.log_marginal, [[log_marginal]], rtol=1e-6)
    log_det = -2 * np.linalg.slogdet(found.root[0, 0].numpy())[1]
    if precision == 1:
        np.testing.assert_allclose(log_det, 3.472510215, rtol=1e-5)


def test_the_best_prior_precision_is_near_that_of_laplace_torch_and_better():
    """laplace-torch stopped at 1.5544337515; ours is the best on a fine grid."""
    found = last_layer_laplace.fitted(*network(), None)
    np.testing.assert_allclose(found.prior_precision, [[1.5544337515]], rtol=2e-3)
    assert found.log_marginal.numpy() >= -11.4552434821 * (1 + 1e-7)
    root = last_layer_laplace.fitted(*network(), 1.0).root[0, 0].numpy().astype(float)
    values = np.linalg.eigvalsh(np.linalg.inv(root @ root.T)) - 1
    square = (network()[1].numpy()[0, 0, -9:].astype(float) ** 2).sum()
    deltas = np.exp(np.linspace(-1, 2, 100_001))[:, None]
    evidence = -0.5 * (np.log1p(values / deltas).sum(-1) + deltas[:, 0] * square)
    np.testing.assert_allclose(found.prior_precision, deltas[evidence.argmax()][None], rtol=1e-4)


def test_probit_probabilities_are_those_of_laplace_torch_and_near_draws():
    model, numbers, data = network()
    root = last_layer_laplace.fitted(model, numbers, data, 1.0).root

    @graph
    def first_row(draws):
        given = numbers, root, tf.constant(KEY[:1]), data[0]
        return last_layer_laplace.moments(model, draws, *given)[0, 0, 0, 0]

    probit = first_row(0)
    np.testing.assert_allclose(probit, [0.5445021449, 0.2219030663, 0.2335947888], rtol=1e-6)
    np.testing.assert_allclose(first_row(2000), probit, atol=0.02)


def test_the_gauss_newton_matrix_is_that_of_stored_jacobians_without_masked_rows():
    model, numbers, data = network()
    mask = np.array([[1, 1, 1, 1, 1, 1, 0, 0]], "f4")
    rows = Minibatch(data[0][:, None], data[1], tf.constant(mask))
    with tf.GradientTape() as tape:
        tape.watch(numbers)
        outputs = model.forward(point(numbers), rows.inputs)[0, 0]
    jacobian = tape.jacobian(outputs, numbers)[:, :, 0, 0, -9:].numpy()
    p = tf.nn.softmax(outputs).numpy()
    curvature = np.einsum("nc,cd->ncd", p, np.eye(3)) - p[:, :, None] * p[:, None]
    exact = np.einsum("n,nci,ncd,ndj->ij", mask[0], jacobian, curvature, jacobian)
    found = last_layer_laplace.gauss_newton(model, numbers, rows)[0, 0]
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-6)


@pytest.mark.long
def test_a_network_without_hidden_layers_is_exact_bayesian_regression():
    problem = Problem("regression", (2,), 2, 8, 1)
    model = linear.build(linear.Settings(noise_sd=0.5), problem)
    settings = map_learner.Settings(
        epochs=800, batch_size=8, learning_rate=0.02, importance="none", biases="penalised",
        prior_sd=2**-0.5, prediction="laplace-last", last_prior="trained",
    )  # fmt: skip
    learner = map_learner.build(settings, problem, model)
    inputs = np.stack([np.sin(ROWS), np.cos(2 * ROWS)], -1)
    targets = np.stack([np.sin(2 * ROWS) + 0.5, np.cos(ROWS)], -1)
    batch = Batch(
        *(np.stack([a] * 2).astype("f4") for a in (inputs, targets)), np.ones((2, 8), bool)
    )
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    np.testing.assert_allclose(info["log_marginal"], -26.0887552702, rtol=1e-4)
    design = np.concatenate([inputs, np.ones((8, 1))], 1)
    precision = 2 * np.eye(3) + design.T @ design / 0.25
    mean = design @ np.linalg.solve(precision, design.T @ targets / 0.25)
    variance = 0.25 + np.einsum("ni,ij,nj->n", design, np.linalg.inv(precision), design)
    found = learner.predict(state, batch.inputs, KEY)
    np.testing.assert_allclose(found.mean[0, 0], mean, atol=2e-3)
    np.testing.assert_allclose(found.variance[0, 0], np.stack([variance] * 2, 1), rtol=1e-3)


@functools.cache
def small(heads: int = 1, **fields):
    """Return a learner of a small classification network, and its problem."""
    problem = Problem("classification", (4,), 4, 20, 2, heads=heads)
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    given = {"epochs": 3, "importance": "none", "prediction": "laplace-last", **fields}
    return map_learner.build(map_learner.Settings(**given), problem, model), problem


def labelled(seed: int, heads: int = 1) -> Batch:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(2, 20, 4)).astype("f4")
    if heads > 1:
        inputs = np.concatenate([inputs, np.zeros((2, 20, 1), "f4")], -1)
    return Batch(inputs, rng.integers(0, 4 // heads, (2, 20)), np.ones((2, 20), bool))


def mutual_information(predicted) -> float:
    entropy = scipy.special.entr(predicted.probabilities).sum(-1)
    return (entropy - predicted.entropy).mean()


@pytest.mark.long
def test_predictions_are_uncertain_where_no_rows_were():
    learner, _ = small(prediction_draws=5)
    batch = labelled(0)
    state, _ = learner.observe(learner.init(KEY), batch, KEY)
    near, far = (learner.predict(state, s * batch.inputs, KEY) for s in (0.1, 50.0))
    assert mutual_information(far) > mutual_information(near) > 0


def test_a_head_that_no_row_has_keeps_its_prior():
    learner, _ = small(heads=2)
    state, info = learner.observe(learner.init(KEY), labelled(0, heads=2), KEY)
    covariance = state["root"] @ np.swapaxes(state["root"], -1, -2)
    of_other = np.tile([0, 0, 1, 1], 6).astype(bool)
    block = covariance[0, 0][of_other][:, of_other]
    np.testing.assert_allclose(block * info["prior_precision"][0, 0], np.eye(12), atol=1e-4)


@pytest.mark.long
def test_two_seeds_side_by_side_have_the_bytes_of_each_alone():
    learner, _ = small(prediction_draws=5)
    side_by_side.have_the_bytes_of_each_alone(learner, labelled(0), KEY)
