"""Raw files: the mirror as a folder and as an address; a failure leaves no files behind."""

from __future__ import annotations

import dataclasses
import errno
import functools
import hashlib
import http.server
import subprocess
import sys
import threading

import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw

CONTENT = b"forty-two bytes of raw data, give or take."
RIGHT = raw.RawFile(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), "http://127.0.0.1:9/a.gz")


@pytest.fixture(autouse=True)
def small_table(monkeypatch):
    """Patch in a table of a data set with a file and one without, and no waits between retries."""
    table = {
        "letters": raw.Dataset("Letters", "CC0", "nobody", {"a.gz": RIGHT}),
        "bundled": raw.Dataset("Bundled", "CC0", "nobody", {}),
    }
    monkeypatch.setattr(raw, "table", lambda: table)
    monkeypatch.setattr(raw, "RETRIES", 0)


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    folder = tmp_path / "mirror" / "letters"
    folder.mkdir(parents=True)
    (folder / "a.gz").write_bytes(CONTENT)
    monkeypatch.setenv(raw.MIRROR, str(folder.parent))
    return folder


@pytest.fixture
def address(mirror, monkeypatch):
    """Serve the mirror's folder over http, and yield the folder."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=mirror.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv(raw.MIRROR, f"http://127.0.0.1:{server.server_port}/")
        yield mirror
        server.shutdown()


def failure(tmp_path, dataset="letters", file="a.gz") -> str:
    """Return the error message; assert that the output's folder is empty or absent."""
    output = tmp_path / "data" / "a.gz"
    with pytest.raises(UserError) as caught:
        raw.fetch(dataset, file, output)
    assert not output.parent.exists() or not list(output.parent.iterdir())
    return str(caught.value)


def test_right_file_from_a_folder(mirror, tmp_path):
    raw.fetch("letters", "a.gz", tmp_path / "data" / "a.gz")
    assert (tmp_path / "data" / "a.gz").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["a.gz"]


