"""Uploading a crate: what is there already is left alone, so that an interrupted upload goes on.

Where to is said by an address, s3://BUCKET/PREFIX (s3.py) or zenodo: (zenodo.py). Keys and tokens
come from the environment, and stand in no file of a crate and in no message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from shiftbench.core.errors import UserError
from shiftbench.publish import crate, crate_metadata, files

LAST = (files.CHECKSUMS, crate_metadata.NAME)
"""Uploaded at the end: where these are, all else is."""


class Place(Protocol):
    """Somewhere that holds files by name."""

    def files_of(self, crate: Path, scratch: Path) -> dict[str, Path]:
        """What is uploaded of a crate, by the name that it gets; new files lie in `scratch`."""

    def lacks(self, contents: dict[str, Path]) -> list[str]:
        """The names of those files that are not there, or are other ones. Changes nothing."""

    def put(self, name: str, path: Path) -> None:
        """Uploads one file, whole or not at all. UserError where that fails."""


class Sent(NamedTuple):
    """Names of the files that were missing, and the number of those that were there."""

    missing: list[str]
    there: int


def place(address: str) -> Place | None:
    """The place of an address; None for a path of this machine. UserError for a wrong address."""
    if address.startswith("s3:"):
        from shiftbench.publish import s3

        return s3.Bucket(address)
    if address.startswith("zenodo:"):
        from shiftbench.publish import zenodo

        return zenodo.Draft(address)
    if "://" in address:
        raise UserError(f"--to {address}: name a folder, s3://BUCKET/PREFIX, or zenodo:")
    return None


@contextmanager
def crate_of(results: Path, config_file: Path) -> Iterator[Path]:
    """The folder itself if it is a crate, which is checked; else a crate of it, gone afterwards."""
    if (results / crate_metadata.NAME).exists():
        crate.refuse_changed(results)
        yield results
        return
    with TemporaryDirectory() as scratch:
        made = Path(scratch, results.name)
        crate.make(results, config_file, made)
        yield made


def send(source: Path, target: Place, dry_run: bool = False) -> Sent:
    """Uploads what a place lacks of a crate, or with `dry_run` only looks.

    UserError where the place refuses; what was uploaded until then stays, and is not sent again.
    """
    with TemporaryDirectory() as scratch:
        contents = target.files_of(source, Path(scratch))
        missing = sorted(target.lacks(contents), key=lambda name: (name in LAST, name))
        for number, name in enumerate([] if dry_run else missing):
            try:
                target.put(name, contents[name])
            except UserError as error:
                done = len(contents) - len(missing) + number
                raise UserError(
                    f"{error} {done} of {len(contents)} files are there; start it again to go on."
                ) from None
    return Sent(missing, len(contents) - len(missing))
