"""Crates describe their results and provenance, and detect changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from shiftbench.cli import main, verifying
from shiftbench.config import config_file, result_paths
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, raw, zarr_zip
from shiftbench.forecast import plan
from shiftbench.publish import (
    crate,
    crate_files,
    crate_metadata,
    crate_plan,
    crate_sources,
    licences,
    recompute,
    result_files,
    store_metadata,
)
from shiftbench.publish.recompute import Sample
from tests.publish import small_results


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the crate that tests may change."""
    return Path(shutil.copytree(made / "crate", tmp_path / "crate"))


def graph(folder: Path) -> dict[str, dict]:
    told = json.loads((folder / crate_metadata.NAME).read_text(encoding="utf-8"))
    return {entity["@id"]: entity for entity in told["@graph"]}


def status(folder: Path, *more: str) -> int:
    return main.main(["verify", str(folder), *more])


@pytest.mark.long
def test_equal_results_make_equal_bytes(made: Path, tmp_path: Path) -> None:
    crate.make(made / "results/small", made / "config/small.yaml", tmp_path / "again")
    first, again = (crate_files.contents(at, True) for at in (made / "crate", tmp_path / "again"))
    assert first.keys() == again.keys()
    assert [name for name in first if first[name].read_bytes() != again[name].read_bytes()] == []


def test_pages_in_the_folder_of_results_are_no_part_of_them(made: Path, tmp_path: Path) -> None:
    results = Path(shutil.copytree(made / "results/small", tmp_path / "results/small"))
    config = ["--config", str(made / "config/small.yaml")]
    assert main.main(["publish", str(results), *config]) == 0
    before = crate_files.contents(made / "crate", True)
    pages = results / "site/studies/small/toy.html"
    pages.parent.mkdir(parents=True)
    for path in (pages, results / "site/studies/summary.csv", results / "site/index.html"):
        path.write_text("of a site")
    crate.make(results, made / "config/small.yaml", tmp_path / "crate")
    assert crate_files.contents(tmp_path / "crate", True).keys() == before.keys()
    assert main.main(["publish", str(results), "--dry-run", *config]) == 0
    assert status(results) == 0
    assert not (results.parent / "published/small/site").exists()


def test_the_files_of_a_crate_are_a_checkout_and_its_results(made: Path) -> None:
    names = crate_files.contents(made / "crate").keys()
    assert names >= {
        "Snakefile", "workflow/Snakefile", "workflow/rules/run.smk", "envs/requirements.lock",
        "config/small.yaml", "src/shiftbench/cli/main.py", "LICENSE", "CITATION.cff", "README.md",
        "studies/toy/summary.csv", "studies/toy/provenance.json", "streams/steps.zarr.zip",
        "runs/toy/steps/search/0-1.zarr.zip", "runs/toy/steps/search/0-1.cost.json",
    }  # fmt: skip
    assert not [name for name in names if "__pycache__" in name or "/." in name]


def test_metadata_have_every_file_by_checksum(made: Path) -> None:
    folder, told = made / "crate", graph(made / "crate")
    for name, path in crate_files.contents(folder).items():
        if name != crate_metadata.NAME and not name.startswith("src/"):
            content = path.read_bytes()
            assert told[name]["sha256"] == hashlib.sha256(content).hexdigest()
            assert told[name]["contentSize"] == str(len(content))


def test_metadata_tell_what_made_what_and_when(made: Path) -> None:
    told = graph(made / "crate")
    cost = json.loads((made / "crate/runs/toy/steps/plain/2-3.cost.json").read_text())
    run = told["#runs/toy/steps/plain/2-3"]
    assert {one["@id"] for one in run["result"]} == {
        "runs/toy/steps/plain/2-3.zarr.zip", "runs/toy/steps/plain/2-3.cost.json"
    }  # fmt: skip
    assert "host" not in cost
    assert (run["startTime"], run["endTime"]) == (cost["started"], cost["ended"])
    used = {told[one["@id"]]["propertyID"]: one["@id"] for one in run["resourceUsage"]}
    assert told[used["cpu_seconds"]]["value"] == str(cost["cpu_seconds"])
    results = {one["@id"] for one in told["#workflow-run"]["result"]}
    assert {"studies/toy/summary.csv", "studies/toy/tables/score-table.csv"} <= results
    assert told["./"]["datePublished"] == max(
        one["endTime"] for one in told.values() if "endTime" in one
    )
    assert "https://arxiv.org/abs/2012.08101" in told, "the work that proposes vbs-toy"