def test_right_file_from_an_address(address, tmp_path):
    raw.fetch("letters", "a.gz", tmp_path / "a.gz")
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("way", "writer"),
    [("mirror", "shutil.copyfileobj"), ("address", "pooch.HTTPDownloader.__call__")],
)
def test_full_disk_is_not_blamed_on_the_source(way, writer, request, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    request.getfixturevalue(way)
    monkeypatch.setattr(writer, full)
    with pytest.raises(OSError, match="No space left"):
        raw.fetch("letters", "a.gz", tmp_path / "data" / "a.gz")
    assert not list((tmp_path / "data").iterdir())


@pytest.mark.parametrize("way", ["mirror", "address"])
def test_wrong_checksum(way, request, tmp_path):
    folder = request.getfixturevalue(way)
    (folder / "a.gz").write_bytes(CONTENT[::-1])
    message = failure(tmp_path)
    assert "letters/a.gz" in message and "SHIFTBENCH_MIRROR" in message
    assert RIGHT.sha256 in message and hashlib.sha256(CONTENT[::-1]).hexdigest() in message


@pytest.mark.parametrize("way", ["mirror", "address"])
def test_truncated(way, request, tmp_path):
    folder = request.getfixturevalue(way)
    (folder / "a.gz").write_bytes(CONTENT[:10])
    assert f"letters/a.gz from {'http' if way == 'address' else ''}" in failure(tmp_path)
    assert f"expected {len(CONTENT)} bytes, found 10" in failure(tmp_path)


@pytest.mark.parametrize("way", ["mirror", "address"])
def test_missing_in_the_mirror(way, request, tmp_path):
    (request.getfixturevalue(way) / "a.gz").unlink()
    message = failure(tmp_path)
    assert "letters/a.gz" in message and "SHIFTBENCH_MIRROR" in message


def test_no_mirror_uses_the_official_address(monkeypatch, tmp_path):
    monkeypatch.delenv(raw.MIRROR, raising=False)
    message = failure(tmp_path)
    assert RIGHT.address in message and "set SHIFTBENCH_MIRROR" in message


def test_data_at_no_public_address_are_not_asked_for_there(mirror, monkeypatch, tmp_path):
    """They are refused at once, and named until they are there."""
    packed = dataclasses.replace(raw.table()["letters"], mirror="the office packs them by hand")
    monkeypatch.setitem(raw.table(), "letters", packed)
    raw.fetch("letters", "a.gz", tmp_path / "data" / "letters" / "a.gz")
    assert raw.without_mirror(["letters", "bundled"], tmp_path / "elsewhere") == []
    monkeypatch.delenv(raw.MIRROR)
    assert raw.without_mirror(["letters", "bundled"], tmp_path / "elsewhere") == ["letters"]
    assert raw.without_mirror(["letters", "bundled"], tmp_path / "data") == []
    message = failure(tmp_path / "new")
    assert "letters/a.gz is at no public address: the office packs them by hand" in message
    assert f"Set {raw.MIRROR}" in message


def test_an_earlier_file_survives_a_failure(mirror, tmp_path):
    (tmp_path / "a.gz").write_bytes(b"earlier")
    (mirror / "a.gz").write_bytes(b"wrong")
    with pytest.raises(UserError):
        raw.fetch("letters", "a.gz", tmp_path / "a.gz")
    assert (tmp_path / "a.gz").read_bytes() == b"earlier"


# requests leaves the broken connection to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_that_breaks_off(monkeypatch, tmp_path):
    class Broken(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[:10])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv(raw.MIRROR, f"http://127.0.0.1:{server.server_port}")
        assert "could not be fetched" in failure(tmp_path)
        server.shutdown()


def test_unknown_names_have_a_hint(tmp_path):
    unknown = 'unknown raw data set "%s"; %s'
    for name in ("leters", "LETTERS"):
        hint = 'did you mean "letters"?'
        assert failure(tmp_path, dataset=name).endswith(unknown % (name, hint))
    assert failure(tmp_path, dataset="qqq").endswith(unknown % ("qqq", "known: letters, bundled"))
    told = failure(tmp_path, file="a.g")
    assert told.endswith("""Raw data set 'letters': unknown file "a.g"; did you mean "a.gz"?""")
    assert "no files to fetch" in failure(tmp_path, dataset="bundled")


def test_a_mirror_may_have_a_file_in_another_folder(mirror, monkeypatch, tmp_path):
    (mirror.parent / "abc").mkdir()
    (mirror / "a.gz").rename(mirror.parent / "abc" / "a.gz")
    files = {"a.gz": dataclasses.replace(RIGHT, folder="abc")}
    table = {"letters": raw.Dataset("Letters", "CC0", "nobody", files)}
    monkeypatch.setattr(raw, "table", lambda: table)
    raw.fetch("letters", "a.gz", tmp_path / "a.gz")
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


def test_the_table_is_complete(monkeypatch):
    monkeypatch.undo()
    table = raw.table()
    assert {"digits", "mnist", "fashion-mnist"} <= table.keys()
    for name, dataset in table.items():
        assert dataset.title and dataset.licence and dataset.citation, name
        for file in dataset.files.values():
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.size > 0 and file.address.startswith(("http", raw.MADE))
    assert len(table["mnist"].files) == len(table["fashion-mnist"].files) == 4
    assert table["digits"].files == {}
    both = table["cifar-10"].files | table["cifar-100"].files
    assert table["cifar-10-100"].files == both and len(both) == 5


def test_the_import_is_light():
    code = "import sys, shiftbench.data.store.raw as r; r.table(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "yaml" in loaded.stdout.split()
    assert not {"numpy", "xarray", "pooch", "requests"} & set(loaded.stdout.split())


def test_a_file_that_was_changed_after_the_fetch_is_refused_when_it_is_read(tmp_path):
    place = tmp_path / "letters" / "a.gz"
    raw.refuse_changed("letters", tmp_path)  # the reader says what is missing
    place.parent.mkdir()
    place.write_bytes(CONTENT)
    for dataset in ("letters", "bundled", None):
        raw.refuse_changed(dataset, tmp_path)
    place.write_bytes(CONTENT[::-1])
    with pytest.raises(UserError, match=r"letters/a\.gz .* changed after it was fetched; delete"):
        raw.refuse_changed("letters", tmp_path)
