"""One-line report of a job that a signal ended, with the remedy. Standard library only."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise, takewhile

_AGAIN = "start the workflow again"
_DEFECT = (
    f"compiled code broke, or its cache is damaged: type `make clean`, {_AGAIN},"
    " and report it with this log if it comes back"
)
_REMEDIES: dict[int, str] = {
    signal.SIGKILL: "most likely the memory was used up: raise `memory_mb` of the study, lower"
    f" its `seeds_per_job` or run fewer jobs at a time, and {_AGAIN}",
    signal.SIGSEGV: _DEFECT,
    signal.SIGILL: _DEFECT,
    signal.SIGBUS: _DEFECT,
    signal.SIGABRT: _DEFECT,
    signal.SIGFPE: _DEFECT,
}


def write(arguments: Sequence[str], number: int) -> None:
    """Write the report to standard error and to the job's log, if it has one.

    arguments: the command-line arguments of `job`; the report names the job by its output. number:
    the signal that ended it.
    """
    options = dict(pairwise(arguments))
    verb = " ".join(takewhile(lambda argument: not argument.startswith("--"), arguments))
    job = options.get("--output", verb)
    names = {signum.value: signum.name for signum in signal.Signals}
    name = names.get(number, f"signal {number}")
    line = f"{job}: ended by {name}; {_REMEDIES.get(number, _AGAIN)}"
    print(line, file=sys.stderr)
    if "--log" in options:
        with suppress(OSError), open(options["--log"], "a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
