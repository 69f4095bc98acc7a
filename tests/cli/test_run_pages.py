"""After a run, pages show the studies of its config that have results."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shiftbench.cli import main, run
from shiftbench.config import config_file
from tests.publish import small_results


@pytest.mark.parametrize("old", ["earlier", "toy-tuning"])
def test_results_of_other_studies_alone_make_no_pages_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], old: str
) -> None:
    """As after a study was renamed and the run of the new one failed."""
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(small_results.CONFIG)
    summary = Path("results/mine/studies", old, "summary.csv")
    summary.parent.mkdir(parents=True)
    summary.write_text("old")
    config = config_file.load("mine.yaml")
    run._finish(Path("mine.yaml"), config, [], time.monotonic())
    told = capsys.readouterr().out
    assert "No results pages: no study of mine.yaml has results yet" in told
    assert "Results:" not in told
    assert main.main(["site", "results/mine", "--config", "mine.yaml"]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "results/mine: has results of no study of mine.yaml" in told
    assert "run the workflow" in told and "--config" in told
    assert not Path("site").exists() and not Path("results/mine/site").exists()
