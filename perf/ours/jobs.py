"""The cost of commands and of the smallest runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from perf.work import Work

ROOT = Path(__file__).parents[2]
STUDIES = {
    "light": """\
seeds_per_job: 1
studies:
  small:
    title: Small
    streams: {{steps: {{family: toy-step, realisations: {runs}, points: 3}}}}
    seeds: {runs}
    metrics: [log_predictive]
    artefacts: [score-table]
    methods: {{plain: [gaussian-mean]}}
""",
    "tensorflow": """\
seeds_per_job: 1
studies:
  small:
    title: Small
    streams:
      digits:
        {{family: permuted-images, dataset: digits, realisations: {runs}, tasks: 1,
          train_per_task: 20}}
    model: {{mlp: {{hidden: [5]}}}}
    seeds: {runs}
    metrics: [accuracy]
    artefacts: [score-table]
    methods: {{plain: [map: {{epochs: 1}}]}}
""",
}


def command(verb: str, config: str = "config/embedded.yaml") -> Work:
    """Return the work of a shiftbench command on a config without results."""
    return Work(partial(_in_new_folder, verb, str(ROOT / config)), 1)


def run(study: str, runs: int = 20) -> Work:
    """Return the work of runs of the smallest study, beyond that of a first run in the command."""
    return Work(partial(_whole, study, 1 + runs), runs, partial(_whole, study, 1))


def _whole(study: str, runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "small.yaml")
        config.write_text(STUDIES[study].format(runs=runs))
        _in_new_folder("run", str(config), "--", "--cores", "1")


def _in_new_folder(*words: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "shiftbench", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"shiftbench {' '.join(words)}: {done.stdout}{done.stderr}")
