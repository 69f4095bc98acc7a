"""The finished files of a run, kept beside them until its study is summarised.

Snakemake removes what a job made when it calls the job failed, as where Slurm ended it for its
time limit just after its last task. The run that is started again takes its files from here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from shiftbench.data.store import checksum

SUFFIX = ".kept"


def keep(digest: str, *paths: Path) -> None:
    """Keeps finished files, that are sealed, for runs with the digest of their spec."""
    drop(paths)  # those of an older spec
    for path in paths:
        _second(path, _place(path, digest))


def restore(digest: str, *paths: Path) -> bool:
    """Puts all files back, as they were sealed; False, and nothing is put, without them."""
    kept = {path: _place(path, digest) for path in paths}
    if not all(place.is_file() for place in kept.values()):
        return False
    for path, place in kept.items():
        _second(place, path)
    if any(map(checksum.is_broken, paths)):
        for path in paths:
            path.unlink()
        drop(paths)
        return False
    for path in paths:
        os.utime(path)  # as new as the job that gives it: older than its inputs would be stale
    return True


def drop(paths: Iterable[Path]) -> None:
    """Removes what is kept of the runs with these files; the files themselves stay."""
    for path in paths:
        for place in path.parent.glob(f".{path.name.partition('.')[0]}.*{SUFFIX}"):
            place.unlink(missing_ok=True)


def _place(path: Path, digest: str) -> Path:
    return path.with_name(f".{path.name}.{digest}{SUFFIX}")


def _second(path: Path, other: Path) -> None:
    """The same file under another name, whole or not at all; a copy where links are refused."""
    new = other.with_name(f".{other.name.lstrip('.')}.new")
    new.unlink(missing_ok=True)
    try:
        os.link(path, new)
    except OSError:
        shutil.copyfile(path, new)
    os.replace(new, other)
    with suppress(FileNotFoundError):  # to rename one link of a file to another does nothing
        new.unlink()
