"""Upload a crate; files that are already there are skipped, so an interrupted upload continues.

The target is an address, s3://BUCKET/PREFIX (s3.py) or zenodo: (zenodo.py). Keys and tokens come
from the environment, and appear in no file of a crate and no message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from shiftbench.core.errors import UserError
from shiftbench.publish import crate, crate_metadata, result_files

LAST = (result_files.CHECKSUMS, crate_metadata.NAME)
"""Files uploaded at the end: once they are there, all others are."""


class Target(Protocol):
    """Storage that holds files by name."""

    def files_of(self, crate: Path, scratch: Path) -> dict[str, Path]:
        """Return the files to upload of a crate, by their new names; new files are in `scratch`."""

    def lacks(self, contents: dict[str, Path]) -> list[str]:
        """Return the names of the files that are missing or different there. Changes nothing."""

    def put(self, name: str, path: Path) -> None:
        """Upload one file completely. Raises UserError, and leaves nothing, if that fails."""


class Outcome(NamedTuple):
    """Names of the files that were missing, and the number of those that were there."""

    missing: list[str]
    there: int


def target_of(address: str) -> Target | None:
    """Return the target of an address; None for a local path. Raises UserError for a wrong one."""
    if address in ("", "s3", "zenodo"):
        raise UserError(
            f"--to {address or chr(34) * 2}: name a folder (./{address or 'FOLDER'}),"
            " s3://BUCKET/PREFIX, or zenodo: with a colon"
        )
    if address.startswith("s3:"):
        from shiftbench.publish import s3

        return s3.Bucket(address)
    if address.startswith("zenodo:"):
        from shiftbench.publish import zenodo

        return zenodo.Draft(address)
    if "://" in address:
        raise UserError(f"--to {address}: name a folder, s3://BUCKET/PREFIX, or zenodo:")
    return None


def is_crate(folder: Path) -> bool:
    """Return whether a folder is a crate already."""
    return (folder / crate_metadata.NAME).exists()


@contextmanager
def crate_of(results: Path, config_file: Path | None) -> Iterator[Path]:
    """Yield the folder itself, after a check, if it is a crate; else a temporary crate of it.

    config_file: of the results; None for a crate, which has its own.
    """
    if config_file is None:
        crate.refuse_changed(results)
        yield results
        return
    with TemporaryDirectory() as scratch:
        new = Path(scratch, results.name)
        crate.make(results, config_file, new)
        yield new


def send(source: Path, target: Target, dry_run: bool = False) -> Outcome:
    """Upload the files of a crate that the target lacks; with `dry_run`, only list them.

    Raises UserError if the target refuses; files uploaded until then stay, and are not sent again.
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
    return Outcome(missing, len(contents) - len(missing))
