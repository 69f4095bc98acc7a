"""The harness: its order, hidden data, failures, and byte-identical resumption."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Gaussian, Learner, LearnerError
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import build_run, failures, run_store
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.harness import Stopped, advance, run_job, start
from shiftbench.evaluation.running.row_blocks import RowBlocks

BEAM = ["beam", {"size": 3, "broadening": "diffuse", "prior_log_odds": -2.0}]


def spec(**changes):
    return {
        "study": "study",
        "stream": {"name": "toy", "family": "toy-step"},
        "method": "variant",
        "learner": [BEAM, ["gaussian-mean", {}]],
        "model": None,
        "seeds": [2, 5],
        "reveals": [],
        "drift": "before-prediction",
        "metrics": ["log_predictive"],
        "code": "code",
        "digest": "digest",
    } | changes


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> xr.Dataset:
    module = components.load("streams", "toy-step")
    return module.build(module.Settings(realisations=4), tmp_path_factory.mktemp("raw"))


class Spy:
    """A learner that records the order and the arguments of its calls."""

    def __init__(self, fail_at: int = -1, error: Exception | None = None) -> None:
        self.calls: list[str] = []
        self.contexts = []
        self.fail_at, self.error, self.tasks = fail_at, error, 0

    def learner(self) -> Learner:
        return Learner(self.init, self.predict, self.observe, self.drift, self.boundary)

    def init(self, seeds):
        return {"sum": np.zeros((len(seeds), 1))}

    def drift(self, state, seeds):
        self.calls.append("drift")
        return state

    def boundary(self, state, context, seeds):
        self.contexts.append(context)
        return state

    def predict(self, state, inputs, seeds):
        self.calls.append("predict")
        shape = (len(inputs), 1, 1, 1)
        return Gaussian(np.zeros((len(inputs), 1)), np.zeros(shape), np.ones(shape))

    def observe(self, state, batch, seeds):
        self.calls.append("observe")
        self.tasks += 1
        total = state["sum"] + batch.targets[:, :, 0]
        if self.tasks == self.fail_at:
            if self.error:
                raise self.error
            total[1] = np.nan
        return {"sum": total}, {}


def with_spy(monkeypatch, spy):
    monkeypatch.setattr(build_run.pipeline, "assemble", lambda *_: spy.learner())
    return spy


def test_order_is_drift_predict_observe(monkeypatch, toy, tmp_path):
    spy = with_spy(monkeypatch, Spy())
    run_job(spec(), toy, tmp_path, minutes=5)
    assert spy.calls == ["drift", "predict", "observe"] * 30


def test_a_study_may_predict_before_the_time_update(toy, tmp_path):
    """`reset` on tasks of one value then predicts with the previous value instead of the prior."""
    pipeline = [["reset", {}], ["gaussian-mean", {"prior_variance": 1e12, "noise_sd": 1.0}]]
    found, values = {}, toy["value"].values[2:4].reshape(2, -1)
    for order in ("before-prediction", "after-prediction"):
        asked = spec(learner=pipeline, drift=order, seeds=[2, 3])
        run, _ = run_job(asked, toy, tmp_path / order, minutes=5)
        found[order] = run["score"].sel(metric="log_predictive").values
    away = values[:, 1:] - values[:, :-1]
    expected = -0.5 * np.log(2 * np.pi * 2) - away**2 / 4
    np.testing.assert_allclose(found["after-prediction"][:, 1:], expected, rtol=1e-6)
    assert (found["before-prediction"] < -13).all()


@pytest.mark.parametrize("reveals", [[], ["boundaries"], ["boundaries", "task_identity"]])
@pytest.mark.parametrize("needs", [set(), {"boundaries"}])
def test_only_what_is_revealed_and_declared_reaches_a_learner(
    monkeypatch, toy, tmp_path, reveals, needs
):
    spy = with_spy(monkeypatch, Spy())
    run = replace(build_run.run(spec(reveals=reveals), toy), needs=frozenset(needs))
    position = start(run)
    for _ in range(30):
        position = advance(run, position, Meter())
    assert RowBlocks(run).advance(start(run), Meter()) is None
    assert all(context.task is None for context in spy.contexts)
    if not needs:
        assert spy.contexts == []
    elif "boundaries" not in reveals:
        assert all(context.boundary is None for context in spy.contexts)
    else:
        found = np.stack([context.boundary for context in spy.contexts], axis=1)
        np.testing.assert_array_equal(found, toy["shift"].values[[2, 3, 0, 1]])


@pytest.mark.parametrize("returns", [False, True])
def test_a_task_has_the_identity_that_its_distribution_had_at_first(monkeypatch, toy, returns):
    """Identities number distributions by first appearance; a warm-up counts as task 0."""
    spy = with_spy(monkeypatch, Spy())
    # The store's numbers are arbitrary, and shift times differ between repetitions.
    concept = np.array([[7, 7, 2, 2, 7, 5, 2], [4, 0, 4, 4, 4, 0, 6]])
    shift = np.diff(concept, axis=1, prepend=concept[:, :1]) != 0
    few = toy.isel(task=slice(7), realisation=slice(2)).copy()
    few["shift"] = (("realisation", "task"), shift)
    expected = [[0, 0, 1, 1, 2, 3, 4], [0, 1, 2, 2, 2, 3, 4]]
    if returns:
        few["concept"] = (("realisation", "task"), concept)
        expected = [[0, 0, 1, 1, 0, 2, 1], [0, 1, 0, 0, 0, 1, 2]]
    asked = spec(reveals=["task_identity"], seeds=[0, 1])
    run = replace(build_run.run(asked, few), needs=frozenset({"task_identity"}))
    position = start(run)
    for _ in range(7):
        position = advance(run, position, Meter())
    assert all(context.boundary is None for context in spy.contexts)
    found = np.stack([context.task for context in spy.contexts], axis=1)
    np.testing.assert_array_equal(found, expected)


def test_a_nan_fails_its_seed_only_and_names_the_task(monkeypatch, toy, tmp_path):
    with_spy(monkeypatch, Spy(fail_at=4))
    store, _ = run_job(spec(learner=[BEAM, ["oga", {}]]), toy, tmp_path, minutes=5)
    status = store["status"].values
    assert [s.startswith("failed") for s in status] == [False, True, False, False]
    assert "state 'sum' not finite after task 3" in status[1] and "learning rate" in status[1]
    scores = store["score"].sel(metric="log_predictive")
    assert np.isnan(scores[1, 3:]).all() and np.isfinite(scores[1, :3]).all()
    assert np.isfinite(scores[[0, 2, 3]]).all()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("mean", np.nan, "the Gaussian has nan in its mean"),
        ("variance", -0.5, "the Gaussian has -0.5 in its variance, which must be above 0"),
        ("variance", 0.0, "the Gaussian has 0 in its variance, which must be above 0"),
        (
            "log_weights",
            7.0,
            "the Gaussian has log_weights whose exponentials have the sum 1096.63",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value):RuntimeWarning")
def test_a_failure_names_what_is_wrong_with_the_prediction(
    monkeypatch, toy, tmp_path, field, value, words
):
    """The remedy names a learner of the user's with its file; no learning rate without one."""

    class Faulty(Spy):
        def predict(self, *data):
            found = super().predict(*data)
            getattr(found, field)[2] = value
            return found

    with_spy(monkeypatch, Faulty())
    asked = spec(learner=[["gaussian-mean", {}]])
    store, _ = run_job(asked, toy, tmp_path / "ours", minutes=5)
    start = f"failed: metric 'log_predictive' not finite after task 0: {words}"
    assert [s.startswith(start) for s in store["status"].values] == [False, False, True, False]
    assert store["status"].values[2].endswith("; look at the data")
    monkeypatch.setattr(
        failures, "components", Mock(wraps=components, package_of=lambda *_: "mine")
    )
    store, _ = run_job(asked, toy, tmp_path / "mine", minutes=5)
    file = components.path("learners", "gaussian-mean")
    remedy = f"; correct learner gaussian-mean ({file}), or look at the data"
    assert store["status"].values[2].endswith(remedy)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        ("noisy-kfac", "lower alpha or look at the data"),
        ("mfvi", "lower the learning rate or look at the data"),
        ("gaussian-mean", "look at the data"),
    ],
)
def test_the_remedy_names_the_size_of_steps(learner, words):
    assert failures.remedy([("forget", {}), (learner, {})]) == words


