"""A crate names as authors those of its results, which are not always ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from shiftbench.cli import results as commands
from shiftbench.config import config_file
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.publish import crate_config, crate_metadata, crate_sources, zenodo

CITATION = """\
cff-version: 1.2.0
message: Cite me.
title: Steps of mine
license: CC-BY-4.0
authors:
  - {given-names: Ada, family-names: Byron, orcid: "https://orcid.org/0000-0001-0000-0001"}
"""


@pytest.fixture
def described(made: Path, tmp_path: Path):
    """Return a function that writes the metadata of a copied crate with a citation."""
    folder = Path(shutil.copytree(made / "crate", tmp_path / "crate"))
    composed = config_file.composed(made / "config/small.yaml")

    def write(citation: str, ours: bool = False) -> dict[str, dict[str, Any]]:
        if citation:
            (folder / crate_sources.OWN_CITATION).write_text(citation)
        (folder / crate_metadata.NAME).unlink()
        plan = config_file.planned(composed)
        crate_metadata.write(folder, plan, composed.library, "config/small.yaml", ours)
        told = json.loads((folder / crate_metadata.NAME).read_text(encoding="utf-8"))
        return {entity["@id"]: entity for entity in told["@graph"]}

    return write


def test_results_of_a_user_without_a_citation_have_no_author_and_no_licence(made: Path) -> None:
    told = json.loads((made / "crate" / crate_metadata.NAME).read_text(encoding="utf-8"))
    found = {entity["@id"]: entity for entity in told["@graph"]}
    assert not {"author", "publisher"} & found["./"].keys()
    assert found[found["./"]["license"]["@id"]]["name"] == "not stated"
    assert "shiftbench developers" not in json.dumps(told)
    assert found["./"]["description"].startswith("Results of 1 studies (toy)")
    with pytest.raises(UserError, match=r"name no author; write CITATION\.cff beside the config"):
        zenodo._zenodo_metadata(told)


def test_results_of_our_configs_are_ours(described) -> None:
    found = described("", ours=True)
    assert found["./"]["author"] == found["./"]["publisher"] == {"@id": "#author-1"}
    assert found["#author-1"]["name"] == "The shiftbench developers"
    assert found["./"]["license"] == {"@id": "https://spdx.org/licenses/MIT"}
    assert found["./"]["name"] == "shiftbench: results of small"
    assert zenodo._zenodo_metadata({"@graph": [*found.values()]})["license"] == "mit"
    assert crate_config.is_ours(checkout.CONFIGS / "embedded.yaml")
    assert not crate_config.is_ours(Path("config/embedded.yaml").absolute().parents[1] / "a.yaml")


def test_the_citation_beside_a_config_names_author_title_and_licence(described) -> None:
    found = described(CITATION)
    author = {"@id": "https://orcid.org/0000-0001-0000-0001"}
    assert found["./"]["author"] == found["./"]["publisher"] == author
    assert found[author["@id"]]["name"] == "Ada Byron"
    licence = found[found["./"]["license"]["@id"]]
    assert (licence["name"], licence["@type"]) == ("CC-BY-4.0", "CreativeWork")
    assert found["./"]["name"] == "Steps of mine"
    assert found["./"]["description"].startswith("Steps of mine. Results of 1 studies")
    assert found["workflow/Snakefile"]["license"] == {"@id": "https://spdx.org/licenses/MIT"}
    sent = zenodo._zenodo_metadata({"@graph": [*found.values()]})
    assert (sent["creators"], sent["license"]) == ([{"name": "Ada Byron"}], "cc-by-4.0")


@pytest.mark.parametrize(
    "text",
    ["", "[", "[1]", "title: Mine", "authors: [me]\ntitle: Mine", "authors: []\ntitle: Mine",
     "title: Mine\nauthors: [{name: Me}]\nlicense: all mine",
     "title: [Mine]\nauthors: [{name: Me}]", "title: Mine\nauthors: [{name: 5}]"],
)  # fmt: skip
def test_a_citation_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "CITATION.cff").write_text(text)
    with pytest.raises(UserError, match=r"CITATION\.cff: .*write title, authors"):
        crate_sources.read_citation(tmp_path / "CITATION.cff")


def test_a_note_names_the_file_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands._note_citation(tmp_path / "mine.yaml")
    told = capsys.readouterr().out
    assert told.startswith(f"Note: there is no {tmp_path / 'CITATION.cff'}, so the crate names no")
    (tmp_path / "CITATION.cff").write_text(CITATION.replace("license: CC-BY-4.0\n", ""))
    commands._note_citation(tmp_path / "mine.yaml")
    told = capsys.readouterr().out
    assert told.startswith(f"Note: {tmp_path / 'CITATION.cff'} states no license")
    (tmp_path / "CITATION.cff").write_text(CITATION)
    commands._note_citation(tmp_path / "mine.yaml")
    commands._note_citation(checkout.CONFIGS / "embedded.yaml")
    assert capsys.readouterr().out == ""


def test_the_citation_beside_a_config_goes_into_the_crate(made: Path, tmp_path: Path) -> None:
    config = tmp_path / "small.yaml"
    config.write_text((made / "config/small.yaml").read_text())
    (tmp_path / "CITATION.cff").write_text(CITATION)
    crate_config.copy(config_file.composed(config), config, tmp_path / "crate")
    assert (tmp_path / "crate" / crate_sources.OWN_CITATION).read_text() == CITATION
