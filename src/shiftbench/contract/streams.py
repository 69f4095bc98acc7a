"""Contract of streams; the first line of each test is shown to users."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components, digest
from shiftbench.contract import selection
from shiftbench.contract.problems import generators, moved_generators
from shiftbench.core.interface import Batch, Task
from shiftbench.data.store import zarr_zip

KIND = "streams"
OTHERWISE: dict[str, dict[str, Any]] = {}
"""Settings of streams whose tests need other values than the defaults."""
RAW: dict[str, Callable[[], Path]] = {}
"""Functions that return the folder of raw files, for streams that need them."""
STREAMS = [n for n in selection.names(KIND) if "realisations" in components.fields(KIND, n)]
"""Streams whose realisations can be counted. The other streams have tests of their own."""
every_stream = pytest.mark.parametrize("name", STREAMS)


@functools.cache
def built(name: str, realisations: int) -> xr.Dataset | xr.DataTree:
    """Return the store of a stream with few realisations."""
    stream = components.load("streams", name)
    fields = {"realisations": realisations} | OTHERWISE.get(name, {})
    raw = RAW.get(name, lambda: Path("no-raw-files-for-the-default"))()
    if "path" in components.fields(KIND, name) and name in RAW:
        fields["path"] = str(raw)
    needed = {key for key, of in components.fields(KIND, name).items() if of[1] is MISSING}
    if lacking := sorted(needed - fields.keys()):
        pytest.skip(f"{selection.UNTRIED}no default of {', '.join(lacking)}")
    return stream.build(stream.Settings(**fields), raw)


def first_two(store: xr.Dataset | xr.DataTree) -> xr.Dataset | xr.DataTree:
    """Return a store with its first two realisations; in a tree each realisation is a group."""
    if isinstance(store, xr.Dataset):
        return store.isel(realisation=slice(2))
    nodes = {node.path: node.to_dataset(inherit=False) for node in store.subtree}
    kept = {k: v for k, v in nodes.items() if not k.startswith("/realisation-2")}
    return xr.DataTree.from_dict(kept | {"/": nodes["/"].isel(realisation=slice(2))})


def late(store: xr.Dataset | xr.DataTree) -> int:
    """Return the number of a task after the first few."""
    return min(4, store.sizes["task"] - 1)


def tasks(name: str) -> list[Task]:
    """Return the tasks of three realisations, the warm-up first."""
    store, stream = built(name, 3), components.load("streams", name)
    first = -store.attrs["warm_up"]
    return [stream.task(store, [2, 0], t) for t in range(first, store.sizes["task"])]


def looked_back(name: str) -> list[Batch]:
    """Return the test data of each task; empty if the stream has no function `test`."""
    store, stream = built(name, 3), components.load("streams", name)
    numbers = range(store.sizes["task"]) if hasattr(stream, "test") else []
    return [stream.test(store, [2, 0], j) for j in numbers]


def batches(name: str) -> list[Batch]:
    """Return all batches of a stream, with the test data of earlier tasks."""
    own = [batch for task in tasks(name) for batch in task if batch is not None]
    return own + looked_back(name)


@pytest.mark.parametrize("name", selection.names(KIND))
def test_it_never_imports_tensorflow(name):
    """Nothing that it imports needs TensorFlow: it is read in jobs that do not have it."""
    assert not digest.imports(components.module_name(KIND, name), "tensorflow")


@every_stream
def test_building_twice_gives_the_same(name):
    """Built twice from the same settings, the store is the same; no global generator changes."""
    built(name, 3)
    before = moved_generators()
    again = built.__wrapped__(name, 3)
    assert generators() == before, "a global generator of Python or NumPy has changed"
    xr.testing.assert_identical(built(name, 3), again)


@every_stream
def test_a_realisation_does_not_depend_on_how_many_there_are(name):
    """A realisation is the same however many there are."""
    xr.testing.assert_identical(first_two(built(name, 3)), first_two(built(name, 2)))


@every_stream
def test_a_repetition_does_not_depend_on_its_neighbours(name):
    """A repetition's task does not depend on those read with it; the store is unchanged."""
    store, stream = built(name, 3), components.load("streams", name)
    before = store.copy(deep=True)
    together, alone = stream.task(store, [2, 0], late(store)), stream.task(store, [0], late(store))
    for one, other in zip(together, alone, strict=True):
        if one is not None:
            for left, right in zip(one, other, strict=True):
                np.testing.assert_array_equal(left[1:], right)
    xr.testing.assert_identical(store, before)


