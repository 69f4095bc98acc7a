"""Results that were damaged or removed since a job made them, or made from another spec.

A file is intact if it has the checksum that its job wrote beside it, or the one in the manifest
(data/store/manifest.py). Only files with another size or time than in the manifest are read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import result_paths
from shiftbench.config.job import Job
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, manifest
from shiftbench.data.store.manifest import Entry
from shiftbench.forecast import snakemake_metadata

NO_FILE = Entry("", 0, 0, 0)
SHOWN = 5
"""The most files that a message names."""


class Lost(NamedTuple):
    """Paths of files to be made again, and of files without their checksum; the new manifest.

    damaged: files that changed since their job made them, or are no longer files. removed: files
    that are gone, although they were made with the present spec. outdated: intact files of another
    spec of which Snakemake has no record, as after a copy without `.snakemake`; so it would take
    them for up to date. without_checksum: intact files whose checksum file is missing or wrong.
    """

    damaged: list[str]
    removed: list[str]
    outdated: list[str]
    without_checksum: list[str]
    entries: dict[str, Entry]

    @property
    def all(self) -> list[str]:
        """Return all files to be made again."""
        return [*self.damaged, *self.removed, *self.outdated]

    def words(self, then: str) -> str:
        """Return a message about these files.

        then: the phrase that says what happens to them, with {it} for one file or several.
        """
        kinds = (
            (self.damaged, "changed or damaged"),
            (self.removed, "removed"),
            (self.outdated, "outdated by changed settings or code"),
        )
        counts = " and ".join(
            f"{len(paths):,} {'file was' if len(paths) == 1 else 'files were'} {what}"
            for paths, what in kinds
            if paths
        )
        names = ", ".join(self.all[:SHOWN])
        more = f" and {len(self.all) - SHOWN:,} more" if len(self.all) > SHOWN else ""
        it = "it" if len(self.all) == 1 else "them"
        return f"{counts} since the workflow made {it}; {then.format(it=it)}: {names}{more}"


def find(jobs: Iterable[Job], results: Path, deep: bool = False) -> Lost:
    """Compare the outputs of jobs with their checksums; write nothing.

    Results of an earlier version, without a manifest or checksums of costs, are taken as they are.
    Files of a job that is running, or that was killed, are left out.

    Parameters
    ----------
    results
        The folder of the results, below which the jobs have their outputs.
    deep
        Read all files, whatever their size and time.

    Raises
    ------
    UserError
        For a folder with something in it where a file should be.
    """
    jobs = list(jobs)
    known, lost = manifest.read(results), Lost([], [], [], [], {})
    costs = [file for job in jobs for file in job.outputs if file.endswith(result_paths.COST)]
    trusting = not known and not any(checksum.is_there(Path(file)) for file in costs)
    for job in jobs:
        for file in job.outputs:
            if not Path(file).is_relative_to(results):
                continue  # raw_files.yaml has the checksums of raw files
            name = Path(file).relative_to(results).as_posix()
            before = known.get(name)
            now, beside = _look(file, before, deep)
            if now is None:
                _add_absent(lost, job, file, name, before)
            elif now.sha256 == beside:
                lost.entries[name] = now
                if _is_outdated(job, file, now):
                    lost.outdated.append(file)
            elif now != NO_FILE and (
                now.sha256 == before.sha256 if before else trusting and beside is None
            ):
                lost.entries[name] = now
                lost.without_checksum.append(file)
            else:
                _add_damaged(lost, file, name, before)
    return lost


def settle(jobs: Iterable[Job], results: Path, deep: bool = False) -> Lost:
    """Find lost files; write the manifest, and the checksums that are missing beside files."""
    lost = find(jobs, results, deep)
    manifest.write(results, lost.entries)
    checksum.write(*map(Path, lost.without_checksum))
    return lost


def refuse_damaged(files: Iterable[str], results: Path) -> None:
    """Raise UserError if files that are to be read were changed since a job made them."""
    known, broken = manifest.read(results), []
    for file in files:
        inside = Path(file).is_relative_to(results)
        before = known.get(Path(file).relative_to(results).as_posix()) if inside else None
        now, beside = _look(file, before)
        if now and beside is not None and now.sha256 != beside:
            broken.append(file)
    if broken:
        raise UserError(
            f"{', '.join(broken)}: changed since a job made it, by hand or by a damaged disk."
            " Nothing is built upon it; `shiftbench run CONFIG` makes it again."
        )


def restore_times(files: Iterable[str], results: Path, before: dict[str, Entry]) -> None:
    """Give files that were made again with the same bytes their earlier modification time.

    Otherwise files made from them would count as out of date.
    """
    for file in files:
        one, path = before.get(Path(file).relative_to(results).as_posix()), Path(file)
        if one and path.is_file() and checksum.sealed(path) == one.sha256:
            os.utime(path, ns=(path.stat().st_atime_ns, one.modified))


def _look(file: str, before: Entry | None, deep: bool = False) -> tuple[Entry | None, str | None]:
    """Return the entry of a file as it is now, and the checksum beside it.

    None if there is nothing, NO_FILE if there is something other than a file. before: an earlier
    entry, which is used if size and times are unchanged, unless `deep`.
    """
    path = Path(file)
    beside = checksum.sealed(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return (NO_FILE if os.path.islink(path) else None), None
    if not stat.S_ISREG(status.st_mode):
        return NO_FILE, None
    if before and not deep and before.is_as_left(status):
        return before, beside
    sha256, made_with = checksum.sha256(path), _recorded(file)
    if before and before.sha256 == sha256:
        made_with = made_with or before.made_with
    return manifest.entry(sha256, status, made_with), beside


def _is_outdated(job: Job, file: str, now: Entry) -> bool:
    """Return whether a file was made with another spec, and Snakemake has no record of it."""
    if now.made_with in ("", _digest([repr(job.spec)])):
        return False
    return not snakemake_metadata.of(file)


def _add_absent(lost: Lost, job: Job, file: str, name: str, before: Entry | None) -> None:
    """Add an absent file, unless Snakemake will notice that it is missing."""
    if snakemake_metadata.is_being_made(file):
        return
    if before:
        lost.entries[name] = before
    half = file not in job.wanted and any(map(os.path.exists, job.outputs))
    if half or (before and before.made_with == _digest([repr(job.spec)])):
        lost.removed.append(file)


def _add_damaged(lost: Lost, file: str, name: str, before: Entry | None) -> None:
    if snakemake_metadata.is_being_made(file):
        return
    if os.path.isdir(file) and any(os.scandir(file)):
        raise UserError(
            f"{file}: this is a folder, where a job wrote a file. Move it away and start again; the"
            " file is computed again."
        )
    if before:
        lost.entries[name] = before
    lost.damaged.append(file)


def _recorded(file: str) -> str:
    """Return the digest of the spec that Snakemake has recorded for a file; empty without one."""
    params = snakemake_metadata.of(file).get("params")
    return _digest(params) if params else ""


def _digest(params: list[Any]) -> str:
    return hashlib.sha256("\n".join(map(str, params)).encode()).hexdigest()
