"""The rows of a stream that a method keeps in a memory, and the numbers that they hold.

A component with a memory has a function `rows_kept(settings, problem)`. It returns how many rows
of a whole stream it keeps, and how many numbers each row has.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, NamedTuple

import xarray as xr

from shiftbench.config import components, provenance
from shiftbench.config.pipeline_parts import by_kind


class Memory(NamedTuple):
    """Rows kept at the end of a stream, the numbers in all of them, and the rows of the stream."""

    rows: int
    numbers: int
    of: int

    @property
    def partial(self) -> bool:
        """Return whether some rows are kept, but not all."""
        return 0 < self.rows < self.of


def of_run(run: xr.Dataset, stream: xr.Dataset) -> Memory:
    """Return the memory of a run's method on its stream."""
    problem, rows, numbers = provenance.reader(stream).problem(stream), 0, 0
    for kind, name, settings in _with_memory(run):
        made = components.configured(kind, name, settings)
        kept, of_row = components.load(kind, name).rows_kept(made, problem)
        rows, numbers = rows + kept, numbers + kept * of_row
    return Memory(rows, numbers, problem.n_train * problem.n_tasks)


def has_memory(run: xr.Dataset) -> bool:
    """Return whether a run's method has a component with a memory, of whatever size."""
    return bool(_with_memory(run))


def without_size(run: xr.Dataset, tried: Set[str] = frozenset()) -> list[Any]:
    """Return the pipeline of a run's method without the sizes of its memory.

    Two methods for which this is equal differ in nothing else. tried: settings, as component.key,
    that are left out, too.
    """
    left_out = {f"{name}.size" for _, name, _ in _with_memory(run)} | tried
    return [
        [name, {key: value for key, value in given.items() if f"{name}.{key}" not in left_out}]
        for name, given in provenance.spec(run)["learner"]
    ]


def _with_memory(run: xr.Dataset) -> list[tuple[str, str, dict[str, Any]]]:
    """Return kind, name and settings of each component of a run's method that has a memory."""
    return [
        (kind, name, settings)
        for kind, (name, settings) in by_kind(provenance.spec(run)["learner"])
        if components.defines(kind, name, "rows_kept")
    ]
