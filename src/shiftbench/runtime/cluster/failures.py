"""Messages about failed cluster jobs: one for each failure, and a summary at the end."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from typing import Any

from shiftbench.runtime.cluster import retries

FAILED = "FAILED"
OVER_LIMIT = "exceeded memory limit"
"""Slurm's message in the log of a job that it killed for its memory, on clusters that poll it."""
OF_NO_STUDY = (
    "fetch_raw_file", "build_stream", "choose_words", "count_shard", "merge_shards", "write_ledger",
)  # fmt: skip
"""Rules whose jobs request the same memory for all studies."""

_final: list[str] = []
"""Messages about jobs that failed for the last time."""


def note(submitted: Any, message: str, exit_status: int | None = None) -> str:
    """Return a message about a failed job, and let it be retried only if that may help.

    submitted, message: as the plugin reports them. exit_status: of the job, if it is known.
    """
    job, aux = submitted.job, submitted.aux or {}
    match = re.search(r"SLURM status is: '([\w ]+)'", message)
    status, of_slurm = match[1] if match else message, str(aux.get("slurm_logfile", ""))
    log, last_line = _last_line([*map(str, job.log), of_slurm])
    name = str(next(iter(job.output), job.name))
    reason = ", ".join(filter(None, [status, last_line.removeprefix(f"{name}: ")]))
    if why := _out_of_memory(status, exit_status, of_slurm):
        reason = f"{why}: {_remedy(job)}"
        retries.give_more_memory(job)
    elif status == FAILED and exit_status in retries.IN_VAIN:
        retries.end(job)
    line = f"{name}: {reason}" + (f"; log: {log}" if log else "")
    if retries.are_left(job):
        return f"{line}; it is tried again{', with more memory' if why else ''}"
    _final.append(line)
    return line


def _out_of_memory(status: str, exit_status: int | None, log: str) -> str:
    """Return in words that a job ran out of memory; empty if it did not."""
    if status == "OUT_OF_MEMORY" or (status == FAILED and OVER_LIMIT in _text(log)):
        return "out of memory"
    killed = status == FAILED and exit_status == 128 + signal.SIGKILL  # by the node's kernel
    return "killed, most likely out of memory" if killed else ""


def _remedy(job: Any) -> str:
    if job.name in OF_NO_STUDY:
        return f"raise mem_mb of {job.name}, in set-resources of the profile"
    return "raise memory_mb of the study"


def print_summary() -> None:
    """Print which jobs failed for the last time, if any."""
    if _final:
        number = "1 job" if len(_final) == 1 else f"{len(_final)} jobs"
        print("\n  ".join([f"{number} failed:", *_final]), file=sys.stderr)


def _last_line(logs: list[str]) -> tuple[str, str]:
    """Return the first log that is not empty, and its last line without time and log path."""
    for log in logs:
        if text := _text(log).strip():
            return log, re.sub(r"^[\d-]+ [\d:]+ |; details in .*", "", text.splitlines()[-1])
    return "", ""


def _text(log: str) -> str:
    return Path(log).read_text(errors="replace") if log and Path(log).is_file() else ""
