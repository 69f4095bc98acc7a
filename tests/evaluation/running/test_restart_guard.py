"""A stop after progress is not a failure; a stop without progress is."""

from __future__ import annotations

from pathlib import Path

from shiftbench.data.store import checkpoint
from shiftbench.evaluation.running import restart_guard


def test_only_progress_counts(tmp_path: Path) -> None:
    assert restart_guard.has_advanced(tmp_path)
    assert not restart_guard.has_advanced(tmp_path)
    for task, loops, looks, advanced in [
        (3, {}, 0, True),
        (3, {}, 0, False),
        (3, {"0": [2, 5]}, 0, True),
        (3, {"0": [2, 5]}, 0, False),
        (3, {}, 1, True),
        (3, {}, 3, True),
        (3, {}, 3, False),
        (4, {}, 0, True),
    ]:
        meta = {"next_task": task, "loops": loops, "looks": looks, "cost": {"s": task}}
        checkpoint.save(tmp_path, {}, meta)
        assert restart_guard.has_advanced(tmp_path) == advanced
