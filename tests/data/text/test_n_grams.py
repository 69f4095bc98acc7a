"""Tables of n-grams: counts equal brute force, and errors name the line."""

from __future__ import annotations

import gzip
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.data.text import (
    _count_store,
    _n_gram_lines,
    _text_files,
    _tokens,
    _vocabulary,
    n_grams,
)
from shiftbench.data.text.n_grams import Settings
from tests.data.text.word_counts import WORDS, brute_force, dense, of_batch
from tests.real_files import MIRROR, needs_mirror

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
    """Write tables of the lines, one of them compressed."""
    for k in range(files):
        text = "".join(f"{' '.join(w)}\t{y}\t{c}\t1{end}" for w, y, c in table[k::files])
        path = folder / f"table-{k}"
        path.write_bytes(text.encode())
    (folder / "table-0.gz").write_bytes(gzip.compress((folder / "table-0").read_bytes()))
    (folder / "table-0").unlink()
    return folder


def shared(folder: Path, table: list[Line], files: int = 3, end: str = "\n") -> Path:
    """Write tables with all years of an n-gram in one line, as in 2020, one of them compressed."""
    years: dict[str, list[str]] = {}
    for w, y, c in table:
        years.setdefault(" ".join(w), []).append(f"{y},{c},1")
    rows = [f"{ngram}\t" + "\t".join(each) + end for ngram, each in years.items()]
    for k in range(files):
        content = "".join(rows[k::files]).encode()
        packed = k == 0
        path = folder / (f"5-{k:05d}" + ".gz" * packed)
        path.write_bytes(gzip.compress(content) if packed else content)
    return folder


def distinct(table: list[Line]) -> list[Line]:
    """Return the lines without repetitions of n-gram and year, as in real tables."""
    return list({(*w, y): (w, y, c) for w, y, c in table}.values())


def store_bytes(settings: Settings, raw: Path, place: Path) -> bytes:
    zarr_zip.write(n_grams.build(settings, raw), place)
    return place.read_bytes()


