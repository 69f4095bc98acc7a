"""A user's tables: reading, and one error per mistake."""

from __future__ import annotations

import gzip
import lzma
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.tables import _user_table

TEXT = 'hour,price,"the place",load\n0,.5,east,1e3\n1,-2, west ,4\n\n2,0.1,"a, b",7\n'


def written(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pack(kind: str) -> bytes:
    return {".gz": gzip.compress, ".xz": lzma.compress, "": bytes}[kind](TEXT.encode())


@pytest.mark.parametrize("kind", ["", ".gz", ".xz"])
def test_columns_are_read_in_the_order_asked_for(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, pack(kind), "table.csv" + kind)
    assert _user_table.header(path) == ["hour", "price", "the place", "load"]
    rows = _user_table.read(path, ["load", "price"], ["the place"])
    assert rows.numbers.tolist() == [[1000, 0.5], [4, -2], [7, 0.1]]
    assert rows.words == {"the place": ["east", "west", "a, b"]}
    assert list(rows.places) == [2, 3, 5]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_delimiters_other_line_ends_and_a_byte_order_mark(tmp_path: Path, mark: str) -> None:
    path = written(tmp_path, f"a,b{mark}c\r\n1{mark}2\r\n".encode("utf-8-sig"))
    assert _user_table.header(path, mark) == ["a,b", "c"]
    assert _user_table.read(path, ["c"], (), mark).numbers.tolist() == [[2]]


def test_numbers_are_those_that_python_reads_and_the_bytes_are_the_same_twice(tmp_path) -> None:
    value = np.random.default_rng(1).normal(size=200)
    path = written(tmp_path, "x\n" + "".join(f"{one!r}\n" for one in value.tolist()))
    assert (_user_table.read(path, ["x"]).numbers[:, 0] == value).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n1,\n", 'line 3, column "b": the value is missing; fill it in'),
        ("a,b\n1,2\n\n1,NA\n", 'line 4, column "b": the value is missing (NA)'),
        ("a,b\n1,nan\n", 'line 2, column "b": the value is missing'),
        ("a,b\n1,inf\n", 'line 2, column "b": the number is infinite'),
        ("a,b\n1,2\n-1e308,2\n", 'line 3, column "a": -1e+308 is beyond 1e+100'),
        ("a,b\n1,5e-324\n", 'column "b": 4.94066e-324 is beyond 1e+100 or nearer to 0 than 1e-100'),
        ("a,b\n1,two\n", "line 2, column \"b\": 'two' is not a number"),
        ("a,b\n1,1_000\n", "line 2, column \"b\": '1_000' is not a number"),
        ('a,b\n1,"2,5"\n', "line 2, column \"b\": '2,5' has a decimal comma; write 2.5"),
        ("a,b\n1,2,5\n", "line 2: it has 3 values, but the first line names 2 columns; a decimal"),
        ("a,b\n1,2\n3\n", "line 3: it has 1 values, but the first line names 2 columns"),
        ("a,b,a\n1,2,3\n", "line 1: columns 1 and 3 are both named 'a'; rename one"),
        ("a,,b\n1,2,3\n", "line 1: column 2 has no name"),
        ("1,2\n3,4\n", "line 1: it has numbers where the names of the columns should be"),
        ("a;b\n1;2\n", "line 1: there is one column, 'a;b'; set `delimiter: \";\"`"),
        ("a,bb\n1,2\n", 'line 1: unknown column "b"; did you mean "bb"?'),
        ("", "line 1: it is empty"),
        ("\n\n", "line 1: it is empty"),
        ("a,b\n", "line 1: there is no row below"),
        ('a,b\n1,"2\n', "this is not CSV (unexpected end of data)"),
        ("a,b\n1,2\nü,3\n".encode("latin1"), "line 3: this is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "line 1: this is not UTF-8"),
    ],
)
def test_each_mistake_is_one_error_with_its_place(tmp_path: Path, text, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError) as error:
        _user_table.read(path, ["a", "b"])
    assert str(error.value).startswith(f"{path}, line ")
    assert words in str(error.value)


def test_a_word_may_not_be_missing_either(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,up\n2, \n")
    with pytest.raises(UserError, match='line 3, column "b": the value is missing'):
        _user_table.read(path, ["a"], ["b"])


def test_columns_that_are_not_asked_for_may_hold_anything(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n1,,x\n2,NA,\n")
    assert _user_table.read(path, ["a"]).numbers.tolist() == [[1], [2]]


@pytest.mark.parametrize(("kind", "content"), [(".gz", b"\x1f\x8b\x08"), (".xz", b"no xz")])
def test_a_damaged_file_is_reported(tmp_path: Path, kind: str, content: bytes) -> None:
    with pytest.raises(UserError, match="line 1: the file breaks off or is damaged"):
        _user_table.header(written(tmp_path, content, f"table.csv{kind}"))


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder, not a table"):
        _user_table.header(tmp_path)


def test_parquet_without_pyarrow_says_what_to_do(tmp_path: Path, monkeypatch) -> None:
    for module in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, module, None)
    path = written(tmp_path, b"PAR1", "table.parquet")
    with pytest.raises(
        UserError, match="reading Parquet needs pyarrow, which is not installed here"
    ):
        _user_table.header(path)


def test_parquet_is_read_as_csv_and_errors_name_its_rows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1, 2], "b": [0.1, None], "c": ["x", "y"]}).to_parquet(path)
    rows = _user_table.read(path, ["a"], ["c"])
    assert rows.numbers.tolist() == [[1], [2]] and rows.words == {"c": ["x", "y"]}
    with pytest.raises(UserError, match='row 2, column "b": the value is missing'):
        _user_table.read(path, ["a", "b"])
