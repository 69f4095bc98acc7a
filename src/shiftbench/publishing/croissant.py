"""A stream as a data set in Croissant's words (1.0), which loaders of data for learning read.

Written as its specification says, http://mlcommons.org/croissant/1.0, without its library, which
brings more packages than these few keys are worth; the tests validate with it. The arrays stay in
zarr, for which Croissant has no reader: a record set lists them, each with its dimensions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import xarray as xr

from shiftbench.publishing import stores
from shiftbench.store import raw, seal, text_files, zarr_zip

VERSION = "http://mlcommons.org/croissant/1.0"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
} | {
    name: f"cr:{name}"
    for name in (
        "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject",
        "fileProperty", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5",
        "parentField", "path", "recordSet", "references", "regex", "repeated", "replace",
        "samplingRate", "separator", "source", "subField", "transform",
    )
}  # fmt: skip
"""The context of the specification."""
COLUMNS = {
    "variable": "Name of the array, below its group.",
    "dimensions": "Names of its dimensions.",
    "shape": "Their sizes.",
    "type": "Type of its elements, as NumPy calls it.",
}
"""Of the record set that lists the arrays of a store."""


def write(store: Path, target: Path, with_store: bool) -> None:
    """Describes the stream of a store. with_store: whether it lies beside the description."""
    told = describe(store, with_store)
    text_files.write(target, json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def describe(store: Path, with_store: bool) -> dict[str, Any]:
    """The metadata of a stream: its licence, its files by checksum, and its arrays."""
    about, spec = stores.attributes(store), stores.spec(store)
    name = store.name.removesuffix(stores.SUFFIX)
    dataset = raw.table().get(spec["settings"].get("dataset"))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": _description(spec, dataset),
        "conformsTo": VERSION,
        "license": about["licence"] or "not stated",
        "citeAs": about.get("citation") or (dataset.citation if dataset else ""),
        "version": spec["digest"],
        "distribution": [*([_file(store)] if with_store else []), *_raw_files(dataset)],
        "recordSet": [_arrays(store)],
    }


def _description(spec: dict[str, Any], dataset: raw.Dataset | None) -> str:
    """What the stream is made from, by which family with which settings."""
    settings = json.dumps(spec["settings"], sort_keys=True)
    made_of = f" of {dataset.title}" if dataset else ""
    return f"A stream of the family {spec['family']}{made_of}; settings {settings}."


def _file(store: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": store.name,
        "name": store.name,
        "description": "Zarr, format 3, in a zip: base data, indices, parameters, true shifts.",
        "contentUrl": store.name,
        "contentSize": f"{store.stat().st_size} B",
        "encodingFormat": "application/zip",
        "sha256": seal.sha256(store),
    }


def _raw_files(dataset: raw.Dataset | None) -> list[dict[str, Any]]:
    """The files that the stream was made from, at their official address."""
    return [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "description": "Raw data, which the workflow fetches.",
            "contentUrl": file.address,
            "contentSize": f"{file.size} B",
            "encodingFormat": "application/octet-stream",
            "sha256": file.sha256,
        }
        for name, file in (dataset.files if dataset else {}).items()
    ]


def _arrays(store: Path) -> dict[str, Any]:
    """The record set that lists all arrays, those of groups by their path."""
    found = zarr_zip.read_any(store)
    nodes = found.subtree if isinstance(found, xr.DataTree) else [found]
    return {
        "@type": "cr:RecordSet",
        "@id": "arrays",
        "name": "arrays",
        "description": "The arrays of the store, not their values.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"arrays/{name}",
                "name": name,
                "description": text,
                "dataType": "sc:Text",
            }
            for name, text in COLUMNS.items()
        ],
        "data": [row for node in nodes for row in _rows(node)],
    }


def _rows(node: xr.Dataset | xr.DataTree) -> list[dict[str, str]]:
    group = node.path.strip("/") if isinstance(node, xr.DataTree) else ""
    return [
        {
            "arrays/variable": f"{group}/{name}".strip("/"),
            "arrays/dimensions": " ".join(map(str, array.dims)),
            "arrays/shape": " ".join(map(str, array.shape)),
            "arrays/type": str(array.dtype),
        }
        for name, array in sorted(node.variables.items(), key=lambda item: str(item[0]))
    ]
