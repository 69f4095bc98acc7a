"""Uploads to local servers are complete and sent once, and need the right key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiftbench.cli import main
from shiftbench.publish import crate, crate_files, crate_metadata, result_files, s3, upload

pytestmark = pytest.mark.peers
boto3 = pytest.importorskip("boto3", reason="of the extra `publish`")
moto = pytest.importorskip("moto.server", reason="of the extra `test`")

ABOUT = {
    "@graph": [
        {"@id": "./", "name": "Results", "description": "Of a test.", "author": {"@id": "#a"}},
        {"@id": "#a", "name": "The authors"},
    ]
}
KEYS = {
    "AWS_ACCESS_KEY_ID": "key-of-tests", "AWS_SECRET_ACCESS_KEY": "secret-of-tests",
    "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return a folder with the files that an upload reads."""
    folder = tmp_path / "small"
    for name in ("studies/toy/summary.csv", "runs/toy/0-1.zarr.zip", "README.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"what {name} says")
    (folder / crate_metadata.NAME).write_text(json.dumps(ABOUT))
    (folder / result_files.CHECKSUMS).write_text(
        result_files.checksums(crate_files.contents(folder))
    )
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Yield the address of an S3 server."""
    started = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture
def client(server: str, monkeypatch: pytest.MonkeyPatch):
    """Return a client of the server, with an empty bucket and the keys in the environment."""
    for name, value in (KEYS | {"AWS_ENDPOINT_URL_S3": server}).items():
        monkeypatch.setenv(name, value)
    found = boto3.client("s3")
    found.create_bucket(Bucket="results")
    yield found
    for key in held(found):
        found.delete_object(Bucket="results", Key=key)
    found.delete_bucket(Bucket="results")


def held(client) -> dict[str, bytes]:
    found = client.list_objects_v2(Bucket="results").get("Contents", [])
    return {
        one["Key"]: client.get_object(Bucket="results", Key=one["Key"])["Body"].read()
        for one in found
    }


def publish(folder: Path, *more: str) -> int:
    return main.main(["publish", str(folder), "--to", "s3://results/a/b/", *more])


def test_a_round_trip_gives_the_same_crate_and_the_second_time_nothing(
    made: Path, client, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert publish(made, "--dry-run") == 0
    assert "5 files new, 0 unchanged" in capsys.readouterr().out
    assert held(client) == {}
    assert publish(made) == 0
    there = held(client)
    for key, content in there.items():
        place = tmp_path / "back" / Path(key).relative_to("a/b")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    assert (
        crate_files.contents(tmp_path / "back", True).keys()
        == crate_files.contents(made, True).keys()
    )
    assert crate.changed(tmp_path / "back") == []
    capsys.readouterr()
    assert publish(made) == 0
    assert capsys.readouterr().out == "s3://results/a/b/: 0 files new, 5 unchanged\n"


def test_an_interrupted_upload_goes_on_where_it_was(
    made: Path, client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put, names = s3.Bucket.put, []

    def broken(self: s3.Bucket, name: str, path: Path) -> None:
        if len(names) == 2:
            monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
            self.client = boto3.client("s3")
        names.append(name)
        put(self, name, path)

    monkeypatch.setattr(s3.Bucket, "put", broken)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    there = client.meta.endpoint_url
    assert publish(made) == 2
    assert "2 of 5 files are there; start it again to go on" in capsys.readouterr().err
    assert sorted(held(client)) == sorted(f"a/b/{name}" for name in names[:2])
    assert not set(names[:2]) & set(upload.LAST), "what tells that all is there comes last"
    monkeypatch.undo()
    for name, value in (KEYS | {"AWS_ENDPOINT_URL_S3": there}).items():
        monkeypatch.setenv(name, value)
    assert publish(made) == 0
    assert "3 files new, 2 unchanged" in capsys.readouterr().out


def test_a_file_of_the_same_size_with_other_content_is_sent_again(
    made: Path, client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(made) == 0
    (made / "README.md").write_text("what README.md SAYS")
    (made / result_files.CHECKSUMS).write_text(result_files.checksums(crate_files.contents(made)))
    capsys.readouterr()
    assert publish(made) == 0
    assert "README.md: uploaded" in capsys.readouterr().out
    assert held(client)["a/b/README.md"] == b"what README.md SAYS"


def test_a_wrong_key_a_missing_bucket_and_no_key_are_told(
    made: Path, client, server: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    import requests

    assert main.main(["publish", str(made), "--to", "s3://nothing-here/a"]) == 2
    assert "There is no such bucket" in capsys.readouterr().err
    requests.post(f"{server}/moto-api/reset-auth", data=b"0", timeout=10)
    try:
        assert publish(made) == 2
    finally:
        requests.post(f"{server}/moto-api/reset-auth", data=b"inf", timeout=10)
    told = capsys.readouterr()
    assert "AWS_ACCESS_KEY_ID" in told.err and "Traceback" not in told.err
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in told.err + told.out
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert publish(made) == 2
    assert "no keys" in capsys.readouterr().err
    assert held(client) == {}


@pytest.mark.parametrize("address", ["s3://", "s3:results", "ftp://host/a", "zenodo:12"])
def test_a_wrong_address_is_told(
    made: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["publish", str(made), "--to", address]) == 2
    assert f"--to {address}: " in capsys.readouterr().err


def test_a_changed_crate_is_not_uploaded(
    made: Path, client, capsys: pytest.CaptureFixture[str]
) -> None:
    (made / "README.md").write_text("other words")
    assert publish(made) == 2
    assert "README.md" in capsys.readouterr().err
    assert held(client) == {}


def test_without_the_client_the_extra_is_named(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    monkeypatch.setitem(sys.modules, "botocore", None)
    assert publish(made) == 2
    assert "shiftbench[publish]" in capsys.readouterr().err
