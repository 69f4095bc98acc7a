"""Source data of a published study: the arrays that its figures and tables are made of.

A single file with the groups of the study's scores.zarr.zip (`scores`, `runs/STREAM/METHOD`) and,
below `streams`, the arrays of its streams, except those above `LARGEST_ARRAY`. Digests of code and
versions of packages are left out, so that equal numbers give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftbench.config import result_paths
from shiftbench.data.store import zarr_groups, zarr_zip
from shiftbench.evaluation.scoring import results, summary_files
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.publish import licences, store_metadata

FILE = result_paths.SOURCE_DATA
LARGEST_FILE = 20_000_000
"""Bytes of the largest file that is kept, since git keeps every version of it."""
LARGEST_ARRAY = 200_000
"""Bytes of the largest array of a stream that is kept: there is no room for all images."""
SHOWS_IMAGES = ("relative-accuracy", "transformed-examples")
"""Artefacts that show some images of a stream."""
OF_CODE = ("code", "digest", "environment", "versions")
"""Keys of attributes and specs that say nothing about numbers."""


class SourceData:
    """The source data of a published study, given by its folder. UserError for a damaged file."""

    def __init__(self, study: Path) -> None:
        self._groups = zarr_groups.Groups(study / FILE)
        self._summary = summary_files.read(study / result_paths.SUMMARY)
        kept = zarr_zip.read_tree(study / FILE)["streams"].children
        names = self._groups["scores"]["stream"].values.tolist()  # in the order of the config
        self._streams = {
            name: kept[name] if kept[name].children else kept[name].to_dataset() for name in names
        }

    def results(self, spec: Mapping[str, Any]) -> StudyResults:
        """Return the results that an artefact is made of. spec: of the artefact."""
        return results.of_spec(spec, self._groups, self._summary, self._streams)

    def suffices(self, artefact: str) -> bool:
        """Return whether the artefact needs no array that was left out."""
        return artefact not in SHOWS_IMAGES or all(
            "images" in stream or "image" not in stream.dims for stream in self._streams.values()
        )


def write(results: Path, study: str, target: Path) -> str:
    """Write the source data of a study, unless there is a reason not to.

    Reasons are a file larger than `LARGEST_FILE`, and data without a known open licence. Then an
    older file is removed. Returns the reason, or an empty text.
    """
    cube = zarr_zip.read_tree(result_paths.study(results, study) / result_paths.SCORES)
    names = cube.children["scores"].coords["stream"].values.tolist()
    stores = {name: result_paths.stream(results, name) for name in names}
    reason = _closed(stores)
    if not reason:
        streams = {name: zarr_zip.read_any(path) for name, path in stores.items()}
        zarr_zip.write(xr.DataTree.from_dict(dict(_groups(cube, streams))), target)
        if target.stat().st_size > LARGEST_FILE:
            reason = f"they have more than {LARGEST_FILE // 10**6} MB"
    if reason:
        target.unlink(missing_ok=True)
    return reason


def _closed(stores: Mapping[str, Path]) -> str:
    """Return a sentence on the stream whose data have no open licence; empty if all have one."""
    for name, path in stores.items():
        if not licences.is_open(store_metadata.attributes(path)["licence"]):
            return f"the licence of the data of {name} is not known to be open"
    return ""


def _groups(
    cube: xr.DataTree, streams: Mapping[str, xr.Dataset | xr.DataTree]
) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the path and the content of each group."""
    for node in cube.subtree:
        yield node.path, _without_code(node.to_dataset(inherit=False))
    for name, stream in streams.items():
        tree = stream if isinstance(stream, xr.DataTree) else xr.DataTree(stream)
        for node in tree.subtree:
            content = node.to_dataset(inherit=False)
            path = f"/streams/{name}{node.path}".rstrip("/")
            yield path, _without_code(_without_large(content))


def _without_large(content: xr.Dataset) -> xr.Dataset:
    """Return the arrays that are small enough, and the sizes of all dimensions."""
    large = [key for key, array in content.items() if array.nbytes > LARGEST_ARRAY]
    kept = content.drop_vars(large)
    lost = {name: np.arange(size) for name, size in content.sizes.items() if name not in kept.sizes}
    return kept.assign_coords(lost)


def _without_code(dataset: xr.Dataset) -> xr.Dataset:
    attributes = _kept(dataset.attrs)
    if "spec" in attributes:
        attributes["spec"] = json.dumps(_kept(json.loads(attributes["spec"])), sort_keys=True)
    return dataset.drop_attrs(deep=False).assign_attrs(attributes)


def _kept(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in OF_CODE}
