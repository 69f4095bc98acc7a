"""The project that `quickstart` makes: its files, the changes it finds, and its figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.cli import main, quickstart
from shiftbench.config import config_file, digest, specs
from shiftbench.evaluation import figure_files
from shiftbench.evaluation.artefacts import changepoints
from shiftbench.evaluation.scoring import segmentation
from tests import own_data
from tests.checkout import ROOT

PICTURE = ROOT / "docs" / "quickstart.png"
CLOSE = 3
"""The largest number of days between a true change and its estimate."""


def test_it_writes_a_project_that_check_accepts_and_says_what_is_next(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.main(["quickstart", "my first"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "Next: shiftbench run 'my first/my-first.yaml'"
    lines = Path("my first/series.csv").read_text().splitlines()
    assert lines[:2] == ["date,value", lines[1]] and lines[1].startswith("2024-01-01,")
    assert len(lines) == 1 + quickstart.DAYS
    assert len(quickstart.CONFIG.splitlines()) <= 10
    assert main.main(["check", "my first/my-first.yaml"]) == 0
    plan = config_file.load("my first/my-first.yaml")
    for method in plan.studies["changes"].pipelines:
        modules = specs.modules_of_run(specs.run(plan, "changes", "illustration", method, (0, 0)))
        assert not any(digest.imports(module, "tensorflow") for module in modules)


@pytest.mark.parametrize("folder", ["ünïcode", "_x", ".x", "+", "n" * 120])
def test_its_config_has_a_name_that_run_accepts(tmp_path, folder: str) -> None:
    _, config = quickstart.write(tmp_path / folder)
    assert main.main(["check", str(config)]) == 0


@pytest.mark.parametrize("name", ["series.csv", "mine.yaml"])
def test_it_leaves_files_of_these_names_alone(tmp_path, capsys, name: str) -> None:
    file = tmp_path / "mine" / name
    file.parent.mkdir()
    file.write_text("mine")
    assert main.main(["quickstart", str(file.parent)]) == 2
    assert f"{file} exists and is left as it is; name another" in capsys.readouterr().err
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == "mine"


@pytest.mark.parametrize("folder", ["published", "embedded", "cpu", "paper", "_cpu"])
def test_it_refuses_names_whose_results_are_those_of_our_configs(
    tmp_path, monkeypatch, capsys, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.main(["quickstart", folder]) == 2
    name = folder.lstrip("_")
    said = capsys.readouterr().err
    remedy = f"name another folder, such as my-{name}"
    assert f"results/{name} belongs to a config of shiftbench itself; {remedy}" in said
    assert not list(tmp_path.iterdir())
    assert main.main(["quickstart", f"my-{name}"]) == 0


@pytest.mark.long
def test_robust_bocpd_finds_the_two_changes_and_bocpd_the_outliers_too(tmp_path) -> None:
    _, written = quickstart.write(tmp_path / "mine")
    study = own_data.study(written, tmp_path / "mine")
    runs = {name: study.run("illustration", name) for name in study.methods}
    (robust,), (plain,) = (segmentation.changepoints(run) or [] for run in runs.values())
    true = list(quickstart.LEVELS)[1:]
    np.testing.assert_allclose(robust, true, atol=CLOSE)
    around = [day + end for day in quickstart.OUTLIERS for end in (0, 1)]
    assert set(around) < set(plain)
    np.testing.assert_allclose(sorted(set(plain) - set(around)), true, atol=CLOSE)

    found = "illustration: Robust BOCPD finds 2 changes, BOCPD finds 6 changes. "
    assert changepoints.caption(study).startswith(found)
    assert figure_files.read_caption(PICTURE).startswith(found), (
        "see quickstart.py on how to draw it anew"
    )
