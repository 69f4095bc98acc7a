"""Dated documents: brute-force counts, equal bytes from shards, and no held-out leaks."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from zarr.storage import ZipStore

from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.data.text import _corpora, _count_store, _dated_texts, _text_files, running_text
from shiftbench.data.text.running_text import Settings
from tests.data.text.word_counts import archive, brute_force, dense, numbers, of_batch, speeches
from tests.real_files import MIRROR, needs_mirror

SMALL = Settings(vocabulary_size=8, held_out=0.2)
SPEECHES = speeches(range(1970, 1974), 10)


@pytest.fixture
def raw(tmp_path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    archive(folder / _corpora.UN_ARCHIVE, SPEECHES)
    return folder


def texts(store, held_out: bool, t: int) -> list[list[int]]:
    """Return the documents of a period, from their source."""
    group, words = store["realisation-0"], store["word"].values.tolist()
    wanted = (group["document_held_out"] == held_out) & (group["document_task"] == t)
    return [numbers(SPEECHES[name], words) for name in group["document_name"].values[wanted]]


@pytest.mark.parametrize("weighting", ["linear", "flat", "harmonic"])
def test_counts_are_those_of_the_documents(raw, weighting):
    store = running_text.build(replace(SMALL, weighting=weighting, window=3), raw)
    assert store.sizes["task"] == 4 and store["first_year"].values.tolist() == [*range(1970, 1974)]
    for t in range(4):
        train, test = texts(store, False, t), texts(store, True, t)
        assert len(train) == 8 and len(test) == 2
        units = store.attrs["units"]
        for documents, rows in (
            (train, _count_store.counts(store, 0, t)),
            (test, _count_store.held_out_counts(store, 0, t)),
        ):
            expected = brute_force(documents, 8, 3, weighting)
            assert (dense(rows, 8, units) == expected).all() and expected.any()
        joined = np.concatenate(train)
        assert store["tokens"].values[0, t] == len(joined)
        counted = np.bincount(joined[joined >= 0], minlength=8)
        assert store["unigram"].values[0, t].tolist() == counted.tolist()


def test_dating_sees_held_out_documents_and_nothing_else(raw):
    store = running_text.build(SMALL, raw)
    group, words = store["realisation-0"], store["word"].values.tolist()
    held_out = set(group["document_name"].values[group["document_held_out"].values])
    result = list(running_text.held_out_documents(store))
    assert [d.name for d in result] == sorted(held_out, key=list(SPEECHES).index)
    for document in result:
        assert document.task == int(document.name[-8:-4]) - 1970
        expected = brute_force([numbers(SPEECHES[document.name], words)], 8, 4)
        matrix = np.zeros((8, 8))
        matrix[tuple(document.pairs.T)] = document.targets
        assert (matrix == expected).all()
    # Training counts and held-out documents together are the whole corpus, without overlap.
    whole = running_text.build(replace(SMALL, held_out=0, words=tuple(words)), raw)
    for t in range(4):
        parts = _count_store.counts(store, 0, t), _count_store.held_out_counts(store, 0, t)
        total = sum(dense(part, 8, 4) for part in parts)
        assert (total == dense(_count_store.counts(whole, 0, t), 8, 4)).all()
    assert not list(running_text.held_out_documents(whole))


def test_held_out_documents_have_no_part_in_the_vocabulary(raw, tmp_path):
    names = running_text.build(SMALL, raw)["realisation-0"]
    held_out = names["document_name"].values[names["document_held_out"].values]
    marked = {n: text + (" leak" * 50 if n in held_out else "") for n, text in SPEECHES.items()}
    archive(raw / _corpora.UN_ARCHIVE, marked)
    assert "leak" not in running_text.vocabulary(replace(SMALL, vocabulary_size=0), raw)


def test_tasks_are_the_counts_of_periods_and_their_sum(raw):
    store = running_text.build(SMALL, raw)
    problem = running_text.problem(store)
    tasks = [running_text.task(store, [0, 0], t) for t in range(-1, 4)]
    assert (problem.kind, problem.input_shape) == ("counts", (2,))
    assert (problem.n_outputs, problem.n_tasks) == (8, 4)
    assert problem.n_train == max(task.train.mask.shape[1] for task in tasks)
    for t, task in enumerate(tasks[1:]):
        expected = dense(_count_store.counts(store, 0, t), 8, 4).astype(float)
        for s in range(2):
            np.testing.assert_array_equal(of_batch(task.train, s, 8), expected)
        order = task.train.inputs[0, :, 0] * 8 + task.train.inputs[0, :, 1]
        assert (np.diff(order) > 0).all() and task.train.mask.all()
        assert task.train.inputs.dtype == np.int32
    total = sum(of_batch(task.train, 0, 8) for task in tasks[1:])
    np.testing.assert_array_equal(of_batch(tasks[0].train, 0, 8), total)
    assert store.attrs["warm_up"] == 1 and tasks[0].test is None


def test_shards_of_any_number_and_order_give_equal_bytes(raw, tmp_path, monkeypatch):
    monkeypatch.setattr(_dated_texts, "CHUNK", 500)
    stores = set()
    for shards in (1, 3, 7):
        settings = replace(SMALL, shards=shards)
        words = running_text.vocabulary(settings, raw)
        scratch = tmp_path / str(shards)
        scratch.mkdir()
        partials = []
        for k in np.random.default_rng(1).permutation(settings.shards).tolist():
            partial = running_text.count_shard(settings, raw, words, k, scratch / str(k))
            zarr_zip.write(partial, scratch / f"{k}.zip")
            # Read slices one by one, like a merge of shards that do not fit into memory.
            packed = ZipStore(scratch / f"{k}.zip", mode="r")
            partials.append(xr.open_zarr(packed, consolidated=False, chunks=None))
        zarr_zip.write(running_text.merge(settings, words, partials, scratch), scratch / "store")
        stores.add((scratch / "store").read_bytes())
    monkeypatch.undo()
    store = running_text.build(SMALL, raw)
    zarr_zip.write(store, tmp_path / "store")
    assert stores == {(tmp_path / "store").read_bytes()}
    again = zarr_zip.read_tree(tmp_path / "store")
    assert again.identical(store)


def test_periods_and_years(raw):
    store = running_text.build(replace(SMALL, first_year=1971, period_years=2), raw)
    assert store["first_year"].values.tolist() == [1971, 1973]
    group = store["realisation-0"]
    years = np.array([int(name[-8:-4]) for name in group["document_name"].values])
    np.testing.assert_array_equal(group["document_task"].values, (years - 1971) // 2)
    assert years.min() == 1971
    assert running_text.build(replace(SMALL, last_year=1971), raw).sizes["task"] == 2


def test_vocabulary_ranks_by_document_or_by_all(raw):
    files = {"AAA_1_1970.txt": "x " * 90 + "y z", "BBB_1_1970.txt": "y", "CCC_1_1970.txt": "Z z"}
    archive(raw / _corpora.UN_ARCHIVE, files)
    settings = Settings(vocabulary_size=0, held_out=0)
    # Relative frequencies: y 1 + 1 / 92, x 90 / 92, z 1 / 2 + 1 / 92, Z 1 / 2.
    assert running_text.vocabulary(settings, raw) == ["y", "x", "z", "Z"]
    assert running_text.vocabulary(replace(settings, case="lower"), raw) == ["y", "z", "x"]
    assert running_text.vocabulary(replace(settings, vocabulary_size=2), raw) == ["y", "x"]
    assert running_text.vocabulary(replace(settings, minimum_count=2), raw) == ["y", "x", "z"]
    total = replace(settings, ranking="total")
    assert running_text.vocabulary(total, raw) == ["x", "y", "z", "Z"]
    assert running_text.vocabulary(replace(settings, words=("Z", "x")), raw) == ["Z", "x"]


def refused(settings: Settings, raw: Path, tmp_path: Path, monkeypatch) -> str:
    """Return the error message; assert that no partial output is left."""
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with pytest.raises(UserError) as caught:
        running_text.build(settings, raw)
    assert not list(scratch.iterdir())
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("USA_25.txt", "peace", ("USA_25.txt", "line 1", "no date")),
        ("USA_25_1970.txt", b"peace\nand\nwar \xe9", ("USA_25_1970.txt", "line 3", "not utf-8")),
        ("USA_25_1970.txt", b"peace\np\0e\0", ("USA_25_1970.txt", "line 2", "not utf-8")),
        ("USA_25_1979.txt", "peace", ("1974", "no document", "period_years")),
        ("USA_25_1974.txt", "radio", ("1974", "empty", "period_years")),
    ],
)
def test_wrong_documents_are_named(raw, name, content, parts, tmp_path, monkeypatch):
    archive(raw / _corpora.UN_ARCHIVE, SPEECHES | {name: content})
    message = refused(SMALL, raw, tmp_path, monkeypatch)
    assert all(part in message for part in parts), message


def test_wrong_archives_and_settings_are_reported(raw, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="shall have 9999 words, but only"):
        running_text.build(replace(SMALL, vocabulary_size=9999), raw)
    with pytest.raises(UserError, match="'radio' of the given vocabulary does not occur"):
        running_text.build(replace(SMALL, words=("radio",)), raw)
    path = raw / _corpora.UN_ARCHIVE
    path.write_bytes(path.read_bytes()[:-200])
    assert "breaks off" in refused(SMALL, raw, tmp_path, monkeypatch)
    for others in ({}, {"read.me": "no speeches"}):
        archive(path, others)
        message = refused(SMALL, raw, tmp_path, monkeypatch)
        assert f"{path.name} is not what it should be" in message
        assert "no file whose name ends in .txt. Delete it and fetch it again" in message
    path.unlink()
    with pytest.raises(UserError, match=r"tar\.xz is missing"):
        running_text.build(SMALL, raw)
    path.mkdir()
    with pytest.raises(UserError, match=r"tar\.xz is not what it should be.* it is a folder"):
        running_text.build(SMALL, raw)


DESCRIPTION = "speech_id|chamber|date|number_within_file|speaker\n"


def congress(folder: Path, speech: str = "", description: str = "") -> Path:
    """Write two Congresses as published, encoded in Latin-1."""
    for number, year in ((43, 1873), (44, 1875)):
        rows = [f"{number}000000{k}|H|{year}0304|{k:05d}|Mr. SPEAKER\n" for k in range(4)]
        (folder / f"descr_0{number}.txt").write_text(DESCRIPTION + "".join(rows) + description)
        speeches = "".join(f"{number}000000{k}|Peace and law, and war.\n" for k in range(4))
        content = "speech_id|speech\n" + speeches + speech.replace("NN", str(number))
        (folder / f"speeches_0{number}.txt").write_bytes(content.encode("iso-8859-1"))
    return folder


def test_congressional_record(tmp_path):
    congress(tmp_path, "NN0000000|caf\xe9 | \x85caf\xe9\n")
    settings = Settings(
        "congressional-record", period_years=2, vocabulary_size=0, held_out=0, shards=3
    )
    store = running_text.build(settings, tmp_path)
    assert store["first_year"].values.tolist() == [1873, 1875]
    words = store["word"].values.tolist()
    assert words[0] == "and" and {"Peace", "law", ",", "caf\xe9", "|"} <= set(words)
    matrix = of_batch(running_text.task(store, [0], 1).train, 0, len(words))
    # Four times "Peace and law , and": at distances 1 and 4; speeches are not joined.
    assert matrix[words.index("Peace"), words.index("and")] == 4 * (1 + Fraction(1, 4))
    assert store["realisation-0"]["document_name"].values[5] == "440000001"


@pytest.mark.parametrize(
    ("speech", "description", "parts"),
    [
        ("NN9|Peace\n", "", ("speeches_043.txt", "line 6", "speech 439 has no date")),
        ("Peace\n", "", ("speeches_043.txt", "line 6", "speech_id|speech")),
        ("", "435|H|1873-03-04|1|x\n", ("descr_043.txt", "line 6", "without a date")),
        ("", "435\n", ("descr_043.txt", "line 6", "without a date")),
    ],
)
def test_wrong_lines_of_the_record_are_named(speech, description, parts, tmp_path):
    congress(tmp_path, speech, description)
    with pytest.raises(UserError) as caught:
        running_text.vocabulary(Settings("congressional-record", period_years=2), tmp_path)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_a_record_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no file speeches_NNN"):
        running_text.build(Settings("congressional-record"), tmp_path)
    congress(tmp_path)
    (tmp_path / "descr_043.txt").write_text(DESCRIPTION)
    with pytest.raises(UserError, match=r"descr_043\.txt is not .* describes no speech"):
        running_text.build(Settings("congressional-record"), tmp_path)
    congress(tmp_path)
    (tmp_path / "descr_044.txt").unlink()
    with pytest.raises(UserError, match=r"descr_044\.txt is missing"):
        running_text.build(Settings("congressional-record"), tmp_path)


def test_an_address_without_a_date_is_named(tmp_path):
    archive(tmp_path / _corpora.UNION_ARCHIVE, {"su1790.txt": "peace", "su1791.txt": "war"})
    table = tmp_path / _corpora.UNION_TABLE
    table.write_text('President,Date,filename\nA,"January 8, 1790",su1790.txt\n')
    with pytest.raises(UserError, match=r"su1791\.txt is not .*SOTU_metadata\.csv does not name"):
        running_text.build(Settings("state-of-the-union"), tmp_path)
    table.write_text('President,Date,filename\nA,"January 8, 1790",su1790.txt\nB,,su1791.txt\n')
    with pytest.raises(UserError, match=r"SOTU_metadata\.csv is not .* line 3: a row without"):
        running_text.build(Settings("state-of-the-union"), tmp_path)


@needs_mirror
def test_the_real_un_debates():
    corpus = _corpora.un_general_debates(MIRROR / "un-general-debates")
    assert len(corpus.names) == len(set(corpus.names.tolist())) == 8093
    assert np.unique(corpus.years).tolist() == [*range(1970, 2019)]
    ((number, text),) = corpus.texts(3, 4)
    assert number == 3 and corpus.names[3] == "AUT_25_1970.txt" and len(text) > 10000


@needs_mirror
def test_the_real_state_of_the_union():
    settings = Settings("state-of-the-union", period_years=10, vocabulary_size=500)
    raw = MIRROR / "state-of-the-union"
    store = running_text.build(settings, raw)
    documents = store["realisation-0"].to_dataset()
    assert documents.sizes["document"] == 245 and store.sizes["task"] == 24
    # 2.0 million tokens, as the mirror's notes say
    assert documents["document_tokens"].values.sum() == pytest.approx(2.2e6, rel=0.1)
    assert store["word"].values[:5].tolist() == ["the", "of", ",", ".", "to"]
    content = dict(_text_files.members(raw / _corpora.UNION_ARCHIVE, ".txt"))
    words = store["word"].values.tolist()
    train = ~documents["document_held_out"].values & (documents["document_task"].values == 0)
    expected = brute_force(
        [
            numbers(content[name].decode("utf-8-sig"), words)
            for name in documents["document_name"].values[train]
        ],
        500,
        4,
    )
    assert (dense(_count_store.counts(store, 0, 0), 500, 4) == expected).all()
    with pytest.raises(UserError, match="1933"):
        running_text.build(replace(settings, period_years=1), raw)
