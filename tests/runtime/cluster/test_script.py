"""The script of a Slurm job has the commands of its rules, in order, without Snakemake."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

from shiftbench.runtime.cluster import script

SAVES = """import signal, sys, time
def save(*_):
    time.sleep(0.5)
    print("saved", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, save)
print("works", flush=True)
time.sleep(60)
"""


def job(command, threads=1):
    return SimpleNamespace(shellcmd=command, name="rule", threads=threads, is_group=lambda: False)


def group(*levels):
    return SimpleNamespace(toposorted=levels, is_group=lambda: True)


def run(one):
    return subprocess.run(["sh", "-c", script.text(one)], capture_output=True, text=True)


def test_a_job_is_told_its_threads_and_has_the_status_of_its_command():
    done = run(job("echo $OMP_NUM_THREADS; false", threads=4))
    assert (done.stdout, done.returncode) == ("4\n", 1)
    assert run(job("true")).returncode == 0
    assert run(job("exit 75")).returncode == 75


def test_in_a_group_an_end_by_a_signal_counts_more_than_an_error():
    """Another attempt may finish the job that it ended."""
    for commands in (["exit 1", "kill -9 $$"], ["kill -9 $$", "exit 1"], ["exit 137", "true"]):
        jobs = [job(f"sh -c {shlex.quote(command)}") for command in commands]
        assert run(group(jobs)).returncode == 137


def test_each_job_of_a_group_has_its_own_threads():
    done = run(group([job("echo $OMP_NUM_THREADS", 2)], [job("echo $OMP_NUM_THREADS", 1)]))
    assert done.stdout == "2\n1\n"


def test_in_a_group_a_failure_stops_only_what_comes_after():
    done = run(group([job("false"), job("echo beside")], [job("echo after")]))
    assert (done.stdout, done.returncode) == ("beside\n", 1)


def test_the_shell_waits_for_a_job_that_saves_its_state():
    text = script.text(job(shlex.join([sys.executable, "-c", SAVES])))
    process = subprocess.Popen(
        ["sh", "-c", text], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "works\n"
    os.killpg(process.pid, signal.SIGTERM)  # Slurm signals all processes of a job
    begin = time.monotonic()
    assert process.wait(10) == 3 and time.monotonic() - begin > 0.4
    assert process.stdout.read() == "saved\n"


def test_the_commands_of_a_group_are_those_of_its_jobs():
    assert script.commands(group([job("one"), job("two")], [job("three")])) == [
        "one", "two", "three",
    ]  # fmt: skip
