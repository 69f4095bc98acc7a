"""Warm-ups give the same bytes from a shared store and from the run; sharing; failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components, config_file, shared_warm_ups, specs, warm_ups
from shiftbench.core.errors import UserError
from shiftbench.core.interface import LearnerError
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import build_run, harness, pipeline, warm_up
from tests.evaluation.scoring.words import word_stores

CONFIG = """\
seeds_per_job: 2
streams:
  images:
    {family: transformed-images, realisations: 2, tasks: 3, tasks_per_segment: 1,
     train_per_task: 32, warm_up_size: 64}
studies:
  shared:
    title: Shared
    streams: [images]
    model: {mlp: {hidden: [4]}}
    seeds: 2
    metrics: [accuracy, shift_recall]
    methods:
      beam: [{beam: {size: 2}}, &net {mfvi: {epochs: 2, draws: 1, prediction_draws: 2}}]
      alone: [*net]
      always: [forget, *net]
      back: [{reset: {to: pretrained}}, *net]
      lengths: [{run-length: {start: pretrained, keep: 2}}, *net]
      longer: [{mfvi: {epochs: 3}}]
      anew: [{reset: {to: scratch}}, *net]
      task: [{run-length: {start: scratch, keep: 2}}, *net]
      all: [joint, *net]
