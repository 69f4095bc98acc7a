"""Scripts of Slurm jobs: the commands of their rules, without changes.

The commands of a group run with fork servers, so that libraries are imported once for all.
Snakemake's own scripts start Snakemake on the node, twice. Its other tasks are done here before
(folders, old outputs) or by the main process after (existence of the outputs, their records).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
"""Libraries whose number of threads Snakemake sets by environment variables."""
WAITS = "trap : TERM INT USR1"
"""Keeps the shell alive on a signal: its end would kill the job, which is saving its state."""
IGNORES = "trap '' TERM INT USR1"
"""Also keeps the fork servers alive. Runs handle signals, which Slurm sends to all processes."""
KEEP_HIGHEST = "{ status=$?; [ $failed -gt $status ] || failed=$status; }"
FORK_SERVERS = f"{shlex.quote(sys.executable)} -m shiftbench warm -- sh -c"


def text(job: Any) -> str:
    """Return the script of a job. In a group, jobs wait for others whose outputs they need.

    Its exit status is the highest of its commands: an end by a signal, which another attempt may
    escape, counts more than an error.
    """
    lines = ["failed=0"]
    for level in _levels(job):
        lines += [_line(member) for member in level]
        lines.append("[ $failed = 0 ] || exit $failed")
    script = "\n".join(lines)
    if job.is_group():
        return f"{IGNORES}\n{FORK_SERVERS} {shlex.quote(script)}"
    return f"{WAITS}\n{script}"


def commands(job: Any) -> list[str]:
    """Return the commands of a job, or of all jobs of a group."""
    return [member.shellcmd or member.name for member in _members(job)]


async def prepare(job: Any) -> None:
    """Create the folders of a job's outputs and logs, and remove its old outputs."""
    for member in _members(job):
        for file in member.output:
            with suppress(FileNotFoundError):
                await file.remove(remove_non_empty_dir=False)
        for file in (*member.output, *member.log):
            file.prepare()


def _levels(job: Any) -> list[list[Any]]:
    return [list(level) for level in job.toposorted] if job.is_group() else [[job]]


def _members(job: Any) -> Iterator[Any]:
    for level in _levels(job):
        yield from level


def _line(job: Any) -> str:
    threads = " ".join(f"{name}_NUM_THREADS={job.threads}" for name in THREADS)
    return f"( export {threads}; {job.shellcmd} ) || {KEEP_HIGHEST}"
