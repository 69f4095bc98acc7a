"""The workflow as a module of another one, run by Snakemake.

Jobs only make their files, except in the last test, which runs the real ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests import forked
from tests.checkout import ROOT
from tests.workflow import copies

MINE = """\
streams:
  steps: {family: toy-step, points: 12}
studies:
  toy:
    title: Steps
    streams: [steps]
    seeds: 2
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table, toy-hypotheses]
    methods:
      search: [beam, gaussian-mean]
"""
PARENT = """\
import os

before = dict(os.environ)

configfile: "parent.yaml"

module bench:
    snakefile: "{checkout}/workflow/Snakefile"
    config: config["bench"]
    prefix: "moved"

use rule * from bench as bench_*

assert dict(os.environ) == before

rule parents:
    input: rules.bench_all.input
    output: "environment"
    default_target: True
    shell: "env > {{output}}"
"""
TOY = {
    "Building stream steps",
    "Running toy: search on steps, seeds 0 to 1",
    "Summarising toy",
    "Writing table score-table of toy",
    "Drawing toy-hypotheses of toy",
}


def _snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return forked.python("snakemake", "--cores", "1", *arguments, cwd=folder)


def _plan(folder: Path, *arguments: str) -> set[str]:
    """Return the messages of the jobs that would run."""
    done = _snakemake(folder, "--dry-run", *arguments)
    assert done.returncode == 0, done.stdout
    return {job for job in copies.jobs(done.stdout) if not job.endswith(" done")}


def _files(folder: Path) -> set[str]:
    """Return the files in a folder that are not hidden."""
    found = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return {str(file) for file in found if not any(part[0] == "." for part in file.parts)}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository whose jobs only make their files."""
    folder = copies.faked(tmp_path_factory.mktemp("copy") / "it's a checkout", MINE)
    shutil.copy(ROOT / "config/embedded.yaml", folder / "config")
    source = folder / "src/shiftbench"
    settings = "class Settings:\n"
    toy = (source / "data/series/toy_step.py").read_text()
    with_path = toy.replace(settings, f"{settings}    path: str\n")
    (source / "data/series/own_file.py").write_text(with_path)
    return folder


@pytest.fixture
def parent(checkout: Path, tmp_path: Path) -> Path:
    """Return a workflow that includes ours as a module."""
    folder = tmp_path / "parent"
    folder.mkdir()
    (folder / "Snakefile").write_text(PARENT.format(checkout=checkout))
    (folder / "parent.yaml").write_text("bench:\n" + textwrap.indent(MINE, "  "))
    return folder


@pytest.mark.long
def test_all_that_a_module_makes_is_below_its_prefix_and_by_the_parents_config(parent, checkout):
    assert _plan(parent) == TOY
    assert _files(parent) == {"Snakefile", "parent.yaml"}, "a dry run writes nothing"
    done = _snakemake(parent, "--printshellcmds")
    assert done.returncode == 0, done.stdout
    made = _files(parent) - {"Snakefile", "parent.yaml", "environment"}
    assert {name.split("/")[:3] == ["moved", "results", "bench"] for name in made} == {True}
    assert "moved/results/bench/studies/toy/figures/toy-hypotheses.png" in made
    run = (parent / "moved/results/bench/runs/toy/steps/search/0-1.zarr.zip").read_text()
    assert " job moved/results/bench/specs/" in run
    assert "--input moved/results/bench/streams/steps.zarr.zip --output" in run
    assert "--scratch moved/results/bench/scratch" in run
    environment = dict(
        line.partition("=")[::2] for line in (parent / "environment").read_text().splitlines()
    )
    assert environment["PATH"] == os.environ["PATH"]
    new = set(environment) - (set(os.environ) - {"PYTHONPATH"})
    assert not {name for name in new if name.startswith(("SHIFTBENCH", "PYTHON", "XLA", "NUMBA"))}

    written = parent / "moved/results/bench/bench.yaml"
    before = written.stat().st_mtime_ns
    moved = checkout.with_name("another place")
    checkout.rename(moved)
    (parent / "Snakefile").write_text(PARENT.format(checkout=moved))
    try:
        done = _snakemake(parent)
        assert "Nothing to be done" in done.stdout, done.stdout
    finally:
        moved.rename(checkout)
    assert written.stat().st_mtime_ns == before


