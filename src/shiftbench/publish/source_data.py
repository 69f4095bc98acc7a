"""Source data of a published study: the arrays that its figures and tables are made of.

A store of one file, with the groups of the study's cube of scores (`scores`, `runs/STREAM/LEARNER`)
and, below `streams`, the arrays of its streams but the largest. Digests of code and versions of
packages are left out, so that equal numbers give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from shiftbench.config import result_paths
from shiftbench.data.store import zarr_groups, zarr_zip
from shiftbench.evaluation.scoring import results, summary_files
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.publish import licences

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


def of_study(folder: Path) -> dict[str, Path]:
    """Return the file of a published study by its name; empty without one. folder: the study's."""
    return {FILE: folder / FILE} if (folder / FILE).exists() else {}


def write(results: Path, study: str, target: Path) -> str:
    """Write the source data of a study of a folder of results.

    Returns why there are none, or nothing if there are: the file would be larger than
    `LARGEST_FILE`, or the licence of the data may forbid it. An older file is removed then.
    """
    target.unlink(missing_ok=True)
    cube = zarr_zip.read_tree(result_paths.study(results, study) / result_paths.SCORES)
    names = cube.children["scores"].coords["stream"].values.tolist()
    streams = {name: zarr_zip.read_any(result_paths.stream(results, name)) for name in names}
    closed = [name for name, stream in streams.items() if not licences.is_open(_licence(stream))]
    if closed:
        return f"the licence of the data of {closed[0]} is not known to be open"
    zarr_zip.write(xr.DataTree.from_dict(dict(_groups(cube, streams))), target)
    if target.stat().st_size <= LARGEST_FILE:
        return ""
    target.unlink()
    return f"they have more than {LARGEST_FILE // 10**6} MB"


def _licence(stream: xr.Dataset | xr.DataTree) -> str:
    return stream.attrs.get("licence", "")


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
            large = [key for key, array in content.items() if array.nbytes > LARGEST_ARRAY]
            path = f"/streams/{name}{node.path}".rstrip("/")
            yield path, _without_code(content.drop_vars(large))


def _without_code(dataset: xr.Dataset) -> xr.Dataset:
    attributes = {key: value for key, value in dataset.attrs.items() if key not in OF_CODE}
    if "spec" in attributes:
        spec = _stripped(json.loads(attributes["spec"]))
        attributes["spec"] = json.dumps(spec, sort_keys=True)
    return dataset.drop_attrs(deep=False).assign_attrs(attributes)


def _stripped(value: Any) -> Any:
    """Return a spec, or a part of one, without the keys `OF_CODE`."""
    if isinstance(value, dict):
        return {key: _stripped(each) for key, each in value.items() if key not in OF_CODE}
    return [_stripped(each) for each in value] if isinstance(value, list) else value
