"""What small runs cost on a cluster: as Snakemake submits them, as we do, and packed.

    python -m perf.cluster --runs 8

Runs on a two-node Slurm on this machine, which is installed by apt. Counts the processor time of
the main process and of all that Slurm starts; this process adopts orphans of Slurm's daemons.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from shiftbench.runtime.parent_death import die_with_parent
from tests.runtime.cluster.two_nodes import TwoNodes, install
from tests.workflow import copies

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER, of linux/prctl.h."""
STUDIES = {
    "without TensorFlow": """\
seeds_per_job: 1
studies:
  small:
    title: Small
    streams: {steps: {family: toy-step, realisations: SEEDS, points: 12}}
    seeds: SEEDS
    metrics: [log_predictive]
    artefacts: [score-table]
    methods: {plain: [gaussian-mean]}
""",
    "with TensorFlow": """\
seeds_per_job: 1
studies:
  small:
    title: Small
    streams:
      digits:
        {family: permuted-images, dataset: digits, realisations: SEEDS, tasks: 2,
         train_per_task: 20}
    model: {mlp: {hidden: [5]}}
    seeds: SEEDS
    metrics: [accuracy]
    artefacts: [score-table]
    methods: {plain: [{map: {epochs: 1}}]}
""",
}
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--configfile", "config/mine.yaml",
             "--workflow-profile", "profiles/slurm"]  # fmt: skip
OURS = [sys.executable, "-m", "shiftbench", "cluster", "config/mine.yaml", "--profile",
        "profiles/slurm"]  # fmt: skip


class Cost(NamedTuple):
    """Processor seconds on the nodes and of the main process, wall seconds, and number of jobs."""

    nodes: float
    main: float
    wall: float
    jobs: int


def cost(slurm: TwoNodes, command: list[str], config: str, packed: bool) -> Cost:
    """Run the config in a new folder by a command; return the cost."""
    with tempfile.TemporaryDirectory() as folder:
        copy = copies.repository(Path(folder) / "copy", config)
        if packed:
            profile = copy / "profiles/slurm/config.yaml"
            profile.write_text(profile.read_text().replace("# pack: ", ""))
        environment = slurm.environment | {"PYTHONPATH": str(copy / "src")}
        jobs, before, started = _jobs(slurm), _spent(), time.monotonic()
        with (copy / "told.log").open("w") as told:
            main = subprocess.Popen(
                command, cwd=copy, env=environment, stdout=told, stderr=subprocess.STDOUT,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )  # fmt: skip
            _, status, used = os.wait4(main.pid, 0)
        wall = time.monotonic() - started
        main.returncode = os.waitstatus_to_exitcode(status)
        assert main.returncode == 0, (copy / "told.log").read_text()
        time.sleep(2)  # what Slurm started for the last job ends
        of_main = used.ru_utime + used.ru_stime
        return Cost(_spent() - before - of_main, of_main, wall, _jobs(slurm) - jobs)


def _spent() -> float:
    """Return the processor time of all children that have ended, including adopted ones."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _jobs(slurm: TwoNodes) -> int:
    return slurm.ask("squeue", "-h", "--states=all").count("\n")


def main() -> None:
    """Print a line for each study and each way to run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=list(STUDIES))
    options = parser.parse_args()
    runs = options.runs
    install()
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    ways = {
        "snakemake": (SNAKEMAKE, False),
        "shiftbench cluster": (OURS, False),
        "shiftbench cluster, packed": (OURS, True),
    }
    with tempfile.TemporaryDirectory() as folder, TwoNodes(Path(folder) / "slurm") as slurm:
        for study in options.studies:
            text = STUDIES[study].replace("SEEDS", str(runs))
            print(f"{runs} runs {study}", flush=True)
            for way, (command, packed) in ways.items():
                found = cost(slurm, command, text, packed)
                print(
                    f"  {way:27} {found.nodes / runs:5.1f} CPU s a run on the nodes"
                    f" ({found.jobs} jobs), {found.main:4.1f} in all in the main process,"
                    f" {found.wall:4.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
