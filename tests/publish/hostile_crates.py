"""Change a crate as an attacker would, to forge results or to do harm."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from shiftbench.data.store import checksum, zarr_zip
from shiftbench.publish import crate_metadata, crate_records, result_files

RUN = "runs/toy/steps/plain/0-1"
STORE, COST = f"{RUN}.zarr.zip", f"{RUN}.cost.json"
STREAM = "streams/steps.zarr.zip"
ORIGIN = "studies/toy/provenance.json"
CONFIG = "config/small.yaml"
SUMMARY, SCORES = "studies/toy/summary.csv", "studies/toy/scores.csv"
TABLE = "studies/toy/tables/score-table"
INIT = "src/shiftbench/__init__.py"
METADATA, SUMS = crate_metadata.NAME, result_files.CHECKSUMS
Change = Callable[[Path], object]


class Mutation(NamedTuple):
    """A change of a crate. sealed: whether all checksums are rewritten afterwards.

    harmless: the change affects nothing that `verify` checks.
    """

    name: str
    change: Change
    sealed: bool = True
    harmless: bool = False


def copy(crate: Path, target: Path) -> Path:
    """Copy a crate by hard links; `write` replaces them instead of changing the original."""
    return Path(shutil.copytree(crate, target, copy_function=os.link))


def without_code(crate: Path, target: Path) -> Path:
    """Copy a crate with a single code file, so that checks are quick, and seal it."""
    copy(crate, target)
    for path in (target / "src").rglob("*"):
        if path.is_file() and path.relative_to(target).as_posix() != INIT:
            path.unlink()
    seal(target)
    return target


def write(path: Path, content: str | bytes) -> None:
    """Replace a file, so that hard links to the old one keep its content."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def seal(crate: Path) -> None:
    """Rewrite all checksums, as far as the metadata can be read."""
    listed = crate / "studies/toy" / SUMS
    if listed.is_file():
        write(listed, result_files.checksums(result_files.of_study(crate, "toy")))
    files = {
        path.relative_to(crate).as_posix(): path
        for path in crate.rglob("*")
        if path.is_file() and not path.is_symlink() and path != crate / SUMS
    }
    _describe(crate, files)
    names = {name.encode("utf-8", "replace").decode(): path for name, path in files.items()}
    write(crate / SUMS, result_files.checksums(names))


def _describe(crate: Path, files: dict[str, Path]) -> None:
    """Make the metadata describe exactly these files, with checksums, if it can be read."""
    try:
        document = json.loads((crate / METADATA).read_text())
        graph = document["@graph"]
        for entity in graph:
            if "sha256" in entity and (path := files.get(entity["@id"])):
                entity["sha256"] = checksum.sha256(path)
            elif "://" not in entity["@id"]:
                entity.pop("sha256", None)
        described = {entity["@id"] for entity in graph if "sha256" in entity}
        graph += [
            {"@id": name, "@type": "File", "sha256": checksum.sha256(path)}
            for name, path in files.items()
            if name not in {*described, METADATA} and not name.startswith("src/")
        ]
        write(crate / METADATA, json.dumps(document))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
        pass  # metadata that cannot be sealed


def replaced(name: str, old: str, new: str) -> Change:
    """Return a change that replaces a text, which must occur, in a file."""

    def change(crate: Path) -> None:
        text = (crate / name).read_text()
        assert old in text, (name, old)
        write(crate / name, text.replace(old, new, 1))

    return change


def with_json(name: str, *place: str | int, value: Any = None, remove: bool = False) -> Change:
    """Return a change of a value in a JSON file."""

    def change(crate: Path) -> None:
        document = json.loads((crate / name).read_text())
        put(document, place, value, remove)
        write(crate / name, json.dumps(document))

    return change


def put(document: Any, place: tuple[str | int, ...], value: Any, remove: bool = False) -> None:
    """Set or remove the value at a place of a document."""
    for key in place[:-1]:
        document = document[key]
    if remove:
        del document[place[-1]]
    else:
        document[place[-1]] = value


def in_zip(name: str, change: Callable[[dict[str, bytes]], object], **options: Any) -> Change:
    """Return a change of the members of a zip."""

    def changed(crate: Path) -> None:
        with zipfile.ZipFile(crate / name) as archive:
            members = {one: archive.read(one) for one in archive.namelist()}
        change(members)
        pack(crate / name, list(members.items()), **options)

    return changed


def pack(path: Path, members: list[tuple[str, bytes]], compression: int = 0) -> None:
    """Write a zip of these members."""
    path.unlink(missing_ok=True)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compression)


def in_spec(
    *place: str | int, value: Any = None, remove: bool = False, store: str = STORE
) -> Change:
    """Return a change of a value in the spec of a store."""

    def change(members: dict[str, bytes]) -> None:
        head = json.loads(members["zarr.json"])
        spec = json.loads(head["attributes"]["spec"])
        put(spec, place, value, remove)
        head["attributes"]["spec"] = json.dumps(spec)
        members["zarr.json"] = json.dumps(head).encode()

    return in_zip(store, change)