def test_a_task_without_rows_is_not_judged_and_fails_nobody(monkeypatch, toy, tmp_path):
    """A seed without unmasked rows has no score in that task, and a mean over the others."""
    reader = components.load("streams", "toy-step")
    whole = reader.training_rows

    def masked(store, realisations, tasks):
        batch = whole(store, realisations, tasks)
        batch.mask[1] &= np.array(tasks) != 4
        return batch

    monkeypatch.setattr(reader, "training_rows", masked)
    store, _ = run_job(spec(), toy, tmp_path, minutes=5)
    assert store["status"].values.tolist() == ["ok"] * 4
    missing = np.isnan(store["score"].sel(metric="log_predictive").values)
    assert np.argwhere(missing).tolist() == [[1, 4]]


def test_what_was_found_is_not_copied_at_every_task(monkeypatch, toy):
    """Arrays of earlier tasks stay in place; copies were slow over 20,000 tasks."""
    run = build_run.run(spec(), toy)
    first = advance(run, start(run), Meter())
    second = advance(run, first, Meter())
    assert second.records.before is first.records
    assert all(array.shape[1] == 1 for array in second.records.arrays.values())


def test_an_error_of_the_learner_is_kept_as_data(monkeypatch, toy, tmp_path):
    with_spy(monkeypatch, Spy(fail_at=3, error=LearnerError("singular matrix")))
    store, _ = run_job(spec(), toy, tmp_path, minutes=5)
    assert set(store["status"].values) == {"failed: LearnerError at task 2: singular matrix"}
    assert np.isnan(store["score"].values[..., 2:]).all()


