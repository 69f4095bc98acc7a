"""What a process says: to its log, and to the person who started it."""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from shiftbench.core import file_errors

log = logging.getLogger("shiftbench")


def open_log(path: Path | None) -> None:
    """Messages go to the log, if there is one; warnings go to standard error as well."""
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
        faulthandler.enable(path.open("a"))  # a crash of compiled code leaves its stack


class _LogFile(logging.FileHandler):
    """A log that cannot be written ends the verb, with an error that names the log."""

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exception()
        if isinstance(error, OSError):
            error.filename = self.baseFilename
            raise error
        super().handleError(record)


def tell(message: str, level: int = logging.ERROR) -> None:
    """A message for the screen and the log, of which the log may be what is broken."""
    with suppress(OSError):
        log.log(level, "%s", message)


def tell_unexpected(error: Exception, path: Path | None) -> None:
    details = traceback.format_exc()
    tell(details, logging.INFO)
    if not path or os.environ.get("SHIFTBENCH_DEBUG"):
        print(details, file=sys.stderr)
    where = f"; details in {path}" if path else ""
    tell(f"unexpected error: {type(error).__name__}: {error}{where}")


def tell_file_error(error: OSError, options: argparse.Namespace) -> None:
    known = vars(options)
    output = known.get("output") or known.get("scores")
    output = output[0] if isinstance(output, list) else output
    if os.environ.get("SHIFTBENCH_DEBUG"):
        print(traceback.format_exc(), file=sys.stderr)
    tell(file_errors.message(error, output or "standard output"))
    if not (error.filename or output):
        drop_output()


def drop_output() -> None:
    """Nothing more is written to standard output, not at the end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
