"""Rounds of both sides in turn, each in a process of its own, and what follows from them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venv-perf/bin/python"
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "SHIFTBENCH_THREADS": "1",
    # A thread that waits would spin in the other side's time.
    "OMP_WAIT_POLICY": "PASSIVE",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


@dataclass(frozen=True)
class Side:
    """A side of a comparison: how the table calls it, and the function that makes its work.

    function: module:name, of perf.ours or perf.peers, whose environment runs it. package: whose
    version the table has. environment: variables of its process.
    """

    label: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    package: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """The interpreter that has what the function needs."""
        return sys.executable if self.function.startswith("perf.ours") else str(PEERS)


@dataclass(frozen=True)
class Comparison:
    """Ours, and what a user would take instead; none where there is nothing to compare with.

    group: what --only chooses by. unit: that costs are of. limit: the least that the work could
    take, such as its matrix products alone. tolerance: of what both sides show, relative to the
    largest entry. tiny: arguments of ours with which a test runs it.
    """

    group: str
    part: str
    unit: str
    ours: Side
    theirs: tuple[Side, ...] = ()
    limit: Side | None = None
    tolerance: float = 1e-3
    tiny: dict[str, Any] = field(default_factory=dict)


class Seen(NamedTuple):
    """What a side took in each round, processor and wall seconds a unit, and its version."""

    label: str
    version: str
    cpu: list[float]
    wall: list[float]


class Measured(NamedTuple):
    """A comparison after its rounds; apart: what both sides show, and by how much they differ."""

    comparison: Comparison
    ours: Seen
    theirs: list[Seen]
    limit: Seen | None
    apart: dict[str, float]


class Ratio(NamedTuple):
    """Theirs over ours in each pair of rounds; above 1 ours is faster."""

    middle: float
    least: float
    most: float


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of costs; the rounds of a pair have the same place in both."""
    pairs = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Ratio(statistics.median(pairs), min(pairs), max(pairs))


def measure(comparison: Comparison, pairs: int) -> Measured:
    """Runs all sides, in another order in every other round.

    RuntimeError if a side fails, or if two that should do the same work do not.
    """
    sides = [comparison.ours, *comparison.theirs]
    sides += [comparison.limit] if comparison.limit else []
    with _started(sides) as processes:
        versions = [
            process("start", side.function, side.arguments, side.package)
            for process, side in zip(processes, sides, strict=True)
        ]
        apart = _apart(comparison, processes[: 1 + len(comparison.theirs)])
        rounds: list[list[tuple[float, float]]] = [[] for _ in sides]
        for number in range(pairs):
            order = list(zip(processes, rounds, strict=True))
            for process, found in order if number % 2 == 0 else reversed(order):
                found.append(process("round"))
    seen = [
        Seen(side.label, version, *map(list, zip(*found, strict=True)))
        for side, version, found in zip(sides, versions, rounds, strict=True)
    ]
    limit = seen.pop() if comparison.limit else None
    return Measured(comparison, seen[0], seen[1:], limit, apart)


class _Process:
    """A worker of one side; a call asks it, and raises RuntimeError with what it raised."""

    def __init__(self, side: Side, connection: Connection) -> None:
        self.side, self.connection = side, connection

    def __call__(self, *request: Any) -> Any:
        self.connection.send(request)
        try:
            answer, error = self.connection.recv()
        except EOFError:
            error = "its process died"
        if error:
            raise RuntimeError(f"{self.side.label} ({self.side.function}): {error}")
        return answer


@contextmanager
def _started(sides: Sequence[Side]) -> Iterator[list[_Process]]:
    """The processes of some sides, until the end of the context."""
    found, processes = [], []
    try:
        for side in sides:
            if not Path(side.python).exists():
                raise RuntimeError(f"{side.python} is not there; run: make perf-peers")
            here, there = Pipe()
            command = [side.python, "-m", "perf.worker", str(there.fileno())]
            environment = os.environ | ONE_THREAD | side.environment
            options = {"cwd": ROOT, "env": environment, "stdout": subprocess.DEVNULL}
            processes.append(subprocess.Popen(command, pass_fds=[there.fileno()], **options))
            there.close()
            found.append(_Process(side, here))
        yield found
    finally:
        for one in found:
            one.connection.close()
        for process in processes:
            process.wait()


def _apart(comparison: Comparison, processes: list[_Process]) -> dict[str, float]:
    """The largest difference of what each other side shows to ours, relative to the largest entry.

    RuntimeError where it is more than the comparison tolerates.
    """
    ours, *theirs = (one("shown") for one in processes)
    apart = {}
    for process, shown in zip(processes[1:], theirs, strict=True):
        for name in ours.keys() & shown.keys():
            where = f"{process.side.label}: {name}"
            apart[where] = difference(shown[name], ours[name])
            if not apart[where] <= comparison.tolerance:
                raise RuntimeError(
                    f"{comparison.part}: not the same work. {where} is {apart[where]:.1e} from"
                    f" ours, more than {comparison.tolerance:g}"
                )
    return apart


def difference(theirs: Any, ours: Any) -> float:
    """The largest difference of two arrays, relative to the largest entry of ours."""
    return float(abs(theirs - ours).max() / abs(ours).max())
