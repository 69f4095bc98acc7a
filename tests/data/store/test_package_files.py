"""Raw files from installed packages: correct, missing, of another version, or changed."""

from __future__ import annotations

import argparse
import hashlib
import sys

import pytest

from shiftbench.cli import check
from shiftbench.config import config_file
from shiftbench.config.config_file import ConfigError
from shiftbench.core.errors import UserError
from shiftbench.data.store import package_files, raw
from shiftbench.data.store.package_files import PackageFile

CONTENT = b"t,x\n1,2\n3,4\n5,7\n"
CSV = PackageFile(
    "bucket", "2.0", "bucket/x.csv", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT)
)


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """Return a function that installs a version and content of a package with one file."""

    def install(version: str, content: bytes | None = CONTENT) -> None:
        about = tmp_path / "site" / f"bucket-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: bucket\nVersion: {version}\n"
        )
        if content is not None:
            (tmp_path / "site" / "bucket").mkdir()
            (tmp_path / "site" / "bucket" / "x.csv").write_bytes(content)
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])

    package_files.problem.cache_clear()
    yield install
    package_files.problem.cache_clear()


@pytest.fixture
def table(monkeypatch):
    """Add the file of the package to the table, in the role of tcpd-apple."""
    file = raw.RawFile(CSV.sha256, CSV.size, CSV.address, inside=CSV)
    one = raw.Dataset(
        "Bucket", "may not be redistributed", "us", {"apple.json": file}, (), "stated"
    )
    changed = raw.table() | {"tcpd-apple": one}
    monkeypatch.setattr(raw, "table", lambda: changed)


def test_a_file_of_a_package_is_copied_and_no_mirror_is_asked(bucket, table, tmp_path, monkeypatch):
    monkeypatch.setenv(raw.MIRROR, str(tmp_path / "nowhere"))
    bucket("2.0")
    raw.fetch("tcpd-apple", "apple.json", tmp_path / "data" / "apple.json")
    assert (tmp_path / "data" / "apple.json").read_bytes() == CONTENT
    assert raw.absent("tcpd-apple") == ""


def test_another_version_with_the_same_file_will_do(bucket):
    bucket("2.1")
    assert package_files.read(CSV) == CONTENT


@pytest.mark.parametrize(
    ("version", "content", "words"),
    [
        (None, None, "the package bucket 2.0 is not installed"),
        ("2.0", None, "bucket 2.0 has no readable bucket/x.csv (No such file or directory)."),
        ("2.0", CONTENT[:-1], "bucket 2.0 has another bucket/x.csv: expected sha256"),
        ("2.1", CONTENT[::-1], "bucket 2.1 has another bucket/x.csv: expected sha256"),
        ("2.1", None, "No such file or directory); 2.0 has it"),
    ],
)
def test_a_file_that_cannot_be_read_has_its_remedy_and_leaves_nothing(
    bucket, table, tmp_path, version, content, words
):
    if version:
        bucket(version, content)
    with pytest.raises(UserError) as error:
        raw.fetch("tcpd-apple", "apple.json", tmp_path / "data" / "apple.json")
    assert "Raw file tcpd-apple/apple.json: " in str(error.value) and words in str(error.value)
    assert "-m pip install --no-deps bucket==2.0" in str(error.value)
    assert not list((tmp_path / "data").iterdir())
    assert words in raw.absent("tcpd-apple")


STUDY = """\
studies:
  marks:
    title: Marks
    streams: {{series: {{family: series-file{stream}}}}}
    {axes}
    seeds: 1
    metrics: [log_predictive]
    artefacts: [score-table]
    methods:
      mean: [gaussian-mean]
"""


def loaded(tmp_path, axes: str, stream: str = ""):
    (tmp_path / "some.yaml").write_text(STUDY.format(axes=axes, stream=stream))
    composition = config_file.composed(tmp_path / "some.yaml")
    return config_file.planned(composition), [*composition.left_out()]


def test_a_grid_leaves_out_what_is_not_installed_and_says_so(bucket, table, tmp_path):
    config, notes = loaded(tmp_path, "axes: {dataset: [tcpd-nile, tcpd-apple, tcpd-bank]}")
    study = config.studies["marks"]
    assert study.streams == ["series-tcpd-nile", "series-tcpd-bank"] == list(config.streams)
    assert study.axes == {"dataset": {"dataset": ["tcpd-nile", "tcpd-bank"]}}
    assert list(study.cells) == study.streams
    (note,) = notes
    assert note.startswith("marks is without tcpd-apple: the package bucket 2.0 is not installed. ")
    assert "pip install --no-deps bucket==2.0" in note


def test_studies_that_leave_out_the_same_share_a_note(bucket, table, tmp_path):
    text = STUDY.format(axes="axes: {dataset: [tcpd-nile, tcpd-apple]}", stream="")
    study = text.partition("studies:\n")[2]
    (tmp_path / "some.yaml").write_text(text + study.replace("marks:", "again:"))
    (note,) = config_file.composed(tmp_path / "some.yaml").left_out()
    assert note.startswith("marks and again are without tcpd-apple: the package bucket 2.0 is ")


def test_values_that_move_together_are_left_out_together(bucket, table, tmp_path):
    axes = "axes: {at: {dataset: [tcpd-apple, tcpd-nile], scaling: [none, z-score]}}"
    config, _ = loaded(tmp_path, axes)
    assert config.studies["marks"].axes == {
        "at": {"dataset": ["tcpd-nile"], "scaling": ["z-score"]}
    }
    assert config.streams["series-tcpd-nile"].settings["scaling"] == "z-score"


def test_with_the_package_a_grid_is_whole(bucket, table, tmp_path):
    bucket("2.0")
    config, notes = loaded(tmp_path, "axes: {dataset: [tcpd-nile, tcpd-apple]}")
    assert config.studies["marks"].streams == ["series-tcpd-nile", "series-tcpd-apple"]
    assert notes == []


@pytest.mark.parametrize(
    ("axes", "stream"),
    [("axes: {}", ", dataset: tcpd-apple"), ("axes: {dataset: [tcpd-apple]}", "")],
    ids=["named", "alone"],
)
def test_a_stream_that_a_study_names_is_an_error_with_the_remedy(
    bucket, table, tmp_path, axes, stream
):
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, axes, stream)
    (line,) = str(error.value).splitlines()[1:]
    assert "tcpd-apple: the package bucket 2.0 is not installed. Install it: " in line


def test_check_says_what_is_left_out_and_which_licence_is_unclear(bucket, table, tmp_path, capsys):
    loaded(tmp_path, "axes: {dataset: [tcpd-nile, tcpd-apple, tcpd-centralia]}")
    check.check(argparse.Namespace(config=tmp_path / "some.yaml"))
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Note: ")]
    assert "Note: marks is without tcpd-apple: the package bucket 2.0 is not " in notes[0]
    assert notes[1].startswith("Note: tcpd-centralia: the licence is unclear, so crates leave")


def test_every_data_set_says_how_sure_its_licence_is():
    text = raw.Path(raw.__file__).with_name("raw_files.yaml").read_text(encoding="utf-8")
    rows = raw.yaml.safe_load(text)
    said = {name: row.get("licence_status") for name, row in rows.items()}
    statuses = ("stated", "presumed", raw.UNCLEAR)
    assert {name: one for name, one in said.items() if one not in statuses} == {}
    unstated = {name for name, row in rows.items() if row["licence"].startswith("none stated")}
    assert unstated == {name for name, one in said.items() if one == raw.UNCLEAR}
