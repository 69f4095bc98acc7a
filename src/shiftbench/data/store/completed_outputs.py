"""Copies of the finished files of a run, kept beside them until its study is summarised.

Snakemake removes the outputs of a job that it takes for failed, for example when Slurm ends it for
its time limit just after its last task. The run that is started again restores its files from here.
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
    """Keep finished files that have checksums, under the digest of the spec of their run."""
    drop(paths)  # copies of an older spec
    for path in paths:
        _duplicate(path, _place(path, digest))


def restore(digest: str, *paths: Path) -> bool:
    """Restore all files; return False, with none restored, without intact copies."""
    copies = {path: _place(path, digest) for path in paths}
    if not all(place.is_file() for place in copies.values()):
        return False
    for path, place in copies.items():
        _duplicate(place, path)
    if any(checksum.is_broken(path) or not checksum.is_there(path) for path in paths):
        for path in paths:
            path.unlink()
        drop(paths)
        return False
    for path in paths:
        os.utime(path)  # older than its inputs, it would be stale
    return True


def drop(paths: Iterable[Path]) -> None:
    """Remove the kept copies of these files; the files themselves stay."""
    for path in paths:
        for place in path.parent.glob(f".{path.name.partition('.')[0]}.*{SUFFIX}"):
            place.unlink(missing_ok=True)


def _place(path: Path, digest: str) -> Path:
    return path.with_name(f".{path.name}.{digest}{SUFFIX}")


def _duplicate(path: Path, other: Path) -> None:
    """Link a file under another name, or copy it completely if links are refused."""
    new = other.with_name(f".{other.name.lstrip('.')}.new")
    new.unlink(missing_ok=True)
    try:
        os.link(path, new)
    except OSError:
        shutil.copyfile(path, new)
    os.replace(new, other)
    with suppress(FileNotFoundError):  # renaming a link to another link of its file does nothing
        new.unlink()