def test_a_mistake_in_the_code_is_no_data(monkeypatch, toy, tmp_path):
    with_spy(monkeypatch, Spy(fail_at=3, error=TypeError("a bug")))
    with pytest.raises(TypeError, match="a bug"):
        run_job(spec(), toy, tmp_path, minutes=5)


def test_a_malformed_prediction_is_refused_before_it_is_scored(monkeypatch, toy, tmp_path):
    """The message has the learner's name and file, even inside a beam."""
    module = components.load("learners", "gaussian-mean")
    build = module.build

    def flat(*given) -> Learner:
        learner = build(*given)

        def predict(*data) -> Gaussian:
            found = learner.predict(*data)
            return found._replace(mean=found.mean[..., 0])

        return replace(learner, predict=predict)

    scored = []
    monkeypatch.setattr(module, "build", flat)
    use_metric(monkeypatch, score=lambda *batch: scored.append(batch))
    expected = r"learner gaussian-mean \(.*gaussian_mean.py\): predicts a Gaussian whose mean has"
    expected += r" the shape \(4, 6, 1\), expected \(4, 6, 1, 1\): \[seed 4, hypothesis 6, row 1,"
    with pytest.raises(UserError, match=expected):
        run_job(spec(), toy, tmp_path, minutes=5)
    assert not scored


@pytest.mark.parametrize("pipeline", [[], [BEAM]])
def test_a_malformed_state_or_info_is_refused(monkeypatch, toy, tmp_path, pipeline):
    module = components.load("learners", "gaussian-mean")
    build = module.build

    def numbers(*given) -> Learner:
        learner = build(*given)
        return replace(learner, observe=lambda *data: (learner.observe(*data)[0], {"elbo": 3.0}))

    monkeypatch.setattr(module, "build", numbers)
    expected = r"learner gaussian-mean \(.*gaussian_mean.py\): `observe` returns an Info whose"
    with pytest.raises(UserError, match=expected + " 'elbo' is a float, expected a dict of NumPy"):
        run_job(spec(learner=[*pipeline, ["gaussian-mean", {}]]), toy, tmp_path, minutes=5)


def use_metric(monkeypatch, **changes):
    """Replace fields of the only metric of a run."""
    metric = replace(components.load_metric("log_predictive"), **changes)
    monkeypatch.setattr(components, "load_metric", lambda name: metric)


def interrupt_after(monkeypatch, tasks):
    """Make the harness stop before the given task, as after SIGTERM; a block ends there."""
    whole = RowBlocks.advance

    def interrupted(blocks, position, meter):
        if position.next_task == tasks:
            raise Stopped("test")
        blocks.size = min(blocks.size, tasks - position.next_task)
        return whole(blocks, position, meter)

    monkeypatch.setattr(RowBlocks, "advance", interrupted)


def one_by_one(monkeypatch):
    """Make the harness process tasks one by one."""
    monkeypatch.setattr(RowBlocks, "advance", lambda *_: None)


PIPELINES = {
    "beam": [BEAM, ["gaussian-mean", {}]],
    "forget": [["forget", {"beta": 0.9}], ["gaussian-mean", {}]],
    "alone": [["gaussian-mean", {}]],
    "no-blocks": [["ensemble", {"size": 2}], ["gaussian-mean", {}]],
}
SCORES = ["log_predictive", "absolute_error", "squared_error", "interval_coverage"]
SCORES += ["crps", "coverage_50", "interval_score", "energy_score", "pit"]
SCORES += ["average_cumulative_loss", "average_cumulative_expected_loss"]


