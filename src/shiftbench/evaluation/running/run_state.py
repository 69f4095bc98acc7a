"""Where a run stands, between two tasks or within one, and how that is saved and found again."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shiftbench.core.interface import State, part, prefixed
from shiftbench.core.loop_checkpoint import LoopState, LoopStates
from shiftbench.data.store import checkpoint
from shiftbench.evaluation.running import saved_predictions
from shiftbench.evaluation.running.cost import Meter

log = logging.getLogger("shiftbench")

SCORE = "score/"
"""Before the names of scores of a task, [S, tasks]."""
TESTED = "tested/"
"""Before the names of scores of each task so far, [S, tasks, tasks]."""
INFO = "info/"
"""Before the names of infos of a task."""
WARM_UP = "warm_up/"
"""Before the names of infos of the warm-up, of which there is one at most."""


class Records(NamedTuple):
    """What was found in some tasks, on top of what was found before them.

    found: name -> [S, tasks, ...]. A chain and not one array: 20,000 tasks would be copied
    20,000 times; and not a list that grows in place: a signal may come in the middle of a task.
    """

    before: Records | None
    found: dict[str, np.ndarray]


class Position(NamedTuple):
    """Where a run stands: all that the next task depends on, and all that was found so far.

    next_task: the task to come (-1: the warm-up). failures: one reason a seed, empty while it
    is well.
    """

    next_task: int
    state: State
    records: Records | None
    failures: list[str]


def joined(records: Records | None) -> dict[str, np.ndarray]:
    """All that was found: name -> [S, tasks, ...] in the order of the tasks."""
    pieces: dict[str, list[np.ndarray]] = {}
    while records:
        for name, values in records.found.items():
            pieces.setdefault(name, []).append(values)
        records = records.before
    return {name: _in_order(name, values[::-1]) for name, values in pieces.items()}


def save(
    scratch: Path, position: Position, meter: Meter, loop_states: LoopStates | None = None
) -> None:
    """Keeps the position, and what the run has cost, in its folder of checkpoints.

    loop_states: of the loops within the next task, if it has begun.
    """
    loops = loop_states or {}
    arrays = prefixed(position.state, "state/") | prefixed(joined(position.records), "records/")
    arrays |= {
        f"loop/{number}/{place:03d}": array
        for number, loop in loops.items()
        for place, array in enumerate(loop.arrays)
    }
    meta = {
        "next_task": position.next_task,
        "failures": position.failures,
        "loops": {str(number): [loop.epoch, loop.step] for number, loop in loops.items()},
        "cost": meter.reading(),
    }
    checkpoint.save(scratch, arrays, meta)
    log.info("saved %s task %d", "within" if loops else "before", position.next_task)


def load(scratch: Path) -> tuple[Position, Meter, LoopStates] | None:
    """What was saved last, with a meter that goes on from its cost; None without."""
    found = checkpoint.load(scratch)
    if found is None:
        return None
    arrays, meta = found
    records = Records(None, part(arrays, "records/"))
    position = Position(meta["next_task"], part(arrays, "state/"), records, meta["failures"])
    loop_states = {}
    for number, (epoch, step) in meta["loops"].items():
        of_loop = part(arrays, f"loop/{number}/")
        loop_states[int(number)] = LoopState(
            epoch, step, tuple(of_loop[k] for k in sorted(of_loop))
        )
    return position, Meter(meta["cost"]), loop_states


def _in_order(name: str, pieces: list[np.ndarray]) -> np.ndarray:
    return (
        saved_predictions.joined(pieces)
        if name.startswith(saved_predictions.KEPT)
        else np.concatenate(pieces, axis=1)
    )
