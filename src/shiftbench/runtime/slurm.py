"""Queries of Slurm about jobs; each returns None or a default if Slurm does not answer."""

from __future__ import annotations

import os
import re
import subprocess
import time

JOB = "SLURM_JOB_ID"
AT_WORK = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"})
"""States in which processes of a job may be alive."""
ANSWER_SECONDS = 30.0


def ask(*command: str) -> str | None:
    """Return the output of a Slurm command; None if it is missing, fails or does not answer."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def state(job: str) -> str | None:
    """Return the state of a job, or GONE if Slurm no longer knows it; None without an answer."""
    try:
        done = subprocess.run(
            ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job}"],
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode == 0:
        return done.stdout.split()[0] if done.stdout.split() else "GONE"
    return "GONE" if "Invalid job id" in done.stderr else None


def queue(name: str, states: str = "") -> dict[str, str] | None:
    """Return the user's jobs of a name: job number -> last word of its comment.

    states: as for squeue; empty for jobs that are not over. None without an answer.
    """
    only = [f"--states={states}"] if states else []
    answer = ask("squeue", "--noheader", "--me", f"--name={name}", "--format=%i %k", *only)
    if answer is None:
        return None
    return {line.split()[0]: line.split()[-1] for line in answer.splitlines()}


def log(job: str) -> str:
    """Return the path of a job's output file; empty without an answer."""
    match = re.search(r"StdOut=(.+)", ask("scontrol", "show", "job", job) or "")
    return match[1] if match else ""


def exit_status(job: str) -> int | None:
    """Return the exit status of a job that is over, as a shell does; None without an answer."""
    match = re.search(r"ExitCode=(\d+):(\d+)", ask("scontrol", "show", "job", job) or "")
    if not match:
        return None
    status, number = map(int, match.groups())
    return 128 + number if number else status


def minutes_left() -> float | None:
    """Return the minutes until the limit of the Slurm job that this process is in.

    None outside of Slurm, or without a limit.
    """
    job = os.environ.get(JOB)
    if not job:
        return None
    if end := os.environ.get("SLURM_JOB_END_TIME"):
        return (float(end) - time.time()) / 60
    answer = ask("squeue", "--noheader", "--format=%L", f"--jobs={job}")
    return minutes(answer.strip()) if answer else None


def minutes(span: str) -> float | None:
    """Return the minutes of a span [DAYS-][[HOURS:]MINUTES:]SECONDS; None for words."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+)", span)
    if not match:
        return None
    days, hours, full_minutes, seconds = (int(part or 0) for part in match.groups())
    return 60 * (24 * days + hours) + full_minutes + seconds / 60


def requeue() -> bool | None:
    """Requeue the Slurm job that this process is in; return whether Slurm does so.

    Only a running job is requeued: a cancelled one stays cancelled, and Slurm itself requeues a job
    that is preempted or whose node fails. None without an answer.
    """
    job = os.environ.get(JOB)
    if not job:
        return False
    if (now := state(job)) is None:
        return None
    return now == "RUNNING" and ask("scontrol", "requeue", job) is not None
