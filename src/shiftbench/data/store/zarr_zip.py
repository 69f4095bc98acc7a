"""Stores of one file: a labelled data set as zarr inside a zip, equal content in equal bytes.

xarray writes a zarr (format 3), which is packed into a zip with sorted names and a fixed date.
So Snakemake sees one output and may compare it by checksum. A store is written and read as a whole,
in memory; the checksums inside the zip reveal a damaged file.
"""

from __future__ import annotations

import json
import math
import os
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.abc.buffer import Buffer as Piece
from zarr.buffer.cpu import Buffer
from zarr.codecs import ZstdCodec
from zarr.storage import MemoryStore, ZipStore

from shiftbench.core.errors import UserError
from shiftbench.data.store import scratch

CHUNK_BYTES = 64 * 2**20
"""Largest size of a chunk, far below the codec's limit of 2 GiB."""


def write(dataset: xr.Dataset | xr.DataTree, path: Path) -> None:
    """Write the data set or the tree to `path`, the whole file or none.

    Equal content gives equal bytes: the order of variables and of attributes has no effect.
    """
    path = Path(path)
    pieces: dict[str, Piece] = {}
    for group, content in _groups(dataset).items():
        _write_group(content, MemoryStore(pieces), group)
    with scratch.beside(path) as folder:
        _pack(pieces, folder / "packed")
        os.replace(folder / "packed", path)


def read(path: Path) -> xr.Dataset:
    """Return the data set of a store, in memory.

    UserError if the file is missing, truncated, damaged or no store.
    """
    dataset = xr.open_zarr(_in_memory(Path(path)), consolidated=False, chunks=None)
    return _plain_text(dataset.load()).drop_encoding()


def read_tree(path: Path) -> xr.DataTree:
    """Return the tree of data sets of a store, in memory; errors as for `read`."""
    tree = xr.open_datatree(
        _in_memory(Path(path)),  # type: ignore[arg-type]  # any zarr store is taken
        engine="zarr",
        consolidated=False,
        chunks=None,
    )
    nodes = {node.path: node.to_dataset(inherit=False).load() for node in tree.subtree}
    return xr.DataTree.from_dict(
        {name: _plain_text(node).drop_encoding() for name, node in nodes.items()}
    )


def read_any(path: Path) -> xr.Dataset | xr.DataTree:
    """Return the data set of a store, or the tree if the store has groups; errors as for `read`."""
    tree = read_tree(path)
    return tree if tree.children else tree.to_dataset()


@contextmanager
def opened(path: Path) -> Iterator[xr.Dataset]:
    """Yield the data set of a store, whose arrays are read when used; errors as for `read`."""
    _refuse_damaged(Path(path))
    with ZipStore(path, mode="r") as store:
        yield xr.open_zarr(store, consolidated=False, chunks=None)


def stamp(
    dataset: xr.Dataset | xr.DataTree,
    title: str,
    spec: Mapping[str, Any],
    licence: str = "",
    **versions: str,
) -> None:
    """Add the provenance of `dataset` to its attributes, in place.

    The attributes are title; spec (JSON); code (the digest of the source in the spec); data (JSON,
    checksums of the raw files); versions (JSON, of Python, of the array libraries, and the given
    ones); licence. Without data in the spec, or without a licence, those of `dataset` stay.
    """
    libraries = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "xarray": xr.__version__,
        "zarr": zarr.__version__,
    }
    dataset.attrs |= {
        "title": title,
        "spec": json.dumps(spec, sort_keys=True),
        "code": str(spec.get("code", "")),
        "data": json.dumps(spec["data"], sort_keys=True)
        if "data" in spec
        else dataset.attrs.get("data", ""),
        "versions": json.dumps(libraries | versions, sort_keys=True),
        "licence": licence or dataset.attrs.get("licence", ""),
    }


def _groups(dataset: xr.Dataset | xr.DataTree) -> dict[str, xr.Dataset]:
    if isinstance(dataset, xr.Dataset):
        return {"/": dataset}
    return {node.path: node.to_dataset(inherit=False) for node in dataset.subtree}


def _write_group(dataset: xr.Dataset, store: MemoryStore, group: str) -> None:
    prepared = _sorted_attributes(_zarr_text(dataset.drop_encoding()))
    prepared.to_zarr(
        store,
        mode="w-",
        group=group.strip("/") or None,
        encoding={str(name): _encoding(array) for name, array in prepared.variables.items()},
        consolidated=False,
        zarr_format=3,
    )


def _encoding(array: xr.Variable) -> dict[str, Any]:
    """Return one codec that gives the same bytes on any number of threads, and few chunks."""
    encoding: dict[str, Any] = {"compressors": [ZstdCodec(level=3)]}
    if array.ndim:
        row = math.prod(array.shape[1:]) * array.dtype.itemsize
        rows = min(array.shape[0], max(1, CHUNK_BYTES // max(row, 1)))
        encoding["chunks"] = (max(rows, 1), *(max(size, 1) for size in array.shape[1:]))
    return encoding


def _with_values(dataset: xr.Dataset, values: Mapping[Any, np.ndarray]) -> xr.Dataset:
    return dataset.assign(
        {name: (dataset[name].dims, array, dataset[name].attrs) for name, array in values.items()}
    )


def _zarr_text(dataset: xr.Dataset) -> xr.Dataset:
    """Turn text into objects: zarr has no settled type for the fixed-width text of NumPy."""
    text = {
        name: array.values.astype(object)
        for name, array in dataset.variables.items()
        if array.dtype.kind in "UT"
    }
    return _with_values(dataset, text)


def _plain_text(dataset: xr.Dataset) -> xr.Dataset:
    """Turn text back into NumPy's fixed-width strings."""
    text = {
        name: array.values.astype(object).astype(str)
        for name, array in dataset.variables.items()
        if array.dtype.kind in "OT"
    }
    return _with_values(dataset, text)


def _sorted_attributes(dataset: xr.Dataset) -> xr.Dataset:
    ordered = dataset.copy()
    for owner in (ordered, *(ordered[name] for name in ordered.variables)):
        owner.attrs = _in_order(owner.attrs)
    return ordered


def _in_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return value


def _pack(pieces: Mapping[str, Piece], target: Path) -> None:
    """Zip the pieces of a store in the order of their names, with a fixed date."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(pieces):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, pieces[name].to_bytes())
    with target.open("rb+") as packed:
        os.fsync(packed.fileno())


def _in_memory(path: Path) -> MemoryStore:
    with _archive(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return MemoryStore({name: Buffer.from_bytes(data) for name, data in members.items()})


def _refuse_damaged(path: Path) -> None:
    with _archive(path) as archive:
        if broken := archive.testzip():
            raise zipfile.BadZipFile(f"wrong checksum of {broken}")


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield the zip, which checks members as they are read. UserError if it is not a store."""
    remedy = "Delete the file and start the workflow again to rebuild it."
    try:
        with zipfile.ZipFile(path) as archive:
            if "zarr.json" not in archive.namelist():
                raise UserError(f"{path}: this zip file is not a store of shiftbench. {remedy}")
            yield archive
    except FileNotFoundError:
        raise UserError(
            f"{path}: there is no such store. Run the workflow step that makes it."
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UserError(f"{path}: the store is truncated or damaged ({error}). {remedy}") from None
