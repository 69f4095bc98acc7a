"""Looks inside tasks do not change a run, and see what a learner would have ended with."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core import loop_checkpoint
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import harness
from shiftbench.evaluation.running.harness import Stopped, run_job

EPOCHS = 3
MAP = ["map", {"epochs": EPOCHS, "batch_size": 8, "start": "prior", "learning_rate": 0.02}]
DRAWS = {"prediction_draws": 2, "elbo_draws": 1}
MFVI = ["mfvi", {"epochs": EPOCHS, "batch_size": 8, "estimator": "local", "draws": 1} | DRAWS]
PRETRAINED = ["mfvi", MFVI[1] | {"start": "maximum-likelihood"}]
PATIENT = ["mfvi", MFVI[1] | {"held_back": 0.25, "patience": 3}]
BEAM = ["beam", {"size": 2, "broadening": "temper-prior"}]
PIPELINES = {
    "one loop": [MAP],
    "two loops": [PRETRAINED],
    "early stopping": [PATIENT],
    "a coreset": [["coreset", {"size": 4}], PRETRAINED],
    "a beam": [BEAM, MFVI],
    "fits in turn": [["beam", BEAM[1] | {"fits": "sequential"}], MFVI],
    "reset": [["reset", {}], MAP],
}


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> xr.Dataset:
    family = components.load("streams", "permuted-images")
    settings = family.Settings(realisations=2, tasks=3, train_per_task=20, test_size=20)
    return family.build(settings, tmp_path_factory.mktemp("raw"))


def spec(learner, looks=1, **changes):
    made = {
        "study": "study",
        "stream": {"name": "images", "family": "permuted-images"},
        "method": "variant",
        "learner": copy.deepcopy(learner),
        "model": ["mlp", {"hidden": [4]}],
        "seeds": [0, 1],
        "reveals": [],
        "drift": "before-prediction",
        "metrics": ["accuracy", "nll"],
        "code": "code",
        "digest": "digest",
    }
    return made | ({"looks": looks} if looks > 1 else {}) | changes


def run(learner, images, folder, looks=1):
    return run_job(spec(learner, looks), images, folder, minutes=5)[0]


@pytest.fixture
def fresh(tmp_path):
    """Return an iterator over folders without checkpoints."""
    return (tmp_path / f"{number}" for number in itertools.count())


QUICK = ("one loop", "a coreset")


def cases(*names):
    """Return the names of pipelines as parameters; all but the two quickest are long tests."""
    return [pytest.param(k, marks=[] if k in QUICK else pytest.mark.long) for k in names]


@pytest.mark.long
@pytest.mark.parametrize("name", cases(*PIPELINES))
def test_a_run_with_looks_ends_as_one_without(name, images, fresh):
    plain = run(PIPELINES[name], images, next(fresh))
    looked = run(PIPELINES[name], images, next(fresh), looks=4)
    assert looked["looked"].dims == ("after_metric", "seed", "task", "look", "tested_task")
    assert looked["look"].values.tolist() == [0.25, 0.5, 0.75, 1.0]
    np.testing.assert_array_equal(looked["looked"][..., -1, :], looked["tested"])
    xr.testing.assert_equal(looked.drop_vars(["looked", "look"]), plain)
    inside = looked["looked"].sel(after_metric="nll").values
    if name != "early stopping":  # it keeps the best epoch, here the first
        assert (inside[:, 1, :-1, 1] != inside[:, 1, 1:, 1]).any()


@pytest.mark.long
@pytest.mark.parametrize("name", cases("one loop", "a beam", "reset"))
def test_a_look_after_an_epoch_is_the_end_of_a_shorter_run(name, images, fresh):
    looked = run(PIPELINES[name], images, next(fresh), looks=EPOCHS)["looked"]
    shorter = copy.deepcopy(PIPELINES[name])
    for epochs in range(1, EPOCHS + 1):
        shorter[-1][1]["epochs"] = epochs
        ends = run(shorter, images, next(fresh))["tested"]
        np.testing.assert_array_equal(looked[:, :, 0, epochs - 1], ends[:, :, 0])


@pytest.mark.long
def test_looks_within_an_epoch_of_three_steps(images, fresh, monkeypatch):
    ends = []
    end = loop_checkpoint.end

    def told(number, epoch, step, *arrays):
        ends.append((int(epoch), int(step)))
        return end(number, epoch, step, *arrays)

    monkeypatch.setattr(loop_checkpoint, "end", told)
    once = [["map", MAP[1] | {"epochs": 1}]]
    run(once, images, next(fresh), looks=3)
    assert ends[:3] == [(0, 1), (0, 2), (1, 0)]
    ends.clear()
    run(once, images, next(fresh), looks=2)
    assert ends[:2] == [(0, 2), (1, 0)]  # half of three steps is rounded up


@pytest.mark.long
@pytest.mark.parametrize("name", ["a coreset", "fits in turn"])
def test_stopped_anywhere_and_resumed_it_has_the_same_bytes(name, images, tmp_path, monkeypatch):
    whole = run(PIPELINES[name], images, tmp_path / "whole", looks=3)
    zarr_zip.write(whole, tmp_path / "whole.zarr.zip")
    monkeypatch.setattr(loop_checkpoint, "SECONDS_BETWEEN_POLLS", 0.0)
    monkeypatch.setattr(loop_checkpoint, "SECONDS_WORTH_KEEPING", 0.0)
    stops = 0
    for _ in range(1000):
        left = iter(range(15))
        reason = lambda _, left=left: "" if next(left, None) is not None else "test"  # noqa: E731
        monkeypatch.setattr(harness.StopSignals, "reason", reason)
        try:
            pieces = run(PIPELINES[name], images, tmp_path / "pieces", looks=3)
            break
        except Stopped:
            stops += 1
    assert stops > 3
    zarr_zip.write(pieces, tmp_path / "pieces.zarr.zip")
    one, other = ((tmp_path / f"{k}.zarr.zip").read_bytes() for k in ("whole", "pieces"))
    assert one == other
