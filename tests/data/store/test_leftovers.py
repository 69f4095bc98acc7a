"""The next attempt at a job removes the files that a killed writer left beside its outputs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from shiftbench.data.store import leftovers
from tests import job_calls
from tests.publish import small_results

KILLED = """
import os, signal, sys
from pathlib import Path
from shiftbench.core import atomic_files
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
atomic_files.write(Path(sys.argv[1]), "never seen")
"""


def kill_writer(path: Path) -> Path:
    """Kill a process that writes a file just before it is there; return what it leaves."""
    before = {*path.parent.iterdir()}
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert done.returncode == -signal.SIGKILL
    (left,) = {*path.parent.iterdir()} - before
    return left


def test_files_of_killed_writers_are_removed_and_no_others(tmp_path) -> None:
    path = tmp_path / "scores.csv"
    kill_writer(path)
    kill_writer(path.with_name(".scores.csv.sha256"))
    of_another = kill_writer(tmp_path / "more.scores.csv")
    not_random = tmp_path / ".scores.csv.mine.new"
    for other in (path, not_random):
        other.write_text("stays")
    others = [path, of_another, not_random]
    leftovers.remove([path])
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_the_next_attempt_at_a_job_removes_them(tmp_path) -> None:
    config, results = tmp_path / "small.yaml", tmp_path / "small"
    config.write_text(small_results.CONFIG)
    rules = ("build_stream", "run_method", "summarise_study")
    outputs = [
        Path(file)
        for job in job_calls.planned(config, results).values()
        if job.rule in rules
        for file in job.outputs
    ]
    for path in outputs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(f".{path.name}.{os.urandom(6).hex()}.new").write_text("half")
    job_calls.make(config, results, *rules)
    assert not list(results.rglob("*.new")) and all(path.is_file() for path in outputs)
