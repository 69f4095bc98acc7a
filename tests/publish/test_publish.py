"""Only complete studies with checksums are published, and only to folders without other files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from shiftbench.cli import main
from shiftbench.cli import results as commands
from shiftbench.config import config_file, spec_code
from shiftbench.config.schema import Config
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.publish import crate_metadata, study_copy, upload
from shiftbench.publish.results_folder import ResultsFolder
from tests.publish.test_verify import ROWS, cube, published, write

CONFIG = """\
studies:
  nile:
    title: Nile
    streams: {nile: {family: series, dataset: nile}}
    seeds: 1
    metrics: [log_predictive]
    artefacts: [segmentation]
    methods: [bocpd]
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return results of one study with a figure."""
    made = tmp_path / "results" / "small"
    write(made, "studies/nile/summary.csv", pd.DataFrame(ROWS).to_csv(index=False))
    write(made, "studies/nile/scores.csv", "every score")
    write(made, "studies/nile/scores.zarr.zip", cube())
    for kind in ("png", "svg"):
        write(made, f"studies/nile/figures/segmentation.{kind}", "drawn")
    return made


@pytest.fixture
def plan(tmp_path: Path) -> Config:
    """Return the config of these results."""
    (tmp_path / "small.yaml").write_text(CONFIG)
    return config_file.load(tmp_path / "small.yaml")


def test_only_a_complete_study_is_published(results: Path, plan: Config) -> None:
    assert study_copy.publish(ResultsFolder(results, plan), published(results)) == {
        "nile": "published"
    }
    shutil.copytree(results / "studies/nile", results / "studies/second")
    two = plan.model_copy(update={"studies": plan.studies | {"second": plan.studies["nile"]}})
    (results / "studies/second/scores.csv").unlink()
    (results / "studies/second/.scores.csv.sha256").unlink()
    assert study_copy.publish(ResultsFolder(results, two), published(results)) == {
        "nile": "unchanged", "second": "left out, without scores.csv"
    }  # fmt: skip
    assert not (published(results) / "studies/second").exists()


def test_streams_that_only_the_study_published_before_has_are_named(
    results: Path, plan: Config
) -> None:
    scores = "study,stream,learner,method,metric,seed,score,status\n"
    row = "nile,{},bocpd,bocpd,log_predictive,0,1.0,ok\n"
    both, one = scores + row.format("nile") + row.format("river"), scores + row.format("nile")
    for text, said in ((both, ""), (one, "; no longer has the streams river"), (both, "")):
        write(results, "studies/nile/scores.csv", text)
        done = study_copy.publish(ResultsFolder(results, plan), published(results))
        assert done == {"nile": f"published{said}"}


def test_a_file_that_no_job_makes_is_not_published(results: Path, plan: Config) -> None:
    write(results, "studies/nile/tables/old.csv", "a,b")
    with pytest.raises(UserError, match=r"nile/tables/old\.csv: the config plans no such file"):
        study_copy.publish(ResultsFolder(results, plan), published(results))


def test_a_file_without_its_checksum_is_not_published(results: Path, plan: Config) -> None:
    (results / "studies/nile/.summary.csv.sha256").unlink()
    with pytest.raises(UserError, match=r"nile/summary\.csv: without the checksum file"):
        study_copy.publish(ResultsFolder(results, plan), published(results))


def test_it_publishes_to_no_folder_with_other_files(results: Path, tmp_path: Path) -> None:
    study_copy.publish(ResultsFolder(results), published(results))
    with pytest.raises(UserError, match="published already"):
        study_copy.target_of(published(results), None)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/to-you.txt").write_text("dear reader")
    with pytest.raises(UserError, match=r"holds to-you\.txt"):
        study_copy.target_of(results, str(tmp_path / "letters"))
    assert study_copy.target_of(results, None) == published(results)


@pytest.mark.parametrize("address", ["", "zenodo", "s3"])
def test_an_address_without_its_colon_is_no_folder(address) -> None:
    with pytest.raises(UserError, match="zenodo: with a colon"):
        upload.target_of(address)


def test_costs_are_replaced_once_they_are_of_other_runs(made: Path, tmp_path: Path) -> None:
    results = ResultsFolder(made / "results/small", config_file.load(made / "config/small.yaml"))
    study_copy.publish(results, tmp_path / "small")
    table = tmp_path / "small/studies/toy/costs.csv"
    first = pd.read_csv(table)
    first.assign(cpu=1.0).to_csv(table, index=False)
    study_copy.publish(results, tmp_path / "small")
    assert (pd.read_csv(table)["cpu"] == 1.0).all(), "they are of the same runs"
    first.assign(cpu=1.0, alike="older settings").to_csv(table, index=False)
    assert study_copy.publish(results, tmp_path / "small")["toy"] == "unchanged"
    assert pd.read_csv(table).equals(first)


def test_costs_are_copied_with_published_results(made: Path, tmp_path: Path) -> None:
    results = ResultsFolder(made / "results/small", config_file.load(made / "config/small.yaml"))
    study_copy.publish(results, tmp_path / "small")
    first, copy = (tmp_path / name / "studies/toy/costs.csv" for name in ("small", "copy"))
    for said in ("published", "unchanged"):
        done = study_copy.publish(ResultsFolder(tmp_path / "small"), tmp_path / "copy")
        assert done["toy"] == said
        assert copy.read_bytes() == first.read_bytes()
        copy.unlink()


def test_costs_of_the_same_runs_stay_where_a_study_is_published_again(
    made: Path, tmp_path: Path
) -> None:
    results = ResultsFolder(made / "results/small", config_file.load(made / "config/small.yaml"))
    study_copy.publish(results, tmp_path / "small")
    place = tmp_path / "small/studies/toy"
    pd.read_csv(place / "costs.csv").assign(cpu=1.0).to_csv(place / "costs.csv", index=False)
    (place / "summary.csv").write_text("older scores")
    assert study_copy.publish(results, tmp_path / "small")["toy"] == "published"
    assert (pd.read_csv(place / "costs.csv")["cpu"] == 1.0).all()


def test_results_of_other_settings_are_not_published(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other code is no reason: the commit in the provenance names it."""
    config = (made / "config/small.yaml").read_text()
    other = tmp_path / "small.yaml"
    other.write_text(
        config.replace("search: {from: vbs-toy}", "search: {from: vbs-toy, beam.size: 5}")
    )
    results = ResultsFolder(made / "results/small", config_file.load(other))
    with pytest.raises(UserError, match=r"steps/search.* other settings than the config has now"):
        study_copy.publish(results, tmp_path / "published")
    assert not (tmp_path / "published").exists()
    other.write_text(config.replace("title: Steps", "title: Stairs"))
    other_code = ("code", "other"), ("environment", "other")
    monkeypatch.setattr(spec_code, "_of_code", lambda modules: other_code)
    results = ResultsFolder(made / "results/small", config_file.load(other))
    assert study_copy.publish(results, tmp_path / "published")["toy"] == "published"