def test_what_did_not_record_its_time_says_so(made: Path, tmp_path: Path) -> None:
    results = Path(shutil.copytree(made / "results/small", tmp_path / "small"))
    for path in results.rglob(f"*{result_paths.COST}"):
        cost = json.loads(path.read_text())
        path.write_text(json.dumps({key: cost[key] for key in cost if "ed" not in key[-3:]}))
        checksum.write(path)
    crate.make(results, made / "config/small.yaml", tmp_path / "crate")
    run = graph(tmp_path / "crate")["#runs/toy/steps/plain/2-3"]
    assert "not recorded" in run["description"] and "endTime" not in run


def test_what_is_published_makes_a_crate_with_its_own_provenance(
    made: Path, tmp_path: Path
) -> None:
    to = ["--to", str(tmp_path / "small"), "--config", str(made / "config/small.yaml")]
    assert main.main(["publish", str(made / "results/small"), *to]) == 0
    origin = tmp_path / "small/studies/toy/provenance.json"
    origin.write_text(origin.read_text().replace('"runs": 4', '"runs": 7'))
    crate.make(tmp_path / "small", made / "config/small.yaml", tmp_path / "crate")
    assert "7 runs" in graph(tmp_path / "crate")["#study/toy"]["description"]
    assert not (tmp_path / "crate/runs").exists()
    assert status(tmp_path / "crate") == verifying.UNVERIFIED


def test_only_open_licences_let_data_be_passed_on() -> None:
    copied = {name for name, one in raw.table().items() if licences.is_open(one.licence)}
    assert {"mnist", "digits", "nile", "un-general-debates", "simulated-ar"} <= copied
    assert not copied & {"svhn", "cifar-10", "diabetes", "uci-wine", "diabetic-retinopathy", "pima"}
    assert not licences.is_open("CC BY-NC 4.0") and not licences.is_open("")
    unclear = {name for name, one in raw.table().items() if one.licence_status == raw.UNCLEAR}
    read = {
        name for name, one in raw.table().items() if any(file.inside for file in one.files.values())
    }
    assert {"cifar-10", "tcpd-occupancy"} <= unclear and len(read) == 5
    assert not copied & (unclear | read)


@pytest.mark.long
def test_a_stream_without_an_open_licence_is_described_and_not_copied(
    made: Path, tmp_path: Path
) -> None:
    results = Path(shutil.copytree(made / "results/small", tmp_path / "small"))
    store = results / "streams/steps.zarr.zip"
    stream = zarr_zip.read(store)
    stream.attrs |= {"licence": "none stated", "licence_status": "unclear"}
    zarr_zip.write(stream, store)
    checksum.write(store)
    crate.make(results, made / "config/small.yaml", tmp_path / "crate")
    described = json.loads((tmp_path / "crate/streams/steps.croissant.json").read_text())
    assert (described["license"], described["distribution"]) == ("none stated (unclear)", [])
    assert not (tmp_path / "crate/streams/steps.zarr.zip").exists()
    found = recompute.candidates(crate_plan.read(tmp_path / "crate"), plan.estimator())
    assert {one.obstacle for one in found} == {"its stream is not in the crate"}
    assert recompute.draw(found, Sample(4), 0, 600.0) == []
    assert status(tmp_path / "crate") == verifying.UNVERIFIED


def test_raw_files_of_a_package_are_described_where_they_lie() -> None:
    entry = raw.table()["tcpd-apple"]
    told = crate_sources._dataset("tcpd-apple", entry)
    file = crate_sources._raw_file(entry.files["apple.json"], entry)
    address = "https://pypi.org/project/river/0.26.1/#river/drift/datasets/apple.csv"
    assert told["hasPart"] == [{"@id": address}] and told["license"] == "may not be redistributed"
    assert (file["@id"], file["name"], file["contentSize"]) == (address, "apple.csv", "121995")
    assert file["sha256"] == entry.files["apple.json"].inside.sha256
    mnist = crate_sources._dataset("mnist", raw.table()["mnist"])
    assert mnist["license"] == "CC BY-SA 3.0 (presumed)"


def test_croissant_lists_the_store_and_its_arrays(made: Path) -> None:
    folder = made / "crate/streams"
    told = json.loads((folder / "steps.croissant.json").read_text())
    (store,) = told["distribution"]
    assert store["sha256"] == checksum.sha256(folder / store["contentUrl"])
    (arrays,) = told["recordSet"]
    rows = {row["arrays/variable"]: row["arrays/shape"] for row in arrays["data"]}
    stream = zarr_zip.read(folder / "steps.zarr.zip")
    assert rows.keys() == set(map(str, stream.variables))
    assert rows["shift"] == "4 12"


