"""A job notices that a file it reads was changed after another job made it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    path = tmp_path / "summary.csv"
    path.write_text("mean\n1.0\n")
    checksum.write(path)
    return path


def test_an_untouched_file_is_sound_and_so_is_one_without_seal(sealed: Path) -> None:
    other = sealed.with_name("other.csv")
    other.write_text("made elsewhere")
    assert not checksum.is_broken(sealed) and not checksum.is_broken(other)
    checksum.refuse_broken(sealed, other)


def test_a_changed_file_is_named_with_what_to_do(sealed: Path) -> None:
    sealed.write_text("mean\n2.0\n")
    assert checksum.is_broken(sealed)
    with pytest.raises(UserError, match=r"summary\.csv: changed since .* delete the file"):
        checksum.refuse_broken(sealed)


def test_a_file_that_is_gone_is_broken_but_its_reader_says_so_better(sealed: Path) -> None:
    sealed.unlink()
    assert checksum.is_broken(sealed)
    checksum.refuse_broken(sealed)


def test_sha256sum_reads_it(sealed: Path) -> None:
    command = ["sha256sum", "--check", f".{sealed.name}.sha256"]
    assert subprocess.run(command, cwd=sealed.parent, capture_output=True).returncode == 0
