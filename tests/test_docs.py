"""Every command of the README runs, and the files of CONTRIBUTING.md are what they claim."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from shiftbench.planning import config, works
from shiftbench.scoring import summarise, tidy
from shiftbench.store import zarr_zip
from tests import own_words

ROOT = Path(__file__).parents[1]
QUICK = """
seeds_per_job: 2
streams:
  toy-step: {family: toy-step, realisations: 2}
  digits: {family: transformed-images}
  planted-words:
    {family: planted-words, realisations: 1, periods: 2, documents: 4, document_length: 40}
studies:
  toy-step:
    title: A quick stand-in
    streams: [toy-step]
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


DOCUMENTS = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/README.md", "docs/clusters.md",
    "docs/papers.md", "results/README.md",
)  # fmt: skip
EXAMPLES = {"learners/last_value.py", "studies/NAME.yaml"}
"""Paths of the documents that stand for what people write."""
OURS = ".venv/bin/shiftbench"


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document, re.DOTALL | re.MULTILINE)


def write(block: str, checkout: Path) -> None:
    """Writes a block of a document to the file that its first line names."""
    first, rest = block.split("\n", 1)
    path = checkout / first.removeprefix("# ")
    path.parent.mkdir(exist_ok=True)
    path.write_text(rest)


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
    for path in (copy / "config").glob("*.yaml"):
        path.write_text(QUICK + WORDS)
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


def snippet() -> str:
    """How results/README.md reads a store."""
    (code,) = blocks((ROOT / "results" / "README.md").read_text(), "python")
    return code


def summary(checkout: Path, of: str, study: str) -> dict[str, dict[str, float]]:
    """Means by learner and metric, in the order of the study."""
    table = pd.read_csv(checkout / "results" / of / "studies" / study / "summary.csv")
    return {
        str(learner): dict(zip(rows["metric"], rows["mean"], strict=True))
        for learner, rows in table.groupby("learner", sort=False)
    }


def prices(rows: int = 120, change: int = 90) -> str:
    """A user's table, of which the last rows follow another rule."""
    random = np.random.default_rng(1)
    load, wind, noise = random.normal(size=(3, rows))
    rule = np.where(np.arange(rows) < change, 2 * load - wind, 3 * wind - load)
    lines = np.stack([load, wind, rule + 0.3 * noise], axis=1).round(3).tolist()
    return "load,wind,price\n" + "".join(f"{a},{b},{c}\n" for a, b, c in lines)


@pytest.mark.long
def test_every_command_of_the_readme(checkout, monkeypatch):
    monkeypatch.setenv("ARGS", "--of-an-outer-make")
    commands = "".join(blocks((ROOT / "README.md").read_text(), "sh")).splitlines()
    for study in blocks((ROOT / "README.md").read_text(), "yaml"):
        write(study, checkout)
        assert len(study.splitlines()) <= 1 + 9, "the name of the file, and nine lines"
    (checkout.parent / "prices" / "prices.csv").write_text(prices())
    own_words.write(checkout.parent / "speeches" / "texts")
    said = {}
    for command in commands:
        if "verify" in command:  # with what the quick configs give
            shell(".venv/bin/shiftbench publish", checkout)
        said[command] = shell(command, checkout)
    assert (checkout / "results" / "embedded" / "report.html").stat().st_size > 1e6
    assert (checkout / "results" / "cpu" / "studies" / "toy-step" / "summary.csv").exists()
    assert (checkout / "results/changes/studies/visits/figures/changepoints.png").exists()
    assert (checkout / "results/prices/studies/prices/figures/error-over-time.png").exists()
    own_words.assert_found(checkout / "results" / "speeches" / "studies" / "speeches")
    page = (checkout / "site/studies/embedded/toy-step.html").read_text()
    assert "2 of 2 runs" in page and 'id="command"' in page
    first = "toy-step: results/embedded/studies/toy-step/tables/score-table.md"
    assert f"\n{first}\n" in said["make run"]
    assert "\nReport: results/embedded/report.html\n" in said["make run"]
    assert "Unlocked working directory" in said[".venv/bin/snakemake --unlock"]
    assert " of 8 jobs would run" in said[f"{OURS} plan config/embedded.yaml"]
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
    assert re.search(r"^vcl-improved +Swaroop", said[f"{OURS} list methods"], re.MULTILINE)
    assert "size: 2 " in said[f"{OURS} show vbs-k2 --study toy-step"]
    fitting = said[f"{OURS} list learners --for digits"]
    assert "\nvogn" in fitting and "gaussian-mean" not in fitting
    few_rows = summary(checkout, "mine", "few-rows")
    assert list(few_rows) == ["oga", "svb-constant", "vbs-svb", "vbs-svb-k2"]
    assert all(0 < row["average_cumulative_loss"] < 1 for row in few_rows.values())
    assert few_rows["vbs-svb-k2"]["shift_recall"] > 0
    stores = shell(f".venv/bin/python -c '{snippet()}'", checkout)
    assert "score_by_task" in stores and "info_log_weight" in stores


