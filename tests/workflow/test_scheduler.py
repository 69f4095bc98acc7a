"""How often Snakemake's scheduler looks for the next job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

JOBS = 9
CONFIG = """\
streams:
  steps: {family: toy-step, realisations: 6, points: 4}
studies:
  steps:
    title: Steps
    streams: [steps]
    seeds: 6
    seeds_per_job: 1
    metrics: [log_predictive]
    methods: {plain: [gaussian-mean]}
"""


def looks(folder: Path, *arguments: str) -> int:
    """Run a study of six runs on one stream; return how often Snakemake looked for a job."""
    (folder / "mine.yaml").write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, "-m", "shiftbench", "warm", "--",
         sys.executable, "-m", "snakemake", "steps", "--snakefile", ROOT / "Snakefile",
         "--cores", "1", "--configfile", "mine.yaml", "--verbose", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Finished jobid") == JOBS
    return done.stdout.count("Ready jobs: ")


@pytest.mark.long
def test_once_a_job_unless_a_limit_is_asked_for(tmp_path: Path) -> None:
    """The limit works then; its one-second timer triggers another look after each job."""
    free, limited = tmp_path / "free", tmp_path / "limited"
    free.mkdir()
    limited.mkdir()
    assert looks(free) <= JOBS + 1
    assert looks(limited, "--max-jobs-per-timespan", "50/1s") > JOBS
