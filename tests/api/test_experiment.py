"""Runs and comparisons from Python equal those of the workflow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import shiftbench as sb
from shiftbench.api.streams import Stream
from shiftbench.config import components, jobs, one_stream
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.runtime import cached_jobs

METHODS = {"plain": ["gaussian-mean"], "search": [{"beam": {"size": 2}}, "gaussian-mean"]}
METRICS = ["log_predictive", "jump_f1"]
NATIVE_NUMPY_FIRST = f"""
import numpy, sys
from pathlib import Path
import shiftbench as sb
from shiftbench.runtime import cached_jobs
from shiftbench.api.streams import Stream
cached_jobs.cache_folder = lambda: Path(sys.argv[1])
steps = sb.stream("toy-step", name="steps", points=12)
print(sb.run({METHODS}, steps, seeds=3, metrics={METRICS}, name="mine", seeds_per_job=2))
"""
LONG = """
import sys
from pathlib import Path
import shiftbench as sb
from shiftbench.runtime import cached_jobs
from shiftbench.api.streams import Stream
cached_jobs.cache_folder = lambda: Path(sys.argv[1])
steps = sb.stream("toy-step", points=30_000, realisations=1)
slow = [{"run-length": {"keep": 1000}}, "gaussian-mean"]
sb.run({"slow": slow}, steps, seeds=1, metrics=["squared_error"], name="long")
"""


def steps() -> Stream:
    return sb.stream("toy-step", name="steps", points=12)


@pytest.mark.long
def test_scores_have_the_bytes_of_the_workflow(called, own_cache, workflows):
    scores = sb.run(METHODS, steps(), seeds=3, metrics=METRICS, name="mine", seeds_per_job=2)
    path = workflows / "studies/mine/scores.zarr.zip"
    (ours,) = own_cache.glob("jobs/*/scores.zarr.zip")
    assert ours.read_bytes() == path.read_bytes()
    cube = zarr_zip.read_tree(path)["scores"].to_dataset(inherit=False)
    for name in ("score", "score_by_task", "status"):
        assert scores[name].identical(cube[name].assign_coords(scores[name].coords))
    assert scores["unit"].values.tolist() == ["nats per observation", "fraction"]
    assert scores["better"].values.tolist() == ["higher", "higher"]


def test_only_what_is_new_runs(called):
    plain = {"plain": METHODS["plain"]}
    metrics = ["log_predictive"]
    sb.run(plain, steps(), seeds=2, metrics=metrics, seeds_per_job=2)
    del called[:]
    sb.run(METHODS, steps(), seeds=3, metrics=metrics, seeds_per_job=2)
    assert called == [
        "study/plain on steps, seeds 2-2",
        "study/search on steps, seeds 0-1",
        "study/search on steps, seeds 2-2",
        "scores of study",
    ]


@pytest.mark.long
def test_a_shared_warm_up_is_done_once(called):
    images = sb.stream("transformed-images", dataset="digits", tasks=2, train_per_task=10)
    methods = {"online": ["mfvi"], "resets": ["reset", "mfvi"]}
    scores = sb.run(methods, images, seeds=1, metrics=["accuracy"], model="mlp")
    assert scores["status"].values.tolist() == [[["ok"], ["ok"]]]
    assert sum(name.startswith("warm-up") for name in called) == 1


WRONG = {
    'studies.study.methods[0]: unknown method "vbs-toyy"; did you mean "vbs-toy"?': {
        "methods": ["vbs-toyy"]
    },
    'studies.study.metrics[0]: "accuracy" needs test data': {"metrics": ["accuracy"]},
    'studies.study.colour: unknown key "colour"': {"colour": "red"},
    "`tuning` needs a workflow": {"tuning": {"trials": 3}},
    "studies.study.seeds: should be at least 1 (it is 0)": {"seeds": 0},
}


@pytest.mark.parametrize("message", WRONG)
def test_arguments_are_checked_as_a_config(called, message):
    arguments = {"methods": METHODS, "metrics": METRICS} | WRONG[message]
    with pytest.raises(UserError) as error:
        sb.run(stream=steps(), **arguments)
    assert message in str(error.value)
    assert called == ["stream steps"]


def test_streams_have_names_of_their_own(called):
    with pytest.raises(UserError, match='two streams are called "steps"'):
        sb.run(METHODS, [steps(), steps()], metrics=METRICS)


def scores_of(**by_learner: list[float]) -> xr.Dataset:
    values = np.array([list(by_learner.values())])[:, :, None]
    labels = {"stream": ["steps"], "learner": list(by_learner), "metric": ["acc"]}
    return xr.Dataset({"score": (("stream", "learner", "metric", "seed"), values)}, labels)


WRONG_SCORES = {
    "the scores have no seed": lambda scores: scores.mean("seed"),
    "the scores have another dimension, x": lambda scores: scores.expand_dims(x=2),
    "the scores are not numbers": lambda scores: scores.astype(str),
    "several learners are called a": lambda scores: xr.concat([scores, scores], "learner"),
    "several seeds are called 0": lambda scores: xr.concat([scores, scores], "seed"),
}


@pytest.mark.parametrize("message", WRONG_SCORES)
def test_other_scores_than_those_of_run_are_refused(message):
    axes = {"stream": ["s"], "learner": ["a"], "metric": ["acc"], "seed": [0, 1]}
    scores = xr.Dataset({"score": xr.DataArray(np.zeros((1, 1, 1, 2)), axes)})
    assert sb.compare(scores).empty and sb.compare(scores.isel(seed=0)).empty
    with pytest.raises(UserError, match=message):
        sb.compare(WRONG_SCORES[message](scores))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sb.run(["bocpd"], "toy-step", metrics=["acc"], name=[]), "name: .*; give a text"),
        (lambda: sb.compare(xr.Dataset({"score": 1.0})), "no stream, learner, metric and seed"),
        (lambda: sb.stream(["toy-step"]), "family: .*; give a text"),
        (lambda: sb.stream("toy-step", name=3), "name: 3; give a text"),
        (lambda: sb.stream("toy-step", points="\udce4"), "settings: .*surrogates not allowed"),
        (lambda: sb.stream("toy-step", points="\0"), "settings: a text has a NUL character"),
        (lambda: sb.load(3), "folder: 3; give a path, as a text or a Path"),
        (lambda: sb.method("bocpd").save(""), "path: ''; give a path"),
        (lambda: sb.method("bocpd").load(None), "path: None; give a path"),
    ],
)
def test_arguments_of_another_type_are_refused(call, message, own_cache):
    with pytest.raises(UserError, match=message):
        call()


def test_neighbours_are_compared_by_the_paired_t_test():
    best, next_best = [0.9, 0.8, 0.85, 0.9], [0.7, 0.7, 0.6, 0.8]
    table = sb.compare(scores_of(low=next_best, high=best, none=[np.nan] * 4))
    assert table[["learner", "next"]].values.tolist() == [["high", "low"]]
    difference = np.subtract(best, next_best)
    row, error = table.iloc[0], difference.std(ddof=1) / 2
    assert row["difference"] == pytest.approx(difference.mean())
    assert row["p"] == pytest.approx(2 * stats.t.sf(difference.mean() / error, 3))
    assert row["low"] < row["difference"] < row["high"]
    assert (row["resolved"], row["seeds"]) == (True, 4)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([0.9, 0.8], [0.7, 0.7], ""),
        ([0.9], [0.7], "one seed"),
        ([0.9, 0.9, 0.9], [0.7, 0.7, 0.7], "all seeds alike"),
        ([0.75, 0.5], [0.5, 0.25], "equal differences"),
        ([0.9, np.nan], [np.nan, 0.7], "no common seed"),
        ([0.9, 0.8], [0.7, np.nan], "one seed"),
    ],
)
def test_a_comparison_without_a_test_says_why(first, second, reason):
    row = sb.compare(scores_of(first=first, second=second)).iloc[0]
    assert row["untested"] == reason
    assert np.isnan(row["p"]) == bool(reason)


def test_a_learner_that_loses_on_all_common_seeds_is_not_significantly_better():
    first = [-1.0, -1.1, -1.05, -1.02, -10.0]
    table = sb.compare(scores_of(first=first, failed=[-2.0, -2.2, -2.05, -2.01, np.nan]))
    row = table.iloc[0]
    assert (row["learner"], row["next"], row["seeds"]) == ("failed", "first", 4)
    assert row["difference"] < 0 and row["p"] < 0.001 and not row["resolved"]


def test_a_metric_without_a_direction_compares_nothing(called):
    scores = scores_of(a=[0.1, 0.2], b=[0.3, 0.4]).assign_coords(metric=["n_changepoints"])
    with pytest.raises(UserError, match="n_changepoints: neither higher nor lower is better"):
        sb.compare(scores)
    with pytest.raises(UserError, match='unknown metric of these scores "acc"'):
        sb.compare(scores, "acc")


def test_a_failed_job_says_why(own_cache):
    config = one_stream.config_of("steps", {"family": "toy-step"})
    (job,) = jobs.of_stream(config, "steps", "results")
    for status, kind, text in [
        (2, UserError, "stream steps: it is wrong"),
        (75, UserError, "90 % of its 30 minutes; its state is saved"),
        (1, RuntimeError, "stream steps failed: it is wrong; its log is"),
    ]:
        code = f"import sys; print('it is wrong', file=sys.stderr); sys.exit({status})"
        command = [sys.executable, "-c", code]
        with cached_jobs._bar(1) as bar, pytest.raises(kind, match=text):
            cached_jobs._run(job, command, [own_cache / "jobs/x/out"], bar)


@pytest.mark.long
def test_the_bytes_are_those_of_a_process_that_imports_numpy_first(own_cache, workflows):
    """Jobs are separate processes with portable instructions, forked from one server."""
    command = [sys.executable, "-c", NATIVE_NUMPY_FIRST, str(own_cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "score_by_task" in done.stdout
    (ours,) = own_cache.glob("jobs/*/scores.zarr.zip")
    path = workflows / "studies/mine/scores.zarr.zip"
    assert ours.read_bytes() == path.read_bytes()


@pytest.mark.long
@pytest.mark.usefixtures("signals_act")
def test_an_interrupted_run_goes_on(own_cache):
    command = [sys.executable, "-c", LONG, str(own_cache)]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list(own_cache.glob("scratch/*/*")):
        assert first.poll() is None, "it ended before it had saved its state"
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in first.communicate()[1]
    assert not list(own_cache.glob("jobs/*/0-0.zarr.zip"))
    subprocess.run(command, check=True, capture_output=True)
    logs = [path.read_text() for path in own_cache.glob("jobs/*/log")]
    assert sum("slow: resumed at task" in text for text in logs) == 1


COMPONENT = """
from dataclasses import dataclass
import numpy as np
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Gaussian, Learner
FACTS = Facts(takes={"value": "gaussian"})
@dataclass(frozen=True)
class Settings:
    pass
