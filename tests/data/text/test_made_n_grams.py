"""The 5-grams that the package makes: both formats, exclusions and counts."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw, zarr_zip
from shiftbench.data.text import _count_store, _counts, _made_n_grams, n_grams, planted_words

SETTINGS = n_grams.Settings("made-ngrams-2012", first_year=1989, vocabulary_size=140)


@pytest.fixture(scope="module")
def fetched(tmp_path_factory) -> dict[str, Path]:
    """Fetch each release as the workflow does, with the table's checksums; return the folders."""
    folders = {}
    for release in ("2012", "2020"):
        dataset = f"made-ngrams-{release}"
        folders[release] = tmp_path_factory.mktemp(dataset)
        for file in raw.table()[dataset].files:
            raw.fetch(dataset, file, folders[release] / file)
    return folders


def documents() -> tuple[list[str], np.ndarray]:
    """Return the words, and the documents [period, document, place] behind the tables."""
    words = [word.replace("-", "") for word in planted_words.words(_made_n_grams.TEXT)]
    _, texts = planted_words.texts(_made_n_grams.TEXT, _made_n_grams.NUMBER)
    return words, np.array(texts).reshape(12, _made_n_grams.TEXT.documents, -1)


@pytest.mark.long
def test_the_store_has_the_pairs_of_all_five_grams_of_the_documents_alone(fetched):
    store = n_grams.build(SETTINGS, fetched["2012"])
    words, texts = documents()
    assert sorted(store["word"].values.tolist()) == sorted(words)
    place = np.array([store["word"].values.tolist().index(word) for word in words])
    for t, text in enumerate(place[texts]):
        windows = np.lib.stride_tricks.sliding_window_view(text, 5, axis=1).reshape(-1, 5)
        expected = np.zeros((140, 140), np.int64)
        for a in range(5):
            for b in range(a + 1, 5):
                for i, j in ((a, b), (b, a)):
                    np.add.at(expected, (windows[:, i], windows[:, j]), 5 - (b - a))
        pairs, count = _counts.mirrored(_count_store.counts(store, 0, t), 140)
        found = np.zeros_like(expected)
        found[tuple(pairs.T)] = count
        np.testing.assert_array_equal(found, expected)
        misread = len(text)  # one n-gram per document, whose words are outside any vocabulary
        assert store["tokens"].values[0, t] == 5 * (len(windows) + misread)


@pytest.mark.long
@pytest.mark.parametrize("sample", [{}, {"tokens_per_period": 12000, "held_out": 0.1}])
def test_both_releases_give_equal_bytes(sample, fetched, tmp_path):
    stores = set()
    for folder in fetched.values():
        zarr_zip.write(n_grams.build(replace(SETTINGS, **sample), folder), tmp_path / "store")
        stores.add((tmp_path / "store").read_bytes())
    assert len(stores) == 1


def test_tags_misprints_and_other_years_are_in_the_tables(fetched):
    kept = n_grams.build(replace(SETTINGS, tags="keep", vocabulary_size=0), fetched["2020"])
    words = {str(word) for word in kept["word"].values}
    assert {"_START_", "_END_", "_NOUN_", "tlie"} < words
    assert any(word.endswith("_VERB") for word in words)
    other = replace(SETTINGS, first_year=1850, last_year=1899)
    assert n_grams.build(replace(other, period_years=50), fetched["2020"])["tokens"].values > 0


def test_thinned_years_have_about_as_many_tokens_as_they_shall(fetched):
    sample = replace(SETTINGS, tokens_per_period=12000, held_out=0.1)
    store = n_grams.build(sample, fetched["2012"])
    n, p = 40 * 147, 0.9 * 12000 / (5 * 40 * 147)
    ngrams = store["tokens"].values[0] / 5
    assert (np.abs(ngrams - n * p) < 4 * np.sqrt(n * p * (1 - p))).all()
    assert len(set(ngrams.tolist())) > 6
    held_out = [one.targets.sum() for one in n_grams.held_out_documents(store)]
    train = [n_grams.task(store, [0], t).train.targets.sum() for t in range(12)]
    np.testing.assert_allclose(np.array(held_out) / train, 1 / 9, rtol=0.3)


def test_files_are_gz_of_sorted_lines(fetched):
    for folder in fetched.values():
        lines = [
            line.split("\t")[0]
            for path in sorted(folder.iterdir())
            for line in gzip.decompress(path.read_bytes()).decode().splitlines()
        ]
        assert lines == sorted(lines) and all(line.count(" ") == 4 for line in lines)


def test_another_content_than_that_of_the_table_is_not_kept(tmp_path, monkeypatch):
    size = raw.table()["made-ngrams-2012"].files["made-5gram-2012-0.gz"].size
    monkeypatch.setattr(_made_n_grams, "write", lambda _, target: target.write_bytes(bytes(size)))
    with pytest.raises(UserError, match="_made_n_grams: expected sha256"):
        raw.fetch("made-ngrams-2012", "made-5gram-2012-0.gz", tmp_path / "raw" / "x.gz")
    assert not list((tmp_path / "raw").iterdir())
