"""Small files are written whole or not at all, whoever else writes them at the same time."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError


def test_threads_that_write_one_file_leave_one_of_their_texts_and_nothing_else(tmp_path) -> None:
    path = tmp_path / "below" / "file.json"
    texts = [f"{number}\n" * 500 for number in range(8)]

    def write(text: str) -> None:
        for _ in range(25):
            atomic_files.write(path, text)
            assert path.read_text() in texts

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(write, texts))
    assert os.listdir(path.parent) == ["file.json"]


def test_the_old_file_stays_where_the_new_one_cannot_be_written(tmp_path) -> None:
    path = tmp_path / "file.txt"
    atomic_files.write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        atomic_files.write(path, "\ud800")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_a_file_has_the_permissions_of_any_other(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        atomic_files.write(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_what_is_no_json_is_named(tmp_path) -> None:
    atomic_files.write(tmp_path / "file.json", '{"half":')
    with pytest.raises(
        UserError, match=r"file\.json is not valid JSON .*\. Delete the file and start the"
    ):
        atomic_files.read_json(tmp_path / "file.json")
