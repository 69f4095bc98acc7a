"""Figures and tables of a published study can be made again from its source data."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import numpy as np
import pytest

import shiftbench as sb
from shiftbench.cli import main
from shiftbench.config import config_file
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation import artefact_files
from shiftbench.publish import licences, result_files, source_arrays, source_data
from shiftbench.publish.derived import study_figures
from shiftbench.publish.results_folder import ResultsFolder
from tests import job_calls

CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, points: 12, realisations: 2}
  digits: {family: permuted-images, dataset: digits, realisations: 2, tasks: 2, train_per_task: 20}
  turned: {family: transformed-images, dataset: digits, realisations: 2, tasks: 4,
           train_per_task: 20, warm_up_size: 20}
studies:
  toy:
    title: Steps
    streams: [steps]
    seeds: 2
    metrics: [jump_f1, log_predictive]
    artefacts: [toy-hypotheses, detection-table, score-table]
    methods: {search: {from: vbs-toy}}
  forgetting:
    title: Two permutations
    streams: [digits]
    seeds: 2
    metrics: [accuracy, acc, bwt]
    artefacts: [tasks-learnt, continual-table, memory]
    model: {mlp: {hidden: [4]}}
    methods:
      gone: [{map: {epochs: 1, batch_size: 10}}]
      four: [{rehearsal: {size: 4, epochs: 1, batch_size: 10}}]
      eight: [{rehearsal: {size: 8, epochs: 1, batch_size: 10}}]
  pictures:
    title: Turned digits
    streams: [turned]
    seeds: 2
    metrics: [accuracy]
    artefacts: [transformed-examples]
    model: {mlp: {hidden: [4]}}
    methods: {gone: [{map: {epochs: 1, batch_size: 10}}]}
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout with results that are published with source data."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "config").mkdir()
    (folder / "config/small.yaml").write_text(CONFIG)
    job_calls.make(folder / "config/small.yaml", folder / "results/small")
    return folder


@pytest.fixture
def published(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Path:
    """Return the published results of a copy of the checkout, in which the test runs."""
    monkeypatch.chdir(shutil.copytree(once, tmp_path / "project"))
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    assert "toy: published, with source data" in capsys.readouterr().out
    return Path("results/published/small")


def test_every_figure_and_table_is_made_again_to_the_byte(published, tmp_path):
    plan = config_file.load(Path("config/small.yaml"))
    for name, of_plan in plan.studies.items():
        study = result_files.study_folder(published, name)
        made = study_figures.derive(study, plan, tmp_path / name, others=())
        assert {Path(path).stem for path in made} == {*of_plan.artefacts}
        for path in made:
            assert (tmp_path / name / path).read_bytes() == (study / path).read_bytes(), path
            assert study_figures.is_derived(study / path)


def test_what_shows_images_that_were_left_out_is_not_made_again(
    published, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(source_arrays, "LARGEST_OF_STREAM", 1000)
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    assert (
        "pictures: unchanged, without source data: no figure or table can be made from what may be"
        " redistributed" in capsys.readouterr().out
    )
    plan = config_file.load(Path("config/small.yaml"))
    study = result_files.study_folder(published, "pictures")
    assert study_figures.derive(study, plan, tmp_path, others=()) == []


def arrays(study: Path) -> set[str]:
    """Return the names of the arrays of runs and streams in the source data of a study."""
    tree = zarr_zip.read_tree(study / source_data.FILE)
    nodes = [node for kind in ("runs", "streams") for node in tree[kind].subtree]
    return {str(name) for node in nodes for name in node.to_dataset(inherit=False)}


def test_large_arrays_that_no_artefact_needs_are_left_out(published, tmp_path, monkeypatch):
    study = result_files.study_folder(published, "forgetting")
    before = arrays(study)
    monkeypatch.setattr(source_arrays, "LARGE", 0)
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    assert arrays(study) < before
    plan = config_file.load(Path("config/small.yaml"))
    made = study_figures.derive(study, plan, tmp_path, others=())
    assert {Path(path).stem for path in made} == {*plan.studies["forgetting"].artefacts}
    for path in made:
        assert (tmp_path / path).read_bytes() == (study / path).read_bytes(), path


def test_sizes_of_images_that_were_left_out_are_kept(published, tmp_path, monkeypatch):
    monkeypatch.setattr(source_arrays, "LARGEST_OF_STREAM", 1000)
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    plan = config_file.load(Path("config/small.yaml"))
    study = result_files.study_folder(published, "forgetting")
    stream = zarr_zip.read_tree(study / source_data.FILE)["streams/digits"].to_dataset()
    assert "images" not in stream and stream.sizes["channel"] == 1
    assert "figures/memory.png" in study_figures.derive(study, plan, tmp_path / "again", ())
    made = tmp_path / "again/figures/memory.png"
    assert made.read_bytes() == (study / "figures/memory.png").read_bytes()


def test_source_data_say_nothing_about_code_or_machine(published):
    tree = zarr_zip.read_tree(published / "studies/toy" / source_data.FILE)
    said = " ".join(str(node.attrs) for node in tree.subtree)
    assert "vbs" in said or "beam" in said
    for word in ("digest", "versions", "numpy", '"code"', "environment"):
        assert word not in said


def test_a_changed_file_is_noticed(published):
    path = published / "studies/toy" / source_data.FILE
    assert ResultsFolder(published).changed("toy") == []
    path.write_bytes(path.read_bytes() + b"more")
    assert ResultsFolder(published).changed("toy") == [path]
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    assert ResultsFolder(published).changed("toy") == []


def test_what_is_published_still_equals_the_results(published, capsys):
    assert main.main(["verify", "results/small"]) == 0
    assert main.main(["publish", "results/small"]) == 0
    assert "toy: unchanged" in capsys.readouterr().out.splitlines()
    assert (published / "studies/toy" / source_data.FILE).exists()
    assert main.main(["publish", str(published), "--to", "copy"]) == 0
    assert (Path("copy/studies/toy") / source_data.FILE).exists()
    assert ResultsFolder(Path("copy")).changed("toy") == []


def test_scores_by_task_are_published_with_them(published):
    ours, theirs = (sb.load(folder).study("forgetting") for folder in ("results/small", published))
    assert theirs["score_by_task"].equals(ours["score_by_task"])
    assert theirs["score"].equals(ours["score"])


def test_larger_files_are_left_out_by_name(published, monkeypatch, capsys):
    monkeypatch.setattr(source_data, "LARGEST_FILE", 1000)
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    assert (
        "toy: unchanged, without source data: they have more than 0 MB" in capsys.readouterr().out
    )
    assert not (published / "studies/toy" / source_data.FILE).exists()
    assert ResultsFolder(published).changed("toy") == []


def test_data_without_an_open_licence_are_left_out(published, monkeypatch, capsys):
    monkeypatch.setattr(licences, "is_open", lambda licence: False)
    assert main.main(["publish", "results/small", "--source-data"]) == 0
    said = "toy: unchanged, with source data, but not for toy-hypotheses"
    assert said in capsys.readouterr().out.splitlines()
    kept = zarr_zip.read_tree(published / "studies/toy" / source_data.FILE)["streams/steps"]
    assert {array.dtype for array in kept.to_dataset().values()} == {np.dtype(bool)}
    assert source_data.artefacts(published / "studies/toy") == ["detection-table", "score-table"]
    assert not study_figures.is_derived(published / "studies/toy/figures/toy-hypotheses.svg")
    assert ResultsFolder(published).changed("toy") == []


def closed_after(error: Exception) -> Exception:
    """Return the error of closing a file after another error."""
    later = ValueError("I/O operation on closed file")
    later.__context__ = error
    return later


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [FULL, MemoryError(), closed_after(FULL)])
def test_a_full_disk_does_not_count_as_lack_of_data(published, error, monkeypatch, capsys):
    def save(*_: object) -> None:
        raise error

    path = published / "studies/toy" / source_data.FILE
    before = path.read_bytes()
    monkeypatch.setattr(artefact_files, "save", save)
    assert main.main(["publish", "results/small", "--source-data"]) != 0
    assert "without source data" not in capsys.readouterr().out
    assert path.read_bytes() == before


@pytest.mark.parametrize("others", [["--to", "zenodo:"], ["--to", "copy"]])
def test_only_copies_of_runs_get_source_data(published, others, monkeypatch, capsys):
    monkeypatch.setenv("ZENODO_TOKEN", "not used")
    results = "results/small" if "zenodo:" in others else str(published)
    assert main.main(["publish", results, "--source-data", *others]) == 2
    assert "--source-data: only results of a run" in capsys.readouterr().err
    assert not Path("copy").exists()


def test_nothing_is_written_on_a_dry_run(published, capsys):
    shutil.rmtree(published)
    assert main.main(["publish", "results/small", "--source-data", "--dry-run"]) == 0
    assert "toy: published (dry run)" in capsys.readouterr().out
    assert not published.exists()


def test_a_crate_of_published_results_may_have_source_data(published, capsys):
    assert main.main(["crate", str(published), "--to", "crate"]) == 0
    assert main.main(["verify", "crate"]) == 6, "a crate without runs cannot be computed again"
