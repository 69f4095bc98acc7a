"""Planted changes of meaning are visible in a word's neighbours but not in its frequency."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.text import planted_words
from tests.data.building import builder
from tests.data.text.word_counts import of_batch

build = builder(planted_words)


def share_of_own_theme(matrix: np.ndarray, theme: np.ndarray, word: int, of: int) -> float:
    """Return the share of a word's counts with theme words that belongs to one theme."""
    counts = matrix[word] * (np.arange(len(theme)) != word)
    return counts[theme == of].sum() / counts[theme >= 0].sum()


def test_neighbours_before_and_after_a_change():
    store = build(realisations=1)
    changed, theme = store["changed"].values[0], store["theme"].values[0]
    size = store.sizes["word"]
    matrices = [
        of_batch(planted_words.task(store, [0], t).train, 0, size)
        for t in range(store.sizes["task"])
    ]
    for word in np.flatnonzero(changed.any(axis=0)):
        (when,) = np.flatnonzero(changed[:, word])
        old, new = theme[when - 1, word], theme[when, word]
        assert when > 0 and old != new
        for t, matrix in enumerate(matrices):
            present = new if t >= when else old
            assert share_of_own_theme(matrix, theme[t], word, present) > 0.99
    steady = np.flatnonzero(~changed.any(axis=0))
    assert (theme[:, steady] == theme[0, steady]).all() and len(steady) == 120


def test_truth_is_what_the_settings_say():
    store = build(realisations=4, changes=7, periods=9)
    changed = store["changed"].values
    assert (changed.sum(axis=(1, 2)) == 7).all() and (changed.sum(axis=1) <= 1).all()
    assert not changed[:, 0].any() and not changed[..., :20].any()
    np.testing.assert_array_equal(store["shift"].values, changed.any(axis=2))
    assert len({one.tobytes() for one in changed}) == 4


def test_a_change_leaves_the_frequency_as_it_is():
    store = build(realisations=10)
    changed, unigram = store["changed"].values, store["unigram"].values
    after = np.cumsum(changed, axis=1) > 0
    planted = changed.any(axis=1, keepdims=True) & np.ones_like(changed)
    before = unigram[planted & ~after].mean()
    assert unigram[planted & after].mean() == pytest.approx(before, rel=0.1)


def test_training_and_held_out_documents_are_those_of_the_settings():
    store = build(realisations=2, held_out=0.25, documents=8, document_length=50)
    assert (store["tokens"].values == 6 * 50).all()
    group = store["realisation-1"]
    assert (
        np.bincount(group["document_task"].values[group["document_held_out"].values]) == 2
    ).all()
    assert len(list(planted_words.held_out_documents(store, 1))) == 2 * 12
    assert planted_words.task(build(realisations=1, held_out=0), [0], 3).test is None


@pytest.mark.parametrize(("documents", "share", "number"), [(3, 0.9, 2), (2, 0.2, 1)])
def test_some_documents_are_held_out_and_some_are_not(documents, share, number):
    store = build(realisations=1, held_out=share, documents=documents, document_length=50)
    assert len(list(planted_words.held_out_documents(store, 0))) == 12 * number
    assert planted_words.task(store, [0], 3).test is not None


def test_counts_of_a_period_are_those_of_its_documents_and_task_minus_one_is_their_sum():
    store = build(realisations=2)
    size = store.sizes["word"]
    tasks = [planted_words.task(store, [1, 0], t) for t in range(-1, 12)]
    for s, r in enumerate((1, 0)):
        result = list(planted_words.held_out_documents(store, r))
        for t in (0, 5, 11):
            expected = np.zeros((size, size))
            for document in result:
                if document.task == t:
                    np.add.at(expected, tuple(document.pairs.T), document.targets)
            np.testing.assert_array_equal(of_batch(tasks[t + 1].test, s, size), expected)
        total = sum(of_batch(task.train, s, size) for task in tasks[1:])
        np.testing.assert_array_equal(of_batch(tasks[0].train, s, size), total)
        assert tasks[0].test is None and (total == total.T).all()


def share_by_theme(store, word: int, t: int) -> np.ndarray:
    """Return a word's share of common words in a period, by the document's theme."""
    group = store["realisation-0"]
    start, text = group["text_start"].values, group["text"].values
    result = np.zeros((6, 2))
    for h in np.flatnonzero(group["held_out_task"].values == t):
        words = text[start[h] : start[h + 1]]
        theme = np.bincount(store["theme"].values[0, t][words[words >= 20]]).argmax()
        result[theme] += (words == word).sum(), (words < 20).sum()
    return result[:, 0] / result[:, 1]


def test_common_words_drift_apart_between_themes_and_only_with_drift():
    many = {"realisations": 1, "documents": 400, "held_out": 0.99, "periods": 6}
    steady, drifting = build(**many), build(**many, drift=0.3)
    spread = [
        [np.log(share_by_theme(store, 0, t)).std() for t in (0, 5)] for store in (steady, drifting)
    ]
    assert max(spread[0]) < 0.1 and spread[1][0] == spread[0][0]
    # A walk of five steps of .3 has sd .67, less what all themes share.
    assert 0.25 < spread[1][1] < 1.2
    np.testing.assert_array_equal(steady["theme"], drifting["theme"])


def test_burstiness_is_the_correlation_of_the_words_of_a_document():
    one = {"realisations": 1, "documents": 600, "held_out": 0.99, "periods": 2, "themes": 2}
    for burstiness in (0.0, 0.02):
        store = build(**one, burstiness=burstiness)
        group = store["realisation-0"]
        documents = group["text"].values.reshape(-1, 100)
        common = (documents < 20).sum(axis=1)
        # Williams (1982): the binomial variance times 1 + (n - 1) rho.
        expected = 100 * 0.4 * 0.6 * (1 + 99 * burstiness)
        assert common.var() == pytest.approx(expected, rel=0.15)


def test_more_changes_than_words():
    with pytest.raises(UserError, match="the themes have 12 words"):
        build(themes=3, words_per_theme=4, changes=13)