@pytest.mark.long
def test_a_checkout_that_has_moved_runs_nothing_again(checkout, tmp_path):
    copy = tmp_path / "one"
    shutil.copytree(checkout, copy)
    mine = ("--configfile", "config/mine.yaml")
    assert _snakemake(copy, *mine).returncode == 0
    assert _plan(copy.rename(tmp_path / "other"), *mine) == set()


def test_the_parents_config_is_checked_as_a_file_is(parent):
    text = (parent / "parent.yaml").read_text()
    wrong = text.replace("gaussian-mean", "gausian-mean").replace("seeds: 2", "seeeds: 2")
    (parent / "parent.yaml").write_text(wrong)
    done = _snakemake(parent, "--dry-run")
    assert done.returncode == 1
    assert "the config of module bench: " in done.stdout
    assert 'studies.toy.seeeds: unknown key "seeeds"; did you mean "seeds"' in done.stdout
    assert 'did you mean "gaussian-mean"' in done.stdout
    assert "Traceback" not in done.stdout and "line 0" not in done.stdout
    assert not (parent / "moved").exists()


@pytest.mark.long
def test_a_file_of_the_users_own_is_not_below_the_prefix(parent):
    (parent / "data").mkdir()
    (parent / "data/steps.csv").write_text("1\n")
    text = (parent / "parent.yaml").read_text()
    (parent / "parent.yaml").write_text(text.replace("toy-step", "own-file, path: data/steps.csv"))
    store = "moved/results/bench/streams/steps.zarr.zip"
    done = _snakemake(parent, store)
    assert done.returncode == 0, done.stdout
    assert "--raw moved/data/raw" in (parent / store).read_text()
    (parent / "data/steps.csv").write_text("2\n")
    assert _plan(parent, store) == {"Building stream steps"}


TWO = """\
module one:
    snakefile: "{checkout}/workflow/Snakefile"
    config: {{"from": "mine"}}
    pathvars:
        results="out"

module two:
    snakefile: "{checkout}/workflow/Snakefile"
    config: {{"from": "mine", "seeds_per_job": 1}}

use rule * from one as one_*
use rule * from two as two_*
"""


@pytest.mark.long
def test_two_modules_in_one_workflow_that_is_started_from_elsewhere(checkout, tmp_path):
    (tmp_path / "Snakefile").write_text(TWO.format(checkout=checkout))
    done = _snakemake(tmp_path, "--directory", "else where", "one_all", "two_toy")
    assert done.returncode == 0, done.stdout
    made = {name for name in _files(tmp_path / "else where") if "/runs/" in name}
    assert {name for name in made if name.endswith(".zarr.zip")} == {
        "out/one/runs/toy/steps/search/0-1.zarr.zip",
        "results/two/runs/toy/steps/search/0-0.zarr.zip",
        "results/two/runs/toy/steps/search/1-1.zarr.zip",
    }


DEPLOYED = """\
configfile: "config/config.yaml"

module bench:
    snakefile: "{checkout}/Snakefile"
    config: config

use rule * from bench
"""


@pytest.mark.long
def test_the_layout_of_snakedeploy(checkout, tmp_path):
    """Snakemake merges several config files for the parent."""
    for name, text in {
        "workflow/Snakefile": DEPLOYED.format(checkout=checkout),
        "config/config.yaml": MINE,
        "config/more.yaml": "seeds_per_job: 1",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    plan = _plan(tmp_path, "--configfile", "config/config.yaml", "config/more.yaml")
    assert plan - TOY == {f"Running toy: search on steps, seeds {seed} to {seed}" for seed in "01"}


@pytest.mark.long
def test_real_jobs_below_a_prefix(tmp_path):
    (tmp_path / "Snakefile").write_text(PARENT.format(checkout=ROOT))
    (tmp_path / "parent.yaml").write_text("bench:\n" + textwrap.indent(MINE, "  "))
    done = _snakemake(tmp_path)
    assert done.returncode == 0, done.stdout
    study = tmp_path / "moved/results/bench/studies/toy"
    assert "<svg" in (study / "figures/toy-hypotheses.svg").read_text()
    assert "steps: 2 of 2 runs" in (study / "tables/score-table.md").read_text()
    assert not list(tmp_path.glob("results*"))
