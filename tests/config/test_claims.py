"""Files of claims: their errors, the studies that judge them, and the resulting jobs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from shiftbench.cli import main
from shiftbench.config import bibliography, claims, config_file, library, specs
from shiftbench.config.config_file import ConfigError

CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, points: 12}
  longer: {family: toy-step, points: 13}
studies:
  toy:
    title: Steps
    streams: [steps, longer]
    seeds: 2
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table]
    methods:
      one: {from: vbs-toy, beam.size: 1}
      two: {from: vbs-toy, beam.size: 2}
"""
CLAIM = """\
steps-are-found:
  where: Fig. 2
  says: The steps are found.
  stream: {family: toy-step, points: [12, 14]}
  metric: jump_f1
  holds: {at_least: {vbs-toy: 0.5}}
  read: figure
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "claims").mkdir()
    (tmp_path / "mine.yaml").write_text(CONFIG)
    return tmp_path


def loaded(folder: Path, text: str = CLAIM, name: str = "li2021vbs") -> config_file.Config:
    (folder / f"claims/{name}.yaml").write_text(text)
    return config_file.load(folder / "mine.yaml")


def test_a_study_judges_what_it_has_the_stream_metric_and_method_of(folder: Path) -> None:
    plan = loaded(folder)
    assert plan.claims["steps-are-found"].work == "li2021vbs"
    assert claims.of_study(plan, "toy") == {"steps-are-found": ["steps"]}
    assert plan.studies["toy"].artefacts == ["score-table", "claims"]
    assert claims.judging(plan) == ["toy"]


def test_a_result_that_several_studies_have_counts_once(folder: Path) -> None:
    plan = loaded(folder)
    toy = plan.studies["toy"]

    def judged(**changes: object) -> list[str]:
        again = toy.model_copy(update=changes)
        return claims.judging(plan.model_copy(update={"studies": {"toy": toy, "again": again}}))

    assert judged(title="Again") == ["toy"]
    assert judged(seeds=toy.seeds + 1) == judged(drift="after-prediction") == ["toy", "again"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("points: [12, 14]", "points: 14"),
        ("family: toy-step, points: [12, 14]", "family: series"),
        ("metric: jump_f1", "metric: exact_map_agreement"),
        ("vbs-toy: 0.5", "ewc: 0.5"),
        ("{at_least: {vbs-toy: 0.5}}", "{of: vbs-toy, metric_below: regret}"),
    ],
)
def test_what_a_study_has_not_it_does_not_judge(folder: Path, old: str, new: str) -> None:
    plan = loaded(folder, CLAIM.replace(old, new))
    assert claims.of_study(plan, "toy") == {}
    assert plan.studies["toy"].artefacts == ["score-table"]


def test_shares_of_configurations_are_for_studies_that_have_some_and_nothing_else_is(
    folder: Path,
) -> None:
    share = CLAIM.replace("  metric: jump_f1\n", "  metric: jump_f1\n  over: 0.3\n")
    assert claims.of_study(loaded(folder, share), "toy") == {}
    drawn = "    configurations: [{beam.size: [1, 2, 3]}]\n    methods:"
    (folder / "mine.yaml").write_text(CONFIG.replace("    methods:", drawn))
    assert claims.of_study(loaded(folder, share), "toy") == {"steps-are-found": ["steps"]}
    assert claims.of_study(loaded(folder), "toy") == {}


def test_defaults_count_as_written(folder: Path) -> None:
    plan = loaded(folder, CLAIM.replace("points: [12, 14]", "distinct: true"))
    assert claims.of_study(plan, "toy") == {"steps-are-found": ["steps", "longer"]}


def test_trials_judge_nothing() -> None:
    plan = config_file.load("config/embedded.yaml")
    assert not claims.of_study(plan, "permuted-digits-tuning")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("toy-step, points", "toy-steps, points", 4, 'family "toy-steps"; did you mean "toy-step"'),
        ("points: [12, 14]", "pointz: 12", 4, 'unknown setting of toy-step "pointz"'),
        ("points: [12, 14]", "points: [12, few]", 4, "whole number"),
        ("family: toy-step, points: [12, 14]", "family: series, dataset: nil", 4, "dataset"),
        ("family: toy-step, points: [12, 14]", "points: 12", 4, "family"),
        ("metric: jump_f1", "metric: jump", 5, 'unknown metric "jump"'),
        ("vbs-toy: 0.5", "vbs-toys: 0.5", 6, 'unknown method "vbs-toys"'),
        ("{at_least: {vbs-toy: 0.5}}", "{atleast: {vbs-toy: 0.5}}", 6, 'did you mean "at_least"'),
        ("{at_least: {vbs-toy: 0.5}}", "{within: 1}", 6, "write one predicate"),
        ("{at_least: {vbs-toy: 0.5}}", "{at_least: {vbs-toy: 1}, by: 1}", 6, 'not go with "by"'),
        ("{at_least: {vbs-toy: 0.5}}", "{alike: [vbs-toy, ewc]}", 6, 'needs "within"'),
        ("{at_least: {vbs-toy: 0.5}}", "{above: [ewc, ewc]}", 6, "is listed twice"),
        ("{at_least: {vbs-toy: 0.5}}", "{above: [ewc]}", 6, "at least 2"),
        ("{at_least: {vbs-toy: 0.5}}", "{above: [ewc, si, vcl], by: 1}", 6, "two methods"),
        ("{at_least: {vbs-toy: 0.5}}", "{value: 0.5, within: 0}", 6, "a mapping"),
        ("{at_least: {vbs-toy: 0.5}}", "{of: ewc, metric_below: regretz}", 6, '"regret"'),
        ("  where: Fig. 2\n", "", 1, "this key is missing"),
        ("where: Fig. 2", "where: Fig. 2\n  wher: 2", 3, 'unknown key "wher"'),
        ("where: Fig. 2", "where: Fig. 2\n  name: other", 3, 'unknown key "name"'),
        ("where: Fig. 2", "where: Fig. 2\n  where: 2", 3, "this key occurs twice"),
        ("steps-are-found", "Steps", 1, "small letters"),
        ("where: Fig. 2", "where: Fig. 2\n  check: 2", 3, "true or false"),
    ],
)  # fmt: skip
def test_an_error_has_its_line(folder: Path, old: str, new: str, line: int, words: str) -> None:
    assert old in CLAIM
    with pytest.raises(ConfigError) as found:
        loaded(folder, CLAIM.replace(old, new))
    told = str(found.value)
    assert re.search(rf"li2021vbs\.yaml, line {line}, .*{re.escape(words)}", told), told


def test_every_error_at_once_also_those_of_other_files(folder: Path) -> None:
    (folder / "claims/nobody2020.yaml").write_text(CLAIM.replace("jump_f1", "jump"))
    (folder / "claims/li2021vbs-more.yaml").write_text(CLAIM + "findings:\n  - {where: Eq. 1}\n")
    with pytest.raises(ConfigError) as found:
        loaded(folder, CLAIM.replace("vbs-toy", "vbs-toys"))
    told = str(found.value)
    for words in (
        'unknown work "nobody2020"', 'unknown metric "jump"', 'unknown method "vbs-toys"',
        'the claim "steps-are-found" is in two places', "findings[0].evidence",
    ):  # fmt: skip
        assert words in told


def test_the_table_of_claims_is_not_asked_for(folder: Path) -> None:
    (folder / "mine.yaml").write_text(CONFIG.replace("[score-table]", "[score-table, claims]"))
    with pytest.raises(ConfigError, match="made for every study that judges a claim; take it out"):
        loaded(folder)


def test_a_changed_claim_changes_its_table_and_the_ledger_only(folder: Path) -> None:
    before = loaded(folder)
    after = loaded(folder, CLAIM.replace("0.5", "0.6"))

    def digests(plan: config_file.Config) -> list[str]:
        made = [specs.artefact(plan, "toy", name) for name in ("claims", "score-table")]
        made += [specs.ledger(plan, "mine"), specs.scores(plan, "toy")]
        made.append(specs.run(plan, "toy", "steps", "one", (0, 1)))
        return [spec["digest"] for spec in made]

    same = [old == new for old, new in zip(digests(before), digests(after), strict=True)]
    assert same == [False, True, False, True, True]


def test_claims_are_listed_with_the_studies_that_judge_them(folder: Path, capsys) -> None:
    loaded(folder)
    assert main.main(["list", "claims", "--config", str(folder / "mine.yaml")]) == 0
    listed = capsys.readouterr().out
    assert re.search(
        r"steps-are-found +Li et al. \(2021\), Fig. 2: The steps are found. \(toy\)", listed
    )
    assert "(no study)" in listed


OURS = library.Library(library.OURS)


def test_every_claim_of_ours_has_numbers_or_an_order_and_its_work() -> None:
    found = claims.load(OURS)
    assert found and not list(claims.issues(OURS))
    assert {claim.work for claim in found.values()} <= bibliography.works().keys()
    for name, claim in found.items():
        assert claim.says.endswith("."), name


def test_no_two_claims_of_a_work_say_the_same() -> None:
    said: dict[tuple[str, str], str] = {}
    for name, claim in claims.load(OURS).items():
        first = said.setdefault((claim.work, claim.says), name)
        assert first == name, f"{name} says what {first} says"


def test_no_claim_of_ours_refers_to_the_one_before() -> None:
    refers_back = (
        r"(So it|More of|That of|It|They|Standard,|Robust,) |.*(, too|as well|other way.*)\."
    )
    for name, claim in claims.load(OURS).items():
        assert not re.match(refers_back, claim.says), name


@pytest.mark.parametrize(
    ("work", "finding"), claims.findings(OURS), ids=[one.where for _, one in claims.findings(OURS)]
)
def test_the_evidence_of_a_finding_is_a_test(work, finding) -> None:
    file, test = re.fullmatch(
        r"(tests/[\w/]+\.py)::(test_\w+)(?:\[.+\])?", finding.evidence
    ).groups()
    assert re.search(rf"^def {test}\(", Path(file).read_text(), re.MULTILINE), finding.evidence


def test_a_user_finds_our_claims_beside_their_own(folder: Path) -> None:
    shutil.rmtree(folder / "claims")
    assert config_file.load(folder / "mine.yaml").claims.keys() == claims.load(OURS).keys()
