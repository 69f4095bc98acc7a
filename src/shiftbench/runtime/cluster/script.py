"""What a job of Slurm runs: the commands of its rules, as they are.

Those of a group have warm servers around them, so that libraries are imported once for all.
Snakemake's own way is to start itself on the node, twice. What that does beside running the
commands, it does here before (folders, old outputs) or in the main process after (whether the
outputs are there, their records).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
"""Libraries that are told how many threads they may use, as Snakemake tells them."""
WAITS = "trap : TERM INT USR1"
"""A shell that dies of a signal takes the job with it, which is saving its state."""
IGNORES = "trap '' TERM INT USR1"
"""Nor may the warm server die of it. Runs handle signals in any case, and Slurm tells them all."""
WARM = f"{shlex.quote(sys.executable)} -m shiftbench warm -- sh -c"


def text(job: Any) -> str:
    """The script of a job. In a group, what needs another's output waits for it."""
    lines = []
    for level in _levels(job):
        lines += [_line(one) for one in level]
        lines.append('[ -z "$failed" ] || exit 1')
    script = "\n".join(lines)
    return f"{IGNORES}\n{WARM} {shlex.quote(script)}" if job.is_group() else f"{WAITS}\n{script}"


def commands(job: Any) -> list[str]:
    """The commands of a job, or of all jobs of a group."""
    return [one.shellcmd or one.name for level in _levels(job) for one in level]


async def prepare(job: Any) -> None:
    """Makes the folders of a job's outputs and logs, and removes its old outputs."""
    for one in _jobs(job):
        for file in one.output:
            with suppress(FileNotFoundError):
                await file.remove(remove_non_empty_dir=False)
        for file in (*one.output, *one.log):
            file.prepare()


def _levels(job: Any) -> list[list[Any]]:
    return [list(level) for level in job.toposorted] if job.is_group() else [[job]]


def _jobs(job: Any) -> Iterator[Any]:
    for level in _levels(job):
        yield from level


def _line(job: Any) -> str:
    told = " ".join(f"{name}_NUM_THREADS={job.threads}" for name in THREADS)
    return f"( export {told}; {job.shellcmd} ) || failed=1"
