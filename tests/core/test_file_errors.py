"""Errors of files and disks name the path and the remedy."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from shiftbench.core import file_errors
from shiftbench.core.errors import UserError


def test_a_folder_that_can_be_made_is_not_refused(tmp_path: Path) -> None:
    file_errors.refuse_no_folder(tmp_path / "results" / "small")
    file_errors.refuse_no_folder(Path("nowhere-yet"))
    assert not (tmp_path / "results").exists()


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    with pytest.raises(UserError, match=r"results: .*; there is a file where a folder should be"):
        file_errors.refuse_no_folder(tmp_path / "results" / "small")


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="denied; allow it, or name another place"):
        file_errors.refuse_no_folder(tmp_path / "results")


def test_a_circle_of_links_is_the_cause(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to("circle")
    with pytest.raises((OSError, RuntimeError)) as caught:
        circle.resolve(strict=True)
    cause = file_errors.root_cause(caught.value)
    assert cause is not None and cause.errno == errno.ELOOP
    assert "a link leads back to itself" in file_errors.message(cause, "")
