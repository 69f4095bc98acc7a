"""The position of a run, between two tasks or within one, saved to and loaded from scratch."""

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
"""Prefix of the names of scores of a task, [S, tasks]."""
TESTED = "tested/"
"""Prefix of the names of scores of each task so far, [S, tasks, tasks]."""
LOOKED = "looked/"
"""Prefix of the names of scores at looks, [S, tasks, looks] or [S, tasks, looks, tasks]."""
INFO = "info/"
"""Prefix of the names of infos of a task."""
LOGARITHMS = ("log_weight", "log_joint")
"""Arrays of states with these endings may be -inf, the logarithm of an empty slot's weight."""
WARM_UP = "warm_up/"
"""Prefix of the names of infos of the warm-up; a run has at most one."""


class Records(NamedTuple):
    """Scores, infos and kept predictions of some tasks, after the records of earlier tasks.

    arrays: name -> [S, tasks, ...]. A chain, since one array of 20,000 tasks would be copied
    20,000 times, and a list that grows in place could be cut short by a signal.
    """

    before: Records | None
    arrays: dict[str, np.ndarray]


class Inside(NamedTuple):
    """Progress inside the next task: states of its loops, and scores at its looks so far.

    Both change in place while the task is learnt; the scores of a look are added at its end.
    """

    loops: LoopStates
    looks: list[dict[str, np.ndarray]]


class Position(NamedTuple):
    """The position of a run: all that the next task depends on, and the records so far.

    next_task: the next task (-1: the warm-up). failures: one reason a seed, empty for none.
    """

    next_task: int
    state: State
    records: Records | None
    failures: list[str]


class NotFinite(NamedTuple):
    """Seeds [S] whose values are not all finite, and the name of the first such array."""

    any: np.ndarray
    where: list[str]


def not_finite(state: State, scores: dict[str, np.ndarray]) -> NotFinite:
    """Find seeds with a NaN, or an infinity that is not the logarithm of zero."""
    size = len(next(iter(state.values())))
    where = [""] * size
    named = [(f"state '{k}'", a, k.endswith(LOGARITHMS)) for k, a in state.items()]
    own = {k: a for k, a in scores.items() if not k.startswith((TESTED, LOOKED))}
    named += [(f"metric '{k}'", a, False) for k, a in own.items()]
    for name, array, logarithm in named:
        if array.dtype.kind != "f":
            continue
        bad = np.isnan(array) | (array == np.inf) if logarithm else ~np.isfinite(array)
        for s in np.flatnonzero(bad.reshape(size, -1).any(axis=1)):
            where[s] = where[s] or name
    return NotFinite(np.array([bool(w) for w in where]), where)


def joined(records: Records | None) -> dict[str, np.ndarray]:
    """Join a chain of records: name -> [S, tasks, ...] in the order of the tasks."""
    pieces: dict[str, list[np.ndarray]] = {}
    while records:
        for name, values in records.arrays.items():
            pieces.setdefault(name, []).append(values)
        records = records.before
    return {name: _in_order(name, values[::-1]) for name, values in pieces.items()}


def save(scratch: Path, position: Position, meter: Meter, inside: Inside | None = None) -> None:
    """Save the position and the cost of a run in its folder of checkpoints.

    inside: progress inside the next task, if it has begun.
    """
    loops, looks = inside or Inside({}, [])
    arrays = prefixed(position.state, "state/") | prefixed(joined(position.records), "records/")
    arrays |= {
        f"loop/{number}/{place:03d}": array
        for number, loop in loops.items()
        for place, array in enumerate(loop.arrays)
    }
    arrays |= {
        f"look/{number}/{name}": array
        for number, look in enumerate(looks)
        for name, array in look.items()
    }
    meta = {
        "next_task": position.next_task,
        "failures": position.failures,
        "loops": {str(number): [loop.epoch, loop.step] for number, loop in loops.items()},
        "looks": len(looks),
        "cost": meter.reading(),
    }
    checkpoint.save(scratch, arrays, meta)
    log.info("saved %s task %d", "within" if loops or looks else "before", position.next_task)


def load(scratch: Path) -> tuple[Position, Meter, Inside] | None:
    """Load what was saved last, with a meter that continues its cost; None without any."""
    saved = checkpoint.load(scratch)
    if saved is None:
        return None
    arrays, meta = saved
    records = Records(None, part(arrays, "records/"))
    position = Position(meta["next_task"], part(arrays, "state/"), records, meta["failures"])
    loop_states = {}
    for number, (epoch, step) in meta["loops"].items():
        of_loop = part(arrays, f"loop/{number}/")
        loop_states[int(number)] = LoopState(
            epoch, step, tuple(of_loop[k] for k in sorted(of_loop))
        )
    looks = [part(arrays, f"look/{number}/") for number in range(meta.get("looks", 0))]
    return position, Meter(meta["cost"]), Inside(loop_states, looks)


def _in_order(name: str, pieces: list[np.ndarray]) -> np.ndarray:
    return (
        saved_predictions.joined(pieces)
        if name.startswith(saved_predictions.KEPT)
        else np.concatenate(pieces, axis=1)
    )
