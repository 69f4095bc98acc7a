"""The process of one side: python -m perf.worker FD, a connection to the driver.

It receives the function that makes its work, warms up with one round, and then does a round per
request. It has one processor and one thread: see driver.ONE_THREAD.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from contextlib import suppress
from importlib import metadata
from multiprocessing.connection import Connection
from typing import Any

from perf.work import Work, a_unit, adopt


def work_of(function: str, arguments: dict[str, Any]) -> Work:
    """Return the work made by a function, given as module:name."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)(**arguments)


class _Side:
    """The answers to the driver's requests."""

    def start(self, function: str, arguments: dict[str, Any], package: str) -> str:
        """Make the work and warm up; return the version of the package."""
        self.work = work_of(function, arguments)
        self.round()
        return metadata.version(package) if package else ""

    def round(self) -> tuple[float, float]:
        """Return processor and wall seconds per unit."""
        return tuple(a_unit(self.work))

    def shown(self) -> dict[str, Any]:
        """Return the arrays in which the sides must agree; empty if they need not."""
        return self.work.shows() if self.work.shows else {}


def main() -> None:
    """Answer requests until the driver is gone."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    adopt()
    connection, side = Connection(int(sys.argv[1])), _Side()
    with suppress(EOFError, ConnectionError, KeyboardInterrupt):
        while True:
            name, *arguments = connection.recv()
            try:
                answer = getattr(side, name)(*arguments), ""
            except Exception:
                answer = None, traceback.format_exc()
            connection.send(answer)


if __name__ == "__main__":
    main()