OWN = """\
studies:
  mine:
    title: Mine
    streams:
      first: {family: series-file, path: mine.csv}
      second: {family: series-file, path: mine.csv, licence: ""}
      third: {family: series-file, path: mine.csv, licence: CC BY 4.0}
    seeds: 1
    metrics: [log_predictive]
    methods: [bocpd]
"""


def test_own_data_without_a_licence_are_noted_once(tmp_path: Path, capsys) -> None:
    """A crate leaves them out, which nobody would see before others fail to verify it."""
    values = "\n".join(f"{day},{day % 7}" for day in range(1, 30))
    (tmp_path / "mine.csv").write_text(f"day,visits\n{values}\n")
    (tmp_path / "mine.yaml").write_text(OWN)
    commands._note_licences(tmp_path / "mine.yaml")
    assert capsys.readouterr().out == (
        "Note: first, second: no licence is stated, so crates leave these data out and others"
        " cannot verify the scores. If you may pass the data on, state a licence in the settings of"
        " the stream, as in licence: CC BY 4.0\n"
    )


def test_the_commit_is_that_of_the_code_and_not_of_the_users_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = {}
    for name in ("code", "mine"):
        git = ["git", "-C", str(tmp_path / name), "-c", "user.name=x", "-c", "user.email=x"]
        (tmp_path / name / "sub").mkdir(parents=True)
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", name]):
            subprocess.run([*git, *words], check=True)
        told = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        heads[name] = told.stdout[:12]
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setattr(checkout, "HOME", tmp_path / "code")
    assert study_copy.commit() == heads["code"]
    # As where shiftbench is installed, or unpacked, below a repository of the user's.
    monkeypatch.setattr(checkout, "HOME", tmp_path / "mine/sub")
    assert study_copy.commit() == ""


@pytest.mark.parametrize("to", [["--to", "./copy"], []])
def test_a_crate_is_not_published_to_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], to
) -> None:
    """Only its studies would arrive there."""
    monkeypatch.chdir(tmp_path)
    provenance = Path("crate/studies/toy/provenance.json")
    provenance.parent.mkdir(parents=True)
    provenance.write_text("{}")
    Path("crate", crate_metadata.NAME).write_text("{}")
    assert main.main(["publish", "crate", *to]) == 2
    assert (
        "crate: is a crate; copy its folder, or name s3://BUCKET/PREFIX or zenodo: with --to"
        in (capsys.readouterr().err)
    )
    assert not Path("copy").exists()
