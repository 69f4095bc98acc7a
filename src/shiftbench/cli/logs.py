"""Messages of a process, to its log file and to the screen."""

from __future__ import annotations

import argparse
import errno
import faulthandler
import io
import logging
import os
import stat
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from shiftbench.core import file_errors

log = logging.getLogger("shiftbench")


def open_log(path: Path | None) -> None:
    """Send messages to a log file, if there is one, and warnings to standard error as well."""
    log.setLevel(logging.INFO)
    log.handlers.clear()
    screen = logging.StreamHandler(sys.stderr)
    screen.setLevel(logging.WARNING)
    log.addHandler(screen)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _LogFile(path, mode="a", encoding="utf-8")
        file.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        log.addHandler(file)
        faulthandler.enable(path.open("a"))  # writes the stack after a crash of compiled code


def replace_what_cannot_be_shown() -> None:
    """Print "?" for a letter that the encoding of the locale lacks, as ASCII lacks accents."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # a pipe that another process has written to cannot seek
                stream.reconfigure(errors="replace")


class _LogFile(logging.FileHandler):
    """A log file whose write errors end the command, with the name of the file."""

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exception()
        if isinstance(error, OSError):
            error.filename = self.baseFilename
            raise error
        super().handleError(record)


def report(message: str, level: int = logging.ERROR) -> None:
    """Report a message on the screen and in the log; the log may be broken."""
    with suppress(OSError):
        log.log(level, "%s", message)


def report_unexpected(error: Exception, path: Path | None) -> None:
    """Report an error that is a bug, with its traceback; path: the log file, if there is one."""
    details = traceback.format_exc()
    report(details, logging.INFO)
    if not path or os.environ.get("SHIFTBENCH_DEBUG"):
        print(details, file=sys.stderr)
    where = f"; details in {path}" if path else ""
    report(f"unexpected error: {type(error).__name__}: {error}{where}")


def report_file_error(error: OSError, options: argparse.Namespace) -> None:
    """Report a file that cannot be read or written; by default the output of the command."""
    output = vars(options).get("output")
    output = output[0] if isinstance(output, list) else output
    if os.environ.get("SHIFTBENCH_DEBUG"):
        print(traceback.format_exc(), file=sys.stderr)
    if error.filename or output:
        report(file_errors.message(error, output))
    elif _output_is_full():
        report(file_errors.message(error, "standard output"))
        drop_output()
    else:
        place = vars(options).get("to") or vars(options).get("folder") or Path.cwd()
        report(file_errors.message(error, f"a file in {place}"))


def _output_is_full() -> bool:
    """Return whether standard output is closed, on a full disk, or the device /dev/full."""
    try:
        status = os.fstat(1)
        if stat.S_ISREG(status.st_mode):
            return not os.fstatvfs(1).f_bavail
        return stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat("/dev/full").st_rdev
    except OSError as error:
        return error.errno == errno.EBADF  # it is closed; or there is no /dev/full


def drop_output() -> None:
    """Write nothing more to standard output, not even when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