@pytest.mark.parametrize("drift", ["before-prediction", "after-prediction"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_blocks_give_the_bytes_of_tasks_one_by_one(monkeypatch, toy, tmp_path, pipeline, drift):
    asked = spec(learner=PIPELINES[pipeline], drift=drift, metrics=SCORES)
    blocks, cost = run_job(asked, toy, tmp_path / "a", minutes=5)
    one_by_one(monkeypatch)
    alone, _ = run_job(asked, toy, tmp_path / "b", minutes=5)
    for name, store in (("blocks", blocks), ("alone", alone)):
        zarr_zip.write(store, tmp_path / name)
    assert (tmp_path / "blocks").read_bytes() == (tmp_path / "alone").read_bytes()
    assert cost["learning_cpu_seconds"] > 0


def test_what_fails_in_a_block_is_found_task_by_task(monkeypatch, toy, tmp_path):
    """The prediction has no density at one repetition's value; the others continue."""
    broken = toy.copy(deep=True)
    broken["value"].values[3, 20] = 1e200
    asked = spec(learner=PIPELINES["beam"])
    blocks, _ = run_job(asked, broken, tmp_path / "a", minutes=5)
    one_by_one(monkeypatch)
    alone, _ = run_job(asked, broken, tmp_path / "b", minutes=5)
    xr.testing.assert_identical(blocks, alone)
    assert [("task 20" in status) for status in blocks["status"].values] == [0, 1, 0, 0]


@pytest.mark.parametrize("tasks", [0, 1, 17, 29])
def test_stopped_and_resumed_equals_uninterrupted_to_the_byte(monkeypatch, toy, tmp_path, tasks):
    whole, cost = run_job(spec(), toy, tmp_path / "a", minutes=5)
    with monkeypatch.context() as patch:
        interrupt_after(patch, tasks)
        with pytest.raises(Stopped):
            run_job(spec(), toy, tmp_path / "b", minutes=5)
    resumed, resumed_cost = run_job(spec(), toy, tmp_path / "b", minutes=5)
    for name, store in (("whole", whole), ("resumed", resumed)):
        zarr_zip.write(store, tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()
    assert (cost["attempts"], resumed_cost["attempts"]) == (1, 2)


def test_the_time_limit_saves_and_stops(toy, tmp_path):
    with pytest.raises(Stopped, match="limit"):
        run_job(spec(), toy, tmp_path, minutes=1e-9)
    assert list(tmp_path.glob("*.npz"))


def test_the_store_holds_its_origin_and_no_times(toy, tmp_path):
    store, cost = run_job(spec(), toy, tmp_path, minutes=5)
    assert json.loads(store.attrs["spec"])["seeds"] == [2, 5]
    assert {"title", "code", "versions", "licence"} <= store.attrs.keys()
    assert store["info_parent"].dims == ("seed", "task", "hypothesis")
    assert cost["wall_seconds"] > 0 and cost["peak_memory_bytes"] > 1e7 and cost["host"]
    assert store["realisation"].values.tolist() == [2, 3, 0, 1]


def test_other_seeds_and_tasks_draw_other_numbers(toy):
    seeds = build_run.run(spec(), toy).seeds
    other = build_run.run(spec(method="other"), toy).seeds
    assert len(np.unique(np.concatenate([seeds, other]), axis=0)) == 8


def test_a_stream_that_looks_back_gives_the_matrix_of_scores(monkeypatch, toy):
    """Scores are means over all tasks so far, and those of each task are kept."""
    module = components.load("streams", "toy-step")
    monkeypatch.setattr(module, "test", _test_of_task, raising=False)
    use_metric(monkeypatch, stage="after", score=lambda predictive, batch: batch.inputs[:, 0])
    run = build_run.run(spec(), toy)
    position = start(run)
    for _ in range(3):
        position = advance(run, position, Meter())
    store = run_store.dataset(run, position)
    tested = store["tested"].sel(after_metric="log_predictive").isel(seed=1).values
    expected = np.full(tested.shape, np.nan)
    for t in range(3):
        expected[t, : t + 1] = 10 * np.arange(t + 1) + 1
    np.testing.assert_array_equal(tested, expected)
    np.testing.assert_array_equal(store["score"][0, 1, :3], np.nanmean(expected[:3], axis=1))
    assert store["status"].values.tolist() == ["ok"] * 4


def _test_of_task(store, realisations, j):
    """Return inputs that encode the tested task and seed."""
    s = len(realisations)
    inputs = np.broadcast_to(10.0 * j + np.arange(s)[:, None], (s, 1))
    return Batch(inputs, np.zeros((s, 1, 1)), np.ones((s, 1), bool))


def test_a_learner_that_refuses_the_stream_fails_in_all_seeds(monkeypatch, toy):
    def refuse(*_):
        raise LearnerError("needs several heads")

    monkeypatch.setattr(build_run.pipeline, "assemble", refuse)
    run = build_run.run(spec(), toy)
    store = run_store.dataset(run, start(run))
    assert set(store["status"].values) == {"failed: LearnerError: needs several heads"}
    assert np.isnan(store["score"]).all()
