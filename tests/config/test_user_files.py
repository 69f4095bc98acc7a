import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from shiftbench.config import user_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"b.txt": "two\n", "a/c.txt": "one\n", ".hidden": "x", "a/.x/y": "z"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_folder_is_its_files_by_name_without_hidden_ones(folder: Path) -> None:
    assert [file.relative_to(folder).as_posix() for file in user_files.files(folder)] == [
        "a/c.txt",
        "b.txt",
    ]
    assert user_files.checksums(folder)["a/c.txt"] == hashlib.sha256(b"one\n").hexdigest()


def test_the_checksum_of_a_folder_is_that_of_the_lines_of_sha256sum(folder: Path) -> None:
    command = "sha256sum a/c.txt b.txt | sha256sum"
    printed = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert user_files.checksum(folder) == printed.stdout.split()[0]


def test_a_changed_file_has_another_checksum_at_once(folder: Path) -> None:
    before = user_files.checksum(folder / "b.txt")
    (folder / "b.txt").write_text("tow\n")
    assert user_files.checksum(folder / "b.txt") != before


def test_a_path_is_relative_to_the_file_that_says_so(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder / "a")
    settings = {"path": "b.txt", "n": 1, "annotations": {"ann": [3]}}
    assert user_files.placed(settings, "path", folder) == settings | {"path": "../b.txt"}
    assert user_files.named(settings) == {"path": Path("b.txt")}
    both = {"path": "b.txt", "annotations": "marks.json"}
    assert user_files.named(both)["annotations"] == Path("marks.json")
    assert user_files.named({"path": "", "n": 1}) == {}


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"path": "none.csv"}, "path", "there is no"),
        ({"path": "empty"}, "path", "is empty"),
        ({"path": "pipe"}, "path", "is a pipe or a device"),
        ({"path": "b.txt", "sha256": "0" * 64}, "sha256", "it is another file"),
    ],
)
def test_each_mistake_is_told_at_its_key(folder: Path, settings, key: str, words: str) -> None:
    (folder / "empty").mkdir()
    os.mkfifo(folder / "pipe")
    ((found, text),) = user_files.issues(settings, "path", folder)
    assert found == key
    assert words in text


def test_nothing_is_wrong_with_a_file_that_has_its_checksum(folder: Path) -> None:
    right = {"path": "b.txt", "sha256": hashlib.sha256(b"two\n").hexdigest()}
    assert not list(user_files.issues(right, "path", folder))


def test_a_folder_that_cannot_be_listed_is_told(folder: Path, monkeypatch) -> None:
    def refuse(path: Path) -> list[Path]:
        raise PermissionError(13, "Permission denied", str(path / "locked"))

    monkeypatch.setattr(user_files, "files", refuse)
    ((key, message),) = user_files.issues({"path": "."}, "path", folder)
    assert key == "path" and "cannot be listed" in message and "locked" in message
