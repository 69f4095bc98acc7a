"""What Slurm says of a job, and what a job asks of it; every answer may fail to come."""

from __future__ import annotations

import os
import re
import subprocess
import time

JOB = "SLURM_JOB_ID"
AT_WORK = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"})
"""States in which processes of a job may live."""
QUEUED = AT_WORK | {"PENDING", "CONFIGURING", "REQUEUED"}
"""States of a job that is not over."""
ANSWER_SECONDS = 30.0


def ask(*command: str) -> str | None:
    """What a command of Slurm prints; None where it is not there, fails or does not answer."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def state(job: str) -> str | None:
    """The state of a job, GONE where Slurm knows it no more; None without an answer."""
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
    """The numbers of the user's jobs of a name, each with the last word of its comment.

    states: of which states, as squeue takes it; of those that are not over, if empty. None
    without an answer.
    """
    only = [f"--states={states}"] if states else []
    answer = ask("squeue", "--noheader", "--me", f"--name={name}", "--format=%i %k", *only)
    if answer is None:
        return None
    return {line.split()[0]: line.split()[-1] for line in answer.splitlines()}


def log(job: str) -> str:
    """The file that a job writes to; empty without an answer."""
    found = re.search(r"StdOut=(.+)", ask("scontrol", "show", "job", job) or "")
    return found[1] if found else ""


def minutes_left() -> float | None:
    """Until the limit of the Slurm job that we are in; None outside, or without a limit."""
    job = os.environ.get(JOB)
    if not job:
        return None
    if end := os.environ.get("SLURM_JOB_END_TIME"):
        return (float(end) - time.time()) / 60
    answer = ask("squeue", "--noheader", "--format=%L", f"--jobs={job}")
    return minutes(answer.strip()) if answer else None


def minutes(span: str) -> float | None:
    """A span as Slurm writes it, [DAYS-][[HOURS:]MINUTES:]SECONDS; None for words."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+)", span)
    if not found:
        return None
    days, hours, whole, seconds = (int(part or 0) for part in found.groups())
    return 60 * (24 * days + hours) + whole + seconds / 60


def requeue() -> bool | None:
    """Has Slurm put the job that we are in back into its queue; whether it does.

    Only while the job runs: one that is cancelled stays so, and one that is preempted, or whose
    node fails, is requeued by Slurm itself. None without an answer.
    """
    job = os.environ.get(JOB)
    if not job:
        return False
    if (now := state(job)) is None:
        return None
    return now == "RUNNING" and ask("scontrol", "requeue", job) is not None