def test_stores_open_with_plain_xarray_as_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = xr.Dataset({"value": ("task", [1.0, 2.0])}, attrs={"title": "Rows"})
    groups = {"/scores": rows, "/runs/toy-step/vbs-k2": rows.rename(value="score")}
    zarr_zip.write(rows, Path("results/embedded/streams/toy-step.zarr.zip"))
    tree = xr.DataTree.from_dict(groups)
    zarr_zip.write(tree, Path("results/embedded/studies/toy-step/scores.zarr.zip"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(snippet(), {})
    told = capsys.readouterr().out
    assert told.count("title:") == 3 and "'/runs/toy-step/vbs-k2'" in told


def test_the_columns_of_a_summary_are_explained():
    page = (ROOT / "results" / "README.md").read_text()
    table = page[page.index("| column |") : page.index("Every store")]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(cells)) == list(summarise.COLUMNS)
    line = page[page.index("`scores.csv` has a row") : page.index("Every store")]
    assert re.findall(r"`(\w+)`", line) == list(tidy.COLUMNS)


@pytest.mark.parametrize("name", ["embedded", "cpu", "paper"])
def test_the_table_of_studies_has_those_of_the_configs(name):
    rows = re.findall(r"^\| (`.*?) \| (\w+) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    told = [study for cell, of in rows if of == name for study in re.findall(r"`(.*?)`", cell)]
    there = config.load(ROOT / "config" / f"{name}.yaml").studies
    assert sorted(told) == sorted(study for study in there if not study.endswith("-tuning"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_and_paths_of_the_documents_lead_somewhere(name):
    path = ROOT / name
    text = path.read_text()
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (path.parent / target).exists(), f"{name} links to {target}"
    from_where = (ROOT, path.parent, ROOT / "src" / "shiftbench")
    for told in set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|yaml|md|smk))`", text)) - EXAMPLES:
        of_user = told.startswith("my_parts/")
        assert of_user or any((folder / told).exists() for folder in from_where), (
            f"{name} tells of {told}"
        )


@pytest.mark.long
def test_the_files_of_contributing_are_found_and_run(checkout):
    document = (ROOT / "CONTRIBUTING.md").read_text()
    files = blocks(document, "python") + blocks(document, "yaml")
    for text in files:
        write(text, checkout)
    assert len(files) == 6
    for command in blocks(document, "sh"):
        shell(command, checkout)
    means = summary(checkout, "walk", "walk")
    assert list(means) == ["last-value", "vbs-level", "vbs-level-k4"]
    assert all(math.isfinite(row["log_predictive"]) for row in means.values())
    figures = checkout / "results" / "walk" / "studies" / "walk" / "figures"
    assert (figures / "score-over-time.png").stat().st_size > 10_000


def test_the_citation_names_the_five_works():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["authors"] == [{"name": "The shiftbench developers"}]
    links = {work.title.replace("β", "beta"): work.link for work in works.works().values()}
    cited = {one["title"]: one.get("url", "") for one in citation["references"]}
    assert len(cited) == 5 and cited.items() <= links.items()
