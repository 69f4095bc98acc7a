"""The table of measured costs, and the machine below it."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from typing import Any

import psutil

from perf.driver import Measured, Seen, ratio
from shiftbench.core import instructions

HEAD = ("part", "ours", "theirs", "what it is", "limit", "ratio", "spread", "by wall")
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))
SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def rows(measured: Measured) -> list[tuple[str, ...]]:
    """Return the rows of a comparison: one per peer, or one of ours alone."""
    comparison, ours, limit = measured.comparison, measured.ours, measured.limit
    part = f"{comparison.part}, a {comparison.unit}"
    own = seconds(statistics.median(ours.cpu))
    least = seconds(statistics.median(limit.cpu)) if limit else ""
    if limit:
        least += f" ({ratio(ours.cpu, limit.cpu).middle:.0%})"
    found = [(part, own, *_against(least, ours, peer)) for peer in measured.theirs]
    return found or [(part, own, "", "", least, "", _own_spread(ours), "")]


def _against(least: str, ours: Seen, peer: Seen) -> tuple[str, ...]:
    of, by_wall = ratio(ours.cpu, peer.cpu), ratio(ours.wall, peer.wall)
    name, comma, how = peer.label.partition(",")
    label = f"{name} {peer.version}{comma}{how}" if peer.version else peer.label
    spread = f"{of.least:.2f} to {of.most:.2f}"
    cost = seconds(statistics.median(peer.cpu))
    return cost, label, least, f"{of.middle:.2f}", spread, f"{by_wall.middle:.2f}"


def _own_spread(ours: Seen) -> str:
    return f"{seconds(min(ours.cpu))} to {seconds(max(ours.cpu))}"


def seconds(value: float) -> str:
    """Return a number with three digits and a unit: 1.86 ms."""
    unit = next(name for least, name in UNITS if value >= least)
    return f"{value * SCALES[unit]:.3g} {unit}"


def machine(load: Sequence[float]) -> dict[str, Any]:
    """Return what the figures depend on. load: the load before the first round."""
    widest = "portable (AVX2)" if instructions.available() else "native"
    return {
        "processor": instructions.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "load_before": [round(value, 2) for value in load],
        "instructions": f"ours {widest}, theirs as they come (native)",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
    }


def lines(found: Sequence[Measured], about: dict[str, Any], pairs: int) -> list[str]:
    """Return the lines of the table in Markdown, and of the notes below it."""
    body = [row for measured in found for row in rows(measured)]
    told = [f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *body)]
    apart = {
        f"{measured.comparison.part}; {where}": value
        for measured in found
        for where, value in measured.apart.items()
    }
    said = [f"- {where}: {value:.0e}" for where, value in apart.items()]
    return [
        *told,
        "",
        f"Processor time of one thread on one core, medians of {pairs} rounds, each in turn with"
        " those beside it. Ratio: theirs over ours, median of the pairs; above 1 ours is faster."
        " Spread: its least and largest. By wall: the ratio of wall times. Limit: the products"
        " alone, and their share of ours.",
        f"{about['processor']}, {about['cores']} cores, {about['memory_gb']} GB; load before"
        f" {about['load_before'][0]}; instructions: {about['instructions']}; {about['system']}.",
        *(["", "Differences of what both sides give, relative to ours, by their norms:", ""]
          if said else []),
        *said,
    ]  # fmt: skip
