"""External validators check crates and streams, in .venv-peers: `make test-peers`."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
import requests
import urllib3
from rocrate import vocabs

from shiftbench.cli import main
from shiftbench.publish import crate
from tests.publish import small_results

pytestmark = pytest.mark.peers
WHERE = "is in .venv-peers; see envs/peers.txt"
mlcroissant = pytest.importorskip("mlcroissant", reason=WHERE)
validator = pytest.importorskip("rocrate_validator.services", reason=WHERE)

PROFILES = ("provenance-run-crate-0.5", "workflow-run-crate-0.5", "workflow-ro-crate-1.0")
BIOSCHEMAS = "https://bioschemas.org"
TERMS_OF_1_1 = {
    "ComputationalWorkflow": f"{BIOSCHEMAS}/ComputationalWorkflow",
    "FormalParameter": f"{BIOSCHEMAS}/FormalParameter",
    "input": f"{BIOSCHEMAS}/ComputationalWorkflow#input",
    "output": f"{BIOSCHEMAS}/ComputationalWorkflow#output",
}
"""Terms that differ in the later context shipped with the library of crates."""


@pytest.fixture(scope="module")
def crates(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the crates of a folder of results and of its published files."""
    folder = tmp_path_factory.mktemp("validators")
    results, published = small_results.make(folder), folder / "results/published/small"
    config = folder / "config/small.yaml"
    assert main.main(["publish", str(results), "--config", str(config)]) == 0
    made = [folder / "crate", folder / "published"]
    for source, target in zip((results, published), made, strict=True):
        crate.make(source, config, target)
    return made


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer requests for the context of RO-Crate, so that no network is needed."""
    told = json.dumps({"@context": vocabs.RO_CRATE["@context"] | TERMS_OF_1_1}).encode()
    send = requests.adapters.HTTPAdapter.send

    def answered(self, request, **more):
        if "w3id.org/ro/crate/" not in request.url:
            return send(self, request, **more)
        body = urllib3.HTTPResponse(
            body=BytesIO(told), status=200, preload_content=False,
            headers={"Content-Type": "application/ld+json"},
        )  # fmt: skip
        return self.build_response(request, body)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", answered)


@pytest.mark.parametrize("profile", PROFILES)
def test_crates_keep_to_the_profiles_of_workflow_runs(
    crates: list[Path], context: None, profile: str
) -> None:
    for folder in crates:
        settings = validator.ValidationSettings(
            rocrate_uri=str(folder), profile_identifier=profile, skip_availability_check=True
        )
        found = validator.validate(settings)
        assert [issue.message for issue in found.get_issues()] == []


def test_the_validator_finds_what_is_wrong(crates: list[Path], context: None, tmp_path) -> None:
    told = (crates[1] / "ro-crate-metadata.json").read_text()
    (tmp_path / "ro-crate-metadata.json").write_text(told.replace('"mainEntity"', '"about"'))
    settings = validator.ValidationSettings(
        rocrate_uri=str(tmp_path), profile_identifier=PROFILES[0], skip_availability_check=True
    )
    assert any("mainEntity" in one.message for one in validator.validate(settings).get_issues())


def test_streams_are_valid_croissant(crates: list[Path]) -> None:
    described = sorted((crates[0] / "streams").glob("*.croissant.json"))
    assert described
    for path in described:
        found = mlcroissant.Dataset(jsonld=path)
        assert found.metadata.ctx.issues.errors == set()
        rows = [row["arrays/variable"] for row in found.records("arrays")]
        assert b"shift" in rows or "shift" in rows
