"""Alternate rounds of both sides, each in its own process, and compare their costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

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
    # Otherwise a waiting thread would spin during the other side's rounds.
    "OMP_WAIT_POLICY": "PASSIVE",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


@dataclass(frozen=True)
class Side:
    """A side of a comparison: its label in the table, and the function that makes its work.

    function: module:name in perf.ours or perf.peers; the package decides the interpreter. package:
    the one whose version the table shows. environment: variables of its process.
    """

    label: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    package: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """Return the interpreter that has the function's dependencies."""
        return str(PEERS) if self.function.startswith("perf.peers") else sys.executable


@dataclass(frozen=True)
class Comparison:
    """Our side, and the packages that a user would take instead, if there are any.

    group: the name for --only. unit: the unit of costs. limit: the minimal work, such as the matrix
    products alone. tolerance: the maximal `difference` between the results of both sides. tiny:
    arguments of our side for tests.
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
    """The seconds per unit of one side in each round, processor and wall time; its version."""

    label: str
    version: str
    cpu: list[float]
    wall: list[float]


class Measured(NamedTuple):
    """A comparison after its rounds. apart: differences between the results of both sides."""

    comparison: Comparison
    ours: Seen
    theirs: list[Seen]
    limit: Seen | None
    apart: dict[str, float]


class Ratio(NamedTuple):
    """Their cost over ours in each pair of rounds; above 1 ours is faster."""

    middle: float
    least: float
    most: float


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Return the ratio of costs; rounds at the same index form a pair."""
    pairs = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Ratio(statistics.median(pairs), min(pairs), max(pairs))


def measure(comparison: Comparison, pairs: int) -> Measured:
    """Run all sides, in reversed order in every other round.

    Raises RuntimeError if a side fails, or if the results of two sides disagree.
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
    """A worker of one side. A call sends a request, and raises RuntimeError if it failed."""

    def __init__(self, side: Side, connection: Connection, output: BinaryIO) -> None:
        self.side, self.connection, self.output = side, connection, output

    def __call__(self, *request: Any) -> Any:
        try:
            self.connection.send(request)
            answer, error = self.connection.recv()
        except (EOFError, ConnectionError):
            self.output.seek(0)
            error = f"its process died: {self.output.read()[-2000:].decode()}"
        if error:
            raise RuntimeError(f"{self.side.label} ({self.side.function}): {error}")
        return answer


@contextmanager
def _started(sides: Sequence[Side]) -> Iterator[list[_Process]]:
    """Start the processes of some sides, and stop them at the end of the context."""
    with ExitStack() as stack:
        yield [_start(side, stack) for side in sides]


def _start(side: Side, stack: ExitStack) -> _Process:
    if not Path(side.python).exists():
        raise RuntimeError(f"{side.python} is not there; run: make perf-peers")
    here, there = Pipe()
    output = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  (the stack's context)
    with there:
        started = subprocess.Popen(
            [side.python, "-m", "perf.worker", str(there.fileno())],
            cwd=ROOT, env=os.environ | ONE_THREAD | side.environment,
            pass_fds=[there.fileno()], stdout=output, stderr=output,
        )  # fmt: skip
    stack.callback(started.wait)
    stack.enter_context(here)  # is closed first, which ends the process
    return _Process(side, here, output)


def _apart(comparison: Comparison, processes: list[_Process]) -> dict[str, float]:
    """Return the relative differences between the results of each other side and ours.

    Raises RuntimeError if one is above the tolerance of the comparison.
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
    """Return the norm of the difference of two arrays, relative to the norm of ours.

    The largest difference would not do: if a gradient is nearly 0, rounding decides Adam's path.
    """
    return float((((theirs - ours) ** 2).sum() / (ours**2).sum()) ** 0.5)
