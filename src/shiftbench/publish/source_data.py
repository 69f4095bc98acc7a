"""Source data of a published study: the arrays that its figures and tables are made of.

A single file with the groups of the study's scores.zarr.zip (`scores`, `runs/STREAM/METHOD`) and,
below `streams`, the arrays of its streams, without what may not be redistributed and without large
arrays that no artefact needs, see `source_arrays`. Its attribute `artefacts` names the figures and
tables that come out the same from it. Digests of code and versions of packages are left out, so
that equal numbers give equal bytes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from shiftbench.config import components, result_paths, specs
from shiftbench.config.schema import Config
from shiftbench.core import file_errors
from shiftbench.data.store import zarr_groups, zarr_zip
from shiftbench.evaluation import artefact_files
from shiftbench.evaluation.scoring import results, summary_files
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.publish import licences, source_arrays, store_metadata
from shiftbench.publish.source_arrays import STREAMS, Groups

FILE = result_paths.SOURCE_DATA
ARTEFACTS = "artefacts"
LARGEST_FILE = 20_000_000
"""Bytes of the largest file that is kept, since git keeps every version of it."""
OF_CODE = ("code", "digest", "environment", "versions")
"""Keys of attributes and specs that say nothing about numbers."""


class SourceData:
    """The source data of a published study, given by its folder. UserError for a damaged file."""

    def __init__(self, study: Path) -> None:
        self._groups = zarr_groups.Groups(study / FILE)
        self._summary = summary_files.read(study / result_paths.SUMMARY)
        self._streams = _streams(zarr_zip.read_tree(study / FILE), self._groups["scores"])

    def results(self, spec: Mapping[str, Any]) -> StudyResults:
        """Return the results that an artefact is made of. spec: of the artefact."""
        return results.of_spec(spec, self._groups, self._summary, self._streams)


def artefacts(study: Path) -> list[str]:
    """Return the artefacts that the source data of a published study suffice for.

    study: its folder. Empty without source data.
    """
    path = study / FILE
    return list(store_metadata.attributes(path).get(ARTEFACTS, ())) if path.exists() else []


def write(results: Path, study: str, config: Config, target: Path) -> str:
    """Write the source data of a study, unless there is a reason not to.

    Reasons are a file larger than `LARGEST_FILE`, and that they suffice for no artefact. Then an
    older file is removed. Returns the reason, or an empty text.
    """
    cube = zarr_zip.read_tree(result_paths.study(results, study) / result_paths.SCORES)
    names = cube.children["scores"].coords["stream"].values.tolist()
    stores = {name: result_paths.stream(results, name) for name in names}
    closed = {name for name, path in stores.items() if not _is_open(path)}
    streams = {name: zarr_zip.read_any(path) for name, path in stores.items()}
    redrawing = _Redrawing(result_paths.study(results, study), config)
    groups = source_arrays.allowed(dict(_groups(cube, streams)), closed)
    kept = redrawing.unchanged(groups, config.studies[study].artefacts)
    if not kept:
        target.unlink(missing_ok=True)
        return "no figure or table can be made from what may be redistributed"
    groups = source_arrays.needed(groups, lambda fewer: redrawing.are_unchanged(fewer, kept))
    groups["/"] = groups["/"].assign_attrs({ARTEFACTS: kept})
    zarr_zip.write(xr.DataTree.from_dict(groups), target)
    if target.stat().st_size > LARGEST_FILE:
        target.unlink()
        return f"they have more than {LARGEST_FILE // 10**6} MB"
    return ""


class _Redrawing:
    """Makes artefacts of a study from some of its arrays, and compares them with its own.

    study: the folder of the study, with figures and tables.
    """

    def __init__(self, study: Path, config: Config) -> None:
        self._study, self._config = study, config
        self._summary = summary_files.read(study / result_paths.SUMMARY)

    def unchanged(self, groups: Groups, artefacts: Iterable[str]) -> list[str]:
        """Return the artefacts that come out the same from these groups.

        Errors of files and memory say nothing about the groups, and are raised.
        """
        return [name for name in artefacts if self._is_unchanged(groups, name)]

    def are_unchanged(self, groups: Groups, artefacts: Iterable[str]) -> bool:
        """Return whether all these artefacts come out the same from these groups."""
        return all(self._is_unchanged(groups, name) for name in artefacts)

    def _is_unchanged(self, groups: Groups, artefact: str) -> bool:
        spec = specs.artefact(self._config, self._study.name, artefact)
        with tempfile.TemporaryDirectory() as folder:
            try:
                made = _results(spec, groups, self._summary)
                artefact_files.save(artefact, made, Path(folder) / artefact)
            except Exception as error:
                # An artefact fails in its own way without an array that it needs. But the groups
                # are in memory: no want of an array makes a file or memory fail.
                if isinstance(error, OSError | MemoryError) or file_errors.root_cause(error):
                    raise
                return False
            ours = self._study / f"{components.artefact_kind(artefact)}s"
            return all(
                path.read_bytes() == (ours / path.name).read_bytes()
                for path in Path(folder).iterdir()
            )


def _results(spec: Mapping[str, Any], groups: Groups, summary: pd.DataFrame) -> StudyResults:
    tree = xr.DataTree.from_dict(dict(groups))
    scores = {path.strip("/"): content for path, content in groups.items()}
    return results.of_spec(spec, scores, summary, _streams(tree, scores["scores"]))


def _streams(tree: xr.DataTree, scores: xr.Dataset) -> dict[str, Any]:
    """Return the streams of a tree in the order of the config."""
    kept = tree[STREAMS].children
    return {
        name: kept[name] if kept[name].children else kept[name].to_dataset()
        for name in scores["stream"].values.tolist()
    }


def _is_open(stream: Path) -> bool:
    return licences.is_open(store_metadata.attributes(stream)["licence"])


def _groups(
    cube: xr.DataTree, streams: Mapping[str, xr.Dataset | xr.DataTree]
) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the path and the content of each group."""
    for node in cube.subtree:
        yield node.path, _without_code(node.to_dataset(inherit=False))
    for name, stream in streams.items():
        tree = stream if isinstance(stream, xr.DataTree) else xr.DataTree(stream)
        for node in tree.subtree:
            path = f"/{STREAMS}/{name}{node.path}".rstrip("/")
            yield path, _without_code(node.to_dataset(inherit=False))


def _without_code(dataset: xr.Dataset) -> xr.Dataset:
    attributes = _kept(dataset.attrs)
    if "spec" in attributes:
        attributes["spec"] = json.dumps(_kept(json.loads(attributes["spec"])), sort_keys=True)
    return dataset.drop_attrs(deep=False).assign_attrs(attributes)


def _kept(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in OF_CODE}
