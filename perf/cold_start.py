"""Cold starts: many processes at once where nothing is compiled yet, and one more after them.

    python -m perf.cold_start --times 20 --processes 8

Each process calls all compiled code, beginning with another part of it. Counts the processes
that died by a signal, failed otherwise, or got other numbers than the rest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import psutil

from tests import compiled_code

Found = list[tuple[int, str]]


def start(source: Path, processes: int) -> tuple[float, Found]:
    """Processor seconds a process, side by side, and what became of each."""
    before = psutil.Process().cpu_times()
    found = compiled_code.side_by_side(source, map(compiled_code.command, range(processes)))
    after = psutil.Process().cpu_times()
    spent = after.children_user + after.children_system
    return (spent - before.children_user - before.children_system) / processes, found


def described(found: Found) -> str:
    """How many processes there were, and what became of them."""
    statuses = [status for status, _ in found]
    digests = [json.loads(output)["digests"] for status, output in found if status == 0]
    return (
        f"{len(found)} processes, {sum(s < 0 for s in statuses)} died by a signal,"
        f" {sum(s > 0 for s in statuses)} failed otherwise,"
        f" {len({json.dumps(d, sort_keys=True) for d in digests})} different results"
    )


def main() -> None:
    """Prints one line a start, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--processes", type=int, default=8)
    options = parser.parse_args()
    cold, warm, everything = [], [], []
    for number in range(1, options.times + 1):
        with tempfile.TemporaryDirectory() as folder:
            source = compiled_code.without_cache(Path(folder))
            spent, together = start(source, options.processes)
            spent_later, later = start(source, 1)
        cold.append(spent)
        warm.append(spent_later)
        everything += together + later
        print(f"start {number}: {described(together + later)}", flush=True)
    print(f"all {options.times} starts: {described(everything)}")
    print(
        f"processor time a process, medians: {statistics.median(cold):.1f} s cold,"
        f" {statistics.median(warm):.1f} s warm"
    )


if __name__ == "__main__":
    main()
