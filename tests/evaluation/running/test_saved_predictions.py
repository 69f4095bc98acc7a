"""A run keeps its predictions row by row, and interruptions do not change them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import entr, softmax

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian, Learner
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import build_run, harness, saved_predictions
from shiftbench.evaluation.running.harness import Stopped, advance, run_job
from tests.evaluation.running.test_harness import spec

SETTINGS = {"dataset": "digits", "tasks": 3, "train_per_task": 31, "realisations": 2}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Return three tasks of two digits, with one output per digit; tasks differ in rows."""
    module = components.load("streams", "split-images")
    settings = module.Settings(**SETTINGS, heads="single")
    return module.build(settings, tmp_path_factory.mktemp("raw"))


def asked(**changes):
    of_digits = {"name": "digits", "family": "split-images"}
    return spec(stream=of_digits, learner=[["map", {}]], metrics=[], seeds=[0, 2]) | changes


@pytest.fixture
def learner(monkeypatch):
    """Patch in a learner with two hypotheses of fixed logits, which count the rows seen."""

    def init(seeds):
        return {"seen": np.zeros((len(seeds), 2))}

    def predict(state, inputs, seeds):
        flat = inputs.reshape(*inputs.shape[:2], -1)[..., :10]
        scale = (1 + state["seen"] / 100 * np.array([1, 2]))[..., None, None]
        probabilities = softmax(scale * flat[:, None], axis=-1)
        weights = np.log(np.tile([0.25, 0.75], (len(inputs), 1)))
        return Categorical(weights, probabilities)

    def observe(state, batch, seeds):
        return {"seen": state["seen"] + batch.mask.sum(axis=1)[:, None]}, {}

    made = Learner(init, predict, observe)
    monkeypatch.setattr(build_run.pipeline, "assemble", lambda *_: made)
    return made


def test_a_run_keeps_both_predictions_of_all_rows_under_names(digits, learner, tmp_path):
    store, _ = run_job(asked(keeps=["predictions"]), digits, tmp_path, minutes=5)
    assert store["before_probability"].dims == ("seed", "task", "train_row", "class")
    assert store["after_expected_entropy"].dims == ("seed", "task", "test_row")
    assert store["after_probability"].dtype == np.float32
    assert store["before_target"].dtype == np.int32
    module = components.load("streams", "split-images")
    state = learner.init(np.zeros((3, 2)))
    for t in range(3):
        train, test = module.task(digits, [0, 1, 0], t).train, module.test(digits, [0, 1, 0], t)
        state, _ = learner.observe(state, train, None)
        of_rows = learner.predict(state, test.inputs, None)
        mixed = 0.25 * of_rows.probabilities[:, 0] + 0.75 * of_rows.probabilities[:, 1]
        entropy = entr(of_rows.probabilities).sum(axis=-1)
        mask = test.mask
        found = store.isel(task=t)
        np.testing.assert_allclose(found["after_probability"].values[mask], mixed[mask], rtol=1e-6)
        doubt = (0.25 * entropy[:, 0] + 0.75 * entropy[:, 1])[mask]
        np.testing.assert_allclose(found["after_expected_entropy"].values[mask], doubt, rtol=1e-6)
        np.testing.assert_array_equal(found["after_target"], np.where(mask, test.targets, -1))
        assert np.isnan(found["after_probability"].values[~mask]).all()


def test_a_run_that_is_not_asked_keeps_nothing(digits, learner, tmp_path):
    store, _ = run_job(asked(), digits, tmp_path, minutes=5)
    assert not [name for name in store if "probability" in str(name)]


@pytest.mark.parametrize("tasks", [1, 2])
def test_stopped_and_resumed_keeps_the_same_to_the_byte(
    monkeypatch, digits, learner, tmp_path, tasks
):
    whole, _ = run_job(asked(keeps=["predictions"]), digits, tmp_path / "a", minutes=5)

    def interrupted(run, position, *rest):
        if position.next_task == tasks:
            raise Stopped("test")
        return advance(run, position, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(harness, "advance", interrupted)
        with pytest.raises(Stopped):
            run_job(asked(keeps=["predictions"]), digits, tmp_path / "b", minutes=5)
    resumed, _ = run_job(asked(keeps=["predictions"]), digits, tmp_path / "b", minutes=5)
    for name, store in (("whole", whole), ("resumed", resumed)):
        zarr_zip.write(store, tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_tasks_may_differ_in_rows_and_a_run_may_end_early():
    short, long = np.zeros((2, 1, 3), np.int32), np.ones((2, 1, 5), np.int32)
    joined = saved_predictions.joined([short, long])
    np.testing.assert_array_equal(joined[0], [[0, 0, 0, -1, -1], [1, 1, 1, 1, 1]])
    found = saved_predictions.variables({"kept/after/target": joined}, 3)["after_target"][1]
    assert found.shape == (2, 3, 5) and (found[:, 2] == -1).all()
    single = saved_predictions.joined(
        [np.zeros((2, 1, 3, 2), np.float32), np.ones((2, 1, 5, 2), np.float32)]
    )
    assert single.dtype == np.float32 and np.isnan(single[0, 0, 3:]).all()


def test_the_entropy_of_draws_is_kept_where_there_are_draws():
    p = np.full((1, 1, 1, 2), 0.5)
    batch = Batch(np.zeros((1, 1, 1)), np.zeros((1, 1), int), np.ones((1, 1), bool))
    of_draws = saved_predictions.arrays(
        "after", Categorical(np.zeros((1, 1)), p, np.full((1, 1, 1), 0.1)), batch
    )
    assert of_draws["kept/after/expected_entropy"] == pytest.approx(0.1)
    none = saved_predictions.arrays("after", Categorical(np.zeros((1, 1)), p), batch)
    assert none["kept/after/expected_entropy"] == pytest.approx(np.log(2))


def test_predictions_of_real_values_are_not_kept():
    one = np.ones((1, 1, 1, 1))
    batch = Batch(one[0], one[0], np.ones((1, 1), bool))
    with pytest.raises(UserError, match=r"take `keeps: \[predictions\]` out"):
        saved_predictions.arrays("after", Gaussian(np.zeros((1, 1)), one, one), batch)
