"""Networks with renewed parts: the effect of each renewal, and of none."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.learners import plastic
from shiftbench.methods.models import mlp
from shiftbench.methods.networks.model import glorot

S, TASKS = 2, 3
PROBLEM = Problem("classification", (3,), 3, 20, TASKS)
MODEL = mlp.build(mlp.Settings(hidden=(5,)), PROBLEM)
KEY = seeds.block(range(S), "plastic")
SHORT = {"epochs": 2, "batch_size": 8}


def batch(task: int) -> Batch:
    random = np.random.default_rng(task)
    x = random.normal(size=(S, 20, 3)).astype(np.float32)
    mask = np.ones((S, 20), bool)
    mask[0, 12:] = False
    return Batch(x, random.integers(0, 3, (S, 20)), mask)


def learnt(learner, tasks: int = TASKS, state=None, first: int = 0):
    state = learner.init(KEY) if state is None else state
    for t in range(first, tasks):
        state, info = learner.observe(state, batch(t), seeds.fold_each(KEY, t))
    return state, info


def built(**settings):
    return plastic.build(plastic.Settings(**SHORT | settings), PROBLEM, MODEL)


@pytest.fixture(scope="module")
def fine_tuned():
    """Return state and Info of `map` without a penalty."""
    fields = {"importance": "none", "prior": "flat", "start": "prior", "biases": "penalised"}
    return learnt(map_learner.build(map_learner.Settings(**SHORT | fields), PROBLEM, MODEL))


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        {"renewal": "none"},
        {"renewal": "shrink-perturb", "keep": 1.0},
        {"renewal": "continual-backprop", "rate": 0.0},
    ],
)
def test_without_renewal_it_is_fine_tuning_to_the_byte(settings, fine_tuned):
    expected, info = fine_tuned
    state, found = learnt(built(**settings))
    np.testing.assert_array_equal(state["mean"], expected["mean"])
    np.testing.assert_array_equal(found["log_likelihood"], info["log_likelihood"])
    np.testing.assert_array_equal(found["steps"], info["steps"])


def test_nothing_kept_is_a_new_network_for_each_task():
    learner = built(renewal="shrink-perturb", keep=0.0)
    state, _ = learnt(learner)
    alone, _ = learnt(learner, state=learner.init(KEY), first=TASKS - 1)
    np.testing.assert_array_equal(state["mean"], alone["mean"])


def test_a_task_starts_from_shrunk_and_fresh_weights():
    learner = built(renewal="shrink-perturb", keep=0.7, learning_rate=1e-30)
    first, _ = learnt(learner, 1)
    second, _ = learnt(learner, 2)
    fresh = glorot(MODEL, seeds.fold_each(KEY, 1))
    np.testing.assert_allclose(second["mean"], 0.7 * first["mean"] + 0.3 * fresh, atol=1e-7)


def test_units_go_on_ageing_from_task_to_task():
    learner = built(renewal="continual-backprop", maturity=1, rate=0.2)
    state, info = learnt(learner)
    assert info["steps"].max() == 6  # two passes of three minibatches
    # The seeds have 2 and 3 steps per epoch; some units have been replaced meanwhile.
    assert (state["age"] <= 18).all() and (state["age"] < 12).any()
    assert np.isfinite(state["mean"]).all() and (state["due"] < 1).all()


def test_utilities_of_weights_go_on_from_task_to_task():
    learner = built(renewal="upgd", learning_rate=1e-30, noise_sd=0.0, utility_decay=0.999999)
    one, two = (learnt(learner, tasks)[0]["utility"] for tasks in (1, 2))
    assert np.abs(one).max() > 0 and np.abs(two - one).max() > 0
    assert np.abs(two).max() < 1e-3


@pytest.mark.long
def test_noise_of_useless_weights_needs_no_gradient():
    state, _ = learnt(built(renewal="upgd", noise_sd=10.0, learning_rate=0.1))
    quiet, _ = learnt(built(renewal="upgd", noise_sd=0.0, learning_rate=0.1))
    assert np.abs(state["mean"] - quiet["mean"]).mean() > 0.1