"""
SHARING = ("beam", "alone", "always", "back", "lengths")
SEEDS = (0, 1)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "some.yaml"
    path.write_text(CONFIG)
    return config_file.load(path)


@pytest.fixture(scope="module")
def images(plan):
    settings = plan.streams["images"].settings
    module = components.load("streams", "transformed-images")
    made = components.configured("streams", "transformed-images", settings)
    return module.build(made, Path())


def named(plan, variant):
    return shared_warm_ups.name(plan, "shared", "images", variant)


def run_spec(plan, variant):
    return specs.run(plan, "shared", "images", variant, SEEDS)


@pytest.fixture(scope="module")
def stored(plan, images, tmp_path_factory):
    """Return the store of the warm-up that most variants share, written and read back."""
    spec = specs.warm_up(plan, "shared", "images", named(plan, "beam"), SEEDS)
    store, cost = warm_up.run_job(spec, images)
    assert cost["cpu_seconds"] > 0
    path = tmp_path_factory.mktemp("warm") / "0-1.zarr.zip"
    zarr_zip.write(store, path)
    return zarr_zip.read_tree(path)


def written(run, path):
    zarr_zip.write(run, path)
    return path.read_bytes()


def test_only_what_learns_alike_shares(plan):
    shared = {named(plan, variant) for variant in SHARING}
    assert len(shared) == 1 and shared.pop().startswith("mfvi-")
    assert named(plan, "longer") not in (None, named(plan, "beam"))
    assert [named(plan, variant) for variant in ("anew", "task", "all")] == [None] * 3


def test_a_name_does_not_depend_on_the_other_methods(plan, tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(CONFIG.replace("      beam: [{beam: {size: 2}}, &net", "      own: [&net"))
    other = config_file.load(path)
    assert named(other, "alone") == named(plan, "alone")
    spec, same = (
        specs.warm_up(one, "shared", "images", named(plan, "alone"), SEEDS) for one in (plan, other)
    )
    assert spec == same


@pytest.mark.parametrize(
    "variant",
    [pytest.param(one, marks=pytest.mark.long) for one in ("beam", "back", "lengths")],
)
def test_a_run_has_the_same_bytes_with_the_store_and_without(
    plan, images, stored, tmp_path, variant
):
    spec = run_spec(plan, variant)
    warmed = warm_up.read(stored, spec, "store")
    shared, _ = harness.run_job(spec, images, tmp_path / "a", 60, 1, warmed)
    itself, _ = harness.run_job(spec, images, tmp_path / "b", 60)
    assert set(shared["status"].values) == {"ok"}
    assert written(shared, tmp_path / "a.zip") == written(itself, tmp_path / "b.zip")


@pytest.mark.long
def test_a_run_that_is_stopped_goes_on_after_the_warm_up(plan, images, stored, tmp_path):
    """This holds with and without the store."""
    spec = run_spec(plan, "alone")
    warmed = warm_up.read(stored, spec, "store")
    whole, _ = harness.run_job(spec, images, tmp_path / "a", 60, 1, warmed)
    with pytest.raises(harness.Stopped):
        harness.run_job(spec, images, tmp_path / "b", 1e-9, 1, warmed)
    rest, _ = harness.run_job(spec, images, tmp_path / "b", 60)
    assert written(whole, tmp_path / "a.zip") == written(rest, tmp_path / "b.zip")


@pytest.mark.long
def test_the_posterior_of_a_run_is_that_of_the_store(plan, images, stored):
    """This holds even if the store differs from what the run itself would compute."""
    spec = run_spec(plan, "beam")
    warmed = warm_up.read(stored, spec, "store")
    other = warmed._replace(state={k: a + 1 for k, a in warmed.state.items()})
    run = build_run.run(spec, images, other)
    now = harness.advance(run, harness.start(run), harness.Meter())
    for name, array in other.state.items():
        np.testing.assert_array_equal(now.state[f"base.{name}"], np.repeat(array, 2, axis=1))
    assert {a.dtype.str for a in warmed.state.values()} == {"<f4"}


@pytest.mark.long
def test_seeds_come_from_the_repetition_and_not_from_the_block(plan, images, stored):
    spec = specs.warm_up(plan, "shared", "images", named(plan, "beam"), (1, 1))
    store, _ = warm_up.run_job(spec, images)
    for name, array in store["state"].data_vars.items():
        np.testing.assert_allclose(array[0], stored["state"][name][1], rtol=1e-5, atol=1e-6)


def test_another_warm_up_is_refused(plan, stored):
    with pytest.raises(UserError, match=r"here\.zip: this is not the warm-up of the run"):
        warm_up.read(stored, run_spec(plan, "longer"), "here.zip")
    with pytest.raises(UserError, match=r"here\.zip: this is not the warm-up of the run"):
        warm_up.read(xr.DataTree(), run_spec(plan, "beam"), "here.zip")


def test_a_name_that_no_run_has_is_refused(plan):
    with pytest.raises(UserError, match=r"no shared warm-up .mfvi-0"):
        specs.warm_up(plan, "shared", "images", "mfvi-0", SEEDS)


@pytest.mark.parametrize("error", [LearnerError("no such data"), FloatingPointError("overflow")])
def test_a_refusal_is_data_of_every_run_that_shares_it(plan, images, tmp_path, monkeypatch, error):
    whole = pipeline.warm_up_worker

    def refuse(*_):
        raise error

    monkeypatch.setattr(pipeline, "warm_up_worker", lambda *a: replace(whole(*a), observe=refuse))
    job = specs.warm_up(plan, "shared", "images", named(plan, "beam"), SEEDS)
    store, _ = warm_up.run_job(job, images)
    zarr_zip.write(store, tmp_path / "warm.zip")
    spec = run_spec(plan, "beam")
    warmed = warm_up.read(zarr_zip.read_tree(tmp_path / "warm.zip"), spec, "store")
    runs = [
        harness.run_job(spec, images, tmp_path / name, 60, 1, given)[0]
        for name, given in (("a", warmed), ("b", None))
    ]
    for run in runs:
        reason = f"failed: LearnerError at task -1: {error}"
        assert set(run["status"].values) == {reason}


@pytest.mark.long
def test_a_seed_that_diverges_fails_alone(plan, images, stored, tmp_path):
    spec = run_spec(plan, "alone")
    warmed = warm_up.read(stored, spec, "store")
    mean = warmed.state["mean"].copy()
    mean[1, 0, 0] = np.nan
    broken = warmed._replace(state=warmed.state | {"mean": mean})
    run, _ = harness.run_job(spec, images, tmp_path, 60, 1, broken)
    first, second = run["status"].values
    assert first == "ok" and "state 'mean' not finite after task -1" in second


def test_a_run_that_learns_nothing_from_the_warm_up_starts_from_the_prior(plan, images):
    run = build_run.run(run_spec(plan, "anew"), images)
    before = harness.start(run)
    after = harness.advance(run, before, harness.Meter())
    for name, array in before.state.items():
        np.testing.assert_array_equal(after.state[name], array)


def test_context_vectors_are_shared_by_all_that_read_the_same_counts():
    """Other settings do not affect sharing; word vectors remain specific to each run."""
    stream = word_stores.stream()
    spec = word_stores.spec("vbs")
    shared = warm_ups.shared(spec)
    assert shared == warm_ups.shared(word_stores.spec("independent"))
    assert shared["component"][1] == "per-word" and "block" not in shared["component"][2]
    store, _ = warm_up.run_job(shared | {"name": "words", "code": ""}, stream)
    assert list(store["state"].data_vars) == ["context"]
    warmed = warm_up.read(store, spec, "store")
    for given in (warmed, None):
        run = build_run.run(spec, stream, given)
        now = harness.advance(run, harness.start(run), harness.Meter())
        np.testing.assert_array_equal(now.state["context"], warmed.state["context"])
        assert now.state["base.log_weight"].shape[-1] == 3


@pytest.mark.parametrize("name", components.names("combinators"))
def test_settings_that_a_warm_up_depends_on_exist(name):
    words = components.facts("combinators", name).possible("warms")
    known = components.fields("combinators", name)
    assert set(words) <= {warm_ups.INSIDE} or set(words) <= set(known)
