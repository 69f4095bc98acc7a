"""Trials, choice and tuned runs through Snakemake, on a copy whose jobs only make files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.workflow import copies

CONFIG = """\
streams:
  digits: {family: permuted-images, dataset: digits, tasks: 2, validation: 100}
studies:
  tuned-study:
    title: Tuning
    streams: [digits]
    model: linear
    seeds: 1
    metrics: [accuracy]
    artefacts: [score-table]
    methods:
      plain: [map]
      fresh: [reset, map]
    tuning:
      metric: accuracy
      trials: 2
      streams: {judge_on: validation, first_realisation: 9}
      methods:
        plain: {map.strength: [2, 4]}
        fresh: {map.strength: [2, 4]}
"""
# Fixes the best trial, whatever the trials are.
CHOICE = """
if "/choices/" in made[0]:
    Path(made[0]).write_text("the first")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copies.faked(tmp_path_factory.mktemp("copy") / "repository", CONFIG, CHOICE)


def runs(folder: Path, *targets: str) -> set[str]:
    """Return the learners that run now, and the choices that are made."""
    done = copies.snakemake(folder, "--keep-going", *targets)
    assert done.returncode == 0, done.stdout
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines() if line[:4] == "Job "]
    kept = [line for line in lines if line.startswith(("Running", "Choosing"))]
    return {line.removeprefix("Running ").partition(" on ")[0] for line in kept}


@pytest.mark.long
def test_trials_come_before_the_choice_and_the_choice_before_the_tuned_run(copy):
    methods = ("plain", "fresh")
    choices = {f"Choosing settings of {name} for tuned-study" for name in methods}
    trials = {f"tuned-study-tuning: {name}-{i}" for name in methods for i in range(2)}
    judged = {f"tuned-study: {name}" for name in methods}
    assert runs(copy, "tuned-study") == trials | choices | judged
    assert (copy / "results/mine/studies/tuned-study-tuning/tables/score-table.csv").exists()
    assert runs(copy) == set()
    made = copy / "results/mine/studies/tuned-study-tuning/choices/digits/plain.json"
    assert made.read_text() == "the first"
    store = copy / "results/mine/runs/tuned-study/digits/plain/0-0.zarr.zip"
    assert f" {made.relative_to(copy)} --output" in store.read_text()

    # Another second trial, which is not the best: the choices are made again, but no tuned run.
    # Snakemake compares contents between its calls, so the trials need a call of their own.
    changed = CONFIG.replace("plain: {map.strength: [2, 4]}", "plain: {map.strength: [3, 5]}")
    (copy / "config/mine.yaml").write_text(changed)
    assert runs(copy, "tuned-study-tuning") == {"tuned-study-tuning: plain-1", *choices}
    assert runs(copy) == set()


def test_two_jobs_never_share_a_log() -> None:
    """Names of streams and methods have hyphens: a-b of c and a of b-c are two jobs."""
    rules = "".join(file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk"))
    logs = re.findall(r'"(<logs>/.*\.log)"', rules)
    assert len(logs) > 9
    assert not [log for log in logs if "}-{" in log.replace("{first}-{last}", "{seeds}")]
