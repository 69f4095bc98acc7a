"""The layout of a folder of results, and a damaged file in it."""

from __future__ import annotations

import pytest

from shiftbench.config import catalogue, result_paths
from shiftbench.core.errors import UserError
from shiftbench.forecast import plan
from tests.config.test_catalogue import composed, planned

FOLDER = "results/published/embedded/studies/nile"


@pytest.mark.parametrize("text", ['{"core_hours": 1.0, "ru', "", "[]"])
def test_damaged_provenance_is_named_with_its_remedy(tmp_path, monkeypatch, text) -> None:
    made, config = composed("embedded"), planned("embedded")
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "provenance.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    said = (
        rf"^{FOLDER}/provenance\.json is not valid provenance \(.+\); restore the file, or publish "
    )
    with pytest.raises(UserError, match=said):
        plan.published("embedded", "nile", 3)
    with pytest.raises(UserError, match=said):
        catalogue.study(made, config, "nile", result_paths.RESULTS / result_paths.PUBLISHED)


def test_without_provenance_nothing_was_published(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert plan.published("embedded", "nile", 3) == 0.0
    assert result_paths.provenance(tmp_path / "nowhere") == {}


def test_what_was_published_with_other_runs_says_nothing_of_the_cost(tmp_path, monkeypatch) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "provenance.json").write_text('{"core_hours": 0.5, "runs": 3}')
    monkeypatch.chdir(tmp_path)
    assert plan.published("embedded", "nile", 3) == 1800.0
    assert plan.published("embedded", "nile", 4) == 0.0


def test_only_studies_with_a_summary_are_finished(tmp_path) -> None:
    for name in ("b", "a", "c"):
        result_paths.study(tmp_path, name).mkdir(parents=True)
    for name in ("b", "a"):
        (result_paths.study(tmp_path, name) / result_paths.SUMMARY).touch()
    assert result_paths.finished(tmp_path) == ["a", "b"]