def in_node(array: str, *place: str | int, value: Any, store: str = STORE) -> Change:
    """Return a change of a value in zarr's metadata of an array, or of the whole store."""

    def change(members: dict[str, bytes]) -> None:
        name = f"{array}/zarr.json".lstrip("/")
        node = json.loads(members[name])
        put(node, place, value)
        members[name] = json.dumps(node).encode()

    return in_zip(store, change)


def of_kind(name: str, make: Callable[[Path], object]) -> Change:
    """Return a change that replaces a file by something else, or adds it beside the files."""

    def change(crate: Path) -> None:
        path = crate / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)

    return change


def bind(path: Path) -> None:
    """Make a socket. Bind it from its folder, since its path may be too long for the system."""
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def same_meaning(crate: Path, original: Path) -> bool:
    """Return whether the verified files have equal content, as read by xarray and as text."""
    for name in (STORE, STREAM):
        mine, theirs = (zarr_zip.read(side / name) for side in (crate, original))
        if not mine.equals(theirs) or _said(mine) != _said(theirs):
            return False
    tables = (SUMMARY, SCORES, f"{TABLE}.md", f"{TABLE}.csv", CONFIG)
    return all((crate / name).read_bytes() == (original / name).read_bytes() for name in tables)


def _said(store: xr.Dataset) -> dict[str, Any]:
    """Return the spec of a store without the fields that depend on the machine."""
    spec = json.loads(store.attrs["spec"])
    return {key: value for key, value in spec.items() if key not in crate_records.OF_MACHINES}


def places(document: Any, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of all values in a document."""
    items = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    found = [place] if place else []
    for key, value in items:
        found += places(value, (*place, key))
    return found


VALUES = [
    None, True, -1, 0, 10**30, 1e308, float("nan"), float("inf"), "", "x" * 10_000, "../../x",
    "/etc/passwd", "\x1b[2J", "\ud800", "~root/x", [], {}, [[]], {"@id": {}}, ["toy"], 10**9,
]  # fmt: skip
"""Unexpected values."""


def randomly(seed: int) -> Mutation:
    """Return a random change of one value, or of one byte, of a file of the crate."""
    choose = random.Random(seed)
    kind = choose.choice(
        ["record", "metadata", "spec", "spec", "node", "node", "bytes", "zip bytes"]
    )
    if kind == "record":
        name = choose.choice([COST, ORIGIN])
        return Mutation(f"{seed} {name}", _random_json(name, choose), harmless=True)
    if kind == "metadata":
        return Mutation(f"{seed} metadata", _random_json(METADATA, choose), harmless=True)
    if kind == "bytes":
        name = choose.choice([STORE, STREAM, SUMMARY, SCORES, f"{TABLE}.md", f"{TABLE}.csv"])
        return Mutation(f"{seed} byte of {name}", _random_byte(name, choose))
    name = choose.choice([STORE, STREAM])
    if kind == "zip bytes":
        return Mutation(f"{seed} member of {name}", in_zip(name, _random_member(choose)))
    return Mutation(f"{seed} {kind} of {name}", in_zip(name, _random_node(choose, kind)))


def _random_json(name: str, choose: random.Random) -> Change:
    def change(crate: Path) -> None:
        document = json.loads((crate / name).read_text())
        _mutate(document, choose)
        write(crate / name, json.dumps(document))

    return change


def _mutate(document: Any, choose: random.Random) -> None:
    value = choose.choice(VALUES)
    put(document, choose.choice(places(document)), value, choose.random() < 0.2)


def _random_byte(name: str, choose: random.Random) -> Change:
    def change(crate: Path) -> None:
        content = bytearray((crate / name).read_bytes())
        content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
        write(crate / name, bytes(content))

    return change


def _random_member(choose: random.Random) -> Callable[[dict[str, bytes]], None]:
    """Return a change of a byte in a member of a zip, with correct checksums."""

    def change(members: dict[str, bytes]) -> None:
        name = choose.choice([one for one in members if not one.endswith("zarr.json")])
        content = bytearray(members[name])
        content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
        members[name] = bytes(content)

    return change


def _random_node(choose: random.Random, kind: str) -> Callable[[dict[str, bytes]], None]:
    """Return a change of a value in the spec of a store, or in zarr's metadata of an array."""

    def change(members: dict[str, bytes]) -> None:
        if kind == "spec":
            head = json.loads(members["zarr.json"])
            spec = json.loads(head["attributes"]["spec"])
            _mutate(spec, choose)
            head["attributes"]["spec"] = json.dumps(spec)
            members["zarr.json"] = json.dumps(head).encode()
            return
        name = choose.choice([one for one in members if one.endswith("zarr.json")])
        node = json.loads(members[name])
        _mutate(node, choose)
        members[name] = json.dumps(node).encode()

    return change
