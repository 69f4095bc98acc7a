"""The user projects in examples/, each in a copy outside the repository."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.forked import called


def snakemake(folder: Path, *arguments: str) -> list[str]:
    """Return the messages of the jobs that run, or would run."""
    source = str(ROOT / "workflow" / "Snakefile")
    options = ["--configfile", "config.yaml", "-d", "elsewhere", "--cores", "2", *arguments]
    started = [sys.executable, "-m", "snakemake", "-s", source, *options]
    said = called(folder, "shiftbench", "warm", "--", *started)
    return re.findall(r"^Job \d+: (.*)$", said, re.MULTILINE)


def copied(name: str, folder: Path) -> Path:
    """Copy a project without files from earlier runs."""
    made = shutil.ignore_patterns("__pycache__", "results", ".snakemake")
    return shutil.copytree(ROOT / "examples" / name, folder / name, ignore=made)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return a copy of the own_method project in which the workflow has run."""
    folder = copied("own_method", tmp_path_factory.mktemp("user"))
    snakemake(folder)
    return folder


@pytest.mark.long
def test_own_method_has_its_figure_and_its_scores(finished: Path) -> None:
    results = finished / "elsewhere" / "results" / "config" / "studies" / "mine"
    assert (results / "figures" / "error-so-far.png").stat().st_size > 10_000
    table = (results / "tables" / "score-table.csv").read_text()
    scores = {line.split(",")[1]: float(line.split(",")[3]) for line in table.splitlines()[1:]}
    assert max(scores["beam"], scores["forgetful"]) < scores["never-forgets"] / 3
    assert not (ROOT / "results" / "config").exists()


@pytest.mark.long
def test_own_method_is_rerun_by_meaning(finished: Path) -> None:
    learner = finished / "my_parts" / "learners" / "forgetful_ridge.py"
    helper = finished / "my_parts" / "gaussians.py"
    for path in (learner, helper):
        path.write_text(path.read_text().replace("\n\n\n", "\n\n\n# A comment.\n", 1))
    assert snakemake(finished, "--dry-run") == []
    helper.write_text(f"{helper.read_text()}\nMORE = 1\n")
    assert set(snakemake(finished, "--dry-run")) == {
        "Running mine: forgetful on rows, seeds 0 to 0",
        "Running mine: never-forgets on rows, seeds 0 to 0",
        "Summarising mine",
        "Drawing error-so-far of mine",
        "Writing table score-table of mine",
        "All studies are done",
    }


@pytest.mark.long
def test_own_method_keeps_the_contract(finished: Path) -> None:
    said = called(finished, "shiftbench", "test", "my_parts")
    assert "passes learners forgetful-ridge" in said and "FAILS" not in said


def test_a_learner_in_torch_is_refused_where_torch_is_not(tmp_path: Path) -> None:
    if find_spec("torch"):
        pytest.skip("torch is installed here")
    folder = copied("torch_learner", tmp_path)
    said = called(folder, "shiftbench", "check", "config.yaml", status=2)
    assert "torch_mlp.py imports torch, which is not installed here; install it" in said


def test_a_learner_in_torch_keeps_the_contract_and_learns(tmp_path: Path) -> None:
    if not find_spec("torch"):
        pytest.skip("torch is not installed here")
    folder = copied("torch_learner", tmp_path)
    said = called(folder, "shiftbench", "test", "torch_parts")
    assert "passes learners torch-mlp" in said
    snakemake(folder)
    results = folder / "elsewhere" / "results" / "config" / "studies" / "torch"
    rows = [line.split(",") for line in (results / "summary.csv").read_text().splitlines()]
    place = {name: rows[0].index(name) for name in ("learner", "metric", "mean")}
    found = {(row[place["learner"]], row[place["metric"]]): row[place["mean"]] for row in rows[1:]}
    assert float(found["all-at-once", "acc"]) > 0.6
