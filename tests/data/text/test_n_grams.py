"""Tables of n-grams: counts equal brute force, wrong lines are named."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.data.text import _count_store, _text_files, n_grams
from shiftbench.data.text.n_grams import Settings
from tests.data.text.word_counts import WORDS, brute_force, dense, of_batch

MIRROR = os.environ.get("SHIFTBENCH_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="needs the real files in SHIFTBENCH_MIRROR")
SMALL = Settings(first_year=1990, last_year=1993, period_years=2, vocabulary_size=0)
FORM = r"5 words TAB year TAB match_count TAB volume_count"

Line = tuple[list[str], int, int]


def lines(n: int = 5, seed: int = 0) -> list[Line]:
    random = np.random.default_rng(seed)
    return [
        (random.choice(WORDS, n).tolist(), int(random.integers(1988, 1996)), int(random.zipf(1.5)))
        for _ in range(300)
    ]


def written(folder: Path, table: list[Line], files: int = 3, end: str = "\n") -> Path:
    """Write tables of the lines, one of them packed."""
    for k in range(files):
        text = "".join(f"{' '.join(w)}\t{y}\t{c}\t1{end}" for w, y, c in table[k::files])
        path = folder / f"table-{k}"
        path.write_bytes(text.encode())
    (folder / "table-0.gz").write_bytes(gzip.compress((folder / "table-0").read_bytes()))
    (folder / "table-0").unlink()
    return folder


@pytest.mark.parametrize("weighting", ["linear", "flat", "harmonic"])
@pytest.mark.parametrize(("n", "end"), [(2, "\n"), (5, "\r\n")])
def test_counts_equal_brute_force(n, end, weighting, tmp_path):
    table = lines(n)
    store = n_grams.build(replace(SMALL, weighting=weighting), written(tmp_path, table, end=end))
    words = store["word"].values.tolist()
    assert sorted(words) == sorted(WORDS)
    for t in range(2):
        inside = [(w, c) for w, year, c in table if (year - 1990) // 2 == t]
        expected = sum(
            c * brute_force([[words.index(word) for word in w]], len(words), n - 1, weighting)
            for w, c in inside
        )
        rows = _count_store.counts(store, 0, t)
        assert (dense(rows, len(words), store.attrs["units"]) == expected).all()
        batch = n_grams.task(store, [0], t)
        assert batch.test is None
        np.testing.assert_allclose(
            of_batch(batch.train, 0, len(words)), expected.astype(float), rtol=1e-12
        )
        of_word = [sum(c * w.count(word) for w, c in inside) for word in words]
        assert store["unigram"].values[0, t].tolist() == of_word
        assert store["tokens"].values[0, t] == n * sum(c for _, c in inside)


def test_a_five_gram_by_hand(tmp_path):
    (tmp_path / "t").write_text("a b c d e\t1990\t3\t1\nb a x b a\t1992\t1\t1\n")
    store = n_grams.build(replace(SMALL, words=("a", "b", "e")), tmp_path)
    first = of_batch(n_grams.task(store, [0], 0).train, 0, 3)
    np.testing.assert_array_equal(first, [[0, 3, 0.75], [3, 0, 1.5], [0.75, 1.5, 0]])
    # b a . b a: ab at 1, 2, 1 (3 / 4 of it is 1 + 3 / 4 + 1) and 4 (1 / 4); aa and bb at 3.
    second = of_batch(n_grams.task(store, [0], 1).train, 0, 3)
    np.testing.assert_array_equal(second, [[1, 3, 0], [3, 1, 0], [0, 0, 0]])


def test_shards_of_any_number_and_order_give_equal_bytes(tmp_path, monkeypatch):
    raw = tmp_path / "raw"
    raw.mkdir()
    written(raw, lines())
    monkeypatch.setattr(_text_files, "BLOCK_BYTES", 1000)
    stores = set()
    for shards in (1, 2, 5):
        settings = replace(SMALL, shards=shards)
        scratch = tmp_path / str(shards)
        scratch.mkdir()
        words = n_grams.vocabulary(settings, raw)
        order = np.random.default_rng(shards).permutation(settings.shards).tolist()
        partials = [n_grams.count_shard(settings, raw, words, k, scratch / str(k)) for k in order]
        zarr_zip.write(n_grams.merge(settings, words, partials, scratch), scratch / "store")
        stores.add((scratch / "store").read_bytes())
    zarr_zip.write(n_grams.build(SMALL, raw), tmp_path / "store")
    assert stores == {(tmp_path / "store").read_bytes()}


def test_vocabulary_ranks_by_periods_or_by_all(tmp_path):
    text = "a a\t1990\t1000\t1\na b\t1990\t1000\t1\nb c\t1992\t4\t1\nc c\t1992\t1\t1\n"
    (tmp_path / "t").write_text(text)
    # Relative: a 3000 / 4000, c 6 / 10, b 1 / 4 + 4 / 10.
    assert n_grams.vocabulary(SMALL, tmp_path) == ["a", "b", "c"]
    assert n_grams.vocabulary(replace(SMALL, first_year=1992), tmp_path) == ["c", "b"]
    assert n_grams.vocabulary(replace(SMALL, minimum_count=7), tmp_path) == ["a", "b"]
    (tmp_path / "t").write_text(text + "C c\t1992\t20\t1\n")
    assert n_grams.vocabulary(SMALL, tmp_path)[0] == "a"
    assert n_grams.vocabulary(replace(SMALL, ranking="total"), tmp_path) == ["a", "b", "c", "C"]
    lower = replace(SMALL, case="lower", vocabulary_size=2)
    assert n_grams.vocabulary(lower, tmp_path) == ["c", "a"]


@pytest.mark.parametrize(
    ("line", "number", "reason"),
    [
        (b"a b c d\t1990\t1\t1\n", 4, FORM),
        (b"a b c d e f\t1990\t1\t1\n", 4, FORM),
        (b"a b c d e\t199O\t1\t1\n", 4, FORM),
        (b"a b c d e\t1990\t-1\t1\n", 4, FORM),
        (b"a b c d e\t1990\t1\n", 4, FORM),
        (b"a b c d e\t1990\t1\t1\t1\n", 4, FORM),
        (b"a b  d e\t1990\t1\t1\n", 4, FORM),
        (b"\n", 4, FORM),
        (b"a b c d \xff\t1990\t1\t1\n", 4, "utf-8"),
        (b"a b c d \x00\t1990\t1\t1\n", 4, "utf-8"),
    ],
)
@pytest.mark.parametrize("block", [30, 2**20])
def test_a_wrong_line_is_named(line, number, reason, block, tmp_path, monkeypatch):
    monkeypatch.setattr(_text_files, "BLOCK_BYTES", block)
    good = b"a b c d e\t1990\t1\t1\n"
    (tmp_path / "table").write_bytes(3 * good + line + good)
    with pytest.raises(UserError, match=reason) as caught:
        n_grams.vocabulary(SMALL, tmp_path)
    assert f"{tmp_path / 'table'} is not what it should be, line {number}:" in str(caught.value)


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:-20] + bytes(20)])
def test_a_damaged_gz_is_named(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(_text_files, "BLOCK_BYTES", 1000)
    path = written(tmp_path, lines(), files=1) / "table-0.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"table-0\.gz is not .* line [1-9]\d*: .*damaged"):
        n_grams.vocabulary(SMALL, tmp_path)


def test_settings_that_do_not_fit(tmp_path):
    with pytest.raises(UserError, match="no table of n-grams"):
        n_grams.build(SMALL, tmp_path)
    written(tmp_path, lines())
    with pytest.raises(UserError, match="shall have 99 words, but only 10 occur 1 times"):
        n_grams.build(replace(SMALL, vocabulary_size=99), tmp_path)
    with pytest.raises(UserError, match="'war' of the given vocabulary is twice"):
        n_grams.build(replace(SMALL, words=("war", "war")), tmp_path)
    with pytest.raises(UserError, match="'radio' of the given vocabulary does not occur"):
        n_grams.build(replace(SMALL, words=("war", "radio")), tmp_path)
    with pytest.raises(UserError, match="period that starts in 1996 is empty"):
        n_grams.build(replace(SMALL, last_year=1998), tmp_path)


@needs_mirror
def test_the_real_words_that_start_with_q():
    settings = Settings("google-ngrams-q", 1800, 2008, vocabulary_size=0)
    raw = Path(MIRROR) / "google-ngrams-q"
    store = n_grams.build(settings, raw)
    assert store.sizes["word"] == 51 and store.sizes["task"] == 209
    expected = 0
    for line in (raw / "words_that_start_with_q.csv").read_text().splitlines():
        word, year, count, _ = line.split("\t")
        if (word, year) == ("quantity", "1950"):
            expected += int(count)
    result = store["unigram"].sel(word="quantity").values[0, 150]
    assert result == expected > 10000
    assert not store["pairs"].values.any()
