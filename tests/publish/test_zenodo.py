"""Drafts on Zenodo, tested with a fake of its documented interface."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from shiftbench.cli import main
from shiftbench.data.store import checksum
from shiftbench.publish import crate_files, crate_metadata, result_files

TOKEN = "token-of-tests"
ABOUT = {
    "@graph": [
        {
            "@id": "./", "name": "Results", "description": "Of a test.", "author": {"@id": "#a"},
            "license": {"@id": "https://spdx.org/licenses/CC-BY-4.0"},
        },
        {"@id": "#a", "name": "The authors"},
    ]
}  # fmt: skip


class Zenodo(ThreadingHTTPServer):
    """A server with deposits in memory, as described on developers.zenodo.org."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.drafts: list[dict] = []
        self.files: dict[str, bytes] = {}
        self.refuses = ""
        """The suffix of file names that are answered with a server error."""
        self.puts = 0
        self.instead = b""
        """A fixed answer to all requests, in place of the interface's own."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Zenodo

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path.endswith("/files"):
            known = [
                {"filename": name, "checksum": hashlib.md5(content).hexdigest()}
                for name, content in self.server.files.items()
            ]
            self.answer(200, known)
        else:
            assert "status=draft" in query
            self.answer(200, self.server.drafts)

    def do_POST(self) -> None:
        bucket = f"{self.server.address}/api/files/bucket"
        metadata = json.loads(self.body())["metadata"]
        links = {"bucket": bucket, "html": f"{self.server.address}/deposit/1"}
        draft = {"id": 1, "metadata": metadata, "links": links}
        if self.answer(201, draft):
            self.server.drafts.append(draft)

    def do_PUT(self) -> None:
        name, content = self.path.rpartition("/")[2], self.body()
        if self.server.refuses and name.endswith(self.server.refuses):
            self.answer(500, {"message": "The disk is full"})
            return
        if self.answer(201, {"checksum": f"md5:{hashlib.md5(content).hexdigest()}"}):
            self.server.files[name] = content
            self.server.puts += 1

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status: int, told: object) -> bool:
        """Send an answer, and return whether the token was valid."""
        allowed = self.headers["Authorization"] == f"Bearer {TOKEN}"
        self.send_response(status if allowed else 401)
        self.end_headers()
        answer = json.dumps(told if allowed else {"message": "no"}).encode()
        self.wfile.write(self.server.instead or answer)
        return allowed

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zenodo]:
    with Zenodo() as started:
        threading.Thread(target=started.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("ZENODO_URL", started.address)
        monkeypatch.setenv("ZENODO_TOKEN", TOKEN)
        yield started
        started.shutdown()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return crate_of(tmp_path / "small", "numbers")


def crate_of(folder: Path, numbers: str) -> Path:
    (folder / "studies").mkdir(parents=True)
    summary = folder / "studies/summary.csv"
    summary.write_text(numbers)
    file = {"@id": "studies/summary.csv", "sha256": checksum.sha256(summary)}
    described = json.dumps({"@graph": [*ABOUT["@graph"], file]})
    (folder / crate_metadata.NAME).write_text(described)
    (folder / result_files.CHECKSUMS).write_text(
        result_files.checksums(crate_files.contents(folder))
    )
    return folder


def publish(folder: Path, *more: str) -> int:
    return main.main(["publish", str(folder), "--to", "zenodo:", *more])


def test_a_draft_gets_the_crate_once(
    server: Zenodo, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(made, "--dry-run") == 0
    assert (server.drafts, server.files) == ([], {})
    assert publish(made) == 0
    (draft,) = server.drafts
    assert draft["metadata"]["title"] == "Results"
    assert draft["metadata"]["license"] == "cc-by-4.0"
    assert draft["metadata"]["creators"] == [{"name": "The authors"}]
    with zipfile.ZipFile(BytesIO(server.files["small.zip"])) as packed:
        assert sorted(packed.namelist()) == sorted(crate_files.contents(made, True))
        assert packed.read("studies/summary.csv") == b"numbers"
    capsys.readouterr()
    assert publish(made) == 0
    assert capsys.readouterr().out == "zenodo:: 0 files new, 2 unchanged\n"
    assert (server.puts, len(server.drafts)) == (2, 1)


def test_an_interrupted_upload_goes_on_in_the_same_draft(
    server: Zenodo, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refuses = ".json"
    assert publish(made) == 2
    told = capsys.readouterr().err
    assert "The disk is full" in told and "1 of 2 files are there" in told
    server.refuses = ""
    assert publish(made) == 0
    assert (server.puts, len(server.drafts)) == (2, 1)


@pytest.mark.parametrize("older", [False, True])
def test_a_draft_of_the_same_title_that_may_be_another_crate_is_left_alone(
    server: Zenodo, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], older: bool
) -> None:
    """Drafts of older versions do not say of which crate they are."""
    assert publish(made) == 0
    if older:
        server.drafts[0]["metadata"].pop("keywords")
        other = made
    else:
        other = crate_of(tmp_path / "other/small", "other numbers")
    before = dict(server.files)
    for more in ([], ["--dry-run"]):
        assert publish(other, *more) == 2
        told = capsys.readouterr().err
        assert f"{server.address}/deposit/1: this draft is also called Results" in told
        assert "delete it there" in told
    assert (server.files, len(server.drafts)) == (before, 1)


def test_of_two_drafts_of_the_same_title_that_of_the_crate_gets_it(
    server: Zenodo, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refuses = ".json"
    assert publish(made) == 2
    server.drafts.insert(0, {"id": 2, "metadata": {"title": "Results"}, "links": {}})
    server.refuses = ""
    assert publish(made) == 0
    assert "1 files new, 1 unchanged" in capsys.readouterr().out
    assert (server.puts, len(server.drafts)) == (2, 2)


def test_a_wrong_token_and_none_are_told_and_never_shown(
    server: Zenodo, made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZENODO_TOKEN", "wrong-token")
    assert publish(made) == 2
    told = capsys.readouterr().err
    assert "the token is refused" in told and "wrong-token" not in told
    monkeypatch.delenv("ZENODO_TOKEN")
    assert publish(made) == 2
    assert "no token" in capsys.readouterr().err
    assert server.files == {}


def test_no_answer_is_told(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZENODO_TOKEN", TOKEN)
    monkeypatch.setenv("ZENODO_URL", "http://127.0.0.1:9")
    assert publish(made) == 2
    assert "no answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "instead", [b"<html>Log in</html>", b"\xff", b"{}x", b'{"a": 1}', b"[1]", b'[{"metadata": 1}]']
)
def test_an_answer_of_another_form_is_refused_with_the_address(
    server: Zenodo, made: Path, capsys: pytest.CaptureFixture[str], instead: bytes
) -> None:
    server.instead = instead
    assert publish(made) == 2
    told = capsys.readouterr().err
    assert f"{server.address}/api/deposit/depositions: this is not an answer of Zenodo" in told