def test_shares_of_counts_beyond_32_bits_are_exact():
    count, total = np.array([3 * 10**9, 1, 2**46]), np.array([3 * 10**9 + 7, 3, 2**46 + 1])
    exact = [int(c) * _vocabulary.WHOLE // int(t) for c, t in zip(count, total, strict=True)]
    assert _vocabulary.share(count, total).tolist() == exact


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


@pytest.mark.parametrize("sample", [{}, {"tokens_per_period": 900, "held_out": 0.2}])
def test_shards_of_any_number_and_order_give_equal_bytes(sample, tmp_path, monkeypatch):
    raw = tmp_path / "raw"
    raw.mkdir()
    written(raw, lines(), files=8)
    monkeypatch.setattr(_text_files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(n_grams, "ENTRIES", 7)
    stores = set()
    for shards in (1, 2, 7):
        settings = replace(SMALL, shards=shards, **sample)
        scratch = tmp_path / str(shards)
        scratch.mkdir()
        words = n_grams.vocabulary(settings, raw)
        order = np.random.default_rng(shards).permutation(settings.shards).tolist()
        partials = [n_grams.count_shard(settings, raw, words, k, scratch / str(k)) for k in order]
        zarr_zip.write(n_grams.merge(settings, words, partials, scratch), scratch / "store")
        stores.add((scratch / "store").read_bytes())
    monkeypatch.undo()
    assert stores == {store_bytes(replace(SMALL, **sample), raw, tmp_path / "store")}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("ranking", ["relative", "total"])
@pytest.mark.parametrize("target", [0, 1500])
def test_both_forms_of_lines_give_equal_bytes(target, ranking, end, tmp_path):
    settings = replace(SMALL, tokens_per_period=target, held_out=0.3, ranking=ranking)
    table = distinct(lines())
    # An n-gram with several years, so that a line of 2020 has several counts.
    table += [
        (["war", "and", "peace", "and", "law"], year, year - 1980) for year in range(1989, 1994)
    ]
    stores = set()
    for write in (written, shared):
        raw = tmp_path / write.__name__
        raw.mkdir()
        stores.add(store_bytes(settings, write(raw, table, end=end), tmp_path / "store"))
    assert len(stores) == 1


TAGGED = ["war_NOUN", "to_PRT", "law_.", "of_X", "_NOUN_", "_START_", "_END_", "_", "a_CONJ"]
UNTAGGED = ["x_noun", "_", "__", "NOUN", "a_NOUNS", "_STARTS_", "snake_case", "_END", "X", "1_234_"]


@pytest.mark.parametrize("case", ["kept", "lower"])
@pytest.mark.parametrize("write", [written, shared])
def test_tags_are_dropped_as_if_their_lines_were_not_there(write, case, tmp_path):
    clean, random = lines(), np.random.default_rng(3)
    tagged = []
    for w, year, count in lines(seed=4):
        place = int(random.integers(5))
        word = TAGGED[int(random.integers(len(TAGGED)))]
        tagged.append(
            ([*w[:place], word if word != "_" else "the_DET", *w[place + 1 :]], year, count)
        )
    both = [line for pair in zip(clean, tagged, strict=True) for line in pair]
    settings, found = replace(SMALL, case=case), []
    for name, table in {"clean": clean, "both": both}.items():
        raw = tmp_path / name
        raw.mkdir()
        found.append(store_bytes(settings, write(raw, table), tmp_path / "store"))
    assert found[0] == found[1]
    kept = n_grams.build(replace(settings, tags="keep"), tmp_path / "both")
    tag = "_noun_" if case == "lower" else "_NOUN_"
    assert tag in kept["word"].values and kept["tokens"].values.sum() > 0


def test_words_that_only_look_like_tags_stay(tmp_path):
    (tmp_path / "t").write_text("".join(f"{w} the\t1990\t1\t1\n" for w in UNTAGGED))
    assert set(n_grams.vocabulary(replace(SMALL, last_year=1990), tmp_path)) == {*UNTAGGED, "the"}
    text = "".join(f"{w} the\t1990\t1\t1\n" for w in TAGGED if w != "_")
    assert _n_gram_lines.parsed(text, _n_gram_lines.Form(2, False)).tagged.all()


def drawn(words: list[str], year: int, count: int, kept: int, out: int) -> tuple[int, int]:
    """Return the occurrences kept for training and held out, in plain Python."""
    whole, key = 2**64, 0
    for word in words:
        points = _tokens.code_points(word)
        key = (key * 1099511628211 + int(_tokens.digest_of(points, 0, len(points)))) % whole

    def mixed(value: int) -> int:
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % whole
        value = (value ^ value >> 27) * 0x94D049BB133111EB % whole
        return value ^ value >> 31

    low, high = (int(word) % 2**32 for word in seeds.fold("n-grams", 2))
    state = mixed((mixed(key ^ (low + high * 2**32)) + year) % whole)
    draws = [mixed((state + i * 0x9E3779B97F4A7C15) % whole) // 2 for i in range(1, count + 1)]
    return sum(out <= draw < kept for draw in draws), sum(draw < out for draw in draws)


@pytest.mark.parametrize("target", [0, 900])
def test_thinned_and_held_out_counts_equal_brute_force(target, tmp_path):
    table = distinct(lines())
    settings = replace(SMALL, tokens_per_period=target, held_out=0.25, first_realisation=2)
    store = n_grams.build(settings, written(tmp_path, table))
    words = store["word"].values.tolist()
    of_period = [5 * sum(c for _, y, c in table if (y - 1990) // 2 == t) for t in range(2)]
    expected = [
        [np.full((len(words), len(words)), Fraction(0)) for t in range(2)] for part in range(2)
    ]
    tokens = [0, 0]
    for w, year, count in table:
        if not 1990 <= year < 1994:
            continue
        kept = min(2**63, 2**63 * target // of_period[(year - 1990) // 2]) if target else 2**63
        split = drawn(w, year, count, kept, int(0.25 * kept))
        t, document = (year - 1990) // 2, [words.index(word) for word in w]
        for part, number in enumerate(split):
            expected[part][t] += number * brute_force([document], len(words), 4)
        tokens[t] += 5 * split[0]
    units = store.attrs["units"]
    for t in range(2):
        for part, counts in enumerate((_count_store.counts, _count_store.held_out_counts)):
            assert (dense(counts(store, 0, t), len(words), units) == expected[part][t]).all()
        batch = n_grams.task(store, [0], t)
        held_out = expected[1][t].astype(float)
        np.testing.assert_allclose(of_batch(batch.test, 0, len(words)), held_out, rtol=1e-12)
    assert store["tokens"].values[0].tolist() == tokens
    documents = list(n_grams.held_out_documents(store))
    assert [(one.name, one.task) for one in documents] == [("1990", 0), ("1992", 1)]
    assert sum(one.targets.sum() for one in documents) == float(
        sum(each.sum() for each in expected[1])
    )


def test_what_is_held_out_and_what_is_not_are_all(tmp_path):
    raw = written(tmp_path, lines())
    words = tuple(n_grams.vocabulary(SMALL, raw))
    whole = n_grams.build(replace(SMALL, words=words), raw)
    store = n_grams.build(replace(SMALL, words=words, held_out=0.1), raw)
    above = n_grams.build(replace(SMALL, words=words, tokens_per_period=10**12), raw)
    for t in range(2):
        parts = (_count_store.counts(store, 0, t), _count_store.held_out_counts(store, 0, t))
        each = [dense(part, len(words), 4) for part in parts]
        every = dense(_count_store.counts(whole, 0, t), len(words), 4)
        assert (each[0] + each[1] == every).all() and each[1].any()
        assert (dense(_count_store.counts(above, 0, t), len(words), 4) == every).all()


def test_vocabulary_ranks_by_periods_or_by_all(tmp_path):
    text = "a a\t1990\t1000\t1\na b\t1990\t1000\t1\nb c\t1992\t4\t1\nc c\t1992\t1\t1\n"
    (tmp_path / "t").write_text(text)
    # Relative frequencies: a 3000 / 4000, c 6 / 10, b 1 / 4 + 4 / 10.
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


@pytest.mark.parametrize(
    "line",
    [
        b"a b c d e\t1990,1,1\t1991,1\n",
        b"a b c d e\t1990,1,1\t1991,1,1,1\n",
        b"a b c d e\t1990,1,1\t\n",
        b"a b c d e\t1990,1,x\t1991,1,1\n",
        b"a b c d e\t1990,,1\n",
        b"a b c d e\n",
        b"a b c d e\t\n",
        b"a b c d\t1990,1,1\n",
        b"a b c d e\t1990\t1\t1\n",
        b"a b c d e\t1990,1,1\t\r1991,1,1\n",
        b"a b c d e\t1990,99999999999999999999,1\n",
        b"\n",
    ],
)
@pytest.mark.parametrize("block", [30, 2**20])
def test_a_wrong_line_of_2020_is_named(line, block, tmp_path, monkeypatch):
    monkeypatch.setattr(_text_files, "BLOCK_BYTES", block)
    good = b"a b c d e\t1990,1,1\t1991,2,2\n"
    (tmp_path / "table").write_bytes(3 * good + line + good)
    scratch = tmp_path / "scratch"
    with pytest.raises(UserError, match=r"line 4: .*5 words TAB year,match_count,volume") as caught:
        n_grams.count_shard(SMALL, tmp_path, ["a", "b"], 0, scratch)
    assert str(caught.value).endswith("Delete it and fetch it again.")


def test_a_truncated_last_line_is_named(tmp_path):
    (tmp_path / "table").write_bytes(b"a b\t1990,1,1\nb c\t1990,1,1\t19")
    with pytest.raises(UserError, match="line 2"):
        n_grams.vocabulary(SMALL, tmp_path)


@pytest.mark.parametrize(
    "other", ["a b c d e\t1990,1,1\n", "a b\t1990\t1\t1\n", "a b c d e f\t1990\t1\t1\n"]
)
def test_files_of_another_release_or_size_are_named(other, tmp_path):
    (tmp_path / "table-1").write_text("a b c d e\t1990\t1\t1\n")
    (tmp_path / "table-2").write_text(other)
    reason = r"table-2 .* line 1: .*which table-1 has: put files of another size or release elsewh"
    with pytest.raises(UserError, match=reason):
        n_grams.vocabulary(SMALL, tmp_path)


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
    with pytest.raises(UserError, match=r"No n-gram .* 1700 to 1701\. Change first_year or"):
        n_grams.build(replace(SMALL, first_year=1700, last_year=1701), tmp_path)
    with pytest.raises(
        UserError, match=r"starts in 199\d has no pair .* held out\. Raise held_out"
    ):
        n_grams.build(replace(SMALL, period_years=1, held_out=1e-9), tmp_path)
    wrong = replace(SMALL, first_year=1999)
    assert list(n_grams.unsupported(wrong)) == [
        "last_year is 1993, before first_year, 1999: raise last_year, or lower first_year"
    ]
    with pytest.raises(UserError, match="period that starts in 1996 is empty"):
        n_grams.build(replace(SMALL, last_year=1998), tmp_path)


@needs_mirror
def test_the_real_words_that_start_with_q():
    settings = Settings("google-ngrams-q", 1800, 2008, vocabulary_size=0)
    raw = MIRROR / "google-ngrams-q"
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
