"""The supervisor restarts Snakemake after a crash or a hang, and ends on a signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from shiftbench.runtime import slurm
from shiftbench.runtime.cluster import supervisor

# A fake Snakemake: its actions at the first start and at later ones.
MAIN = """
import os, pathlib, signal, sys, time
starts = pathlib.Path("starts")
starts.write_text(str(int(starts.read_text()) + 1 if starts.exists() else 1))
log = pathlib.Path(".snakemake/log/now.log")
log.parent.mkdir(parents=True, exist_ok=True)
log.write_text("begin")
{first} if starts.read_text() == "1" else {then}
"""
KILLED = "os.kill(os.getpid(), signal.SIGKILL)"
SILENT = "time.sleep(100)"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a fake Snakemake; queue: jobs in Slurm, None if it is down."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(supervisor, "HUNG_SECONDS", 0.6)
    numbers = (*supervisor.SIGNALS, signal.SIGCHLD)
    before = {number: signal.getsignal(number) for number in numbers}

    def run(first, then="sys.exit(0)", queue=None):
        monkeypatch.setattr(slurm, "queue", lambda *_: queue)
        code = MAIN.format(first=first, then=then)
        monkeypatch.setattr(supervisor, "MAIN", [sys.executable, "-c", code])
        return supervisor.run([], "name")

    yield run
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


def starts(tmp_path):
    return int((tmp_path / "starts").read_text())


def test_its_exit_status_is_that_of_snakemake(run, tmp_path):
    assert run("sys.exit(1)") == 1
    assert starts(tmp_path) == 1


def test_one_that_was_killed_is_started_again(run, tmp_path, capsys):
    assert run(KILLED) == 0
    assert starts(tmp_path) == 2
    assert "it starts again" in capsys.readouterr().err


def test_one_that_is_killed_each_time_is_given_up(run, tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "MAX_STARTS", 3)
    assert run(KILLED, KILLED) == 128 + signal.SIGKILL
    assert starts(tmp_path) == 3


def test_one_that_is_silent_without_a_job_hangs(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(supervisor, "MAX_STARTS", 100)  # a slow start counts as silence, too
    assert run(SILENT, queue={}) == 0
    assert starts(tmp_path) > 1
    assert "has done nothing" in capsys.readouterr().err


@pytest.mark.long
def test_silence_while_jobs_are_in_the_queue_is_no_hanging(run, tmp_path):
    assert run("time.sleep(1.5)", queue={"7": "key"}) == 0
    assert starts(tmp_path) == 1


@pytest.mark.long
def test_silence_while_slurm_does_not_answer_is_no_hanging(run, tmp_path):
    assert run("time.sleep(1.5)", queue=None) == 0
    assert starts(tmp_path) == 1


def test_silence_after_a_job_has_ended_is_hanging(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    now = [0.0]
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(supervisor, "HUNG_SECONDS", 2.0)
    queue = {"7": "one", "8": "other"}
    monkeypatch.setattr(slurm, "queue", lambda *_: queue)
    progress = supervisor._Activity("name")
    assert not progress.has_stopped()
    now[0] += 3.0
    assert not progress.has_stopped()  # all jobs are there
    del queue["7"]
    assert not progress.has_stopped()  # Snakemake may still notice it
    now[0] += 3.0
    assert progress.has_stopped()


@pytest.mark.usefixtures("signals_act")
@pytest.mark.parametrize("number", supervisor.SIGNALS)
def test_a_signal_ends_it_and_it_says_what_goes_on(run, tmp_path, capsys, number):
    def tell():
        while not (tmp_path / "starts").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    threading.Thread(target=tell).start()
    assert run(SILENT, queue={"7": "key", "8": "key"}) == 128 + number
    output = capsys.readouterr().err
    assert "2 jobs go on in the queue; the same command takes over" in output
    assert "scancel --name=name" in output
    assert output.count("\n") == 1


def test_a_signal_that_only_make_got_ends_it(run, tmp_path, monkeypatch):
    began = (tmp_path / "starts").exists
    monkeypatch.setattr(
        supervisor, "signals_of_make", lambda numbers: [*numbers][:1] if began() else []
    )
    assert run(SILENT, queue={"7": "key"}) == 128 + supervisor.SIGNALS[0]
