"""Samples of occurrences follow the binomial law and depend only on their keys."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from shiftbench.data.text import _thinning

KEYS = np.random.default_rng(1).integers(2**64, size=20_000, dtype=np.uint64)
YEAR, SECOND = np.full(len(KEYS), 1950), np.ones(len(KEYS), int)


def sample(target: int, held_out: float = 0.0, realisation: int = 0) -> _thinning.Sample:
    """Return a sample of two periods, the first with 10 tokens and the second with 1,000."""
    return _thinning.sample([10, 1000], target, held_out, realisation)


def drawn(sample, counts, key=KEYS, year=YEAR, period=SECOND) -> tuple[np.ndarray, np.ndarray]:
    return _thinning.drawn(sample, period, key, year, counts)


def p_value(seen: np.ndarray, count: int, probability: float) -> float:
    """Return the p value of a chi-square test against the binomial law, with pooled tails."""
    expected = len(seen) * stats.binom.pmf(np.arange(count + 1), count, probability)
    low, high = np.flatnonzero(expected > 10)[[0, -1]]
    pooled = np.clip(seen, low, high)
    observed = np.bincount(pooled - low, minlength=high - low + 1)
    rest = [expected[: low + 1].sum(), *expected[low + 1 : high], expected[high:].sum()]
    return stats.chisquare(observed, rest).pvalue


@pytest.mark.parametrize("count", [1, 12, 200])
@pytest.mark.parametrize(("target", "held_out"), [(300, 0.1), (1000, 0.1), (50, 0.5)])
def test_what_stays_is_binomial(count, target, held_out):
    counts = np.full(len(KEYS), count)
    train, out = drawn(sample(target, held_out), counts)
    kept = target / 1000
    laws = {"train": (train, kept * (1 - held_out)), "out": (out, kept * held_out)}
    for seen, probability in laws.values():
        n, variance = len(seen), count * probability * (1 - probability)
        assert abs(seen.mean() - count * probability) < 4 * np.sqrt(variance / n)
        kurtosis = (1 - 6 * probability * (1 - probability)) / variance
        assert abs(seen.var() / variance - 1) < 4 * np.sqrt((2 + kurtosis) / n)
        assert p_value(seen, count, probability) > 1e-3
    # Both are parts of the same multinomial draw.
    covariance = -count * kept**2 * held_out * (1 - held_out)
    found = np.cov(train, out)[0, 1]
    assert abs(found - covariance) < 5 * count / np.sqrt(len(train))


def test_other_laws_are_refused():
    """The test above detects a wrong probability and repeated draws."""
    counts = np.full(len(KEYS), 12)
    train, _ = drawn(sample(300), counts)
    assert p_value(train, 12, 0.31) < 1e-6
    twice, _ = drawn(sample(300), counts, np.repeat(KEYS, 2)[: len(KEYS)])
    assert p_value(twice, 12, 0.3) < 1e-3 or len(set(twice.tolist())) < 12


def test_years_realisations_and_n_grams_have_draws_of_their_own():
    counts = np.full(len(KEYS), 12)
    one, _ = drawn(sample(300), counts)
    others = {
        "year": drawn(sample(300), counts, year=YEAR - 1),
        "realisation": drawn(sample(300, realisation=1), counts),
        "n-gram": drawn(sample(300), counts, KEYS[::-1].copy()),
    }
    for other, _ in others.values():
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(len(KEYS))


def test_a_draw_does_not_depend_on_the_others_or_on_the_periods():
    counts = np.random.default_rng(2).integers(1, 9, len(KEYS))
    one = np.array(drawn(sample(300, 0.1), counts))
    some = np.arange(7, len(KEYS), 3)[::-1]
    apart = drawn(sample(300, 0.1), counts[some], KEYS[some], YEAR[some], SECOND[some])
    np.testing.assert_array_equal(one[:, some], apart)
    alone = _thinning.sample([1000], 300, 0.1, 0)
    np.testing.assert_array_equal(one, drawn(alone, counts, period=0 * SECOND))


def test_larger_samples_have_all_of_smaller_ones():
    counts = np.full(len(KEYS), 5)
    sizes = [drawn(sample(t), counts)[0] for t in (0, 999, 500, 100, 1)]
    assert (sizes[0] == 5).all()
    for larger, smaller in pairwise(sizes):
        assert (smaller <= larger).all() and smaller.sum() < larger.sum()


@pytest.mark.parametrize("target", [0, 1000, 10**15])
def test_all_stay_where_there_are_no_more_than_wanted(target):
    counts = np.full(len(KEYS), 5)
    for held_out in (0.0, 0.1):
        train, out = drawn(sample(target, held_out), counts)
        assert (train + out == 5).all()
        assert out.any() == bool(held_out)


def test_expected_tokens_are_those_of_training():
    assert _thinning.expected(sample(0), [10, 1000]).tolist() == [10, 1000]
    assert _thinning.expected(sample(300, 0.5), [10, 1000]).tolist() == [5, 150]
