"""The series of given levels: its changes and its number of outliers."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.data.series import levels
from shiftbench.data.series.levels import Settings
from tests.data.building import builder

build = builder(levels)


def test_levels_changes_and_outliers_are_where_and_as_many_as_said():
    store, clean = build(realisations=3), build(realisations=3, outliers=0.0)
    assert np.flatnonzero(store["shift"].values[1]).tolist() == [100, 200, 300, 350, 400, 450]
    value, outlier = store["value"].values[..., 0], store["outlier"].values
    assert outlier.sum(axis=1).tolist() == [10, 10, 10]
    assert (outlier[0] != outlier[1]).any()
    moved = value - clean["value"].values[..., 0]
    np.testing.assert_allclose(abs(moved), 10.0 * outlier, atol=1e-12)
    assert set(np.sign(moved[outlier])) == {-1, 1}
    # The notebook's own data have a mean of 5.68; allow four standard errors.
    assert clean["value"].values.mean() == pytest.approx(5.68, abs=4 / 1500**0.5)
    for (start, end), level in {(0, 100): 10, (300, 350): 10, (400, 450): 12}.items():
        found = clean["value"].values[:, start:end].mean()
        assert found == pytest.approx(level, abs=4 / (3 * (end - start)) ** 0.5)


def test_more_outliers_are_those_of_fewer_and_others():
    few, many = (build(outliers=share)["outlier"].values for share in (0.02, 0.1))
    assert (many | ~few).all() and many.sum() == 5 * few.sum()


def test_one_level_has_no_change():
    store = build(levels=(1.0,), lengths=(20,), outliers=0.0)
    assert not store["shift"].values.any() and store.attrs["change"] == "none"


def test_levels_without_lengths_are_refused():
    (said,) = levels.unsupported(Settings(lengths=(10, 10)))
    assert "7 levels and 2 lengths" in said
