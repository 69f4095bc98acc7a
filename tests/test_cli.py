"""The verbs: what they make, what they refuse, and what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from shiftbench import cli
from shiftbench.planning import config, specs
from shiftbench.store import zarr_zip

CONFIG = """\
seeds_per_job: 3
streams:
  steps: {family: toy-step, realisations: 3, points: 8}
studies:
  toy:
    title: Two steps
    streams: [steps]
    seeds: 3
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table, toy-hypotheses]
    learners:
      search: [beam: {size: 2, broadening: diffuse}, gaussian-mean]
"""


@pytest.fixture
def plan(tmp_path, monkeypatch) -> config.Config:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(CONFIG)
    return config.load("small.yaml")


def _stream(*more: str) -> int:
    return cli.main(
        ["stream", "steps", "--config", "small.yaml", "--raw", "raw", "--output", "steps.zarr.zip",
         *more]
    )  # fmt: skip


def _run(*more: str) -> int:
    return cli.main(
        ["run", "toy", "steps", "search", "--seeds", "0-2", "--config", "small.yaml",
         "--store", "steps.zarr.zip", "--output", "run.zarr.zip", "--cost", "cost.json",
         "--scratch", "scratch", "--log", "logs/run.log", *more]
    )  # fmt: skip


def test_from_stream_to_artefacts(plan, capsys) -> None:
    spec = specs.run(plan, "toy", "steps", "search", (0, 2))
    assert _stream("--digest", specs.stream(plan, "steps")["digest"]) == 0
    assert _run("--digest", spec["digest"]) == 0
    assert json.loads(zarr_zip.read(Path("run.zarr.zip")).attrs["spec"]) == spec
    assert json.loads(Path("cost.json").read_text())["wall_seconds"] > 0
    assert not Path("scratch", spec["digest"]).exists()
    assert "status ['ok']" in Path("logs/run.log").read_text()

    files = ["--streams", "steps.zarr.zip", "--scores", "scores.zarr.zip", "--summary", "s.csv"]
    files += ["--config", "small.yaml"]
    assert cli.main(["summarise", "toy", "--runs", "run.zarr.zip", *files]) == 0
    assert pd.read_csv("s.csv")["metric"].tolist() == ["jump_f1", "log_predictive"]
    for name, kinds in {"score-table": ("csv", "md"), "toy-hypotheses": ("svg", "png")}.items():
        assert cli.main(["artefact", "toy", name, "--output", f"made/{name}", *files]) == 0
        assert all(Path(f"made/{name}.{kind}").stat().st_size for kind in kinds)
    told = capsys.readouterr()
    assert told.out == "toy: made/toy-hypotheses.png\n", "the path of the first figure only"
    assert told.err == ""


def test_a_study_without_figures_tells_its_first_table(plan, capsys) -> None:
    Path("small.yaml").write_text(CONFIG.replace("[score-table, toy-hypotheses]", "[score-table]"))
    assert _stream() == _run() == 0
    files = ["--streams", "steps.zarr.zip", "--scores", "scores.zarr.zip", "--summary", "s.csv"]
    files += ["--config", "small.yaml"]
    assert cli.main(["summarise", "toy", "--runs", "run.zarr.zip", *files]) == 0
    assert cli.main(["artefact", "toy", "score-table", "--output", "made/table", *files]) == 0
    assert capsys.readouterr().out == "toy: made/table.md\n"


def test_other_digest_is_refused_and_nothing_is_written(plan, capsys) -> None:
    assert _stream("--digest", "0" * 64) == 2
    assert "changed while the workflow ran" in capsys.readouterr().err
    assert not Path("steps.zarr.zip").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "absent.yaml"], "absent.yaml: cannot be read"),
        (["list", "studies", "--config", "absent.yaml"], "absent.yaml: cannot be read"),
        (["stream", "stepz", "--config", "small.yaml", "--raw", "r", "--output", "o"],
         'unknown stream "stepz"; did you mean "steps"?'),
        (["fetch", "mnits", "x", "--output", "o"], "mnist"),
        (["warm"], "name a command"),
    ],
)  # fmt: skip
def test_what_a_user_can_mend_is_one_message(plan, capsys, arguments, words) -> None:
    assert cli.main(arguments) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_a_store_or_a_summary_that_was_changed_is_not_built_upon(plan, caplog) -> None:
    assert _stream() == 0 and _run() == 0
    summarise = ["summarise", "toy", "--config", "small.yaml", "--runs", "run.zarr.zip",
                 "--streams", "steps.zarr.zip", "--scores", "scores.zarr.zip",
                 "--summary", "summary.csv"]  # fmt: skip
    draw = ["artefact", "toy", "score-table", "--config", "small.yaml", "--output", "table",
            "--scores", "scores.zarr.zip", "--summary", "summary.csv",
            "--streams", "steps.zarr.zip"]  # fmt: skip
    assert cli.main(summarise) == 0 and cli.main(draw) == 0
    summary = Path("summary.csv")
    summary.write_text(summary.read_text().replace("0.", "0.9", 1))
    assert cli.main(draw) == 2
    assert "summary.csv: changed since the workflow made it" in caplog.text
    zarr_zip.write(zarr_zip.read(Path("run.zarr.zip")).isel(seed=slice(2)), Path("run.zarr.zip"))
    assert cli.main(summarise) == 2
    assert "run.zarr.zip: changed since" in caplog.text


def test_missing_store_is_one_message(plan, capsys) -> None:
    assert _run() == 2
    assert "steps.zarr.zip" in capsys.readouterr().err
    assert not Path("run.zarr.zip").exists()


def test_defect_is_one_line_and_its_traceback_is_in_the_log(plan, capsys, monkeypatch) -> None:
    def broken(path: Path) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(zarr_zip, "read_any", broken)
    assert _run() == 1
    assert capsys.readouterr().err == (
        "unexpected error: RuntimeError: a defect; details in logs/run.log\n"
    )
    assert "Traceback" in Path("logs/run.log").read_text()


def test_stopped_run_is_saved_and_goes_on(plan, capsys) -> None:
    assert _stream() == 0
    assert _run("--minutes", "0") == cli.STOPPED
    assert "start it again to go on" in capsys.readouterr().err
    assert not Path("run.zarr.zip").exists()
    assert list(Path("scratch").iterdir())
    assert _run() == 0
    assert "resumed" in Path("logs/run.log").read_text()


def test_check_tells_the_plan(plan, capsys) -> None:
    assert cli.main(["check", "small.yaml"]) == 0
    assert capsys.readouterr().out == "toy: Two steps; 1 runs, 2 artefacts\n"


def test_list(plan, capsys) -> None:
    assert cli.main(["list", "learners"]) == 0
    assert "gaussian-mean  Conjugate Gaussian mean" in capsys.readouterr().out
    assert cli.main(["list", "studies", "--config", "small.yaml"]) == 0
    assert capsys.readouterr().out == "toy  Two steps\n"


def test_reference_is_printed(capsys) -> None:
    assert cli.main(["reference"]) == 0
    assert capsys.readouterr().out.startswith("# Config reference")


def test_module_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shiftbench", "check", "absent.yaml"],
        capture_output=True, text=True, env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("absent.yaml: cannot be read")
