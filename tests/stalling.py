"""Run jobs that stall at a named point, in separate processes, so that a test can kill them there.

The processes are forks of a server that has done the slow imports except TensorFlow (see
forked.py).
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shiftbench.cli import main
from tests import interrupting
from tests.forked import processes

PATIENCE_SECONDS = 300
"""Time limit for events that happen sooner or later on any machine."""
STALL_AT = 3
"""The task at which a job stalls, and the generation of its checkpoint."""
WATCHED = (
    "evaluation/running/restart_guard.py", "evaluation/running/harness.py",
    "evaluation/running/row_blocks.py", "evaluation/running/run_state.py",
    "evaluation/running/stop_signals.py",
    "data/store/checkpoint.py", "data/store/completed_outputs.py", "data/store/scratch.py",
    "data/store/checksum.py", "data/store/zarr_zip.py", "runtime/scratch_lock.py", "cli/jobs.py",
    "cli/requeue.py", "cli/training.py",
)  # fmt: skip
"""The modules at whose lines a signal is sent."""


def run(arguments: list[str]) -> None:
    """Run a verb to its successful end, with a checkpoint after every task."""
    process = processes.Process(target=_work, args=(arguments, "", None))
    process.start()
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == 0


def kill_at(point: str, arguments: list[str]) -> None:
    """Run a verb until it reaches a point (see POINTS), and kill it there."""
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_work, args=(arguments, point, theirs))
    process.start()
    theirs.close()
    assert ours.poll(PATIENCE_SECONDS)
    assert ours.recv() == point  # raises EOFError if the job ended before
    process.kill()
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == -signal.SIGKILL


def stop_when(reached: Callable[[], bool], arguments: list[str]) -> tuple[int, float]:
    """Run a verb until `reached`, then terminate it; return its exit status and the seconds."""
    process = processes.Process(target=_work, args=(arguments, "", None))
    process.start()
    given_up = time.monotonic() + PATIENCE_SECONDS
    while not reached() and time.monotonic() < given_up:
        process.join(0.2)
    told = time.monotonic()
    process.terminate()
    process.join(PATIENCE_SECONDS)
    assert process.exitcode is not None
    return process.exitcode, time.monotonic() - told


def signal_at(target: int, arguments: list[str]) -> tuple[str, int]:
    """Run a verb that repeatedly gets SIGTERM, from one of its lines on (see WATCHED).

    Return the line, empty if the verb has fewer lines, and the exit status.
    """
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_interrupted, args=(arguments, target, theirs))
    process.start()
    theirs.close()
    process.join(PATIENCE_SECONDS)
    assert process.exitcode is not None
    try:
        return ours.recv(), process.exitcode
    except EOFError:
        return "", process.exitcode


def _interrupted(arguments: list[str], target: int, meeting: Connection) -> None:
    """Run the verb under the trace function, inside the process."""
    files = [str(Path(main.__file__).parents[1] / name) for name in WATCHED]
    sys.settrace(interrupting.Interrupter(files, target, signal.SIGTERM, meeting.send, again=20))
    _work(arguments, "", None)


def _work(arguments: list[str], point: str, meeting: Connection | None) -> None:
    """Run the verb inside the process, with the point made to stall."""
    from shiftbench.evaluation.running import harness, row_blocks

    harness.SECONDS_BETWEEN_CHECKPOINTS, harness.SHARE_OF_CHECKPOINTS = 0.0, float("inf")
    if meeting:
        row_blocks.LARGEST = 1  # blocks begin elsewhere than in the run that resumes
        POINTS[point](lambda: _stall(point, meeting))
    sys.exit(main.main(arguments))


def _stall(point: str, meeting: Connection) -> None:
    meeting.send(point)
    while True:
        signal.pause()


def _before(owner: Any, name: str, stall: Callable, reached: Callable[..., bool]) -> None:
    """Stall before a call of owner.name whose arguments say that the point is reached."""
    original = getattr(owner, name)

    def called(*arguments: Any, **named: Any) -> Any:
        if reached(*arguments, **named):
            stall()
        return original(*arguments, **named)

    setattr(owner, name, called)


def _learning(stall: Callable) -> None:
    from shiftbench.evaluation.running import harness, row_blocks

    def reached(_: Any, now: Any, *others: Any) -> bool:
        return now.next_task == STALL_AT

    _before(harness, "advance", stall, reached)
    _before(row_blocks.RowBlocks, "advance", stall, reached)


def _saving(stall: Callable) -> None:
    last = f"{STALL_AT:08d}.npz"
    _before(os, "replace", stall, lambda source, target: Path(target).name == last)


def _saved(stall: Callable) -> None:
    from shiftbench.data.store import checkpoint

    last = f"{STALL_AT:08d}.npz"
    _before(checkpoint, "_sync", stall, lambda folder: (folder / last).exists())


def _packing(stall: Callable) -> None:
    from shiftbench.data.store import zarr_zip

    _before(zarr_zip, "_pack", stall, lambda folder, target: True)


def _placing(stall: Callable) -> None:
    _before(os, "replace", stall, lambda source, target: str(target).endswith(".zarr.zip"))


def _sealing(stall: Callable) -> None:
    from shiftbench.data.store import checksum

    _before(checksum, "write", stall, lambda *paths: True)


def _written(stall: Callable) -> None:
    from shiftbench.data.store import checkpoint

    _before(checkpoint, "remove", stall, lambda folder: True)


def _inside(stall: Callable) -> None:
    from shiftbench.core import loop_checkpoint
    from shiftbench.evaluation.running import run_state

    loop_checkpoint.SECONDS_BETWEEN_POLLS = loop_checkpoint.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    loop_checkpoint.SHARE_OF_CHECKPOINTS = float("inf")
    saves = itertools.count(1)

    def third(*arguments: Any) -> bool:
        loop_states = arguments[3] if len(arguments) > 3 else None
        return bool(loop_states) and next(saves) == 3

    _before(run_state, "save", stall, third)


POINTS = {
    "before a task": _learning,
    "in a save, between temporary file and rename": _saving,
    "after a save": _saved,
    "while the store is packed": _packing,
    "between packed store and rename": _placing,
    "between the store and its seal": _sealing,
    "after the store, before the checkpoint is removed": _written,
    "within a task, after two saves": _inside,
}
"""Name of a point -> function that makes a job stall there."""
