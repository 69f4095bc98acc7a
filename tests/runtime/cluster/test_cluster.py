"""The workflow on a two-node Slurm gives the bytes of a local run, despite interruptions.

It runs in a copy of the repository whose tasks take SLOW seconds, with a checkpoint after each.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.runtime.cluster.two_nodes import NODES, TwoNodes, install, wait
from tests.workflow import copies

pytestmark = [pytest.mark.long, pytest.mark.cluster, pytest.mark.usefixtures("signals_act")]

PATIENCE_SECONDS = 420
CONFIG = """\
seeds_per_job: 1
methods:
  vgs:
    {label: VGS, cite: [li2021vbs], summary: A beam of one, pipeline: [{beam: {size: 1}}, mfvi]}
studies:
  steps:
    title: Steps
    minutes: 1
    streams: {steps: {family: toy-step, realisations: 3, points: 12}}
    seeds: 3
    metrics: [log_predictive]
    artefacts: [score-table]
    methods:
      plain: [gaussian-mean]
      search: [beam, gaussian-mean]
  digits:
    title: Digits
    streams:
      digits:
        {family: transformed-images, dataset: digits, realisations: 1, tasks: 6,
         train_per_task: 20, warm_up_size: 20}
    model: {mlp: {hidden: [5]}}
    seeds: 1
    metrics: [accuracy]
    artefacts: [score-table]
    methods:
      vgs: {threads: 4, minutes: 1, mfvi.epochs: 2}
"""
SLOWLY = """
SECONDS_BETWEEN_CHECKPOINTS, SHARE_OF_CHECKPOINTS = 0.0, float("inf")
_advance = RowBlocks.advance


def _slowly(blocks: RowBlocks, now: Position, meter: Meter) -> Position | None:
    if "SLOW" in os.environ:
        blocks.size = 1  # of a task, as each takes its time
        time.sleep(float(os.environ["SLOW"]))
    return _advance(blocks, now, meter)


RowBlocks.advance = _slowly
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    install()
    with TwoNodes(tmp_path_factory.mktemp("slurm") / "here") as there:
        yield there


