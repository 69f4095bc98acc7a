"""Retries of failed cluster jobs: only of those that another attempt may finish.

Snakemake retries every job until its attempts are used up. So this module raises the number of the
attempt, by `_attempt`: the setter of `attempt` would also change the job's resources, which
Snakemake is about to release.
"""

from __future__ import annotations

from typing import Any

from shiftbench.core import exit_statuses

IN_VAIN = (exit_statuses.DEFECT, exit_statuses.MISTAKE)
"""Exit statuses of a job that would end in the same way again."""


def are_left(job: Any) -> bool:
    """Return whether Snakemake will start a failed job again."""
    return job.attempt <= job.restart_times


def end(job: Any) -> None:
    """Let Snakemake not start a failed job again."""
    job._attempt = job.restart_times + 1


def give_more_memory(job: Any) -> None:
    """Let the next attempt be the first one that requests more memory; without one, end."""
    now = _memory(job, job.attempt)
    for attempt in range(job.attempt + 1, job.restart_times + 2):
        if _memory(job, attempt) > now:
            job._attempt = attempt - 1
            return
    end(job)


def _memory(job: Any, attempt: int) -> int:
    """Return the megabytes that an attempt requests."""
    before = job.attempt
    job.attempt = attempt
    try:
        memory = job.resources.get("mem_mb")
        return memory if isinstance(memory, int) else 0
    finally:
        job.attempt = before
