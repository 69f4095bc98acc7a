"""A run that is killed with SIGKILL at a random moment ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
CONFIG = """
seeds_per_job: 4
streams:
  long: {family: toy-step, realisations: 4, points: 2000}
studies:
  long:
    title: A run of some seconds
    streams: [long]
    seeds: 4
    metrics: [log_predictive]
    artefacts: []
    learners:
      beam: [{beam: {size: 8, broadening: diffuse}}, gaussian-mean]
"""


def command(folder: Path, name: str) -> list[str]:
    """The run, as the workflow's rule calls it."""
    words = f"""{sys.executable} -m shiftbench run long long beam --seeds 0-3
        --config {folder}/long.yaml --store {folder}/long.zarr.zip
        --output {folder}/{name}.zarr.zip --cost {folder}/{name}.json
        --scratch {folder}/scratch --log {folder}/{name}.log"""
    return words.split()


def call(words: list[str]) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)


def test_kill_at_a_random_moment_and_run_again(tmp_path):
    (tmp_path / "long.yaml").write_text(CONFIG)
    build = f"{sys.executable} -m shiftbench stream long --config {tmp_path}/long.yaml"
    build += f" --raw {tmp_path} --output {tmp_path}/long.zarr.zip"
    assert call(build.split()).wait() == 0
    assert call(command(tmp_path, "whole")).wait() == 0
    assert not any((tmp_path / "scratch").iterdir()), "a finished run leaves no checkpoint"

    victim = call(command(tmp_path, "killed"))
    while not list((tmp_path / "scratch").glob("*/*.npz")):
        assert victim.poll() is None, "the run must be long enough to be killed in the middle"
        time.sleep(0.02)
    time.sleep(random.uniform(0, 1))
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed.zarr.zip").exists()

    assert call(command(tmp_path, "killed")).wait() == 0
    assert "resumed at task" in (tmp_path / "killed.log").read_text()
    whole, killed = (tmp_path / f"{name}.zarr.zip" for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()
