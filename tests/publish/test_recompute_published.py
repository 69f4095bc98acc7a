"""Runs of published results are computed again, and their scores compared with the published."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from shiftbench.cli import main, verifying
from shiftbench.core.errors import UserError
from shiftbench.publish import crate_files, recompute_published, result_files, study_copy
from shiftbench.publish.recompute import Again
from shiftbench.publish.results_folder import ResultsFolder
from shiftbench.runtime import cached_jobs
from tests import job_calls
from tests.publish import small_results

CONFIG = (
    small_results.CONFIG
    + """\
  tuned:
    title: Digits
    streams:
      digits:
        {family: permuted-images, dataset: digits, tasks: 2, train_per_task: 50, validation: 50}
    seeds: 2
    metrics: [accuracy, acc, fwt]
    artefacts: [score-table]
    reference: fresh
    model: linear
    methods: {filter: [map: {epochs: 1}], fresh: [reset, map: {epochs: 1}]}
    tuning:
      metric: acc
      trials: 2
      streams: {judge_on: validation, first_realisation: 9}
      methods:
        filter: {map.learning_rate: [0.001, 0.1]}
        fresh: {map.learning_rate: [0.001, 0.1]}
"""
)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with config/small.yaml and its published results."""
    folder = tmp_path_factory.mktemp("published")
    config = folder / "config/small.yaml"
    config.parent.mkdir()
    config.write_text(CONFIG)
    job_calls.make(config, folder / "results/small")
    assert main.main(["publish", str(folder / "results/small"), "--config", str(config)]) == 0
    return folder


