"""Limits on the code of a method: it may not end the process of a job or change its folder.

Both would lose the results, which are written at the end, to paths relative to the first folder.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from shiftbench.cli import logs
from shiftbench.core import exit_statuses
from shiftbench.core.errors import UserError

EXIT = "<frozen _sitebuiltins>"
"""The file of the functions `exit` and `quit`, which raise SystemExit."""


@contextmanager
def kept() -> Iterator[None]:
    """Check that the code inside keeps the process and its folder. UserError, or exit, if not.

    The working folder is restored in any case.
    """
    folder, process, leave = Path.cwd(), os.getpid(), os._exit

    def report_and_leave(status: int) -> NoReturn:
        if os.getpid() == process:  # not in a process that the method has forked
            caller = sys._getframe(1)
            place = f"{caller.f_code.co_filename}, line {caller.f_lineno}"
            logs.report(_ended("os._exit", status, place))
            status = status or exit_statuses.MISTAKE  # 0 would mean that there are results
        leave(status)

    os._exit = report_and_leave  # type: ignore[assignment]
    try:
        yield
        if (now := Path.cwd()) != folder:
            raise UserError(
                f"the method has changed the working folder from {folder} to {now}, but the paths"
                " of its results begin there; remove the call of os.chdir from its code"
            )
    except SystemExit as error:
        frames = traceback.extract_tb(error.__traceback__)
        frame = [one for one in frames if one.filename != EXIT][-1]
        place = f"{frame.filename}, line {frame.lineno}"
        raise UserError(_ended("SystemExit", _status(error), place)) from None
    finally:
        os._exit = leave
        os.chdir(folder)


def _ended(how: str, status: int, place: str) -> str:
    return (
        f"the code of the method has ended the process with {how} and the exit status {status}"
        f" ({place}); let it raise a LearnerError where it cannot go on"
    )


def _status(error: SystemExit) -> int:
    """Return the exit status that Python would have given."""
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1
