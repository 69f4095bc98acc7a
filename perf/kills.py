"""Kill the whole workflow at random moments: python -m perf.kills --times 20.

Each time, `make run` starts without results in a copy of the repository. All its processes get
SIGKILL at a random moment within the time of an uninterrupted run, and the same command has to
finish the work, once and alone. The script prints a line per kill: its time, the seconds until no
process was left, the number of runs inside their tasks, how many of these resumed from a
checkpoint, whether the second `make run` succeeded, and whether all stores and tables equal those
of the uninterrupted run byte for byte. With --signal SIGTERM or SIGINT, the process group of `make`
gets that signal once instead, as from a terminal. With --server, only the fork server of the jobs
gets SIGKILL, and the workflow has to end by itself.
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
from collections.abc import Callable
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
    """The outcome of one kill."""

    seconds: float
    gone: float
    """Seconds from the signal to the end of the last process."""
    inside: int
    """The number of runs between the start of the first task and the end of the last."""
    resumed: int
    """How many of them resumed from a checkpoint."""
    ended: bool
    identical: bool


def main() -> None:
    """Print the table and its sums; exit with status 1 unless all runs resumed identically."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="number of kills")
    parser.add_argument("--signal", default="SIGKILL", choices=["SIGKILL", "SIGTERM", "SIGINT"])
    parser.add_argument("--server", action="store_true", help="kill nothing but the fork server")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--cores", type=int, default=2, help="jobs at a time")
    options = parser.parse_args()
    if options.server and options.signal != "SIGKILL":
        parser.error("--server takes no --signal: the server blocks all signals but SIGKILL")
    drawn = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        repository = copy(Path(folder, "repository"))
        command = make(options.cores)
        run(repository, command)  # compiles the code, once for all runs
        began = time.monotonic()
        assert run(repository, command), "the undisturbed run has to end well"
        duration, whole = time.monotonic() - began, results(repository)
        print(f"undisturbed: {duration:.1f} s, {len(whole)} files; random seed {options.seed}")
        print("kill      at   gone after  inside  resumed  ended  identical", flush=True)
        kills: list[Kill] = []
        end = end_server if options.server else partial(end_all, signal.Signals[options.signal])
        while len(kills) < options.times:
            moment = drawn.uniform(0, duration)
            kill = once(repository, command, moment, end, whole)
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
    """Copy what the workflow needs of the repository, with our config; return the folder."""
    for name in ("src", "workflow", "profiles", "envs", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.sif"))
    for name in ("Snakefile", "Makefile"):
        shutil.copy(ROOT / name, folder)
    (folder / "config").mkdir()
    (folder / "config/kills.yaml").write_text(CONFIG)
    (folder / "installed").touch()
    return folder


def make(cores: int) -> list[str]:
    """Return the command `make run` in this environment."""
    tools = Path(sys.executable).parent
    return ["make", "run", f"BIN={tools}", "STAMP=installed", "CONFIG=config/kills.yaml",
            f"ARGS=--cores {cores}"]  # fmt: skip


def start(repository: Path, command: list[str]) -> subprocess.Popen:
    """Start the command without output."""
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
    """Run the command without earlier results, and return whether it succeeded."""
    shutil.rmtree(repository / "results", ignore_errors=True)
    return start(repository, command).wait() == 0


def once(
    repository: Path,
    command: list[str],
    seconds: float,
    end: Callable[[subprocess.Popen], float | None],
    whole: dict[str, bytes],
) -> Kill | None:
    """Start without results, end the workflow after some seconds, and start again.

    Returns None if there was nothing to kill at that moment.
    """
    shutil.rmtree(repository / "results", ignore_errors=True)
    process = start(repository, command)
    time.sleep(seconds)
    if process.poll() is not None:
        return None
    gone = end(process)
    if gone is None:
        return None
    begun = [path for path, text in logs(repository).items() if is_inside(text)]
    ended = start(repository, command).wait() == 0
    after = logs(repository)
    resumed = sum("resumed at task" in after[path] for path in begun)
    return Kill(seconds, gone, len(begun), resumed, ended, results(repository) == whole)


def end_all(number: signal.Signals, process: subprocess.Popen) -> float:
    """Kill the process and its children, or send another signal to its group; wait for the end.

    Returns the seconds that this took. Raises AssertionError after two minutes.
    """
    everything = family(process)
    began = time.monotonic()
    if number == signal.SIGKILL:
        for one in everything:
            with suppress(psutil.NoSuchProcess):
                one.kill()
    else:
        os.killpg(process.pid, number)
    return wait(process, everything, began)


def end_server(process: subprocess.Popen) -> float | None:
    """Kill the server that all jobs are forked from, and wait for the end of the workflow.

    Returns the seconds that this took, or None if there is no server; then all processes are
    killed. Raises AssertionError after two minutes.
    """
    everything = family(process)
    server = next((one for one in everything if is_server(one)), None)
    if server is None:
        end_all(signal.SIGKILL, process)
        return None
    began = time.monotonic()
    server.kill()
    return wait(process, everything, began)


def is_server(process: psutil.Process) -> bool:
    """Return whether this is the process that `runtime.forkserver_client` starts.

    Its children have the same command line, and come later in the list of `family`.
    """
    with suppress(psutil.NoSuchProcess):
        return "forkserver.serve" in " ".join(process.cmdline())
    return False


def family(process: subprocess.Popen) -> list[psutil.Process]:
    """Return the process and all that descend from it, parents before their children."""
    first = psutil.Process(process.pid)
    return [first, *first.children(recursive=True)]


def wait(process: subprocess.Popen, everything: list[psutil.Process], began: float) -> float:
    """Wait for the end of all these processes; return the seconds since `began`.

    Raises AssertionError after two minutes.
    """
    _, alive = psutil.wait_procs(everything, timeout=120)
    assert not alive, alive
    process.wait()
    return time.monotonic() - began


def logs(repository: Path) -> dict[Path, str]:
    """Return the logs of all runs."""
    return {path: path.read_text() for path in repository.glob("results/*/logs/runs/*/*/*/*.log")}


def is_inside(text: str) -> bool:
    """Return whether the log of a run ends inside its tasks."""
    return " task 0 of " in text and " tasks done, status " not in text


def results(repository: Path) -> dict[str, bytes]:
    """Return all stores and tables, and all scratch files that are left."""
    files = [path for path in repository.glob("results/**/*") if path.is_file()]
    names = {str(path.relative_to(repository)): path for path in files}
    return {
        name: path.read_bytes()
        for name, path in names.items()
        if path.suffix in (".zip", ".csv", ".md") or "/." in name or "/scratch/" in name
        if not name.endswith(".cost.json.sha256")  # costs always differ
    }


if __name__ == "__main__":
    main()
