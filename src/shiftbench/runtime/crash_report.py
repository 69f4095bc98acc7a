"""One-line report of a job that a signal ended, with the remedy. Standard library only."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise, takewhile

_AGAIN = "start the workflow again"
_CRASHED = (
    "compiled code crashed while the process ran this job. Likely causes: ctypes or an extension in"
    " a component of yours, a package that does not fit this processor, or a damaged cache of"
    " compiled code, which `make clean` removes. The log shows the lines that were running"
)
_REMEDIES: dict[int, str] = {
    signal.SIGKILL: "most likely the memory was used up: raise `memory_mb` of the study, lower"
    f" its `seeds_per_job` or run fewer jobs at a time, and {_AGAIN}",
    signal.SIGSEGV: _CRASHED,
    signal.SIGILL: _CRASHED,
    signal.SIGBUS: _CRASHED,
    signal.SIGABRT: _CRASHED,
    signal.SIGFPE: _CRASHED,
}


def write(arguments: Sequence[str], number: int) -> None:
    """Write the report to standard error and to the job's log, if it has one.

    arguments: the command-line arguments of `job`; the report names the job by its output. number:
    the signal that ended it.
    """
    options = dict(pairwise(arguments))
    verb = " ".join(takewhile(lambda argument: not argument.startswith("--"), arguments))
    line = f"{options.get('--output', verb)}: {words(number, options.get('--log', ''))}"
    print(line, file=sys.stderr)
    if "--log" in options:
        with suppress(OSError), open(options["--log"], "a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")


def words(number: int, log: str) -> str:
    """Return the signal that ended a job, likely causes, and the path of its log, if it has one."""
    names = {signum.value: signum.name for signum in signal.Signals}
    name = names.get(number, f"signal {number}")
    where = f"; log: {log}" if log and number in _REMEDIES else ""
    return f"ended by {name}; {_REMEDIES.get(number, _AGAIN)}{where}"
