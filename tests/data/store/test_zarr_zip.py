"""Stores: round trips, equal bytes for equal content, and errors for damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip


def example() -> xr.Dataset:
    return xr.Dataset(
        {
            "score": (("seed", "task"), np.array([[0.5, np.nan], [-np.inf, 1e300]])),
            "status": ("seed", np.array(["ok", "failed: κ is NaN"]), {"long_name": "status"}),
            "shift": (("seed", "task"), np.array([[False, True], [False, False]])),
            "image": (("seed", "x"), np.arange(6, dtype=np.uint8).reshape(2, 3)),
            "single": ((), np.float32(3.5)),
            "nothing": (("seed", "none"), np.zeros((2, 0))),
        },
        coords={"seed": [4, 5], "metric": ("metric", np.array(["accuracy", "nll"]))},
        attrs={"title": "An example", "b": 1, "a": {"z": 1, "y": [1, 2]}},
    )


def damaged(path: Path, change) -> Path:
    zarr_zip.write(example(), path)
    path.write_bytes(change(path.read_bytes()))
    return path


def test_round_trip_keeps_values_types_and_attributes(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zarr_zip.write(example(), tmp_path / "a.zarr.zip")
        result = zarr_zip.read(tmp_path / "a.zarr.zip")
    xr.testing.assert_identical(result, example())
    assert {n: result[n].dtype for n in result.variables} == {
        n: example()[n].dtype for n in example().variables
    }


def test_tree_round_trip(tmp_path):
    tree = xr.DataTree.from_dict(
        {"/": example(), "/runs/digits/vcl": example()[["status"]].assign_attrs(of="vcl")}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zarr_zip.write(tree, tmp_path / "t.zarr.zip")
        result = zarr_zip.read_tree(tmp_path / "t.zarr.zip")
    xr.testing.assert_identical(result, tree)


def test_a_store_that_was_read_is_written_to_the_same_bytes(tmp_path):
    zarr_zip.write(example(), tmp_path / "a")
    zarr_zip.write(zarr_zip.read(tmp_path / "a"), tmp_path / "b")
    zarr_zip.write(zarr_zip.read_tree(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_order_of_variables_and_attributes_has_no_effect(tmp_path):
    one = example()
    other = xr.Dataset(dict(list(one.data_vars.items())[::-1]), coords=one.coords)
    other.attrs = {"a": {"y": [1, 2], "z": 1}, "b": 1, "title": "An example"}
    zarr_zip.write(one, tmp_path / "one")
    zarr_zip.write(other, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.long
def test_another_process_writes_the_same_bytes(tmp_path):
    zarr_zip.write(example(), tmp_path / "here")
    code = (
        "from pathlib import Path; from test_zarr_zip import example;"
        "from shiftbench.data.store import zarr_zip; import sys;"
        "zarr_zip.write(example(), Path(sys.argv[1]))"
    )
    paths = [str(Path(__file__).parent), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code, str(tmp_path / "there")]
    subprocess.run(command, env=environment, check=True)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_large_arrays_are_cut_into_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(zarr_zip, "CHUNK_BYTES", 800)
    large = xr.Dataset({"values": (("t", "i"), np.arange(1000.0).reshape(100, 10))})
    zarr_zip.write(large, tmp_path / "large")
    names = zipfile.ZipFile(tmp_path / "large").namelist()
    assert sum(name.startswith("values/c/") for name in names) == 10
    xr.testing.assert_identical(zarr_zip.read(tmp_path / "large"), large)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    zarr_zip.write(example(), tmp_path / "a")
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(TypeError):
        zarr_zip.write(example().assign_attrs(bad=object()), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(UserError, match=r"nowhere: there is no such store\. Run"):
        zarr_zip.read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data.replace(b'"node_type"', b'"node_tipe"', 1),
    ],
    ids=["truncated", "empty", "one byte changed"],
)
def test_damaged_file_says_what_to_do(tmp_path, change):
    path = damaged(tmp_path / "a.zarr.zip", change)
    with pytest.raises(UserError, match=r"a\.zarr\.zip: .* damaged .*Delete the file"):
        zarr_zip.read(path)


def test_another_zip_file_is_no_store(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr("letter.txt", "hello")
    with pytest.raises(UserError, match="not a store"):
        zarr_zip.read_tree(tmp_path / "a")


def test_stamp_records_the_provenance():
    dataset = xr.Dataset(attrs={"licence": "MIT"})
    spec = {"code": "c0de", "data": {"file": "5ha"}, "kind": "stream"}
    zarr_zip.stamp(dataset, "A title", spec, tensorflow="2.21")
    assert json.loads(dataset.attrs["spec"]) == spec
    assert dataset.attrs["code"] == "c0de"
    assert json.loads(dataset.attrs["data"]) == {"file": "5ha"}
    assert dataset.attrs["licence"] == "MIT"
    assert {"python", "zarr", "tensorflow"} <= json.loads(dataset.attrs["versions"]).keys()


def test_stamp_keeps_the_data_of_a_run_whose_spec_has_none():
    dataset = xr.Dataset(attrs={"data": '{"file": "5ha"}'})
    zarr_zip.stamp(dataset, "A run", {"kind": "run"})
    assert json.loads(dataset.attrs["data"]) == {"file": "5ha"}
