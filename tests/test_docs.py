"""Commands of the README and the docs run, their links resolve, and they stay short.

Blocks of `sh` are run. Commands that need a cluster, a key or a network are in `console` blocks.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr
import yaml

from shiftbench.config import bibliography, config_file
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import summarise, tidy
from tests import own_pictures, own_words
from tests.checkout import ROOT

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


ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/README.md")
GUIDES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("docs/*.md", "results/README.md", "examples/*/README.md")
    for path in ROOT.glob(pattern)
)
EXAMPLES = {"learners/last_value.py", "studies/NAME.yaml"}
"""Paths in the documents that are placeholders."""
PAGES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*/*.md"))
"""Pages of the documentation in folders: tutorials, lists of pages, reference."""
OURS = ".venv/bin/shiftbench"
STUDIES = (ROOT / "docs" / "studies.md").read_text()
PLAIN_LINE, PLAIN_SENTENCE = 100, 30
"""The maximal numbers of characters of a table line and of words of a sentence."""


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document, re.DOTALL | re.MULTILINE)


def commands(document: str) -> list[str]:
    """Return the lines of the `sh` blocks, in order."""
    return "".join(blocks(document, "sh")).splitlines()


def write(block: str, checkout: Path) -> None:
    """Write a block of a document to the file named in its first line, if there is one."""
    first, rest = block.split("\n", 1)
    if named := re.fullmatch(r"# (\S+\.(?:py|yaml))", first):
        path = checkout / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rest)


def prose(document: str) -> str:
    """Return a document without code blocks, comments, images and targets of links."""
    for pattern, instead in (
        (r"^```.*?^```$", ""),
        (r"<!--.*?-->", ""),
        (r"\[!\[.*?\]\(.*?\)\]\(.*?\)|!\[.*?\]\(.*?\)", ""),
        (r"\[(.*?)\]\(.*?\)", r"\1"),
    ):
        document = re.sub(pattern, instead, document, flags=re.DOTALL | re.MULTILINE)
    return document


def words(text: str) -> list[str]:
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences(document: str) -> list[str]:
    """Return the sentences of the paragraphs, list items and table cells of a document."""
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) )|(?<= )\|", prose(document))
    return [sentence for part in parts for sentence in re.split(r"(?<=[.!?])[)*_\"]*\s+", part)]


def anchors(document: str) -> set[str]:
    """Return the anchors that GitHub makes from headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", document), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.fixture
def checkout(tmp_path) -> Path:
    """Return a copy of the repository with this environment, quick configs and few tests."""
    patterns = (".git", ".venv*", ".snakemake", "__pycache__", ".*cache", "_build")
    ignored = shutil.ignore_patterns(*patterns)

    def left_out(folder: str, names: list[str]) -> set[str]:
        top = {"tests", "data", "results"} if Path(folder) == ROOT else set()
        return top | ignored(folder, names)

    copy = tmp_path / "shiftbench"
    shutil.copytree(ROOT, copy, ignore=left_out)
    (copy / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "core" / "test_seeds.py", copy / "tests")
    (copy / ".venv").symlink_to(sys.prefix)
    os.utime(copy / "envs" / "requirements.lock", (0, 0))  # so that make skips the set-up
    for path in (copy / "config").glob("*.yaml"):
        path.write_text(QUICK + WORDS)
    # The words need TensorFlow, whose import takes longer than all the rest: once is enough.
    (copy / "config" / "cpu.yaml").write_text(QUICK)
    return copy


def shell(command: str, folder: Path) -> str:
    """Return the output of a command that must succeed, without the variables of an outer make."""
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS", "CONFIG", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    environment["PYTHONPATH"] = str(folder / "src")
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def snippet() -> str:
    """Return the code in results/README.md that reads a store."""
    (code,) = blocks((ROOT / "results" / "README.md").read_text(), "python")
    return code


def summary(checkout: Path, of: str, study: str) -> dict[str, dict[str, float]]:
    """Return the means by learner and metric, in the order of the study."""
    table = pd.read_csv(checkout / "results" / of / "studies" / study / "summary.csv")
    return {
        str(learner): dict(zip(rows["metric"], rows["mean"], strict=True))
        for learner, rows in table.groupby("learner", sort=False)
    }


