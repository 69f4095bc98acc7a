"""Publishing copies results; verify names the differences and their size."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftbench.cli import main, verifying
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum
from shiftbench.evaluation.scoring import statistics
from shiftbench.publish import result_files, study_copy, verify
from shiftbench.publish.results_folder import ResultsFolder

ROWS = {
    "study": "nile", "stream": "nile", "learner": ["a", "b"], "metric": "f1",
    "mean": [0.5, 0.25], "sd": [0.1, 0.2], "ci_low": [0.4, 0.1], "ci_high": [0.6, 0.4],
    "n": 5, "published": [0.55, None], "published_note": None,
    "status": "5 of 5 runs",
}  # fmt: skip
COST = {
    "cpu_seconds": 36.0, "processor": "one", "instructions": "portable", "versions": {"numpy": "2"}
}  # fmt: skip


def cube() -> bytes:
    """Return the bytes of a store that contains only its spec."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        spec = json.dumps({"study": "nile"})
        archive.writestr("zarr.json", json.dumps({"attributes": {"spec": spec}}))
    return made.getvalue()


def write(results: Path, name: str, content: str | bytes) -> Path:
    """Write a file of the study as a job does, with its checksum."""
    path = results / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    checksum.write(path)
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a folder of results with one published study."""
    made = tmp_path / "results" / "small"
    write(made, "studies/nile/summary.csv", pd.DataFrame(ROWS).to_csv(index=False))
    write(made, "studies/nile/scores.csv", "every score")
    write(made, "studies/nile/figures/segmentation.png", "drawn")
    write(made, "studies/nile/scores.zarr.zip", cube())
    write(made, "runs/nile/nile/a/0-4.zarr.zip", "a store")
    choice = {"settings": {"map.strength": 10}, "trials": [{"score": 0.8}]}
    write(made, "studies/nile/choices/nile/a.json", json.dumps(choice))
    (made / "runs/nile/nile/a/0-4.cost.json").write_text(json.dumps(COST))
    study_copy.publish(ResultsFolder(made), published(made))
    return made


def published(results: Path) -> Path:
    return results.parent / "published" / "small"


def change(results: Path, column: str, value) -> None:
    """Change a number in the summary, as if another run had written it."""
    rows = pd.DataFrame(ROWS)
    rows.loc[0, column] = value
    write(results, "studies/nile/summary.csv", rows.to_csv(index=False))


def status(results: Path, *more: str) -> int:
    return main.main(["verify", str(results), *more])


def test_what_is_published_is_what_was_made(results: Path) -> None:
    folder = published(results) / "studies/nile"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "summary.csv", "scores.csv", "figures/segmentation.png", "choices/nile/a.json",
        result_files.CHECKSUMS, result_files.PROVENANCE,
    }  # fmt: skip
    told = json.loads((folder / result_files.PROVENANCE).read_text())
    assert (told["runs"], told["core_hours"], told["processors"]) == (1, 0.01, ["one"])
    assert told["spec"] == {"study": "nile"}
    assert (
        subprocess.run(["sha256sum", "--check", result_files.CHECKSUMS], cwd=folder).returncode == 0
    )


def test_the_same_again_is_identical_and_publishing_it_changes_nothing(results: Path) -> None:
    before = (published(results) / "studies/nile" / result_files.PROVENANCE).read_text()
    (results / "runs/nile/nile/a/0-4.cost.json").write_text(json.dumps(COST | {"cpu_seconds": 72}))
    assert status(results) == 0
    assert study_copy.publish(ResultsFolder(results), published(results)) == {"nile": "unchanged"}
    assert (published(results) / "studies/nile" / result_files.PROVENANCE).read_text() == before


def test_core_hours_are_those_of_runs_and_of_the_warm_ups_that_they_share(results: Path) -> None:
    folder = results / "warm-ups/nile/nile/map-0a1b2c3d"
    write(results, "warm-ups/nile/nile/map-0a1b2c3d/0-4.zarr.zip", "a store")
    (folder / "0-4.cost.json").write_text(json.dumps(COST | {"cpu_seconds": 72}))
    change(results, "mean", 0.4)
    study_copy.publish(ResultsFolder(results), published(results))
    told = json.loads((published(results) / "studies/nile" / result_files.PROVENANCE).read_text())
    assert (told["runs"], told["core_hours"]) == (1, 0.03)
    (folder / "0-4.zarr.zip").write_text("edited")
    with pytest.raises(UserError, match=r"map-0a1b2c3d/0-4\.zarr\.zip: changed or gone"):
        study_copy.publish(ResultsFolder(results), published(results))


@pytest.mark.parametrize(
    ("column", "value", "verdict"),
    [
        ("mean", 0.5 + 1e-9, "rounding"),
        ("sd", 0.1 + 1e-9, "rounding"),
        ("mean", 0.59, "interval"),
        ("mean", 0.61, "different"),
        ("sd", 0.11, "different"),
        ("n", 4, "different"),
        ("published", 0.7, "different"),
        ("status", "4 of 5 runs; 1 failed: why", "different"),
    ],
)
def test_a_number_has_the_verdict_of_its_distance(results, capsys, column, value, verdict) -> None:
    change(results, column, value)
    assert status(results, "--table") == verifying.VERIFIED[verdict]
    assert "nile/a/f1" in capsys.readouterr().out
    assert status(published(results), str(results)) != 0


def row(scores: list[float]) -> pd.Series:
    """Return the row of a summary of these scores."""
    mean, sd, low, high, n = statistics.interval(np.array(scores))
    numbers = {"mean": mean, "sd": sd, "ci_low": low, "ci_high": high, "n": n}
    return pd.Series(numbers | {"published": None, "status": "all"})


def test_rounding_of_a_0_is_no_difference() -> None:
    assert verify.of_pair(0.0, 1e-17) == verify.of_pair(-1e-17, 1e-17) == "rounding"
    assert verify.of_pair(0.0, 1e-9) == "different"
    equal, apart = row([0.1] * 3), row([0.1, 0.1, np.nextafter(0.1, 1)])
    assert equal["sd"] != apart["sd"]
    assert verify._of_rows(equal, apart) == verify._of_rows(apart, equal) == "rounding"


@pytest.mark.parametrize("column", ["sd", "ci_low", "ci_high"])
def test_spreads_are_judged_beside_the_mean_and_its_ends(column: str) -> None:
    reference = row([1e6, 1e6 + 1, 1e6 + 2])
    reference[column] = 1.0
    for by, verdict in ((5.0, "rounding"), (20.0, "different")):
        ours = reference.copy()
        ours[column] += by
        assert verify._of_rows(ours, reference) == verdict


def test_an_infinite_score_is_not_near_a_number() -> None:
    assert verify.of_pair(np.inf, np.inf) == "identical"
    assert verify.of_pair(np.inf, 1.0) == verify.of_pair(-np.inf, np.inf) == "different"


def test_a_figure_of_other_numbers_has_their_verdict(results: Path) -> None:
    change(results, "mean", 0.59)
    write(results, "studies/nile/figures/segmentation.png", "drawn otherwise")
    assert verify.worst(verify.compare(results, published(results))) == "interval"


@pytest.mark.parametrize("name", ["figures/segmentation.png", "summary.csv"])
@pytest.mark.parametrize("side", [lambda made: made, published])
def test_an_edit_by_hand_is_named_on_either_side(results, capsys, name, side) -> None:
    path = side(results) / "studies/nile" / name
    path.write_text(path.read_text().replace("0.5,", "0.5000000001,").replace("drawn", "drawn!"))
    assert status(results, "--table") == verifying.VERIFIED["different"]
    assert f"{path} | changed after it was made" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["runs/nile/nile/a/0-4.zarr.zip", "studies/nile/scores.zarr.zip"])
def test_a_truncated_or_missing_store_is_named_and_not_published(results, capsys, name) -> None:
    store = results / name
    store.write_bytes(store.read_bytes()[:3])
    assert status(results, "--table") == verifying.VERIFIED["different"]
    assert str(store) in capsys.readouterr().out
    store.unlink()
    assert status(results) == verifying.VERIFIED["different"]
    with pytest.raises(UserError, match=r"zarr\.zip: changed or gone .* Nothing was published"):
        study_copy.publish(ResultsFolder(results), published(results))


def test_another_winner_of_the_trials_is_different(results: Path) -> None:
    other = {"settings": {"map.strength": 10}, "trials": [{"score": 0.9}]}
    write(results, "studies/nile/choices/nile/a.json", json.dumps(other))
    assert status(results) == verifying.VERIFIED["rounding"]
    write(results, "studies/nile/choices/nile/a.json", json.dumps(other | {"settings": {}}))
    assert status(results) == verifying.VERIFIED["different"]


def test_a_learner_or_a_figure_that_one_side_lacks_is_different(results: Path) -> None:
    write(results, "studies/nile/tables/score-table.md", "a table")
    assert status(results) == verifying.VERIFIED["different"]
    study_copy.publish(ResultsFolder(results), published(results))
    assert status(results) == 0
    write(results, "studies/nile/summary.csv", pd.DataFrame(ROWS).iloc[:1].to_csv(index=False))
    assert status(results) == verifying.VERIFIED["different"]


def test_other_instructions_are_named(results: Path, capsys) -> None:
    cost = results / "runs/nile/nile/a/0-4.cost.json"
    cost.write_text(json.dumps(COST | {"instructions": "native"}))
    change(results, "mean", 0.5 + 1e-9)
    assert status(results) == verifying.VERIFIED["rounding"]
    assert "ours with native instructions, the reference with portable" in capsys.readouterr().out


def test_a_gpu_is_named(results: Path, capsys) -> None:
    cost = results / "runs/nile/nile/a/0-4.cost.json"
    on_gpu = {"device": "gpu", "gpu": "Pretended GPU", "wall_seconds": 7200.0}
    cost.write_text(json.dumps(COST | on_gpu))
    told = study_copy.provenance(ResultsFolder(results), "nile", "abc")
    assert told["gpus"] == ["Pretended GPU"] and told["gpu_hours"] == 2.0
    change(results, "mean", 0.5 + 1e-9)
    assert status(results) == verifying.VERIFIED["rounding"]
    said = capsys.readouterr().out
    assert "ours on Pretended GPU, the reference on processors alone" in said


def test_a_study_that_was_not_run_is_left_out(results: Path) -> None:
    shutil.copytree(published(results) / "studies/nile", published(results) / "studies/other")
    assert {found.study for found in verify.compare(results, published(results))} == {"nile"}
    shutil.rmtree(results / "studies/nile")
    assert status(results) == 2


@pytest.fixture
def committed(results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commit the published results, and return those of the run; the test runs in the checkout."""
    monkeypatch.chdir(results.parents[1])
    monkeypatch.setattr(checkout, "HOME", results.parents[1])
    git = ["git", "-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "results/published"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    return results


def test_a_git_revision_is_a_reference(committed: Path) -> None:
    small = Path("results/small")
    change(small, "mean", 0.59)
    write(small, "overview/ledger.csv", "claim,verdict\n")
    study_copy.publish(ResultsFolder(small), published(small))
    for place in ("studies/nile", "overview"):  # written after the first one changed
        origin = json.loads((published(small) / place / result_files.PROVENANCE).read_text())
        assert origin["commit"] and not origin["commit"].endswith("-dirty")
    assert status(small) == 0
    assert status(small, "--revision", "HEAD") == verifying.VERIFIED["interval"]
    assert status(small, "--revision", "nowhere") == 2


def test_an_absolute_folder_of_a_git_revision_is_not_the_one_of_today(
    committed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    change(committed, "mean", 0.59)
    study_copy.publish(ResultsFolder(committed), published(committed))
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(committed.parents[1])
    for small in (committed, link / "results" / "small"):
        assert status(small) == 0
        assert status(small, "--revision", "HEAD") == verifying.VERIFIED["interval"]


def test_a_folder_of_a_git_revision_is_below_the_working_directory(
    committed: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    (committed.parents[1] / "docs").mkdir()
    monkeypatch.chdir(committed.parents[1] / "docs")
    for small in (committed, Path("../results/small")):
        assert status(small, "--revision", "HEAD") == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"{published(small)}: not below the working directory" in said
        assert "change to the top folder of the checkout that has it, and start again" in said


@pytest.fixture
def overview(results: Path) -> Path:
    """Publish an overview with the results and return them."""
    write(results, "overview/ledger.csv", "claim,verdict\n")
    write(results, "overview/ledger.png", "drawn")
    assert study_copy.publish(ResultsFolder(results), published(results)) == {
        "nile": "unchanged", "overview": "published"
    }  # fmt: skip
    return results


def test_the_overview_is_published_with_checksums_and_provenance(overview: Path) -> None:
    folder = published(overview) / "overview"
    assert {path.name for path in folder.iterdir()} == {
        "ledger.csv", "ledger.png", result_files.CHECKSUMS, result_files.PROVENANCE
    }  # fmt: skip
    assert (
        subprocess.run(["sha256sum", "--check", result_files.CHECKSUMS], cwd=folder).returncode == 0
    )
    assert status(overview) == 0
    assert set(study_copy.publish(ResultsFolder(overview), published(overview)).values()) == {
        "unchanged"
    }


def test_an_overview_that_was_not_made_of_the_same_numbers_differs(overview: Path, capsys) -> None:
    write(overview, "overview/ledger.csv", "claim,verdict\na,reproduced\n")
    assert status(overview, "--table") == 5
    assert "overview" in capsys.readouterr().out


def test_an_overview_has_the_verdict_of_the_numbers_behind_it(overview: Path) -> None:
    change(overview, "mean", 0.5 * (1 + 1e-7))
    write(overview, "overview/ledger.csv", "claim,verdict\na,reproduced\n")
    assert status(overview) == 3


def test_an_edited_overview_is_not_published(overview: Path) -> None:
    (overview / "overview/ledger.csv").write_text("claim,verdict\na,reproduced\n")
    with pytest.raises(UserError, match=r"overview/ledger\.csv: changed or gone"):
        study_copy.publish(ResultsFolder(overview), published(overview))


@pytest.mark.parametrize("verb", ["verify", "publish"])
def test_a_missing_folder_is_named(tmp_path: Path, capsys, verb: str) -> None:
    assert main.main([verb, str(tmp_path / "nowhere")]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err


def test_results_that_nothing_can_be_compared_with_are_named(tmp_path: Path, capsys) -> None:
    (tmp_path / "results/mine").mkdir(parents=True)
    assert main.main(["verify", str(tmp_path / "results/mine")]) == 2
    said = capsys.readouterr().err
    assert "results/published/mine: there are no such results to compare with" in said
    assert f"name another folder, as verify {tmp_path / 'results/mine'} FOLDER" in said
