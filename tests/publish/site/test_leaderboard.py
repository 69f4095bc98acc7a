"""A third-party method beside ours: its verified crate on the leaderboard of our site.

The method is examples/own_method, on two streams. One stream equals ours under another name.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shiftbench.cli import main
from shiftbench.core.errors import UserError
from shiftbench.publish import crate, crate_files, leaderboard_entries, result_files
from tests import job_calls
from tests.browsing import Violations
from tests.checkout import ROOT
from tests.config.test_user_components import forget
from tests.publish.site import html
from tests.publish.site.conftest import without_bundle

EXAMPLE = ROOT / "examples" / "own_method" / "my_parts"
ROWS = "{{family: tabular, dataset: simulated-regression, scaling: none, simulated_rows: {}}}"
STUDY = """\
studies:
  {}:
    title: Rows
    streams: [{}]
    seeds: {}
    seeds_per_job: 4
    metrics: [log_predictive]
    methods: {}
"""
OURS = f"streams: {{rows: {ROWS.format(60)}}}\n" + STUDY.format(
    "ours", "rows", 4, "{known: [linear-gaussian: {noise_sd: 1.0, prior_variance: 9.0}]}"
)
FORGETFUL = "{forgetful: [forgetful-ridge], sure: [forgetful-ridge: {forget: 1.0}]}"
THEIRS = (
    f"components: my_parts\nstreams: {{same: {ROWS.format(60)}, longer: {ROWS.format(80)}}}\n"
    + STUDY.format("mine", "same, longer", 4, FORGETFUL)
)


def made(folder: Path, name: str, text: str) -> Path:
    """Run the jobs of a config and return its results, below results/NAME of a folder."""
    file = folder / "config" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    results = folder / "results" / name
    job_calls.make(file, results, "build_stream", "run_method", "summarise_study")
    return results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with results/ours, config/ours.yaml and the third-party crate."""
    forget()
    folder = tmp_path_factory.mktemp("board")
    made(folder, "ours", OURS)
    shutil.copytree(EXAMPLE, folder / "theirs/config/my_parts")
    theirs = made(folder / "theirs", "theirs", THEIRS)
    crate.make(theirs, folder / "theirs/config/theirs.yaml", folder / "somebody")
    forget()
    yield folder
    forget()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without_bundle(monkeypatch)
    # as in a user's shell, regardless of the process that runs the tests
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield
    forget()


def site(folder: Path, target: Path, *more: str) -> html.Element:
    """Return the leaderboard of our site with the third-party crate."""
    options = ["--config", str(folder / "config/ours.yaml"), "--to", str(target), *more]
    results = str(folder / "results/ours")
    assert main.main(["site", results, *options, "--with", str(folder / "somebody")]) == 0
    return html.read(target / "leaderboard.html")


def lines(page: html.Element) -> dict[str, list[str]]:
    """Return rank, source and the reason for having no rank, by method."""
    found = {}
    for row in page.all("tr"):
        if "data-label" in row.attributes:
            cells = [cell.text for cell in row.children]
            found[row.attributes["data-label"]] = [cells[0], cells[2], cells[-1]]
    return found


@pytest.mark.long
def test_what_is_verified_is_ranked_beside_ours(folder: Path, tmp_path: Path) -> None:
    page = site(folder, tmp_path / "site", "--trust")
    found = lines(page)
    assert found.keys() == {"known", "mine/forgetful", "mine/sure"}
    scores = pd.concat(
        pd.read_csv(path) for path in folder.glob("**/results/*/studies/*/scores.csv")
    )
    scores = scores[scores["stream"].isin(["rows", "same"])]
    order = scores.groupby("learner")["score"].mean().sort_values(ascending=False)
    ranked = sorted(found, key=lambda name: int(found[name][0]))
    assert [name.removeprefix("mine/") for name in ranked] == list(order.index)
    assert {name: row[1] for name, row in found.items()} == {
        "known": "here", "mine/forgetful": "somebody", "mine/sure": "somebody"
    }  # fmt: skip
    assert "somebody: mine/forgetful on longer" in page.text, "a stream that is not ours"


