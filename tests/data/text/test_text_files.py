"""A user's folder of texts is counted like other documents; one error per mistake."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.data.text import _corpora, running_text, text_files
from shiftbench.data.text.text_files import Settings
from tests.data.text.word_counts import archive, speeches

SPEECHES = speeches(range(1970, 1974), 10)


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def settings(folder: Path, **others) -> Settings:
    return Settings(path=str(folder), vocabulary_size=8, held_out=0.2, **others)


@pytest.fixture
def folder(tmp_path) -> Path:
    return written(tmp_path / "speeches", SPEECHES)


def test_a_folder_has_the_counts_of_the_same_documents_in_an_archive(folder, tmp_path):
    archive(tmp_path / _corpora.UN_ARCHIVE, dict(sorted(SPEECHES.items())))
    published = running_text.Settings(vocabulary_size=8, held_out=0)
    expected = running_text.build(published, tmp_path)
    result = text_files.build(replace(settings(folder), held_out=0.0), folder)
    attributes = {"title": "speeches", "licence": "not stated", "citation": "not stated"}
    assert {key: result.attrs[key] for key in attributes} == attributes
    assert expected.attrs.pop("licence_status") == "stated"
    for tree in (expected, result):
        for key in attributes:
            del tree.attrs[key]
    xr.testing.assert_identical(expected, result)


def test_held_out_documents_are_some_of_each_period(folder):
    store = text_files.build(settings(folder, title="Mine", licence="CC0"), folder)
    held_out = list(text_files.held_out_documents(store))
    assert sorted(document.task for document in held_out) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(document.name in SPEECHES for document in held_out)
    assert (store.attrs["title"], store.attrs["licence"]) == ("Mine", "CC0")


def test_a_moved_folder_and_other_words_about_it_change_no_count(folder, tmp_path):
    moved = tmp_path / "elsewhere/speeches"
    moved.parent.mkdir()
    before = text_files.build(settings(folder), folder)
    folder.rename(moved)
    xr.testing.assert_equal(before, text_files.build(settings(moved, title="Other"), moved))


@pytest.mark.parametrize(
    ("name", "date", "year"),
    [
        ("1996-07-04_speech.txt", None, 1996),
        ("USA_25_1970.txt", None, 1970),
        ("su1790.TXT", None, 1790),
        ("1805/2nd/speech.txt", None, 1805),
        ("1800-1900/su1850.txt", None, 1850),
        ("19960704.txt", r"^(\d{4})", 1996),
        ("1996_on_2020.txt", r"^(\d{4})_", 1996),
    ],
)
def test_the_year_is_in_the_name_of_the_file_or_of_its_folder(name, date, year, tmp_path):
    written(tmp_path, {name: "peace and war", "notes.md": "no document", ".1999.txt": "hidden"})
    mine = settings(tmp_path) if date is None else settings(tmp_path, date=date)
    words = text_files.vocabulary(replace(mine, vocabulary_size=3, held_out=0.0), tmp_path)
    store = text_files.build(replace(mine, words=tuple(words), held_out=0.0), tmp_path)
    assert store["first_year"].values.tolist() == [year]
    assert store["realisation-0"]["document_name"].values.tolist() == [name]


def test_a_copy_is_found_behind_another_text_of_its_size(folder):
    written(folder, {"x_1970.txt": "peace", "y_1970.txt": "wares", "z_1970.txt": "peace"})
    with pytest.raises(UserError, match=r"x_1970.txt and .*z_1970.txt are the same text"):
        text_files.look(settings(folder), folder)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_texts_of_any_encoding(encoding, tmp_path):
    written(tmp_path, {"1990.txt": "café olé café".encode(encoding)})
    mine = replace(settings(tmp_path, encoding=encoding), vocabulary_size=2, held_out=0.0)
    assert text_files.vocabulary(mine, tmp_path) == ["café", "olé"]


@pytest.mark.parametrize(
    ("files", "others", "message"),
    [
        ({"speech.txt": "peace"}, {}, "speech.txt: there is no year in its name"),
        ({"1970_1981.txt": "peace"}, {}, "1970_1981.txt: its year may be 1970 or 1981. Set date"),
        ({"empty_1970.txt": ""}, {}, "empty_1970.txt is empty (1 such files)"),
        ({"again/XKX_1970.txt": SPEECHES["AKX_25_1970.txt"]}, {}, "the same text in the same year"),
        ({"late_1980.txt": "peace"}, {}, "speeches has no document in the period of 1 years"),
        ({}, {"first_year": 1990}, "speeches has no document from 1990 to 1973, but from 1970 to"),
        ({}, {"ending": ".doc"}, "no file whose name ends in .doc, but 40 others, such as"),
        ({}, {"date": "("}, "Setting date: '(' is not a regular expression"),
        ({}, {"date": "_25_"}, "has 0 groups, but must have one"),
        ({}, {"date": "([A-Z]+)_"}, "finds 'AKX', which is not a year"),
        ({}, {"encoding": "latin"}, None),
        ({}, {"encoding": "klingon"}, "there is no encoding of text 'klingon'"),
        ({}, {"encoding": "rot13"}, "there is no encoding of text 'rot13'"),
    ],
)
def test_wrong_names_and_settings_are_refused_at_a_look(folder, files, others, message):
    written(folder, files)
    if message is None:
        return text_files.look(settings(folder, **others), folder)
    with pytest.raises(UserError, match=re.escape(message)):
        text_files.look(settings(folder, **others), folder)


@pytest.mark.parametrize(
    ("content", "others", "message"),
    [
        (b"peace\nand\ncaf\xe9", {}, "line 3: it is not utf-8"),
        (b"\xff\xfep\0e\0", {}, "line 1: it is not utf-8 (invalid start byte). Set encoding to"),
        (b"peace\n\x89PNG\0\1", {"encoding": "latin-1"}, "line 2: it is not latin-1"),
        (b" \r\n\t", {}, "has nothing but spaces"),
    ],
)
def test_files_that_are_no_texts_are_named_when_they_are_read(folder, content, others, message):
    written(folder, {"bad_1970.txt": content})
    end = "" if "has" in message else ", "
    with pytest.raises(UserError, match=re.escape(f"bad_1970.txt{end}")):
        text_files.vocabulary(settings(folder, **others), folder)
    with pytest.raises(UserError, match=re.escape(message)):
        text_files.build(settings(folder, **others), folder)


def test_a_file_is_no_folder(folder):
    file = folder / "AKX_25_1970.txt"
    with pytest.raises(UserError, match=r"is a file\. Put the texts into a folder"):
        text_files.look(settings(file), file)


def test_equal_texts_of_different_years_are_two_documents(tmp_path):
    written(tmp_path, {"1970.txt": "war and peace", "1971.txt": "war and peace"})
    mine = replace(settings(tmp_path), vocabulary_size=3, held_out=0.0)
    text_files.look(mine, tmp_path)
    words = text_files.vocabulary(mine, tmp_path)
    store = text_files.build(replace(mine, words=tuple(words)), tmp_path)
    assert store["realisation-0"]["document_name"].values.tolist() == ["1970.txt", "1971.txt"]
