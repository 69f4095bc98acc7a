"""The jobs that Snakemake plans after a claim changes, on a copy whose jobs only make files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.workflow import copies

CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, points: 12}
studies:
  judging: &study
    title: Steps
    streams: [steps]
    seeds: 2
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table]
    methods: {one: {from: vbs-toy}}
  other:
    <<: *study
    metrics: [log_predictive]
    methods: {plain: [gaussian-mean]}
"""
CLAIMS = """\
steps-are-found:
  where: Fig. 2
  read: text
  says: The steps are found.
  stream: {family: toy-step}
  metric: jump_f1
  holds: {at_least: {vbs-toy: 0.5}}
"""


def _snakemake(folder: Path, *arguments: str) -> set[str]:
    """Return the messages of the jobs that Snakemake plans or runs."""
    done = copies.snakemake(folder, *arguments)
    assert done.returncode == 0, done.stdout
    return set(copies.jobs(done.stdout))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository in which the workflow has run; `said` lists its jobs."""
    folder = copies.faked(tmp_path_factory.mktemp("copy") / "repository", CONFIG)
    methods = (ROOT / "config/methods/li2021vbs.yaml").read_text()
    for name, text in (("claims", CLAIMS), ("methods", methods)):
        (folder / "config" / name).mkdir()
        (folder / "config" / name / "li2021vbs.yaml").write_text(text)
    (folder / "said").write_text("\n".join(_snakemake(folder)))
    return folder


@pytest.fixture
def claims(finished: Path) -> Iterator[Path]:
    """Yield the file of claims, and restore it after the test."""
    path = finished / "config/claims/li2021vbs.yaml"
    yield path
    path.write_text(CLAIMS)


TABLE, LEDGER = "Writing table claims of judging", "Writing the ledger of claims"


@pytest.mark.long
def test_the_ledger_is_made_of_the_studies_that_judge_a_claim(finished: Path) -> None:
    said = (finished / "said").read_text().split("\n")
    assert {TABLE, LEDGER} <= set(said)
    assert [job for job in said if "claims" in job and job not in (TABLE, LEDGER)] == []
    command = (finished / "results/mine/overview/ledger.png").read_text()
    assert "--input results/mine/studies/judging/tables/claims.csv --output" in command
    assert _snakemake(finished, "--dry-run") == set()


@pytest.mark.long
def test_a_changed_claim_redraws_its_tables_and_the_ledger_only(
    finished: Path, claims: Path
) -> None:
    claims.write_text(CLAIMS.replace("0.5", "0.6"))
    assert _snakemake(finished, "--dry-run") == {TABLE, LEDGER, "All studies are done"}


@pytest.mark.long
def test_a_claim_that_no_study_judges_is_of_the_ledger_alone(finished: Path, claims: Path) -> None:
    claims.write_text(CLAIMS + CLAIMS.replace("steps-are", "others-are").replace("vbs-toy", "ewc"))
    (finished / "config/methods/ewc.yaml").write_text(
        "ewc: {label: EWC, cite: [li2021vbs], summary: Another., missing: all}\n"
    )
    assert _snakemake(finished, "--dry-run") == {LEDGER, "All studies are done"}


@pytest.mark.long
def test_without_a_claim_to_judge_there_is_no_ledger(finished: Path, claims: Path) -> None:
    claims.write_text(CLAIMS.replace("jump_f1", "regret"))
    assert _snakemake(finished, "--dry-run") <= {"All studies are done"}