def test_files_of_the_user_are_named_by_checksum_with_their_licence(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        rows = "\n".join(f"{row},{row % 3}" for row in range(9))
        (tmp_path / name / "mine.csv").write_text(f"x,y\n{rows}\n{name == 'a':d},0\n")
    family = "family: table-file, target: y, history: 3"
    (tmp_path / "own.yaml").write_text(
        "streams:\n"
        f"  a: {{{family}, path: a/mine.csv, licence: secret, citation: Me}}\n"
        f"  b: {{{family}, path: b/mine.csv}}\n"
        "studies:\n  one: {title: Mine, streams: [a, b], seeds: 1, metrics: [log_predictive],"
        " methods: [vcl-linear]}\n"
    )
    plan = config_file.load(tmp_path / "own.yaml")
    found = {one["sha256"]: one for one in crate_sources.datasets(plan, plan.streams)}
    assert {one["name"] for one in found.values()} == {"mine.csv"}
    first, second = (found[checksum.sha256(tmp_path / name / "mine.csv")] for name in ("a", "b"))
    assert (first["license"], first["description"]) == ("secret", "Me")
    assert second["license"] == "not stated"
    assert [one["name"] for one in crate_sources.datasets(plan, ["b"])] == ["mine.csv"]


def test_results_of_other_code_or_another_config_make_no_crate(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    arguments = ["crate", str(made / "results/small"), "--to", str(tmp_path / "crate")]
    for text, words in (
        (
            small_results.CONFIG.replace("vbs-toy}", "vbs-toy, beam.size: 2}"),
            "2-3.zarr.zip: the code",
        ),
        (
            small_results.CONFIG.replace("toy:\n", "game:\n"),
            f"has no study toy; delete {made / 'results/small/studies/toy'}, or name",
        ),
    ):
        other.write_text(text)
        assert main.main([*arguments, "--config", str(other)]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "crate").exists()


def test_runs_that_the_config_no_longer_plans_are_in_no_crate(made: Path, tmp_path: Path) -> None:
    """As after a learner got another name, or a study more seeds."""
    results = Path(shutil.copytree(made / "results/small", tmp_path / "small"))
    runs = results / "runs/toy/steps"
    shutil.copytree(runs / "plain", runs / "earlier")
    (runs / "earlier/0-1.zarr.zip").write_bytes(b"of earlier code")  # and another checksum
    target = tmp_path / "crate"
    crate.make(results, made / "config/small.yaml", target)
    first, again = (crate_files.contents(at, True) for at in (made / "crate", target))
    assert first.keys() == again.keys()
    assert [name for name in first if first[name].read_bytes() != again[name].read_bytes()] == []


@pytest.mark.parametrize(
    "name",
    ["studies/toy/tables/score-table.md", "runs/toy/steps/plain/0-1.zarr.zip", "studies/toy"],
)
def test_incomplete_results_make_no_crate_and_the_message_names_what_is_missing(
    made: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = Path(shutil.copytree(made / "results/small", tmp_path / "small"))
    lost = results / name
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    config = ["--config", str(made / "config/small.yaml")]
    assert main.main(["crate", str(results), *config, "--to", str(tmp_path / "crate")]) == 2
    assert f"lacks {lost}" in capsys.readouterr().err
    assert not (tmp_path / "crate").exists()


def test_a_crate_with_other_things_beside_it_is_left_alone(
    copied: Path, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "mine.txt").write_text("mine")
    config = ["--config", str(made / "config/small.yaml")]
    assert main.main(["crate", str(made / "results/small"), *config, "--to", str(copied)]) == 2
    assert "mine.txt beside a crate" in capsys.readouterr().err
    assert (copied / "mine.txt").read_text() == "mine"


def test_a_folder_with_other_things_is_left_alone(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    config = str(made / "config/small.yaml")
    arguments = ["crate", str(made / "results/small"), "--config", config]
    assert main.main([*arguments, "--to", str(tmp_path)]) == 2
    assert "not a crate" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.long
def test_an_untouched_crate_is_verified_by_computing_runs_again(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(made / "crate", "--sample", "2") == 0
    told = capsys.readouterr().out
    assert told.count("identical, all") == 3 and "2 computed again, of 4" in told
    assert "toy: identical, all 4 rows" in told


def test_the_draw_of_runs_is_that_of_its_seed(made: Path) -> None:
    runs = recompute.candidates(crate_plan.read(made / "crate"), plan.estimator())
    drawn = [recompute.draw(runs, Sample(2), seed, 600.0) for seed in range(8)]
    assert drawn == [recompute.draw(runs, Sample(2), seed, 600.0) for seed in range(8)]
    assert len({tuple(one.run.name for one in two) for two in drawn}) > 1
    assert recompute.draw(runs, Sample(99), 0, 600.0) == sorted(runs, key=lambda one: one.run.name)


@pytest.mark.parametrize(
    "name",
    ["studies/toy/summary.csv", "studies/toy/tables/score-table.md", "src/shiftbench/cli/main.py"],
)
def test_one_changed_byte_is_refused(
    copied: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray((copied / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / name).write_bytes(content)
    assert status(copied) == 5
    assert f"{name}: changed" in capsys.readouterr().out


def test_a_missing_file_and_one_too_many_are_refused(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "studies/toy/scores.csv").unlink()
    (copied / "studies/toy/more.csv").write_text("mine")
    assert status(copied) == 5
    told = capsys.readouterr().out
    assert "studies/toy/scores.csv" in told and "studies/toy/more.csv" in told


@pytest.mark.parametrize("text", ["{}", "[]", '{"@graph": [{"sha256": "1"}]}', "no JSON"])
def test_metadata_that_are_none_are_told(
    copied: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / crate_metadata.NAME).write_text(text)
    assert status(copied) == 2
    assert crate_metadata.NAME in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"), [(b"{", "is not valid JSON"), (b"\xff", "is not text in UTF-8")]
)
def test_a_file_of_a_crate_that_is_not_json_is_told(
    tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "cost.json").write_bytes(content)
    with pytest.raises(UserError, match=rf"cost\.json {told} \(.+\); get the crate again"):
        crate_files.read_json(tmp_path / "cost.json")


def test_a_new_checksum_in_the_list_alone_is_refused(copied: Path) -> None:
    table = copied / "studies/toy/summary.csv"
    table.write_text(table.read_text().replace("toy", "toys", 1))
    (copied / result_files.CHECKSUMS).write_text(
        result_files.checksums(crate_files.contents(copied))
    )
    assert crate.changed(copied) == ["studies/toy/summary.csv"]


def forge(folder: Path, path: Path, change: Callable[[Path], object]) -> None:
    """Change a file of a crate, and update its checksum everywhere."""
    told, old = folder / crate_metadata.NAME, checksum.sha256(path)
    change(path)
    told.write_text(told.read_text().replace(old, checksum.sha256(path)))
    (folder / result_files.CHECKSUMS).write_text(
        result_files.checksums(crate_files.contents(folder))
    )
    assert crate.changed(folder) == []


@pytest.mark.long
@pytest.mark.parametrize(("name", "found"), [("summary", "steps/plain/jump_f1"), ("scores", "")])
def test_an_invented_number_with_all_checksums_is_found_by_its_runs(
    copied: Path, name: str, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(path: Path) -> None:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = (table["learner"] == "plain") & (table["metric"] == "jump_f1")
        table.loc[rows.idxmax(), "mean" if name == "summary" else "score"] = "0.987"
        table.to_csv(path, index=False, lineterminator="\n")

    forge(copied, copied / f"studies/toy/{name}.csv", change)
    assert status(copied, "--sample", "0") == 5
    assert f"toy: different, {found or 'scores.csv'}" in capsys.readouterr().out


@pytest.mark.long
def test_an_invented_score_with_all_checksums_is_found_by_computing(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(path: Path) -> None:
        store = zarr_zip.read(path)
        store["score"][0, 0, 3] += 0.25
        zarr_zip.write(store, path)

    forge(copied, copied / "runs/toy/steps/plain/0-1.zarr.zip", change)
    assert status(copied, "--sample", "4") == 5
    assert "toy/steps/plain/0-1: different, score" in capsys.readouterr().out


def test_arrays_are_identical_within_rounding_or_different(made: Path) -> None:
    store = zarr_zip.read(store_metadata.below(made / "crate/runs")[0])
    near, far = store.copy(deep=True), store.copy(deep=True)
    near["score"].values[...] *= 1 + 1e-9
    far["score"].values[0, 0, 0] += 1.0
    assert set(recompute.compare(store, store).values()) == {"identical"}
    assert recompute.compare(near, store)["score"] == "rounding"
    assert recompute.compare(far, store)["score"] == "different"
    assert recompute.compare(store.drop_vars("status"), store)["status"] == "different"