@pytest.mark.long
def test_every_command_of_the_readme(checkout, monkeypatch):
    monkeypatch.setenv("ARGS", "--of-an-outer-make")
    page = (ROOT / "README.md").read_text()
    for block in blocks(page, "python") + blocks(page, "yaml"):
        write(block, checkout)
    inline = re.findall(r"`((?:\.venv/bin|make) ?[^`]*)`", prose(page))
    said = {command: shell(command, checkout) for command in dict.fromkeys(commands(page) + inline)}
    results = checkout / "results"
    assert "Results: results/embedded/site/index.html\n" in said["make run"]
    assert "2 of 2 runs" in (results / "embedded/site/studies/embedded/toy-step.html").read_text()
    assert (results / "cpu/studies/toy-step/summary.csv").exists()
    assert (results / "first/studies/changes/figures/changepoints.png").exists()
    assert (results / "visits/studies/visits/figures/changepoints.png").exists()
    assert "passes learners smoothing" in said[f"{OURS} test mine/my_parts"]
    steps = summary(checkout, "mine", "steps")
    assert steps["smoothing"]["log_predictive"] == pytest.approx(-1.0, abs=0.1)
    assert re.search(r"[1-9]\d* passed", said["make test"])
    assert re.search(r"\b0 of \d+ jobs would run", said[f"{OURS} plan config/cpu.yaml"])


@pytest.mark.long
def test_every_command_of_the_docs(checkout):
    shell("make run", checkout)
    shell(f"{OURS} publish", checkout)
    own_words.write(checkout.parent / "speeches" / "texts")
    own_pictures.write(checkout.parent / "cameras" / "pictures")
    said = {}
    for name in ("own-method", "own-data", "publishing", "troubleshooting"):
        page = (ROOT / "docs" / f"{name}.md").read_text()
        for block in blocks(page, "yaml"):
            write(block, checkout)
        said |= {command: shell(command, checkout) for command in commands(page)}
    assert re.search(r"^vcl-improved +Swaroop", said[f"{OURS} list methods"], re.MULTILINE)
    assert "size: 2 " in said[f"{OURS} show vbs-k2 --study toy-step"]
    fitting = said[f"{OURS} list learners --for digits"]
    assert "\nvogn" in fitting and "gaussian-mean" not in fitting
    few_rows = summary(checkout, "few-rows", "few-rows")
    assert list(few_rows) == ["oga", "svb-constant", "vbs-svb", "vbs-svb-k2"]
    assert all(0 < row["average_cumulative_loss"] < 1 for row in few_rows.values())
    assert few_rows["vbs-svb-k2"]["shift_recall"] > 0
    assert " of 8 jobs would run" in said[f"{OURS} plan config/embedded.yaml"]
    assert "Nothing to be done" in said[".venv/bin/snakemake toy-step"]
    assert re.search(r"^a-02\n  0 ", said[f"{OURS} words a-02 --study planted-words"], re.MULTILINE)
    assert (checkout / "results/series/studies/changes/figures/changepoints.png").exists()
    assert (checkout / "results/prices/studies/prices/tables/changepoint-dates.csv").exists()
    own_words.assert_found(checkout / "results" / "speeches" / "studies" / "speeches")
    cameras = summary(checkout, "cameras", "cameras")
    assert list(cameras) == ["vcl", "map"] and cameras["vcl"]["accuracy"] > 0.6
    verified = said[f"{OURS} verify results/embedded"]
    assert re.search(r"^toy-step +identical", verified, re.MULTILINE)
    native = next(text for command, text in said.items() if "INSTRUCTIONS=native" in command)
    assert "toy-step" in native
    assert "verified" in said[f"{OURS} site results/embedded --with crate"]
    assert "Unlocked working directory" in said[".venv/bin/snakemake --unlock"]
    slurm = next(
        command for command in commands((ROOT / "docs/clusters.md").read_text())
        if "profiles/slurm" in command
    )  # fmt: skip
    assert re.search(r"run_method\s+2", shell(slurm, checkout))
    stores = shell(f".venv/bin/python -c '{snippet()}'", checkout)
    assert "score_by_task" in stores and "info_log_weight" in stores


@pytest.mark.long
def test_every_command_of_the_example(checkout):
    folder = checkout / "examples" / "own_method"
    for command in commands((folder / "README.md").read_text()):
        said = shell(f"PYTHONPATH={checkout}/src PATH={checkout}/.venv/bin:$PATH {command}", folder)
        assert "forgetful" in said or "mine" in said
    assert (folder / "results/config/studies/mine/figures/error-so-far.png").exists()


@pytest.mark.parametrize("name", ["README.md", "docs/own-data.md"])
def test_a_config_of_an_example_is_the_file(name):
    for block in blocks((ROOT / name).read_text(), "yaml"):
        first, rest = block.split("\n", 1)
        if first.startswith("# examples/"):
            assert rest == (ROOT / first.removeprefix("# ")).read_text()


def test_the_readme_is_short():
    page = (ROOT / "README.md").read_text()
    assert len(page.splitlines()) <= 150
    assert len(words(prose(page))) <= 1200
    assert len(words(prose(page[: page.index("```sh")]))) <= 150
    (python,) = blocks(page, "python")
    assert len([line for line in python.splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *GUIDES])
def test_sentences_and_tables_are_short(name):
    page = (ROOT / name).read_text()
    long = [one for one in sentences(page) if len(words(one)) > PLAIN_SENTENCE]
    assert not long
    wide = [line for line in page.splitlines() if line[:1] == "|" and len(line) > PLAIN_LINE]
    assert not wide


