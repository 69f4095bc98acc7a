"""A study or a crate that cannot be replaced by a new one stays as it is."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from shiftbench.config import config_file
from shiftbench.data.store import scratch
from shiftbench.publish import crate, study_copy
from shiftbench.publish.results_folder import ResultsFolder


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail_once(patch: pytest.MonkeyPatch, place: Path) -> None:
    """Let the first move of a folder to a place fail."""
    errors = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))]

    def move(source: Path, target: Path, really=os.replace) -> None:
        if target == place and errors:
            raise errors.pop()
        really(source, target)

    patch.setattr(Path, "rename", move)
    patch.setattr(os, "replace", move)


def test_a_folder_is_replaced(tmp_path: Path) -> None:
    with scratch.beside(tmp_path / "it") as folder:
        for text in ("first", "second"):
            (folder / "new").mkdir()
            (folder / "new/one.txt").write_text(text)
            scratch.replace(tmp_path / "it", folder / "new")
            assert (tmp_path / "it/one.txt").read_text() == text
    assert list(tmp_path.iterdir()) == [tmp_path / "it"]


def test_a_study(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = ResultsFolder(made / "results/small", config_file.load(made / "config/small.yaml"))
    study_copy.publish(results, tmp_path / "small")
    place = tmp_path / "small/studies/toy"
    (place / "summary.csv").write_text("older scores")
    before = files(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        fail_once(patch, place)
        study_copy.publish(results, tmp_path / "small")
    assert files(tmp_path) == before
    assert study_copy.publish(results, tmp_path / "small")["toy"] == "published"


def test_a_crate(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Path(shutil.copytree(made / "crate", tmp_path / "crate"))
    (place / "README.md").write_text("an older one")
    before = files(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        fail_once(patch, place)
        crate.make(made / "results/small", made / "config/small.yaml", place)
    assert files(tmp_path) == before
