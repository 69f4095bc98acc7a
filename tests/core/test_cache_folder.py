"""Caches have a folder even if the home folder is read-only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiftbench.core import cache_folder


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    cache_folder._made_temporary.cache_clear()
    yield tmp_path
    cache_folder._made_temporary.cache_clear()


def test_a_home_that_can_be_written_is_used(scratch, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(scratch / "home"))
    assert cache_folder.variables() == {}


def test_a_relative_path_does_not_count(scratch, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(scratch / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    usual = str(scratch / "home/.cache")
    assert cache_folder.path() == usual == cache_folder.variables()["XDG_CACHE_HOME"]


def test_another_folder_is_named_else_and_again(scratch, monkeypatch) -> None:
    (scratch / "file").touch()
    monkeypatch.setenv("HOME", str(scratch / "file"))
    named = cache_folder.variables()
    own = str(scratch / f"shiftbench-{os.getuid()}")
    assert named == {"XDG_CACHE_HOME": own, "MPLCONFIGDIR": own} == cache_folder.variables()
    assert cache_folder.path() == own
    assert Path(own).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_another_user_has_made_is_not_used(scratch, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    folder = cache_folder.variables()["XDG_CACHE_HOME"]
    assert Path(folder).is_dir() and folder != str(scratch / "shiftbench-12345")