def copy(folder: Path) -> Path:
    folder = copies.repository(folder, CONFIG)
    with (folder / "src/shiftbench/evaluation/running/harness.py").open("a") as harness:
        harness.write(SLOWLY)
    return folder


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files that a local run makes, by path."""
    folder = copy(tmp_path_factory.mktemp("local") / "copy")
    command = [sys.executable, "-m", "snakemake", "--configfile", "config/mine.yaml"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    warm = [sys.executable, "-m", "shiftbench", "warm", "--", *command]
    subprocess.run(warm, cwd=folder, env=environment, check=True, timeout=PATIENCE_SECONDS)
    return stores(folder)


def stores(folder: Path) -> dict[str, bytes]:
    """Return the results without recorded costs."""
    results = folder / "results/mine"
    found = [*results.glob("studies/**/*.*"), *results.glob("**/*.zarr.zip")]
    return {str(one.relative_to(results)): one.read_bytes() for one in found if one.is_file()}


def start(slurm: TwoNodes, folder: Path, slow: float) -> subprocess.Popen:
    """Start `shiftbench cluster` in the folder; its output goes to output.log there."""
    environment = slurm.environment | {"PYTHONPATH": str(folder / "src"), "SLOW": str(slow)}
    return subprocess.Popen(
        [sys.executable, "-m", "shiftbench", "cluster", "config/mine.yaml", "--profile",
         "profiles/slurm", "--snakemake=--slurm-init-seconds-before-status-checks 3"],
        cwd=folder, env=environment, stdout=(folder / "output.log").open("a"),
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def ended(process: subprocess.Popen, folder: Path) -> None:
    try:
        status = process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError((folder / "output.log").read_text()[-6000:]) from None
    assert status == 0, (folder / "output.log").read_text()[-6000:]


def main_of(supervisor: subprocess.Popen) -> psutil.Process | None:
    below = psutil.Process(supervisor.pid).children()
    return below[0] if below else None


def test_jobs_in_the_queue_are_adopted_by_the_next_main_process(slurm, local, tmp_path):
    folder = copy(tmp_path / "copy")
    before = len(jobs(slurm))
    process = start(slurm, folder, 2)
    wait(lambda: len(running(slurm)) > 3, PATIENCE_SECONDS)
    wait(lambda: main_of(process)).kill()
    output = folder / "output.log"
    wait(lambda: "is in the queue already" in output.read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 128 + signal.SIGINT
    assert "in the queue; the same command takes over" in output.read_text()
    ended(start(slurm, folder, 2), folder)
    assert stores(folder) == local
    # Two streams, a warm-up, 7 runs, and one job for the artefacts of each study.
    assert len(jobs(slurm)) - before == 12, output.read_text()


def jobs(slurm: TwoNodes) -> list[str]:
    return slurm.ask("squeue", "-h", "--states=all", "--format=%i").split()


def test_a_job_at_its_limit_goes_back_into_the_queue_and_no_retry_is_used(slurm, local, tmp_path):
    folder = copy(tmp_path / "copy")
    before = len(jobs(slurm))
    process, threads = start(slurm, folder, 6), set()
    while process.poll() is None:
        threads |= set(slurm.ask("squeue", "-h", "--states=all", "--format=%C").split())
        time.sleep(1)
    ended(process, folder)
    output = (folder / "output.log").read_text()
    assert "tried again" not in output
    assert "7 of 7 runs are done" in output
    assert len(jobs(slurm)) - before == 12, output
    logs = [log.read_text() for log in folder.glob("results/mine/logs/runs/steps/**/*.log")]
    assert len(logs) == 6 and all("resumed at task" in log for log in logs), logs[0]
    for log in logs:
        assert_nothing_is_done_twice(log)
    assert "4" in threads, threads  # the login node has only two
    assert stores(folder) == local


@pytest.mark.faults
def test_nothing_is_lost_by_ten_faults_at_random(slurm, local, tmp_path):
    folder = copy(tmp_path / "copy")
    with (folder / "src/shiftbench/runtime/cluster/supervisor.py").open("a") as supervisor:
        supervisor.write("\nHUNG_SECONDS = 45.0\n")
    process, choose = start(slurm, folder, 12), random.Random(7)

    def cancel() -> None:
        slurm.call("scancel", choose.choice(running(slurm)))

    def lose_a_node() -> None:
        node = choose.choice(NODES)
        slurm.ask("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        time.sleep(3)
        slurm.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def restart_the_controller() -> None:
        slurm.stop("slurmctld")
        time.sleep(25)
        slurm.start_controller()

    def kill_the_main_process() -> None:
        wait(lambda: main_of(process)).kill()

    def hang_the_main_process() -> None:
        wait(lambda: main_of(process)).suspend()

    kinds: list[Callable[[], None]] = [
        *3 * [cancel], *2 * [lose_a_node], restart_the_controller, *3 * [kill_the_main_process],
    ]  # fmt: skip
    choose.shuffle(kinds)
    wait(lambda: (folder / "results/mine/scratch").exists(), PATIENCE_SECONDS)
    for fault in [*kinds, hang_the_main_process]:
        wait(lambda: running(slurm), PATIENCE_SECONDS)
        fault()
        time.sleep(choose.uniform(3, 8))
        assert process.poll() is None, "it ended before all faults were made"
    ended(process, folder)
    for log in folder.glob("results/mine/logs/runs/**/*.log"):
        assert_nothing_is_done_twice(log.read_text())
    assert "has done nothing" in (folder / "output.log").read_text()
    assert stores(folder) == local


def running(slurm: TwoNodes) -> list[str]:
    return slurm.ask("squeue", "-h", "-t", "RUNNING", "--format=%i").split()


def assert_nothing_is_done_twice(log: str) -> None:
    """Assert that each attempt resumes where the previous one saved, and that one finishes."""
    saved = ""
    for how, task in re.findall(r"(saved before|resumed at) task (-?\d+)", log):
        assert how == "saved before" or task == saved, log
        saved = task
    assert log.count("tasks done") == 1, log