@pytest.mark.peers
@pytest.mark.parametrize("width", [1400, 400])
def test_the_leaderboard_fits_a_browser_and_people(
    page: Any, violations: Violations, folder: Path, tmp_path: Path, width: int
) -> None:
    site(folder, tmp_path / "site", "--trust")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((tmp_path / "site/leaderboard.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("tr[data-label='mine/sure']").is_visible()
    assert page.told == []
    assert violations(page) == []


@pytest.mark.long
def test_code_that_runs_leaves_the_crate_as_it_is(folder: Path) -> None:
    leaderboard_entries.read(folder / "somebody", trust=True)
    assert "my_parts" in sys.modules
    assert crate.changed(folder / "somebody") == []


@pytest.mark.long
def test_code_that_came_with_a_crate_runs_only_where_it_is_trusted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    found = lines(site(folder, tmp_path / "site"))
    assert found["known"][0] == "1"
    assert not found["mine/sure"][0].isdigit() and "only with --trust" in found["mine/sure"][2]
    assert "my_parts" not in sys.modules
    assert "mine/sure on same: forgetful-ridge: code that came with" in capsys.readouterr().out


@pytest.mark.long
def test_crates_of_one_name_with_packages_of_one_name_are_told_apart(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Another user's package, method and crate have the same names, and other code."""
    shutil.copytree(folder / "somebody", tmp_path / "alice/crate")
    shutil.copytree(EXAMPLE, tmp_path / "bob/config/my_parts")
    learner = tmp_path / "bob/config/my_parts/learners/forgetful_ridge.py"
    learner.write_text(learner.read_text().replace("kept = settings.forget", "kept = 0.5"))
    theirs = made(tmp_path / "bob", "theirs", THEIRS)
    crate.make(theirs, tmp_path / "bob/config/theirs.yaml", tmp_path / "bob/crate")
    forget()
    both = [str(tmp_path / name / "crate") for name in ("alice", "bob")]
    options = ["--config", str(folder / "config/ours.yaml"), "--to", str(tmp_path / "site")]
    call = ["site", str(folder / "results/ours"), *options, "--trust", "--with"]
    assert main.main([*call, *both]) == 0
    said = capsys.readouterr().out
    for name in ("alice/crate", "bob/crate"):
        assert f"{name}: mine/forgetful on same: verified" in said
    rows = html.read(tmp_path / "site/leaderboard.html").all("tr")
    cells = [[cell.text for cell in row.children] for row in rows]
    scores = {one[2]: one[3] for one in cells if one[1] == "mine/forgetful"}
    assert scores.keys() == {"alice/crate", "bob/crate"} and len({*scores.values()}) == 2
    with pytest.raises(UserError, match="is there twice; give each crate once"):
        leaderboard_entries.labels([tmp_path / "bob/crate", tmp_path / "bob/../bob/crate"])


@pytest.mark.long
def test_a_crate_with_one_other_byte_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    spoilt = Path(shutil.copytree(folder / "somebody", tmp_path / "somebody"))
    table = spoilt / "studies/mine/scores.csv"
    table.write_text(table.read_text().replace("ok", "OK", 1))
    results = [str(folder / "results/ours"), "--config", str(folder / "config/ours.yaml")]
    made = ["site", *results, "--to", str(tmp_path / "site"), "--with", str(spoilt)]
    assert main.main(made) == 2 and not (tmp_path / "site").exists()
    assert "studies/mine/scores.csv" in capsys.readouterr().err


@pytest.mark.long
def test_better_scores_with_new_checksums_do_not_come_out_again(
    folder: Path, tmp_path: Path
) -> None:
    """A forged crate has higher scores, and all checksums are rewritten."""
    spoilt = Path(shutil.copytree(folder / "somebody", tmp_path / "somebody"))
    table = spoilt / "studies/mine/scores.csv"
    rows = pd.read_csv(table)
    rows["score"] += 1.0
    table.write_text(rows.to_csv(index=False, lineterminator="\n"))
    listed = spoilt / "studies/mine" / result_files.CHECKSUMS
    listed.write_text(result_files.checksums(result_files.of_study(spoilt, "mine")))
    told = spoilt / "ro-crate-metadata.json"
    text = told.read_text()
    for name, path in (("scores.csv", table), (result_files.CHECKSUMS, listed)):
        old = result_files.checksums({"": folder / "somebody/studies/mine" / name}).split()[0]
        text = text.replace(old, result_files.checksums({"": path}).split()[0])
    told.write_text(text)
    (spoilt / result_files.CHECKSUMS).write_text(
        result_files.checksums(crate_files.contents(spoilt))
    )
    assert crate.changed(spoilt) == []
    for one in leaderboard_entries.read(spoilt, trust=True):
        assert one.problem.startswith("its scores are not those of its runs"), one


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trials": 30}, "tuned with 30 trials; ours not"),
        ({"problem": "its run is another"}, "its run is another"),
        ({"conditions": {"protocol": "{}"}}, "another protocol"),
        ({"conditions": {"model": '["mlp", {}]'}}, "another network"),
        ({"scores": [0, 1]}, "no score of 2 of our 4 seeds"),
        ({"metrics": ["squared_error"]}, "its study has no log_predictive"),
    ],
)
def test_what_is_not_alike_has_no_rank_and_says_why(
    folder: Path, change: dict, reason: str
) -> None:
    from shiftbench.publish.site import collect, leaderboard, standings

    found = collect.collect(folder / "results/ours", [folder / "config/ours.yaml"])
    known = {one.place: standings.of(one) for one in found.studies}
    (study,) = found.studies
    (own,) = leaderboard._settings(study, "rows")
    scores = pd.DataFrame({"log_predictive": [0.5, 0.6, 0.7, 0.8]}, index=range(4))
    entry = leaderboard_entries.Entry("theirs", "s", "x", "better", own, scores, 0, "")
    (board,), _ = leaderboard.boards(found, known, [entry])
    assert [line.rank for line in board.lines] == [1, 2] and board.lines[0].label == "s/better"
    if "conditions" in change:
        entry = entry._replace(conditions=own._replace(**change["conditions"]))
    elif "scores" in change:
        entry = entry._replace(scores=scores.loc[change["scores"]])
    elif "metrics" in change:
        entry = entry._replace(scores=scores.set_axis(change["metrics"], axis=1))
    else:
        entry = entry._replace(**change)
    (board,), unplaced = leaderboard.boards(found, known, [entry])
    assert [line.rank for line in board.lines] == [1, 0] and unplaced == []
    assert board.lines[1].reason.startswith(reason)
