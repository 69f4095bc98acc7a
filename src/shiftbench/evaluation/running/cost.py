"""The cost of a job: wall and processor time, peak memory, machine and package versions."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

import psutil

from shiftbench.core import instructions

PACKAGES = (
    "numpy",
    "scipy",
    "xarray",
    "zarr",
    "scikit-learn",
    "tensorflow",
    "tensorflow-probability",
)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


class Meter:
    """Time and memory of this process; `earlier` is the cost of the attempts before it."""

    def __init__(self, earlier: dict | None = None) -> None:
        self.earlier = earlier or {}
        self.wall = time.monotonic()
        self.cpu = time.process_time()
        self._learning = 0.0
        self._since: float | None = None

    def __enter__(self) -> Meter:
        """Count the processor time of the block as learning: calls of the learner alone."""
        self._since = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self._learning, self._since = self._learned(), None

    def _learned(self) -> float:
        inside = 0.0 if self._since is None else time.process_time() - self._since
        return self._learning + inside

    def reading(self) -> dict:
        """Return seconds and bytes so far, over all attempts."""
        memory = psutil.Process().memory_info()
        peak = peak_bytes() or memory.rss
        return {
            "wall_seconds": self._sum("wall_seconds", time.monotonic() - self.wall),
            "cpu_seconds": self._sum("cpu_seconds", time.process_time() - self.cpu),
            "learning_cpu_seconds": self._sum("learning_cpu_seconds", self._learned()),
            "peak_memory_bytes": max(self.earlier.get("peak_memory_bytes", 0), peak),
            "attempts": self.earlier.get("attempts", 0) + 1,
            "host": platform.node(),
            "processor": instructions.processor(),
            "processors": os.cpu_count(),
            "instructions": instructions.in_force(),
            "versions": versions(),
        }

    def _sum(self, name: str, here: float) -> float:
        return round(self.earlier.get(name, 0.0) + here, 3)


def peak_bytes() -> int | None:
    """Return the peak resident memory of this process (Linux); a fork does not inherit it."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) * 1024 if lines else None
