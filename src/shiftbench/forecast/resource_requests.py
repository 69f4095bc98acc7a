"""Resources that jobs request from a cluster: those of earlier runs, with a margin.

A job with a tight limit starts sooner. If the limit is too tight, the job fails once, so the second
attempt has the limits of the study. Estimates from runs of other settings are not used.

Every cluster job reads the rules again while others are running, and must find the request that it
was started with. So the planning process stores its requests in a file, which jobs read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shiftbench.config.schema import Resources
from shiftbench.core import atomic_files
from shiftbench.forecast.estimate import Estimate, Estimator

FILE = "asked.json"
TIMES, LEAST_MINUTES = 2.0, 10
MEMORY_TIMES, LEAST_MEMORY_MB = 1.5, 1000


class Asked:
    """The resource requests of a config's jobs; `known` returns the estimator when it is needed."""

    def __init__(self, known: Callable[[], Estimator] | None, results: Path) -> None:
        self._known, self._kept = known, results / FILE
        self._asked: dict[str, list[int]] = {}
        if known is None and self._kept.exists():
            self._asked = json.loads(self._kept.read_text(encoding="utf-8"))

    def minutes(self, name: str, spec: Mapping[str, Any], limits: Resources, attempt: int) -> int:
        """Return the time limit in minutes: from earlier runs at first, then that of the study."""
        return self._of(name, spec, limits)[0] if attempt == 1 else limits.minutes

    def memory_mb(self, name: str, spec: Mapping[str, Any], limits: Resources, attempt: int) -> int:
        """Return the megabytes: from earlier runs, then the study's, then more at each attempt."""
        first = attempt == 1
        return self._of(name, spec, limits)[1] if first else limits.memory_mb * (attempt - 1)

    def keep(self) -> None:
        """Store the requests so far in the file that jobs read."""
        if self._known is not None:
            atomic_files.write(self._kept, json.dumps(self._asked, indent=0, sort_keys=True) + "\n")

    def _of(self, name: str, spec: Mapping[str, Any], limits: Resources) -> list[int]:
        if name not in self._asked:
            known = None if self._known is None else self._known()
            self._asked[name] = near(known.of(spec) if known else None, limits)
        return self._asked[name]


def near(cost: Estimate | None, limits: Resources) -> list[int]:
    """Return minutes and megabytes for a job of this cost, at most its limits."""
    if cost is None or cost.basis != "same":
        return [limits.minutes, limits.memory_mb]
    minutes = max(LEAST_MINUTES, math.ceil(TIMES * cost.wall / 60))
    memory = max(LEAST_MEMORY_MB, math.ceil(MEMORY_TIMES * cost.memory / 2**20))
    return [min(minutes, limits.minutes), min(memory, limits.memory_mb)]
