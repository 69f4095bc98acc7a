"""A command under `stopping` always ends, and its jobs can save their state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

# A fake Snakemake that starts a job, and on SIGINT only waits for it. Its handler does not raise:
# between the end of a job and Python's notice of it, that would lose the exit status.
COMMAND = """
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"command waits\\n"))
job = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
os.write(1, b"job left with %d\\n" % job.wait())
sys.exit(1)
"""
# Lines are written in one call, since several processes write. A signal just before a sleep is
# handled after it, unlike one just before signal.pause().
SAVING = """
import os, signal, sys, time
def save(*_):
    os.write(1, b"job saves\\n")
    sys.exit(75)
signal.signal(signal.SIGTERM, save)
os.write(1, b"job is ready\\n")
while True:
    time.sleep(0.05)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"job goes on\\n"))
os.write(1, b"job is ready\\n")
while True:
    time.sleep(0.05)
"""


RUN = (
    "import os, sys; from shiftbench.runtime import graceful_stop as stopping\n"
    "stopping.GRACE_SECONDS = 1e9; {preparation}\n"
    "sys.exit(stopping.run(sys.argv[1:], os.environ))"
)

PATIENCE_SECONDS = 300
"""Time limit for events that happen sooner or later on any machine."""


pytestmark = pytest.mark.usefixtures("signals_act")


@contextmanager
def started(job: str, preparation: str = "", **options) -> Iterator[subprocess.Popen]:
    """Start the command with a ready job in its own process group, as `make` would."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.format(preparation=preparation),
         sys.executable, "-c", COMMAND, job],
        start_new_session=True, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "job is ready\n"
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for child in below(process):
                child.kill()
        process.kill()
        process.communicate()


def below(process: subprocess.Popen) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def all_end(processes: list[psutil.Process]) -> bool:
    """Return whether all processes end in time; zombies count, since nobody may reap them."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while not all(map(has_ended, processes)) and time.monotonic() < patience:
        time.sleep(0.02)
    return all(map(has_ended, processes))


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_lets_the_jobs_save(number: signal.Signals) -> None:
    """The signal goes to the group and, as from `make`, once more to the process."""
    with started(SAVING, "stopping.ECHO_SECONDS = 1e9") as process:
        running = below(process)
        os.killpg(process.pid, number)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 128 + number
    assert sorted(out.splitlines()) == ["command waits", "job left with 75", "job saves"]
    assert len(running) == 2 and all_end(running)
    assert f"stopped by {number.name}, no job is left running; the same command" in err
    assert "Traceback" not in err


def test_second_signal_kills() -> None:
    with started(STUBBORN, "stopping.ECHO_SECONDS = 0") as process:
        running = below(process)
        process.terminate()
        assert process.stderr.readline().startswith("stopping: running jobs save their state")
        assert {process.stdout.readline() for _ in range(2)} == {"command waits\n", "job goes on\n"}
        process.terminate()
        assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
        assert all_end(running)
        assert "what still ran was killed" in process.stderr.read()


def test_job_that_does_not_end_is_killed_after_the_grace() -> None:
    with started(STUBBORN, "stopping.GRACE_SECONDS = stopping.TICK_SECONDS = 0.05") as process:
        running = below(process)
        process.terminate()
        assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
        assert all_end(running)


def test_killed_command_leaves_no_job() -> None:
    with started(STUBBORN) as process:
        command, job = below(process)
        command.kill()
        assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGKILL
        assert all_end([job])
        assert "stopped by SIGKILL, no job is left running; the same" in process.stderr.read()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
def test_command_dies_with_us() -> None:
    with started(SAVING) as process:
        command, job = below(process)
        process.kill()
        assert all_end([command])
        job.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_to_make_alone_stops_its_run(tmp_path: Path, number: signal.Signals) -> None:
    recipe = 'exec "$$PYTHON" -c "$$RUN" "$$PYTHON" -c "$$COMMAND" "$$JOB"'
    texts = {"RUN": RUN.format(preparation=""), "COMMAND": COMMAND, "JOB": SAVING}
    (tmp_path / "Makefile").write_text(f"run:\n\t@{recipe}\n\t@echo goes on\n")
    make = subprocess.Popen(
        ["make", "--silent", "--file", str(tmp_path / "Makefile")],
        env=os.environ | texts | {"PYTHON": sys.executable},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert make.stdout.readline() == "job is ready\n"
    running = below(make)
    make.send_signal(number)
    assert all_end(running)
    said, _ = make.communicate()
    assert make.returncode == -number
    assert "job saves" in said and "goes on" not in said


class LastMoments:
    """An object that is deleted after Python has reset its signal handlers."""

    def __del__(self) -> None:
        os.write(1, b"last moments\n")
        sys.stdin.buffer.raw.read(1)


def test_signal_in_the_last_moments_leaves_the_exit_status() -> None:
    """`make` may pass on a signal late."""
    keep = "from tests.runtime.test_graceful_stop import LastMoments; last = LastMoments()"
    with started(SAVING, keep) as process:
        process.terminate()
        while process.stdout.readline() != "last moments\n":
            assert process.poll() is None
        process.send_signal(signal.SIGHUP)
        process.communicate("\n", timeout=PATIENCE_SECONDS)
    assert process.returncode == 128 + signal.SIGTERM


def test_signal_that_does_not_interrupt_the_wait_stops_the_command() -> None:
    """Such a signal comes just before the wait; here another thread receives it."""
    other_thread = (
        "import signal, threading, time;"
        "threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start();"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP]); stopping.TICK_SECONDS = 1e6"
    )
    with started(SAVING, other_thread) as process:
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGHUP
        assert "job saves" in process.stdout.read()


def test_signal_that_is_ignored_stays_ignored() -> None:
    """This happens under nohup."""
    with started(SAVING, "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)") as process:
        process.send_signal(signal.SIGHUP)
        process.terminate()
        assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM


def test_ignored_interrupts_of_a_background_shell_reach_the_command() -> None:
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    with started(SAVING, ignore) as process:
        process.terminate()
        assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGTERM
        assert "command waits" in process.stdout.read()
