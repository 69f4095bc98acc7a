"""The whole workflow is killed or stopped in the middle of its jobs, and started again.

Real jobs run in a copy of the repository whose harness can stall: if the environment names a FIFO,
a run notifies the test there before its fourth task and waits forever.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from shiftbench.publish.site import unchanged
from tests.workflow import copies

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("signals_act")]

PATIENCE_SECONDS = 300
"""Time limit for events that happen sooner or later on any machine."""
CONFIG = """\
seeds_per_job: 1
streams:
  steps: {family: toy-step, realisations: 2, points: 6}
studies:
  steps:
    title: Steps
    streams: [steps]
    seeds: 2
    metrics: [log_predictive]
    artefacts: [score-table]
    methods:
      plain: [gaussian-mean]
      search: [beam, gaussian-mean]
"""
PLACE_TO_STALL = """
SECONDS_BETWEEN_CHECKPOINTS, SHARE_OF_CHECKPOINTS = 0.0, float("inf")
_advance = RowBlocks.advance


def _stalling(blocks: RowBlocks, now: Position, meter: Meter) -> Position | None:
    if "STALL" in os.environ:
        blocks.size = 1  # of a task; they begin elsewhere in the run that goes on
        if now.next_task == 3:
            with open(os.environ["STALL"], "w") as meeting:
                meeting.write(f"{os.getpid()}\\n")
            while True:
                time.sleep(0.05)  # a signal just before it is seen after it
    return _advance(blocks, now, meter)


RowBlocks.advance = _stalling
"""
JOBS = 2
"""The number of parallel jobs."""
PARTS = {
    "make": "make run",
    "shiftbench": "-m shiftbench run",
    "snakemake": "-m snakemake --snakefile",
}
"""Text that identifies the process to kill by its command line."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the copy, in which nothing has run yet."""
    folder = copies.repository(tmp_path_factory.mktemp("kill") / "repository", CONFIG)
    with (folder / "src/shiftbench/evaluation/running/harness.py").open("a") as harness:
        harness.write(PLACE_TO_STALL)
    (folder / "installed").touch()
    return folder


@pytest.fixture(scope="module")
def whole(repository: Path) -> dict[str, bytes]:
    """Return the results of an uninterrupted workflow."""
    make = start(repository)
    said, _ = make.communicate(timeout=PATIENCE_SECONDS)
    assert make.returncode == 0, said
    return results(repository)


def start(repository: Path, **environment: str) -> subprocess.Popen:
    """Start `make run` in its own process group, as a shell would."""
    tools = Path(sys.executable).parent
    return subprocess.Popen(
        ["make", "run", f"BIN={tools}", "STAMP=installed", "CONFIG=config/mine.yaml",
         f"ARGS=--cores {JOBS}"],
        cwd=repository, env=os.environ | {"PYTHONPATH": str(repository / "src")} | environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def results(repository: Path) -> dict[str, bytes]:
    """Return all stores, tables and checksums by name, and any files that a kill could leave.

    Checksums of measured times, and the record of times of files, are omitted, since they differ
    between any two runs.
    """
    folder = repository / "results/mine"
    kinds = (".zip", ".csv", ".md")
    paths = [p for p in folder.rglob("*") if p.suffix in kinds or p.name.startswith(".")]
    measured = (".cost.json.sha256", unchanged.RECORD)
    paths = [path for path in paths if not path.name.endswith(measured)]
    paths += folder.glob("scratch/*")  # a folder that is left would fail here
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@contextmanager
def stalled(repository: Path, fifo: Path) -> Iterator[tuple[subprocess.Popen, list]]:
    """Start `make run` afresh; yield it and its processes once jobs are within their tasks."""
    shutil.rmtree(repository / "results")
    os.mkfifo(fifo)
    meeting = os.open(fifo, os.O_RDWR)
    make = start(repository, STALL=str(fifo))
    try:
        arrived = b""
        while arrived.count(b"\n") < JOBS:
            assert select.select([meeting], [], [], PATIENCE_SECONDS)[0]
            arrived += os.read(meeting, 4096)
        first = psutil.Process(make.pid)
        yield make, [first, *first.children(recursive=True)]
    finally:
        os.close(meeting)
        make.kill()


def goes_on(repository: Path, whole: dict[str, bytes]) -> str:
    """Assert that `make run` completes with the uninterrupted results; return its output."""
    make = start(repository)
    said, _ = make.communicate(timeout=PATIENCE_SECONDS)
    assert make.returncode == 0, said
    assert results(repository) == whole
    logs = [path.read_text() for path in repository.glob("results/mine/logs/runs/*/*/*/*.log")]
    assert sum("resumed at task 3" in log for log in logs) == JOBS
    return said


def all_end(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)[1]


def test_kill_of_everything(repository: Path, whole: dict, tmp_path: Path) -> None:
    with stalled(repository, tmp_path / "meeting") as (_, processes):
        for process in processes:
            process.kill()
        assert all_end(processes)
    assert "Snakemake was killed here" in goes_on(repository, whole)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
@pytest.mark.parametrize("victim", PARTS)
def test_kill_of_one_ends_all(repository: Path, whole: dict, tmp_path: Path, victim: str) -> None:
    with stalled(repository, tmp_path / "meeting") as (_, processes):
        (found,) = [p for p in processes if PARTS[victim] in " ".join(p.cmdline()[:5])]
        found.kill()
        assert all_end(processes)
    goes_on(repository, whole)


@pytest.mark.parametrize(
    ("number", "send"),
    [
        (signal.SIGINT, os.killpg),
        (signal.SIGTERM, os.killpg),
        pytest.param(
            signal.SIGINT,
            os.kill,
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child"),
        ),
    ],
)
def test_signal_to_the_group_or_to_make_ends_all(
    repository: Path, whole: dict, tmp_path: Path, number: signal.Signals, send: Callable
) -> None:
    with stalled(repository, tmp_path / "meeting") as (make, processes):
        send(make.pid, number)
        said, _ = make.communicate(timeout=PATIENCE_SECONDS)
        assert all_end(processes)
        assert f"stopped by {number.name}, no job is left running; the same command" in said
        assert said.count("stopped, signal SIGTERM; start it again to go on") >= JOBS
    assert "Snakemake was killed here" not in goes_on(repository, whole)
