"""Readers of tables: bundled ones, small correct and wrong files, and the real files."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw
from shiftbench.data.tables import _table_files
from tests.real_files import needs_mirror

LAYOUT = _table_files.Format(
    "small.csv.gz",
    3,
    ("id", "length", "width", "kind"),
    "kind",
    header=True,
    ignored=("id",),
    labels=(1, 2, 3),
    positive=2,
)
LINES = ["id,length,width,kind", "1,0.5,7,2", "2,-1e1,8,3", "3,2,9,1"]


def write(folder: Path, lines: list[str]) -> None:
    (folder / LAYOUT.file).write_bytes(gzip.compress("\r\n".join([*lines, ""]).encode()))


def test_classes_from_a_file_with_a_header_and_a_column_to_ignore(tmp_path):
    write(tmp_path, LINES)
    table = _table_files.from_file(tmp_path, LAYOUT)
    assert table.features == ["length", "width"]
    np.testing.assert_array_equal(table.inputs, [[0.5, 7], [-10, 8], [2, 9]])
    np.testing.assert_array_equal(table.target, [1, 0, 0])
    assert table.target.dtype == np.int32


def test_real_targets_from_plain_and_xz_files_between_white_space(tmp_path):
    for file, pack in (("small.data", bytes), ("small.data.xz", lzma.compress)):
        (tmp_path / file).write_bytes(pack(b" 1.5   2.0\n 3    -4.0\n"))
        layout = _table_files.Format(file, 2, ("x", "y"), "height", "m", separator=None)
        table = _table_files.from_file(tmp_path, layout)
        np.testing.assert_array_equal(table.inputs, [[1.5], [3]])
        np.testing.assert_array_equal(table.target, [2, -4])
        assert (table.about, table.units) == ("height", "m")


@pytest.mark.parametrize(
    ("at", "line", "reason"),
    [
        (0, "id,width,length,kind", "line 1: it does not hold the names"),
        (2, "2,1,3", "line 3: 3 columns, not 4"),
        (2, "2,1,8,3,9", "line 3: 5 columns, not 4"),
        (3, "3,?,9,1", r"line 4: .*'\?'"),
        (3, "3,,9,1", "line 4: .*''"),
        (1, "1,nan,7,2", "line 2: a value is missing or infinite"),
        (3, "3,2,9,4", "line 4: 4 is not a class"),
        (3, "", "line 4: 1 columns, not 4"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, at, line, reason):
    write(tmp_path, [*LINES[:at], line, *LINES[at + 1 :]])
    with pytest.raises(UserError, match=reason) as caught:
        _table_files.from_file(tmp_path, LAYOUT)
    assert str(tmp_path / LAYOUT.file) in str(caught.value) and "fetch" in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "not what it should be"),
        (lambda path: path.write_bytes(b"<html>moved</html>"), "Not a gzipped file"),
        (lambda path: path.write_bytes(gzip.compress(b"\xff\xfe")), "utf-8"),
        (lambda path: path.write_bytes(gzip.compress(b"")), "line 1"),
        (lambda path: write(path.parent, LINES[:3]), "line 3: it ends after 2 of 3 rows"),
    ],
)
def test_a_wrong_file_is_reported(tmp_path, damage, reason):
    write(tmp_path, LINES)
    damage(tmp_path / LAYOUT.file)
    with pytest.raises(UserError, match=reason) as caught:
        _table_files.from_file(tmp_path, LAYOUT)
    assert str(tmp_path) in str(caught.value) and "fetch" in str(caught.value)


def test_a_wrong_xz_file_is_reported(tmp_path):
    (tmp_path / "cal_housing.data.xz").write_bytes(b"<html>moved</html>")
    with pytest.raises(UserError, match=r"cal_housing\.data\.xz is not what"):
        _table_files.from_file(tmp_path, _table_files.FORMATS["california"])


def test_bundled_tables_are_in_their_original_units():
    cancer, diabetes = _table_files.bundled("breast-cancer"), _table_files.bundled("diabetes")
    assert cancer.inputs.shape == (569, 30) and diabetes.inputs.shape == (442, 10)
    assert np.bincount(cancer.target).tolist() == [212, 357]  # malignant, benign (UCI)
    assert cancer.features[0] == "mean radius" and diabetes.features[:2] == ["age", "sex"]
    # Efron et al. 2004, table 1: the first patient is 59 years old, of sex 2, with response 151.
    assert diabetes.inputs[0, :2].tolist() == [59, 2] and diabetes.target[0] == 151


def test_every_format_is_that_of_a_raw_file():
    for dataset, layout in _table_files.FORMATS.items():
        assert list(raw.table()[dataset].files) == [layout.file]


def fetched(dataset: str, folder: Path) -> _table_files.Table:
    layout = _table_files.FORMATS[dataset]
    raw.fetch(dataset, layout.file, folder / layout.file)
    return _table_files.from_file(folder, layout)


@needs_mirror
def test_real_classes(tmp_path):
    pima = fetched("pima", tmp_path)
    assert pima.inputs.shape == (768, 8) and np.bincount(pima.target).tolist() == [500, 268]
    # Means of the features as printed by the authors of the file.
    expected = [3.8, 120.9, 69.1, 20.5, 79.8, 32.0, 0.5, 33.2]
    np.testing.assert_allclose(pima.inputs.mean(axis=0), expected, atol=0.05)
    cover = fetched("covertype-subset", tmp_path)
    assert cover.inputs.shape == (15120, 54)
    assert np.bincount(cover.target).tolist() == [6 * 2160, 2160]
    assert (cover.inputs[:, 10:14].sum(axis=1) == 1).all()  # one wilderness area each
    assert (cover.inputs[:, 14:].sum(axis=1) == 1).all()  # one soil type each


@needs_mirror
def test_real_regressions(tmp_path):
    boston = fetched("boston", tmp_path)
    design = np.column_stack([boston.inputs, np.ones(506)])
    (squares,) = np.linalg.lstsq(design, boston.target)[1]
    assert squares / 506 == pytest.approx(21.89, abs=0.01)  # least squares, as commonly published
    california = fetched("california", tmp_path)
    assert california.inputs.shape == (20640, 8)
    assert california.features[-1] == "medianIncome"
    assert california.target.mean() == pytest.approx(206855.8, abs=0.1)
