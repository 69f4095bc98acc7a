"""Raw data sets: the table of their files, fetching, and checks.

The table is raw_files.yaml. Files come from the mirror that SHIFTBENCH_MIRROR names (a folder or an
http address, with one folder a data set unless the table names another), else from the address in
the table. Files of data that may be read but not mirrored come from an installed package, as they
are or converted. An address made:MODULE/ means that this module of shiftbench writes the file.
Imports little: the workflow reads the table whenever it is parsed.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shiftbench.core import file_errors
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, package_files, scratch
from shiftbench.data.store.package_files import PackageFile

MIRROR = "SHIFTBENCH_MIRROR"
MADE = "made:"
RETRIES = 2
UNCLEAR = "unclear"
"""Status of a licence where no source states one."""
CHANGED = "It was changed after it was fetched; delete it and start the workflow again to fetch it."


@dataclass(frozen=True)
class RawFile:
    """One file of a data set: sha256 (hexadecimal), size (bytes), address.

    folder: its folder in a mirror, if that does not have the name of the data set.
    inside: the file of a package that it comes from, if any; such a file is in no mirror.
    converter: the module whose `rebuilt(name, content)` makes it from that file; empty for a copy.
    """

    sha256: str
    size: int
    address: str
    folder: str = ""
    inside: PackageFile | None = None
    converter: str = ""

    @property
    def official(self) -> RawFile | PackageFile:
        """The file at the address, from which this one may be made."""
        return self.inside or self


@dataclass(frozen=True)
class Dataset:
    """One raw data set; `files` is empty if a dependency carries the data.

    sizes: training rows, inputs and outputs, each a number or the name of the setting of a stream
    that has it; empty if settings have all.
    licence_status: `stated`, `presumed` or `unclear`; empty for data that are the user's own.
    mirror: why only a mirror has the files; empty if they are at a public address.
    """

    title: str
    licence: str
    citation: str
    files: dict[str, RawFile]
    sizes: tuple[int | str, ...] = ()
    licence_status: str = ""
    mirror: str = ""

    def attributes(self) -> dict[str, str]:
        """Return the attributes of a store of these data: title, licence, its status, citation."""
        status = {"licence_status": self.licence_status} if self.licence_status else {}
        licence = {"licence": self.licence} | status
        return {"title": self.title, **licence, "citation": self.citation}


@functools.cache
def table() -> dict[str, Dataset]:
    """Return all raw data sets by name."""
    text = Path(__file__).with_name("raw_files.yaml").read_text(encoding="utf-8")
    rows = yaml.load(text, yaml.CSafeLoader)  # in C: every job reads this
    return {name: _dataset(row) for name, row in rows.items()}


def fetch(dataset: str, file: str, output: Path) -> None:
    """Fetch one raw file and put it at `output` once its size and checksum are right.

    UserError, with nothing left behind, for an unknown name, a file that cannot be fetched, and
    one that is not the right one.
    """
    wanted = _wanted(dataset, file)
    output = Path(output)
    with scratch.beside(output) as folder:
        if wanted.inside:
            _take(wanted, f"{dataset}/{file}", folder / file)
            os.replace(folder / file, output)
            return
        name = f"{wanted.folder or dataset}/{file}"
        _refuse_without_mirror(dataset, name)
        source = _get(name, wanted, folder / file)
        remedy = (
            f"Nothing was kept. If {source} is your mirror, replace the file there; else try again,"
            f" or set {MIRROR} to a folder or an address with the right file."
        )
        _check(f"{dataset}/{file}", wanted, folder / file, source, remedy)
        os.replace(folder / file, output)


def refuse_changed(dataset: str | None, folder: Path) -> None:
    """Raise UserError if a raw file of a data set below `folder` is not the one in the table.

    Missing files are left to the reader; data that cannot be fetched have no checksum.
    """
    for file, wanted in table()[dataset].files.items() if dataset else ():
        path = folder / str(dataset) / file
        if path.is_file():
            _check(f"{dataset}/{file}", wanted, path, str(path), CHANGED)


def absent(dataset: str | None) -> str:
    """Return why a data set cannot be read from its package, with the remedy; empty if it can."""
    for wanted in table()[dataset].files.values() if dataset in table() else ():
        if wanted.inside and (reason := package_files.problem(wanted.inside)):
            return f"{reason}. {wanted.inside.remedy}"
    return ""


def without_mirror(datasets: Iterable[str], folder: Path) -> list[str]:
    """Return which data sets only a mirror has, if none is set.

    Those whose files are in `folder` already are left out.
    """
    if os.environ.get(MIRROR):
        return []
    needed = {name: one.files for name, one in table().items() if one.mirror and name in datasets}
    return [
        name
        for name, files in needed.items()
        if not all((folder / name / file).is_file() for file in files)
    ]


def missing(path: Path) -> UserError:
    """Return the error for a missing raw file."""
    return UserError(
        f"Raw file {path} is missing. Run the workflow, or python -m shiftbench fetch."
    )


def wrong(path: Path | str, reason: str, line: int | None = None) -> UserError:
    """Return the error for a raw file with other content than it should have."""
    at = "" if line is None else f", line {line}"
    return UserError(
        f"Raw file {path} is not what it should be{at}: {reason}. Delete it and fetch it again."
    )


def _dataset(row: dict[str, Any]) -> Dataset:
    files = {name: _file(row, name, entry) for name, entry in row.get("files", {}).items()}
    sizes, status = tuple(row.get("sizes", ())), row.get("licence_status", UNCLEAR)
    source = row["title"], row["licence"], row["citation"]
    return Dataset(*source, files, sizes, status, row.get("mirror", ""))


def _file(row: dict[str, Any], name: str, entry: dict[str, Any]) -> RawFile:
    if "package" not in row:
        address = row["address"] + name
        return RawFile(entry["sha256"], entry["size"], address, entry.get("folder", ""))
    package, _, version = row["package"].partition("==")
    source = {key: entry[key] for key in ("sha256", "size")} | entry["from"]
    inside = PackageFile(package, version, **source)
    converter = row.get("converter", "")
    return RawFile(entry["sha256"], entry["size"], inside.address, "", inside, converter)


def _wanted(dataset: str, file: str) -> RawFile:
    # By import_module, which the digest of code does not follow: no result depends on a hint.
    suggestions = importlib.import_module("shiftbench.core.suggestions")
    datasets = table()
    suggestions.refuse_unknown("raw data set", dataset, datasets)
    files = datasets[dataset].files
    if not files:
        raise UserError(
            f"Raw data set {dataset!r} has no files to fetch: a dependency carries its data, or"
            f" you put them into data/raw/{dataset}."
        )
    if file not in files:
        raise UserError(f"Raw data set {dataset!r}: {suggestions.unknown('file', file, files)}")
    return files[file]


def _refuse_without_mirror(dataset: str, name: str) -> None:
    """Raise UserError for data that only a mirror has, where none is set."""
    if (reason := table()[dataset].mirror) and not os.environ.get(MIRROR):
        raise UserError(
            f"Raw file {name} is at no public address: {reason}. Set {MIRROR} to a folder or an"
            f" address that has it; see docs/troubleshooting.md."
        )


def _get(name: str, wanted: RawFile, target: Path) -> str:
    """Copy, download or make the file at `target`, and return the place it came from."""
    if wanted.address.startswith(MADE):
        module = wanted.address.removeprefix(MADE).partition("/")[0]
        importlib.import_module(module).write(target.name, target)
        return module
    mirror = os.environ.get(MIRROR, "")
    if mirror and not mirror.startswith(("http://", "https://")):
        return _copy(name, Path(mirror).expanduser() / name, target)
    address = f"{mirror.rstrip('/')}/{name}" if mirror else wanted.address
    return _download(name, address, target)


def _take(wanted: RawFile, name: str, target: Path) -> None:
    """Write the file of a package to `target`, converted if it has to be, and check it."""
    assert wanted.inside is not None
    try:
        content = package_files.read(wanted.inside)
    except UserError as error:
        raise UserError(f"Raw file {name}: {error}") from None
    if wanted.converter:
        content = importlib.import_module(wanted.converter).rebuilt(target.name, content)
    target.write_bytes(content)
    remedy = f"This is a mistake in {wanted.converter or 'raw_files.yaml'}; report it."
    _check(name, wanted, target, wanted.inside.address, remedy)


def _copy(name: str, source: Path, target: Path) -> str:
    try:
        content = source.open("rb")
    except OSError as error:
        raise UserError(
            f"Raw file {name}: the mirror has no readable {source} ({error.strerror}). Put the"
            f" file there, or unset {MIRROR} to use the official address."
        ) from None
    with content, target.open("wb") as copy:
        shutil.copyfileobj(content, copy)
    return str(source)


def _download(name: str, address: str, target: Path) -> str:
    import pooch
    import requests

    # No checksum is given to pooch: our own check names both checksums.
    store = pooch.create(
        target.parent,
        base_url="",
        registry={target.name: None},
        urls={target.name: address},
        retry_if_failed=RETRIES,
    )
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=60)
    try:
        store.fetch(target.name, downloader=downloader)
    except (requests.RequestException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in file_errors.FULL:
            raise
        raise UserError(
            f"Raw file {name}: {address} could not be fetched ({error}). Try again, or set"
            f" {MIRROR} to a folder or an address that holds {name}."
        ) from None
    return address


def _check(name: str, wanted: RawFile, path: Path, source: str, remedy: str) -> None:
    size = path.stat().st_size
    if size != wanted.size:
        raise UserError(
            f"Raw file {name} from {source}: expected {wanted.size} bytes, found {size}. {remedy}"
        )
    actual = checksum.sha256(path)
    if actual != wanted.sha256:
        raise UserError(
            f"Raw file {name} from {source}: expected sha256 {wanted.sha256}, found {actual}."
            f" {remedy}"
        )