@pytest.fixture
def project(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy, which tests may change; return its published results."""
    folder = Path(shutil.copytree(once, tmp_path / "project"))
    monkeypatch.chdir(folder)
    return Path("results/published/small")


def verify(*options: str) -> int:
    return main.main(["verify", "results/published/small", *options])


def edit(published: Path, study: str, name: str, change) -> None:
    """Change a file of a published study, with its checksum."""
    folder = result_files.study_folder(published, study)
    (folder / name).write_text(change((folder / name).read_text()))
    files = result_files.of_study(published, study)
    (folder / result_files.CHECKSUMS).write_text(result_files.checksums(files))


def test_all_runs_give_their_scores_again(project, called, capsys):
    assert verify("--sample", "100%") == 0
    said = capsys.readouterr().out
    assert "10 of 10 runs are computed again, drawn with --seed" in said
    assert said.count(": identical, all ") == 10
    # Not fwt, which compares the two methods.
    assert "tuned/filter on digits, seeds 0-1: identical, all 4 scores" in said
    assert "different" not in said


def test_one_run_of_each_method_is_computed_again(project, called, capsys):
    options = ("--study", "tuned", "--sample", "each-method")
    assert verify(*options) == 0
    said = capsys.readouterr().out
    assert "2 of 2 runs" in said and "tuned/filter on" in said and "tuned/fresh on" in said


@pytest.mark.parametrize("options", [("toy", "tuned"), ("toy", "--study", "tuned")])
def test_several_studies_are_named_at_once_or_one_by_one(project, called, capsys, options):
    assert verify("--study", *options, "--seed", "1") == 0
    said = capsys.readouterr().out
    assert "toy/" in said and "tuned/" in said and "tuned-tuning/" not in said


def test_runs_are_those_of_the_settings_that_the_published_trials_chose(project, called, capsys):
    place = "choices/digits/filter.json"
    assert verify("--study", "tuned", "--sample", "100%") == 0
    path = result_files.study_folder(project, "tuned-tuning") / place
    trials = json.loads(path.read_text())
    other = 0.1 if trials["settings"]["map.learning_rate"] == 0.001 else 0.001
    trials["settings"]["map.learning_rate"] = other
    edit(project, "tuned-tuning", place, lambda text: json.dumps(trials))
    assert verify("--study", "tuned", "--sample", "100%") == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("tuned/filter on digits, seeds 0-1: different, ")
    assert lines[-1] == "tuned/fresh on digits, seeds 0-1: identical, all 4 scores"


@pytest.mark.parametrize("factor, status", [(1 + 1e-7, 3), (1.01, 5)])
def test_another_score_is_found_and_named(project, called, capsys, factor, status):
    rows = pd.read_csv(project / "studies/toy/scores.csv")
    at = (rows["learner"] == "plain") & (rows["seed"] == 3) & (rows["metric"] == "log_predictive")
    was = rows.loc[at, "score"].item()
    rows.loc[at, "score"] *= factor
    edit(project, "toy", "scores.csv", lambda text: rows.to_csv(index=False))
    assert verify("--study", "toy", "--sample", "100%") == status
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "identical" not in line][1:]
    verdict = {3: "rounding", 5: "different"}[status]
    assert line == (
        f"toy/plain on steps, seeds 2-3: {verdict}, 1 of 4 scores, the first log_predictive of"
        f" seed 3: {was!r}, published {was * factor!r}"
    )


def test_a_file_that_was_changed_is_refused_before_anything_runs(project, called, capsys):
    path = project / "studies/toy/scores.csv"
    path.write_text(path.read_text() + "\n")
    assert verify("--study", "toy") == 2
    assert (
        f"{path}: changed or removed after it was published; publish it again"
        in capsys.readouterr().err
    )
    assert not called


def test_a_score_that_is_not_published_or_twice_is_found(project, called, capsys):
    lines = (project / "studies/toy/scores.csv").read_text().splitlines(keepends=True)
    edit(project, "toy", "scores.csv", lambda text: "".join(lines[:-1]))
    assert verify("--study", "toy", "--sample", "100%") == 5
    said = capsys.readouterr().out
    assert "different, not published: 1 scores, the first log_predictive of seed 3" in said
    edit(project, "toy", "scores.csv", lambda text: "".join([*lines, lines[-1]]))
    assert verify("--study", "toy") == 2
    assert "a line above has the same stream, learner, metric and seed" in capsys.readouterr().err


def test_methods_that_the_config_no_longer_has_are_named(project, called, capsys):
    config = Path("config/small.yaml")
    config.write_text(config.read_text().replace("plain: [gau", "other: [gau"))
    assert verify("--study", "toy", "--sample", "100%") == 0
    said = capsys.readouterr().out
    assert "toy: pairs of stream and method that are published, but not in the config, and" in said
    assert " not verified: 1\n" in said
    assert "2 of 2 runs are computed again" in said


def test_the_provenance_says_what_computed_runs_again(project, called, monkeypatch):
    before = result_files.origin(project / "studies/toy")
    monkeypatch.setattr(study_copy, "commit", lambda: "abc")
    assert verify("--sample", "50%", "--seed", "7", "--record") == 0
    for study, runs, of in (("toy", 2, 4), ("tuned", 1, 2), ("tuned-tuning", 2, 4)):
        origin = result_files.origin(project / "studies" / study)
        said = f"{runs} of {of} runs computed again by commit abc: {runs} identical"
        assert result_files.verified(origin) == said
        entry = origin["verified"]
        assert entry.keys() == {"commit", "date", "seed", "of", "runs"} and entry["seed"] == 7
        assert {name.partition("/")[0] for name in entry["runs"]} == {study}
    assert origin.keys() >= {"commit", "runs"} and "verified" not in before
    assert ResultsFolder(project).changed("toy") == []


def test_a_better_verdict_replaces_no_worse_one_of_the_same_commit(project, monkeypatch):
    by = recompute_published.Verifier("abc", "2026-01-01", 0)

    def recorded(by, **verdicts):
        for name, verdict in verdicts.items():
            recompute_published.record(project, "toy", Again(name, verdict, ""), 4, by)
        return result_files.origin(project / "studies/toy")["verified"]["runs"]

    assert recorded(by, a="different", b="identical") == {"a": "different", "b": "identical"}
    assert recorded(by, a="identical", c="rounding")["a"] == "different"
    assert recorded(by._replace(commit="def"), a="identical") == {"a": "identical"}


@pytest.mark.parametrize("error", [UserError, RuntimeError])
def test_what_cannot_be_computed_is_said_and_the_rest_goes_on(
    project, called, capsys, monkeypatch, error
):
    run = cached_jobs._run

    def failing(job, *others) -> None:
        if job.study == "tuned":
            raise error(f"{job.name}: the raw file is gone")
        run(job, *others)

    monkeypatch.setattr(cached_jobs, "_run", failing)
    command = ("--study", "toy", "tuned", "--sample", "100%", "--record")
    assert verify(*command) == verifying.UNVERIFIED
    said = capsys.readouterr().out
    assert "tuned/filter on digits, seeds 0-1: not computed again: the raw file is gone" in said
    assert said.count("identical") == 4 and "2 of 6 runs could not be computed again" in said
    assert "verified" not in result_files.origin(project / "studies/tuned")


def test_an_interrupted_call_says_how_to_go_on(project, called, capsys, monkeypatch):
    def interrupted(*given) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cached_jobs, "_run", interrupted)
    assert verify("--study", "toy", "--seed", "3") == verifying.INTERRUPTED
    assert "To go on, give the same options and --seed 3." in capsys.readouterr().out


def test_a_choice_that_is_not_published_is_an_obstacle(project, called, capsys):
    (project / "studies/tuned-tuning/choices/digits/filter.json").unlink()
    files = result_files.of_study(project, "tuned-tuning")
    sums = project / "studies/tuned-tuning" / result_files.CHECKSUMS
    sums.write_text(result_files.checksums(files))
    assert verify("--study", "tuned", "--sample", "100%") == 0
    said = capsys.readouterr().out
    assert "1 of 2 runs are computed again" in said and "tuned/fresh on digits" in said


def test_time_that_does_not_suffice_is_named(project, called, capsys, monkeypatch):
    monkeypatch.setattr(crate_files, "DEFAULT", crate_files.Limits(seconds=1e-9))
    assert verify("--study", "toy") == verifying.UNVERIFIED
    assert "toy: none of its 4 runs computed again: the shortest" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, kind",
    [("toi", "published study of results/published/small"), ("old", "study of the config")],
)
def test_a_study_that_is_not_published_or_not_planned_is_refused(project, capsys, name, kind):
    shutil.copytree(project / "studies/toy", project / "studies/old")
    assert verify("--study", name) == 2
    assert f'unknown {kind} "{name}"' in capsys.readouterr().err


def test_options_about_published_results_are_for_these(project, capsys):
    assert main.main(["verify", str(project), str(project), "--record"]) == 2
    assert "--record: is for computing runs of published results" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["-1", "half", "110%", "%"])
def test_a_sample_is_a_number_a_share_or_each_method(project, wrong, capsys):
    with pytest.raises(SystemExit):
        verify("--sample", wrong)
    assert (
        f"{wrong}: write a number of runs, a share as 10%, or each-method"
        in capsys.readouterr().err
    )


def test_nothing_computed_is_not_verified(project, called, capsys):
    assert verify("--sample", "0") == verifying.UNVERIFIED
    assert "So the results are not verified" in capsys.readouterr().out
