"""Errors of files and disks, such as a full one: what the user can mend, told in one line."""

from __future__ import annotations

import errno

FULL = {errno.ENOSPC, errno.EDQUOT}
REMEDIES = {
    **dict.fromkeys(FULL, "make room there and start again"),
    **dict.fromkeys([errno.EACCES, errno.EPERM, errno.EROFS], "allow it, or name another place"),
    errno.EISDIR: "move the folder away, or name a file",
    **dict.fromkeys(
        [errno.ENOTDIR, errno.EEXIST],
        "there is a file where a folder should be; move it away, or name a folder",
    ),
}


def behind(error: BaseException | None) -> OSError | None:
    """The error of a file that another error is, or of a full disk that it comes from.

    What is closed on a full disk fails once more, and not always in the same words.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return error
    while error:
        if isinstance(error, OSError) and error.errno in FULL:
            return error
        error = error.__cause__ or error.__context__
    return None


def told(error: OSError, written: object) -> str:
    """The place, what is wrong and the remedy.

    written: the place if the error names none, as of a file that was open already.
    """
    place = error.filename2 or error.filename or written
    return f"{place}: {error.strerror}; {REMEDIES.get(error.errno or 0, 'check this path')}"
