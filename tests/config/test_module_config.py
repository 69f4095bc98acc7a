"""A config passed by a workflow equals the config in its file, wherever both are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiftbench.config import claims, config_file, module_config
from shiftbench.core.errors import UserError

STUDY = {
    "title": "Steps",
    "streams": {"steps": {"family": "toy-step"}},
    "seeds": 2,
    "metrics": ["log_predictive"],
    "artefacts": ["score-table"],
    "methods": ["own"],
}
OWN = (
    "own: {label: Own, cite: [li2021vbs], summary: Own., pipeline: [gaussian-mean: {noise_sd: SD}]}"
)
FILE = Path("moved/results/bench/bench.yaml")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Change to a folder with a method, and with another of that name in a subfolder."""
    for name, sd in {"methods": "1.5", "inner/methods": "2.5"}.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "own.yaml").write_text(OWN.replace("SD", sd))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _noise(plan: config_file.Config) -> float:
    return dict(plan.studies["toy"].pipelines["own"])["gaussian-mean"]["noise_sd"]


def _both(mapping: dict) -> config_file.Config:
    """Return the plan of a mapping, which must equal that of the written file."""
    plan = module_config.load(mapping, FILE)
    module_config.write(mapping, FILE)
    assert config_file.load(FILE) == plan
    return plan


def test_paths_start_in_the_working_directory_or_in_its_folder() -> None:
    plan = _both({"studies": {"toy": STUDY}, "pathvars": {"results": "there"}})
    assert _noise(plan) == 1.5
    assert _noise(_both({"studies": {"toy": STUDY}, "folder": "inner"})) == 2.5


def test_what_lies_beside_a_config_that_it_starts_from_is_found(folder: Path) -> None:
    (folder / "methods/own.yaml").unlink()
    (folder / "inner/mine.yaml").write_text(json.dumps({"studies": {"toy": STUDY}}))
    assert _noise(_both({"from": "inner/mine.yaml"})) == 2.5


def test_nothing_given_is_the_embedded_config() -> None:
    plan = _both({})
    assert claims.judging(plan) and len(plan.studies) > 3


def test_an_equal_config_is_not_written_again() -> None:
    module_config.write({"from": "embedded"}, FILE)
    before = FILE.stat()
    module_config.write({"from": "embedded"}, FILE)
    assert FILE.stat().st_ino == before.st_ino
    module_config.write({"from": "embedded", "seeds_per_job": 3}, FILE)
    assert FILE.stat().st_ino != before.st_ino
    assert [file.name for file in FILE.parent.iterdir()] == [FILE.name]


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(UserError, match="the config of module bench is not a mapping"):
        module_config.load("config.yaml", FILE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"studies": {"toy": STUDY | {"seed": 1}}}, '  studies.toy.seed: unknown key "seed"'),
        ({"from": "embeded"}, '  from: there is no config "embeded"'),
        ({"from": "embedded", "folder": "nowhere"}, "  folder: there is no folder"),
        ({"from": "embedded", "folder": 3}, "  folder: there is no folder"),
    ],
)
def test_errors_have_a_place_but_no_line(mapping: dict, words: str) -> None:
    with pytest.raises(config_file.ConfigError) as error:
        module_config.load(mapping, FILE)
    assert str(error.value).startswith("the config of module bench: ")
    assert words in str(error.value) and "line" not in str(error.value)
    assert not FILE.exists()
