"""Counts of pairs equal a double loop; sums do not depend on order or on files on disk."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.data.text import _counts, _external_merge
from tests.data.text.word_counts import brute_force, dense

V = 40


def documents(number: int = 30, seed: int = 0) -> list[np.ndarray]:
    """Return texts of 0 to 60 words with gaps, in which low numbers are frequent."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 60, number)
    return [np.minimum(random.geometric(0.12, size) - 2, V - 1).astype(np.int32) for size in sizes]


def counted(texts, group=None, window=4, weighting="linear", groups=1) -> _counts.SparseRows:
    group = np.zeros(len(texts), int) if group is None else group
    weights = _counts.weights(weighting, window)
    return _counts.count(_counts.text(texts, group, window), weights, groups, V)


def same(one: _counts.SparseRows, other: _counts.SparseRows) -> bool:
    pairs = zip(one, other, strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


@pytest.mark.parametrize("weighting", ["linear", "flat", "harmonic"])
@pytest.mark.parametrize("window", [1, 2, 4, 7])
def test_counts_equal_a_double_loop(weighting, window):
    texts = documents()
    rows, units = counted(texts, None, window, weighting), _counts.weights(weighting, window).units
    expected = brute_force(texts, V, window, weighting)
    assert (dense(rows, V, units) == expected).all() and expected.any()
    assert _counts.entries(rows) == np.count_nonzero(expected)


def test_rows_are_half_a_matrix_in_order():
    rows = counted(documents())
    for word in range(V):
        columns = rows.column[rows.start[word] : rows.start[word + 1]]
        assert (np.diff(columns) > 0).all() and (columns >= word).all()
    assert (rows.value > 0).all() and rows.start[-1] == len(rows.column)


def test_no_pair_goes_over_the_end_of_a_document_or_out_of_the_window():
    assert (
        len(counted([np.array([1]), np.array([2]), np.array([3, -1, -1, -1, -1, 4])]).column) == 0
    )
    # Gaps keep their position: 1 and 2 are at distance 3, which has weight 2 / 4.
    rows = counted([np.array([1, -1, -1, 2])])
    assert (rows.column.tolist(), rows.value.tolist()) == ([2], [2])


def test_a_word_beside_itself_counts_twice():
    rows = counted([np.array([5, 5])])
    assert (rows.column.tolist(), rows.value.tolist()) == ([5], [8])


def test_groups_are_counted_separately():
    texts, group = documents(), np.arange(30) % 3
    rows = counted(texts, group, groups=3)
    for g in range(3):
        alone = counted([text for text, other in zip(texts, group, strict=True) if other == g])
        assert same(_counts.between(rows, g * V, (g + 1) * V), alone)


def test_a_text_that_stands_for_many():
    text = _counts.text(documents(), np.zeros(30, int), 4)
    once, weights = _counts.count(text, _counts.weights("linear", 4), 1, V), 10**7
    often = text._replace(weight=text.weight * weights)
    many = _counts.count(often, _counts.weights("linear", 4), 1, V)
    assert (many.value == weights * once.value).all() and same(
        many._replace(value=0), once._replace(value=0)
    )


@pytest.mark.parametrize("pairs", [1, 50, 10**6])
def test_parts_in_any_order_and_on_disk_equal_the_whole(pairs, tmp_path):
    texts, group = documents(), np.arange(30) % 3
    whole = counted(texts, group, groups=3)
    parts = [counted(texts[k::4], group[k::4], groups=3) for k in (2, 0, 3, 1)]
    assert same(_counts.total(parts, 3 * V)._replace(start=0), whole._replace(start=0))
    runs = [_external_merge.run(part, tmp_path / str(k)) for k, part in enumerate(parts)]
    assert same(_external_merge.merged(runs, V, tmp_path / "merged", pairs), whole)


def test_entries_of_a_sum(monkeypatch):
    texts = documents()
    parts = [counted(texts[k::4]) for k in range(4)]
    monkeypatch.setattr(_external_merge, "PAIRS", 50)
    assert _external_merge.entries(parts, V) == np.count_nonzero(brute_force(texts, V, 4))


def test_no_more_pairs_are_in_memory_than_allowed(tmp_path, monkeypatch):
    texts, group = documents(60), np.arange(60) % 20
    whole = counted(texts, group, groups=20)
    most, total = [], _counts.total
    monkeypatch.setattr(
        _counts, "total", lambda p, v: most.append(sum(len(x.column) for x in p)) or total(p, v)
    )
    merged = _external_merge.merged([whole, whole], V, tmp_path / "merged", 100)
    assert max(most) <= 100 < len(whole.column) and len(most) > 10
    assert (merged.value == 2 * whole.value).all()
    assert isinstance(merged.column, np.memmap)
