"""What the workflow costs beside learning: python benchmarks/workflow.py, on a quiet machine.

Times a dry run of the embedded config (parse and plan), then runs all of it anew and
compares the processor time of the whole machine with the part spent inside learners.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil

PLAN = [Path(sys.executable).parent / "snakemake", "--dry-run", "--quiet", "all"]
RUN = ["make", "run", "ARGS=--forceall"]


def busy_seconds() -> float:
    """Processor seconds that the machine has worked since it started."""
    times = psutil.cpu_times()
    return times.user + times.system


def timed(command: list) -> tuple[float, float]:
    """Wall seconds, and processor seconds of the machine, of a command."""
    wall, busy = time.monotonic(), busy_seconds()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - wall, busy_seconds() - busy


def main() -> None:
    """Prints one line a figure."""
    print(f"load before: {psutil.getloadavg()[0]:.2f} on {psutil.cpu_count()} processors")
    plans = sorted(timed(PLAN)[0] for _ in range(3))
    print(f"parse and plan: {plans[1]:.1f} s (of 3: {plans[0]:.1f} to {plans[2]:.1f})")
    wall, busy = timed(RUN)
    costs = [json.loads(p.read_text()) for p in Path("results/embedded/runs").rglob("*.cost.json")]
    learning = sum(cost["learning_cpu_seconds"] for cost in costs)
    print(f"make run, all jobs anew: {wall:.0f} s wall, {busy:.0f} s processor time")
    print(f"inside learners: {learning:.0f} s; not learning: {1 - learning / busy:.0%} of it")


if __name__ == "__main__":
    main()
