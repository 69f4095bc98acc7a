"""One-line messages for errors of files and disks that users can correct."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from shiftbench.core.errors import UserError

FULL = {errno.ENOSPC, errno.EDQUOT}
REMEDIES = {
    **dict.fromkeys(FULL, "make room there and start again"),
    **dict.fromkeys([errno.EACCES, errno.EPERM, errno.EROFS], "allow it, or name another place"),
    errno.ELOOP: "a link leads back to itself; remove it, or name another path",
    errno.EISDIR: "move the folder away, or name a file",
    **dict.fromkeys(
        [errno.ENOTDIR, errno.EEXIST],
        "there is a file where a folder should be; move it away, or name a folder",
    ),
}


def root_cause(error: BaseException | None) -> OSError | None:
    """Return the OSError behind an error: itself if it names a file, or a cause of it.

    Closing a file on a full disk fails once more, sometimes with another error. Until Python 3.12
    pathlib replaces the error of a link that leads back to itself.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return error
    while error:
        if isinstance(error, OSError) and error.errno in {*FULL, errno.ELOOP}:
            return error
        error = error.__cause__ or error.__context__
    return None


def message(error: OSError, default_path: object) -> str:
    """Return the path, what is wrong and the remedy.

    default_path: used if the error names no path, as for a file that was already open.
    """
    path = error.filename2 or error.filename or default_path
    return f"{path}: {error.strerror}; {REMEDIES.get(error.errno or 0, 'check this path')}"


def refuse_no_folder(folder: Path) -> None:
    """Raise UserError for a folder that can neither be made nor be written."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    number = 0 if os.access(existing, os.W_OK | os.X_OK) else errno.EACCES
    if not existing.is_dir():
        number = errno.ENOTDIR
    if number:
        raise UserError(message(OSError(number, os.strerror(number)), existing))
