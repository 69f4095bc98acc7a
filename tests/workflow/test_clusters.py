"""The commands of docs/clusters.md run, and give the same bytes as one machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.checkout import ROOT
from tests.workflow import copies

CONFIG = """\
studies:
  toy:
    title: Steps
    streams: {steps: {family: toy-step, points: 6}}
    seeds: 1
    metrics: [log_predictive]
    artefacts: [score-table]
    methods: {plain: [gaussian-mean]}
"""
PAGE = (ROOT / "docs/clusters.md").read_text(encoding="utf-8")
COMMANDS = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)).splitlines()


def command(word: str) -> list[str]:
    """Return the arguments of the only command on the page that contains a word."""
    (found,) = [line for line in COMMANDS if word in line]
    return shlex.split(found)[1:]


def test_every_command_of_the_page_is_run_by_a_test() -> None:
    """tests/test_docs.py runs the first command, tests/test_nodes.py the second."""
    programs = [line.partition(" --")[0] for line in COMMANDS]
    ours = ".venv/bin/snakemake"
    assert programs == [ours, "make wheelhouse", ours, ours]


def run(folder: Path, *arguments: str) -> None:
    """Run Snakemake on the folder's config, with shorter delays than the page has."""
    config = ["--configfile", "config/mine.yaml", "--latency-wait", "5"]
    quick = ["--seconds-between-status-checks", "1"]
    source = folder / "src"
    done = forked.python("snakemake", *arguments, *config, *quick, cwd=folder, source=source)
    assert done.returncode == 0, done.stdout


def made(results: Path) -> dict[str, bytes]:
    """Return stores, tables and scores in a folder of results, by name."""
    files = [path for path in results.rglob("*") if path.suffix in (".zip", ".csv", ".md")]
    return {str(path.relative_to(results)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository in which the workflow has run on one machine."""
    folder = copies.repository(tmp_path_factory.mktemp("copy") / "here", CONFIG)
    run(folder, "--cores", "1")
    return folder


@pytest.mark.long
def test_a_scheduler_that_takes_scripts_gives_the_same_bytes(here, tmp_path) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    folder = copies.repository(tmp_path / "there", CONFIG)
    submitted = tmp_path / "submitted"
    script = folder / "profiles/generic/on_this_machine.sh"
    script.write_text(script.read_text().replace("\nfor", f'\necho "$@" >> {submitted}\nfor', 1))
    run(folder, *command("on_this_machine"))
    assert len(submitted.read_text().splitlines()) == 4, "stream, run, summary and table"
    assert made(folder / "results") == made(here / "results")


@pytest.mark.long
def test_the_submit_command_of_the_profile_has_what_a_job_needs(tmp_path) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    folder = copies.repository(tmp_path / "there", CONFIG)
    (tmp_path / "qsub").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/submitted\nexit 1\n')
    (tmp_path / "qsub").chmod(0o755)
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--profile", "profiles/generic", "--retries", "0",
         "--configfile", "config/mine.yaml"],
        cwd=folder, capture_output=True,
        env=os.environ
        | {"PYTHONPATH": str(folder / "src"), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    words = (tmp_path / "submitted").read_text()
    assert "-pe smp 1 -l mem_free=2500M -l h_rt=1800 -l gpu=0" in words
    assert words.split()[-1].endswith(".sh")


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("rsync"), reason="no rsync, by which the storage copies")
def test_without_a_common_file_system_the_bytes_are_the_same(here, tmp_path) -> None:
    pytest.importorskip("snakemake_storage_plugin_fs")
    folder = copies.repository(tmp_path / "there", CONFIG)
    arguments = [text.replace("$PWD", str(folder)) for text in command("storage-provider")]
    arguments[arguments.index("all")] = "1"
    run(folder, *arguments)
    assert not (folder / "results").exists()
    assert made(folder / "storage/results") == made(here / "results")
    copied = folder / ".snakemake/storage"
    assert copied.is_dir() and not list(copied.rglob(".*.sha256")), "a seal outlives its copy"