def test_the_measures_see_what_is_long():
    page = "One two.\nThree\n\n- four five\n- `six` [seven eight](nine.md)\n\n```sh\nten\n```\n"
    assert sentences(page) == ["One two.", "Three", "- four five", "- `six` seven eight", ""]
    assert words(prose(page)) == ["One", "two.", "Three", "four", "five", "`six`", "seven", "eight"]
    assert commands(page) == ["ten"]
    assert anchors("# A `b`: c-d\n\n```sh\n# no\n```\n## E, f\n") == {"a-b-c-d", "e-f"}


def test_the_badges_are_true():
    page = (ROOT / "README.md").read_text()
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "Python 3.11 to 3.13" in page and about["requires-python"] == ">=3.11,<3.14"
    (least,) = re.findall(r"Snakemake ([\d.]+) or newer", page)
    assert f'min_version("{least}")' in (ROOT / "workflow" / "Snakefile").read_text()
    assert "MIT licence" in page and about["license"] == "MIT"


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
    of_summary = page.split("## Columns of `summary.csv`")[1].split("##")[0]
    items = re.findall(r"^- (`.*?`):", of_summary, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(items)) == list(summarise.COLUMNS)
    of_scores = page.split("## Columns of `scores.csv`")[1].partition(". ")[0]
    assert re.findall(r"`(\w+)`", of_scores) == list(tidy.COLUMNS)


@pytest.mark.parametrize("name", ["embedded", "cpu", "paper"])
def test_the_page_of_studies_has_those_of_the_configs(name):
    items = re.findall(r"^- `(.*?)` \((.*?)\): ", STUDIES, re.MULTILINE)
    found = {study: of.split(", ") for study, of in items}
    there = config_file.load(ROOT / "config" / f"{name}.yaml").studies
    tuned = {study.removesuffix("-tuning") for study in there if study.endswith("-tuning")}
    plain = {study for study in there if not study.endswith("-tuning")} - tuned
    assert {study for study, of in found.items() if f"{name} tuned" in of} == tuned
    assert {study for study, of in found.items() if name in of} == plain


@pytest.mark.parametrize("name", [*ROOT_PAGES, *GUIDES, *PAGES])
def test_links_and_paths_of_the_documents_lead_somewhere(name):
    path = ROOT / name
    text = path.read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text)
    links += re.findall(r'href="(?!https?:)([^"#]*)#?([^"]*)"', text)
    for target, anchor in links:
        to = path.parent / target if target else path
        assert to.exists(), f"{name} links to {target}"
        assert not anchor or anchor in anchors(to.read_text()), f"{name} links to {target}#{anchor}"
    from_where = (ROOT, path.parent, ROOT / "src" / "shiftbench")
    for named in set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|yaml|md|smk))`", text)) - EXAMPLES:
        of_user = named.startswith(("my_parts/", "mine/"))
        assert of_user or any((folder / named).exists() for folder in from_where), (
            f"{name} names {named}"
        )


@pytest.mark.parametrize("name", [name for name in [*GUIDES, *PAGES] if name.endswith("/index.md")])
def test_a_list_of_pages_links_them_where_no_site_is_built(name):
    """A forge shows a table of contents of Sphinx as plain text."""
    text = (ROOT / name).read_text()
    (entries,) = re.findall(r"```{toctree}\n:hidden:\n\n(.*?)```", text, re.DOTALL)
    named = re.findall(r"^(?:.* <)?([\w./-]+?)>?$", entries, re.MULTILINE)
    assert named
    assert {f"{one}.md" for one in named} <= {*re.findall(r"\]\(([^)]*)\)", text)} | {
        "../../README.md"
    }


@pytest.mark.long
def test_the_files_of_contributing_are_found_and_run(checkout):
    document = (ROOT / "CONTRIBUTING.md").read_text()
    files = blocks(document, "python") + blocks(document, "yaml")
    for text in files:
        write(text, checkout)
    assert len(files) == 7
    for command in blocks(document, "sh"):
        shell(command, checkout)
    means = summary(checkout, "walk", "walk")
    assert list(means) == ["last-value", "vbs-level", "vbs-level-k4"]
    for metric in ("log_predictive", "log_predictive_at_end"):
        assert all(math.isfinite(row[metric]) for row in means.values())
    figures = checkout / "results" / "walk" / "studies" / "walk" / "figures"
    assert (figures / "score-over-time.png").stat().st_size > 10_000


def test_the_citation_names_the_five_works():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["authors"] == [{"name": "The shiftbench developers"}]
    links = {work.title.replace("β", "beta"): work.link for work in bibliography.works().values()}
    cited = {one["title"]: one.get("url", "") for one in citation["references"]}
    assert len(cited) == 5 and cited.items() <= links.items()
