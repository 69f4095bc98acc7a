"""Kills the whole workflow at random moments: python -m perf.kills --times 20.

Each time `make run` starts from nothing in a copy of the repository, all its processes get
SIGKILL at a moment drawn from the time that an undisturbed run takes, and the same command,
once and alone, has to end it. Prints a line a kill: when it came, after how many seconds no
process was left, how many runs it met inside their tasks, how many of these went on from a
checkpoint, whether the second `make run` ended well, and whether all stores and tables are
those of the undisturbed run to the byte. With --signal SIGTERM or SIGINT the group of `make`
gets that instead, once, as from a terminal.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil

from shiftbench.runtime.parent_death import die_with_parent

ROOT = Path(__file__).parents[1]
CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, realisations: 4, points: 2500}
  images: {family: permuted-images, dataset: digits, realisations: 2, tasks: 10}
studies:
  steps:
    title: Steps
    streams: [steps]
    seeds: 4
    metrics: [log_predictive]
    artefacts: [score-table]
    methods:
      beam: [{beam: {size: 6, broadening: diffuse}}, gaussian-mean]
      run-length: [{run-length: {keep: 50}}, gaussian-mean]
  images:
    title: Images
    streams: [images]
    model: {mlp: {hidden: [20]}}
    seeds: 2
    metrics: [accuracy]
    artefacts: [score-table]
    methods:
      vogn: [{vogn: {epochs: 20, batch_size: 64, draws: 2, prediction_draws: 5}}]
"""


class Kill(NamedTuple):
    """What came of one kill."""

    seconds: float
    gone: float
    """Seconds from the signal to the end of the last process."""
    inside: int
    """Runs that had begun their first task and not ended their last."""
    resumed: int
    """Those of them that went on from a checkpoint."""
    ended: bool
    identical: bool


def main() -> None:
    """Prints the table and its sums; exit status 1 unless all was resumed and identical."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="number of kills")
    parser.add_argument("--signal", default="SIGKILL", choices=["SIGKILL", "SIGTERM", "SIGINT"])
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--cores", type=int, default=2, help="jobs at a time")
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        repository = copy(Path(folder, "repository"))
        command = make(options.cores)
        run(repository, command)  # compiles, once for all
        began = time.monotonic()
        assert run(repository, command), "the undisturbed run has to end well"
        duration, whole = time.monotonic() - began, results(repository)
        print(f"undisturbed: {duration:.1f} s, {len(whole)} files; random seed {options.seed}")
        print("kill      at   gone after  inside  resumed  ended  identical", flush=True)
        kills: list[Kill] = []
        while len(kills) < options.times:
            moment = drawn.uniform(0, duration)
            kill = once(repository, command, moment, signal.Signals[options.signal], whole)
            if kill is None:
                continue
            kills.append(kill)
            print(
                f"{len(kills):4}  {kill.seconds:4.1f} s  {kill.gone:9.1f} s  {kill.inside:6}"
                f"  {kill.resumed:7}  {kill.ended!s:>5}  {kill.identical!s:>9}",
                flush=True,
            )
    inside = sum(kill.inside > 0 for kill in kills)
    ended, identical = sum(kill.ended for kill in kills), sum(kill.identical for kill in kills)
    print(f"{len(kills)} kills, {inside} of them inside a run's tasks:", end=" ")
    print(f"{ended} resumed by the same command alone, {identical} byte-identical")
    sys.exit(not ended == identical == len(kills))


def copy(folder: Path) -> Path:
    """A copy of what the workflow needs of the repository, with our config."""
    for name in ("src", "workflow", "profiles", "envs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.sif"))
    for name in ("Snakefile", "Makefile"):
        shutil.copy(ROOT / name, folder)
    (folder / "config").mkdir()
    (folder / "config/kills.yaml").write_text(CONFIG)
    (folder / "installed").touch()
    return folder


def make(cores: int) -> list[str]:
    """`make run`, with the environment that runs us."""
    tools = Path(sys.executable).parent
    return ["make", "run", f"BIN={tools}", "STAMP=installed", "CONFIG=config/kills.yaml",
            f"ARGS=--cores {cores}"]  # fmt: skip


def start(repository: Path, command: list[str]) -> subprocess.Popen:
    """Starts the command; it says nothing."""
    return subprocess.Popen(
        command,
        cwd=repository,
        env=os.environ | {"PYTHONPATH": str(repository / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(die_with_parent, os.getpid()),
    )


def run(repository: Path, command: list[str]) -> bool:
    """Runs the command from nothing; whether it ended well."""
    shutil.rmtree(repository / "results", ignore_errors=True)
    return start(repository, command).wait() == 0


def once(
    repository: Path,
    command: list[str],
    seconds: float,
    number: signal.Signals,
    whole: dict[str, bytes],
) -> Kill | None:
    """Starts from nothing, sends the signal after so many seconds, and starts again.

    None if the workflow was faster this time, and over.
    """
    shutil.rmtree(repository / "results")
    process = start(repository, command)
    time.sleep(seconds)
    if process.poll() is not None:
        return None
    gone = end(process, number)
    begun = [path for path, text in logs(repository).items() if is_inside(text)]
    ended = start(repository, command).wait() == 0
    after = logs(repository)
    resumed = sum("resumed at task" in after[path] for path in begun)
    return Kill(seconds, gone, len(begun), resumed, ended, results(repository) == whole)


def end(process: subprocess.Popen, number: signal.Signals) -> float:
    """SIGKILL to the process and all below it, or another signal to its group; waits for the end.

    Seconds that it took. AssertionError if there is none within two minutes.
    """
    first = psutil.Process(process.pid)
    everything = [first, *first.children(recursive=True)]
    began = time.monotonic()
    if number == signal.SIGKILL:
        for one in everything:
            with suppress(psutil.NoSuchProcess):
                one.kill()
    else:
        os.killpg(process.pid, number)
    _, alive = psutil.wait_procs(everything, timeout=120)
    assert not alive, alive
    process.wait()
    return time.monotonic() - began


def logs(repository: Path) -> dict[Path, str]:
    """The logs of all runs."""
    return {path: path.read_text() for path in repository.glob("results/*/logs/runs/*/*/*/*.log")}


def is_inside(text: str) -> bool:
    """Whether a log of a run ends inside its tasks."""
    return " task 0 of " in text and " tasks done, status " not in text


def results(repository: Path) -> dict[str, bytes]:
    """All stores and tables, and all scratch files that were left."""
    files = [path for path in repository.glob("results/**/*") if path.is_file()]
    names = {str(path.relative_to(repository)): path for path in files}
    return {
        name: path.read_bytes()
        for name, path in names.items()
        if path.suffix in (".zip", ".csv", ".md") or "/." in name or "/scratch/" in name
    }


if __name__ == "__main__":
    main()
