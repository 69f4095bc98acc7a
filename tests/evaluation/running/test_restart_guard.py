"""A stop after progress is not a failure; a stop without progress is."""

from __future__ import annotations

from pathlib import Path

from shiftbench.data.store import checkpoint
from shiftbench.evaluation.running import restart_guard


def test_only_progress_counts(tmp_path: Path) -> None:
    assert not restart_guard.has_advanced(tmp_path)
    for task, loops, advanced in [
        (3, {}, True),
        (3, {}, False),
        (3, {"0": [2, 5]}, True),
        (3, {"0": [2, 5]}, False),
        (4, {}, True),
    ]:
        checkpoint.save(tmp_path, {}, {"next_task": task, "loops": loops, "cost": {"s": task}})
        assert restart_guard.has_advanced(tmp_path) == advanced
