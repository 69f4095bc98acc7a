"""Messages about failed cluster jobs: one for each failure, and a summary at the end."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

_final: list[str] = []
"""Messages about jobs that failed for the last time."""


def note(submitted: Any, message: str) -> str:
    """Return a message about a failed job. submitted, message: as the plugin reports them."""
    job, aux = submitted.job, submitted.aux or {}
    status = re.search(r"SLURM status is: '([\w ]+)'", message)
    logs = [*map(str, job.log), str(aux.get("slurm_logfile", ""))]
    log, last_line = _last_line(logs)
    name = str(next(iter(job.output), job.name))
    last_line = last_line.removeprefix(f"{name}: ")
    reason = ", ".join(filter(None, [status[1] if status else message, last_line]))
    line = f"{name}: {reason}" + (f"; log: {log}" if log else "")
    if job.attempt <= job.restart_times:
        return f"{line}; it is tried again"
    _final.append(line)
    return line


def print_summary() -> None:
    """Print which jobs failed for the last time, if any."""
    if _final:
        number = "1 job" if len(_final) == 1 else f"{len(_final)} jobs"
        print("\n  ".join([f"{number} failed:", *_final]), file=sys.stderr)


def _last_line(logs: list[str]) -> tuple[str, str]:
    """Return the first log that is not empty, and its last line without time and log path."""
    for log in logs:
        if log and Path(log).is_file() and (text := Path(log).read_text(errors="replace").strip()):
            return log, re.sub(r"^[\d-]+ [\d:]+ |; details in .*", "", text.splitlines()[-1])
    return "", ""