@every_stream
def test_realisations_differ(name):
    """Two realisations have different data."""
    store, stream = built(name, 3), components.load("streams", name)
    train = stream.task(store, [2, 0], late(store)).train
    assert (train.inputs[0] != train.inputs[1]).any() or (
        train.targets[0] != train.targets[1]
    ).any()


@every_stream
def test_store_says_what_it_is(name):
    """The store has `shift`, `warm_up`, title and licence; all variables have names and units."""
    store = built(name, 3)
    assert store["shift"].dims == ("realisation", "task") and store["shift"].dtype == bool
    assert not store["shift"].values[:, 0].any()
    assert store["shift"].values.any() or store.attrs["change"] == "none"
    assert store.attrs["warm_up"] in (0, 1)
    assert store.attrs["title"] and store.attrs["licence"]
    for label in store.variables:
        assert {"long_name", "units"} <= store[label].attrs.keys(), label


@every_stream
def test_store_survives_the_disk(name, tmp_path):
    """The store is the same after it was written and read."""
    zarr_zip.write(built(name, 3), tmp_path / "stream.zarr.zip")
    read = zarr_zip.read if isinstance(built(name, 3), xr.Dataset) else zarr_zip.read_tree
    xr.testing.assert_identical(read(tmp_path / "stream.zarr.zip"), built(name, 3))


@every_stream
def test_shapes_are_those_of_the_problem(name):
    """The shapes of all data are those that `problem` tells."""
    problem = components.load("streams", name).problem(built(name, 3))
    assert problem.n_tasks == built(name, 3).sizes["task"]
    for batch in batches(name):
        rows = batch.mask.shape
        assert len(rows) == 2 and rows[0] == 2
        assert batch.inputs.shape == (*rows, *problem.row_shape)
        extra = {"regression": (problem.n_outputs,), "counts": (1,)}.get(problem.kind, ())
        assert batch.targets.shape == rows + extra
    assert max(task.train.mask.shape[1] for task in tasks(name)) == problem.n_train


@every_stream
def test_rows_of_several_tasks_are_those_of_each_task(name):
    """The training rows of several tasks, if a stream gives them, are those of each task."""
    store, stream = built(name, 3), components.load("streams", name)
    if not hasattr(stream, "training_rows"):
        pytest.skip("tasks are read one by one")
    tasks = range(late(store) // 2, late(store))
    each = [stream.task(store, [2, 0], t) for t in tasks]
    found = stream.training_rows(store, [2, 0], tasks)
    if any(task.validation or task.test for task in each):
        assert found is None
        return
    for one, pieces in zip(found, zip(*(task.train for task in each), strict=True), strict=True):
        expected = np.concatenate(pieces, axis=1)
        assert one.dtype == expected.dtype
        np.testing.assert_array_equal(one, expected)


@every_stream
def test_data_are_finite_and_labels_are_in_range(name):
    """Data are finite, and labels are integers in their range."""
    problem = components.load("streams", name).problem(built(name, 3))
    for batch in batches(name):
        assert batch.mask.dtype == bool and batch.mask.any(axis=1).all()
        types = batch.inputs.dtype, batch.targets.dtype
        assert all(one.kind in "fiu" for one in types), f"inputs and targets are {types}"
        assert np.isfinite(batch.inputs).all() and np.isfinite(batch.targets).all()
        if problem.kind == "classification":
            assert batch.targets.dtype.kind == "i"
            assert batch.targets.min() >= 0 and batch.targets.max() < problem.n_outputs


@every_stream
def test_truth_is_not_in_the_tasks(name):
    """Tasks do not reveal where the distribution changes: another `shift` gives equal ones."""
    store, stream = built(name, 3), components.load("streams", name)
    blind = store.assign({"shift": ~store["shift"]})
    one, other = stream.task(store, [1], late(store)), stream.task(blind, [1], late(store))
    assert type(one) is Task and one._fields == ("train", "validation", "test")
    np.testing.assert_array_equal(one.train.inputs, other.train.inputs)
    np.testing.assert_array_equal(one.train.targets, other.train.targets)
