"""Two processes never share a scratch folder, and dead processes hold no lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shiftbench.core.errors import UserError
from shiftbench.runtime import scratch_lock, slurm

HOLD = """
import sys
from pathlib import Path
from shiftbench.runtime import scratch_lock
with scratch_lock.locked(Path(sys.argv[1])):
    print("taken", flush=True)
    sys.stdin.read()
"""


def enter(folder: Path) -> None:
    with scratch_lock.locked(folder, patience=0):
        pass


def left_behind(folder: Path, **owner: object) -> Path:
    place = folder.with_name(f"{folder.name}.owner")
    place.write_text(json.dumps({"process": 1, "job": ""} | owner))
    return place


def test_living_owner_is_named_and_a_killed_one_gives_way(tmp_path: Path) -> None:
    folder = tmp_path / "digest"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"taken\n"
        with pytest.raises(UserError, match=f"process {owner.pid} on .* works on this run"):
            enter(folder)
        owner.kill()
        owner.wait()
    enter(folder)
    assert not folder.with_name("digest.owner").exists()


@pytest.mark.parametrize(
    ("state", "gives_way"), [("RUNNING", False), ("COMPLETING", False), ("GONE", True)]
)
def test_slurm_says_of_other_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, gives_way: bool
) -> None:
    monkeypatch.setattr(slurm, "state", lambda job: state)
    left_behind(tmp_path / "digest", host="elsewhere", job="7")
    if gives_way:
        enter(tmp_path / "digest")
    else:
        with pytest.raises(UserError, match="Slurm job 7"):
            enter(tmp_path / "digest")


def test_our_own_job_requeued_to_another_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "state", lambda job: "RUNNING")
    monkeypatch.setenv(slurm.JOB, "7")
    left_behind(tmp_path / "digest", host="elsewhere", job="7")
    enter(tmp_path / "digest")


def test_without_slurm_an_old_heartbeat_is_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "state", lambda job: None)
    place = left_behind(tmp_path / "digest", host="elsewhere")
    with pytest.raises(UserError, match="on elsewhere"):
        enter(tmp_path / "digest")
    old = place.stat().st_mtime - scratch_lock.STALE_SECONDS - 1
    os.utime(place, (old, old))
    enter(tmp_path / "digest")


def test_an_owner_that_ends_between_two_looks_is_no_error(tmp_path: Path) -> None:
    assert not scratch_lock._is_alive(tmp_path / "digest.owner", 0.0)


def test_a_lock_that_was_taken_over_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a pause of an owner on another host, which counted as dead."""
    monkeypatch.setattr(scratch_lock, "BEAT_SECONDS", 0.01)
    with scratch_lock.locked(tmp_path / "digest"):
        place = left_behind(tmp_path / "new", host="elsewhere")
        os.utime(place, (1.0, 1.0))
        place.replace(tmp_path / "digest.owner")
        time.sleep(0.2)
        assert (tmp_path / "digest.owner").stat().st_mtime == 1.0
    assert "elsewhere" in (tmp_path / "digest.owner").read_text()


def test_an_owner_touches_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_lock, "BEAT_SECONDS", 0.01)
    with scratch_lock.locked(tmp_path / "digest"):
        os.utime(tmp_path / "digest.owner", (1.0, 1.0))
        time.sleep(0.2)
        assert (tmp_path / "digest.owner").stat().st_mtime > 1.0
