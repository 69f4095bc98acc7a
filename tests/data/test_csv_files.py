"""Tables and series read the same CSV files, with the same numbers and missing values."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from shiftbench.core.errors import UserError
from shiftbench.data import csv_files
from shiftbench.data.series import _series_files
from shiftbench.data.tables import _user_table

TEXT = "a,b\n1,5\n2,6\n3,7\n"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
}


def written(folder: Path, content: str | bytes, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def of_series(path: Path, gaps: str = "refuse") -> list[list[float]]:
    return _series_files.read(path, ["a", "b"], "", ",", gaps).value.tolist()


def of_table(path: Path) -> list[list[float]]:
    return _user_table.read(path, ["a", "b"]).numbers.tolist()


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r"),
        TEXT.replace("2,6\n", "\n2,6\n\n"),
        "\ufeff" + TEXT,
    ],
)
def test_tables_and_series_have_the_same_rows(tmp_path: Path, suffix: str, text: str) -> None:
    path = written(tmp_path, PACKED[suffix](text.encode()), f"mine.csv{suffix}")
    assert of_series(path) == of_table(path) == [[1, 5], [2, 6], [3, 7]]
    assert _series_files.read(path, ["a"], "", ",", "refuse").name == "mine"


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "null", "None", "?", "-", " - "])
def test_the_same_words_are_missing_values(tmp_path: Path, word: str) -> None:
    path = written(tmp_path, TEXT.replace("6", word))
    with pytest.raises(UserError, match=r'line 3, column "b": a gap; fill it in'):
        of_series(path)
    with pytest.raises(UserError, match=r'line 3, column "b": the value is missing'):
        of_table(path)
    assert of_series(path, "interpolate") == [[1, 5], [2, 6], [3, 7]]


@pytest.mark.parametrize("read", [of_series, of_table])
def test_both_tell_the_same_of_a_damaged_file(tmp_path: Path, read: Callable) -> None:
    for content, suffix, told in (
        (TEXT.replace("2,6", '2,"6').encode(), "", r"line 4: this is not CSV \(unexpected end"),
        (TEXT.replace("6", "\xfc").encode("latin1"), "", "line 3: this is not UTF-8"),
        (gzip.compress(TEXT.encode())[:-9], ".gz", "the file breaks off or is damaged"),
        (b"no xz", ".xz", "line 1: the file breaks off or is damaged"),
    ):
        with pytest.raises(UserError, match=rf"mine\.csv{suffix}, .*{told}"):
            read(written(tmp_path, content, f"mine.csv{suffix}"))


def test_an_empty_line_in_a_single_column_may_be_a_missing_value(tmp_path: Path) -> None:
    path = written(tmp_path, "a\n1\n\n2\n3\n")
    with pytest.raises(UserError, match="line 3: an empty line; remove it"):
        _user_table.read(path, ["a"])
    with pytest.raises(UserError, match="line 3: an empty line; remove it"):
        _series_files.read(path, ["a"], "", ",", "refuse")
    path = written(tmp_path, "a\n1\n2\n3\n\n\n")
    assert _user_table.read(path, ["a"]).numbers.tolist() == [[1], [2], [3]]


def test_a_packed_json_is_read_as_a_plain_one(tmp_path: Path) -> None:
    series = [{"label": label, "raw": [1, 2, 4]} for label in "ab"]
    content = json.dumps({"series": series}).encode()
    path = written(tmp_path, gzip.compress(content), "mine.json.gz")
    assert of_series(path) == [[1, 1], [2, 2], [4, 4]]


def test_what_is_a_number() -> None:
    for cell in ("1", " -2.5 ", "1e3", ".5", 7, 0.5):
        assert csv_files.is_number(cell)
    for cell in ("", "a", "1_000", "1,5", "inf", "nan", "1e999", True, None, 10**400, [1]):
        assert not csv_files.is_number(cell)
