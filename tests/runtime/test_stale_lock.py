"""The lock of a dead Snakemake is removed; that of a living or unknown one stays."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shiftbench.runtime import stale_lock

ENTER = """
import sys
from pathlib import Path
from shiftbench.runtime import stale_lock
stale_lock.enter(Path(sys.argv[1]), lambda line: print(line, flush=True))
print("entered", flush=True)
sys.stdin.read()
"""


@contextmanager
def entered(folder: Path) -> Iterator[tuple[subprocess.Popen, list[str]]]:
    """Yield a registered process and its messages."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENTER, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = list(iter(process.stdout.readline, "entered\n"))
    try:
        yield process, lines
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return Snakemake's folder with a lock."""
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/0.output.lock").write_text("results/a\n")
    return tmp_path


def is_locked(folder: Path) -> bool:
    return any(folder.glob("locks/*.lock"))


def test_lock_of_the_dead_is_removed(folder: Path) -> None:
    with entered(folder) as (first, _):
        first.kill()
        first.wait()
        (folder / "locks/0.input.lock").write_text("results/b\n")
        with entered(folder) as (_, messages):
            assert len(messages) == 1
            assert (
                f"was killed here (process {first.pid} on {platform.node()}, started" in messages[0]
            )
            assert not is_locked(folder)
            assert len(list(folder.glob("owners/*-*"))) == 1


def test_lock_of_the_living_stays_and_is_named(folder: Path) -> None:
    with entered(folder) as (first, _), entered(folder) as (_, messages):
        assert len(messages) == 1
        assert f"process {first.pid} on {platform.node()}, started at 20" in messages[0]
        assert is_locked(folder)


def test_a_living_owner_protects_the_lock_of_a_dead_one(folder: Path) -> None:
    with entered(folder) as (first, _), entered(folder) as (second, _):
        second.kill()
        second.wait()
        with entered(folder) as (_, messages):
            assert [str(first.pid) in line for line in messages] == [True]
            assert is_locked(folder)


def test_a_dead_owners_number_may_belong_to_another_process(folder: Path) -> None:
    (folder / "owners").mkdir()
    (folder / f"owners/{platform.node()}-{os.getpid()}").touch()
    with entered(folder):
        assert not is_locked(folder)


def test_owner_on_another_host_is_unknown_and_the_remedy_works(folder: Path) -> None:
    (folder / "owners").mkdir()
    (folder / "owners/node-7-123").touch()
    with entered(folder) as (_, messages):
        assert len(messages) == 1 and "process 123 on node-7, started at" in messages[0]
        assert is_locked(folder)
    _type_remedy(messages[0], folder)


def test_lock_without_owner_is_unknown_and_the_remedy_works(folder: Path) -> None:
    with entered(folder) as (_, messages):
        assert len(messages) == 1 and "It is unknown who locked this folder" in messages[0]
        assert is_locked(folder)
    _type_remedy(messages[0], folder)


def _type_remedy(line: str, folder: Path) -> None:
    subprocess.run(line.partition(" type: ")[2], shell=True, check=True)
    with entered(folder) as (_, messages):
        assert messages == [] and not is_locked(folder)


def test_nothing_is_said_without_a_lock_and_nothing_stays(tmp_path: Path) -> None:
    with entered(tmp_path) as (first, _), entered(tmp_path) as (second, messages):
        assert messages == []
        for process in (first, second):
            process.communicate("", timeout=300)
    assert not list(tmp_path.glob("owners/*-*"))


def test_file_system_without_flock_leaves_all_as_it_is(folder: Path, monkeypatch) -> None:
    def no_locks(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    stale_lock.enter(folder, print)
    assert is_locked(folder)
