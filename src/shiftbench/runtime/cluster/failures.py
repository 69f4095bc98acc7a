"""What failed on the cluster: a line a job, and at the end those that failed for good."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

_for_good: list[str] = []


def note(submitted: Any, message: str) -> str:
    """A line on a job that failed. submitted, message: as the plugin reports them."""
    job, aux = submitted.job, submitted.aux or {}
    found = re.search(r"SLURM status is: '([\w ]+)'", message)
    logs = [*map(str, job.log), str(aux.get("slurm_logfile", ""))]
    log, said = _last_word(logs)
    name = str(next(iter(job.output), job.name))
    said = said.removeprefix(f"{name}: ")
    reason = ", ".join(filter(None, [found[1] if found else message, said]))
    line = f"{name}: {reason}" + (f"; log: {log}" if log else "")
    if job.attempt <= job.restart_times:
        return f"{line}; it is tried again"
    _for_good.append(line)
    return line


def tell() -> None:
    """What failed for good, at the end."""
    if _for_good:
        number = "1 job" if len(_for_good) == 1 else f"{len(_for_good)} jobs"
        print("\n  ".join([f"{number} failed:", *_for_good]), file=sys.stderr)


def _last_word(logs: list[str]) -> tuple[str, str]:
    """The first log that says something, and its last line without the time, and itself."""
    for log in logs:
        if log and Path(log).is_file() and (text := Path(log).read_text(errors="replace").strip()):
            return log, re.sub(r"^[\d-]+ [\d:]+ |; details in .*", "", text.splitlines()[-1])
    return "", ""
