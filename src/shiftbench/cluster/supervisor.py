"""Keeps Snakemake alive while its jobs are in the queue of a cluster.

Ctrl-C ends the jobs, which save their state. When the supervisor itself is ended, as with the
login, they go on, and the same command takes them over again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial

from shiftbench.orphans import die_with_parent

DEATHS = 10
"""So often is a Snakemake that was killed started again."""


def run(arguments: list[str]) -> int:
    """Runs Snakemake, again where it was killed; its exit status. Sets signal handlers."""
    command = [sys.executable, "-m", "shiftbench.cluster.main_process", *arguments]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Snakemake gets it from the terminal as well
    status = 0
    for _ in range(DEATHS):
        begin = partial(_begin, os.getpid())
        status = subprocess.Popen(command, preexec_fn=begin).wait()
        if status != -signal.SIGKILL:
            return 128 - status if status < 0 else status
        print("Snakemake was killed; its jobs go on, and it starts again", file=sys.stderr)
    return 128 - status


def _begin(parent: int) -> None:
    """In the child, before it becomes Snakemake."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    die_with_parent(parent)