def build(settings, problem, model=None):
    def init(seeds):
        return {"level": np.zeros((len(seeds), 1, problem.n_outputs))}
    def predict(state, inputs, seeds):
        mean = np.repeat(state["level"][:, None], inputs.shape[1], axis=2)
        return Gaussian(np.zeros(mean.shape[:2]), mean, np.full(mean.shape, VARIANCE))
    def observe(state, batch, seeds):
        return state, {}
    return Learner(init, predict, observe)
"""


@pytest.mark.long
def test_an_edited_component_is_run_again_in_the_same_process(own_cache, tmp_path, monkeypatch):
    """Its scores do not replace those of the old code."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine" / "learners" / "level.py"
    file.parent.mkdir(parents=True)

    def score(variance: str, seeds: int) -> float:
        file.write_text(COMPONENT.replace("VARIANCE", variance))
        found = sb.run(
            {"a": ["level"]}, steps(), seeds=seeds, metrics=["log_predictive"], components="mine"
        )
        return float(found["score"].isel(seed=0).item())

    first, second = score("0.5", 1), score("25.0", 1)
    assert first != second
    assert score("0.5", 2) == first and score("25.0", 2) == second
    assert list(components.packages()) == [components.OURS], "the next call has none of them"


@pytest.mark.long
def test_a_refused_component_can_be_mended_in_the_same_process(own_cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine" / "learners" / "level.py"
    file.parent.mkdir(parents=True)
    right = COMPONENT.replace("VARIANCE", "1.0")

    def run():
        return sb.run(
            {"a": ["level"]}, steps(), seeds=1, metrics=["log_predictive"], components="mine"
        )

    file.write_text(right.replace("FACTS = Facts(", 'FACTS = Facts(model="none", '))
    with pytest.raises(UserError, match=r"level\.py"):
        run()
    file.write_text(right)
    assert run()["score"].notnull().all()


@pytest.mark.parametrize("given", [None, 3, {"price": [1.0]}])
def test_what_is_no_stream_is_refused(given):
    with pytest.raises(UserError, match="give a stream, a list of streams, or the name of a"):
        sb.run(METHODS, given, seeds=1, metrics=METRICS)


def test_one_stream_or_learner_may_be_selected_before_a_comparison():
    sizes = {"stream": ["a"], "learner": ["b", "c"], "metric": ["log_predictive"]}
    values = np.arange(6.0).reshape(1, 2, 1, 3) ** 1.5
    scores = xr.Dataset({"score": ((*sizes, "seed"), values)}, coords=sizes)
    assert sb.compare(scores.isel(stream=0, metric=0)).equals(sb.compare(scores))
    with pytest.raises(UserError, match="compare takes what `run` returns"):
        sb.compare(scores["score"])
