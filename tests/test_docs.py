"""Every command of the README runs, and the files of CONTRIBUTING.md are what they claim."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[1]
QUICK = """
seeds_per_job: 2
streams:
  toy: {family: toy-step, realisations: 2}
  planted-words:
    {family: planted-words, realisations: 1, periods: 2, documents: 4, document_length: 40}
studies:
  toy-step:
    title: A quick stand-in
    streams: [toy]
    seeds: 2
    metrics: [log_predictive]
    artefacts: [score-table]
    methods:
      vbs-k2: [{beam: {size: 2, broadening: diffuse}}, gaussian-mean]
"""
WORDS = """\
  planted-words:
    title: Another
    streams: [planted-words]
    seeds: 1
    metrics: [updates_per_period]
    methods:
      vbs: [{per-word: {dimension: 2, block: 140}}, {beam: {size: 2}}, skipgram]
"""


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document, re.DOTALL | re.MULTILINE)


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of the repository with this environment, with quick configs and few tests."""
    made = (".git", ".venv*", ".snakemake", "data", "results", "__pycache__", ".*cache")
    copy = tmp_path / "shiftbench"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("tests", *made))
    (copy / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_seeds.py", copy / "tests")
    (copy / ".venv").symlink_to(sys.prefix)
    os.utime(copy / "envs" / "requirements.lock", (0, 0))  # the set-up is done
    for config in (copy / "config").glob("*.yaml"):
        config.write_text(QUICK + WORDS)
    # To import TensorFlow, for the words, takes longer than all the rest: once is enough.
    (copy / "config" / "cpu.yaml").write_text(QUICK)
    return copy


def shell(command: str, folder: Path) -> str:
    """Output of a command that must succeed, and that knows nothing of a make around it."""
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS", "CONFIG", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    environment["PYTHONPATH"] = str(folder / "src")
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def test_every_command_of_the_readme(checkout, monkeypatch):
    monkeypatch.setenv("ARGS", "--of-an-outer-make")
    commands = "".join(blocks((ROOT / "README.md").read_text(), "sh")).splitlines()
    said = {}
    for command in commands:
        if "verify" in command:  # with what the quick configs give
            shell(".venv/bin/shiftbench publish", checkout)
        said[command] = shell(command, checkout)
    assert (checkout / "results" / "embedded" / "report.html").stat().st_size > 1e6
    assert (checkout / "results" / "cpu" / "studies" / "toy-step" / "summary.csv").exists()
    first = "toy-step: results/embedded/studies/toy-step/tables/score-table.md"
    assert f"\n{first}\n" in said["make run"]
    assert "\nReport: results/embedded/report.html\n" in said["make run"]
    assert re.search(r"[1-9]\d* passed", said["make test"])
    assert re.search(r"^toy-step +identical", said[".venv/bin/shiftbench verify"], re.MULTILINE)
    native = next(text for command, text in said.items() if "native" in command)
    assert re.search(r"run_learner\s+1", native), "other instructions are another run"
    assert "gaussian-mean" in said[".venv/bin/shiftbench list learners"]
    words = next(text for command, text in said.items() if "shiftbench words" in command)
    assert re.search(r"^a-02\n  0 ", words, re.MULTILINE)
    assert "Nothing to be done" in said[".venv/bin/snakemake toy-step"]
    slurm = next(text for command, text in said.items() if "slurm" in command)
    assert re.search(r"run_learner\s+2", slurm)


def test_links_of_the_documents_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md", "results/README.md"):
        path = ROOT / name
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{name} links to {target}"


def test_the_files_of_contributing_are_found_and_run(checkout):
    document = (ROOT / "CONTRIBUTING.md").read_text()
    files = blocks(document, "python") + blocks(document, "yaml")
    for text in files:
        first, rest = text.split("\n", 1)
        (checkout / first.removeprefix("# ")).write_text(rest)
    assert len(files) == 4
    for command in blocks(document, "sh"):
        shell(command, checkout)
    results = checkout / "results" / "walk" / "studies" / "walk"
    summary = pd.read_csv(results / "summary.csv")
    assert set(summary["learner"]) == {"last-value", "vbs-k2"} and summary["mean"].notna().all()
    assert (results / "figures" / "score-over-time.png").stat().st_size > 10_000


def test_the_citation_names_the_five_works():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["authors"] == [{"name": "The shiftbench developers"}]
    assert len(citation["references"]) == 5
