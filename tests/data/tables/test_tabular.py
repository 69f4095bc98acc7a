"""Tables in random order: orders, scaling, changes, and the two simulated tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Problem
from shiftbench.data.tables import _table_files, tabular
from tests.data.building import builder

build = builder(tabular)


def shown(store, realisation):
    """Return inputs [T, d] and targets [T] of one realisation from its tasks."""
    tasks = [tabular.task(store, [realisation], t).train for t in range(store.sizes["task"])]
    inputs, targets = (
        np.concatenate([getattr(b, k)[0] for b in tasks]) for k in ("inputs", "targets")
    )
    return inputs, targets.reshape(-1)


def test_each_order_shows_every_row_once():
    store = build(realisations=3)
    order = store["order"].values
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(569), (3, 1)))
    assert (order[0] != order[1]).mean() > 0.9
    inputs, labels = shown(store, 1)
    table = _table_files.bundled("breast-cancer")
    np.testing.assert_array_equal(labels, table.target[order[1]])
    raw = table.inputs[order[1]]
    expected = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    np.testing.assert_allclose(inputs, expected, rtol=1e-9, atol=1e-12)


def test_fewer_rows_are_the_first_of_each_order_and_scaled_the_same():
    some, every = build(realisations=2, rows=40), build(realisations=2)
    assert tabular.problem(some).n_tasks == 40
    np.testing.assert_array_equal(some["order"], every["order"][:, :40])
    np.testing.assert_array_equal(some["inputs"], every["inputs"])
    assert set(some["order"].values[0]) != set(some["order"].values[1])


def test_more_rows_than_there_are():
    with pytest.raises(UserError, match="rows is 443, but diabetes has 442"):
        build(dataset="diabetes", rows=443)


@pytest.mark.parametrize("dataset", ["breast-cancer", "diabetes"])
def test_scaling(dataset):
    plain = build(dataset=dataset, scaling="none")["inputs"].values
    np.testing.assert_array_equal(plain, _table_files.bundled(dataset).inputs)
    z_score = build(dataset=dataset)["inputs"].values
    np.testing.assert_allclose(z_score.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z_score.std(axis=0), 1)
    min_max = build(dataset=dataset, scaling="min-max")["inputs"].values
    assert (min_max.min(axis=0) == 0).all() and (min_max.max(axis=0) == 1).all()


@pytest.mark.parametrize("scaling", ["z-score", "min-max"])
def test_a_constant_feature_becomes_zero(scaling):
    table = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    scaled = tabular._scaled(table, scaling)
    assert (scaled[:, 0] == 0).all() and np.ptp(scaled[:, 1]) >= 1


def test_a_look_ahead_is_declared():
    assert "to come" in build().attrs["scaling"]
    plain = build(dataset="diabetes", scaling="none", target_scaling="none")
    assert plain.attrs["scaling"] == plain.attrs["target_scaling"] == "none"
    assert build().attrs["target_scaling"] == "none"  # classes have no scale


def test_real_targets_are_scaled_and_have_no_effect_on_the_known_fit():
    store = build(dataset="diabetes")
    assert tabular.problem(store) == Problem("regression", (10,), 1, 1, 442)
    (unexplained,) = np.linalg.lstsq(store["inputs"].values, store["target"].values)[1] / 442
    assert 1 - unexplained == pytest.approx(0.5177, abs=1e-4)  # R^2, scikit-learn's manual
    plain = build(dataset="diabetes", target_scaling="none")
    np.testing.assert_array_equal(plain["target"], _table_files.bundled("diabetes").target)


@pytest.mark.parametrize(("rows", "middle"), [(0, 285), (10, 5), (9, 5), (2, 1)])
def test_labels_are_swapped_in_the_second_half(rows, middle):
    changed, same = build(rows=rows, change="middle"), build(rows=rows)
    assert (changed["shift"].values == (np.arange(changed.sizes["task"]) == middle)).all()
    (x, before), (other_x, after) = shown(same, 2), shown(changed, 2)
    np.testing.assert_array_equal(x, other_x)
    np.testing.assert_array_equal(after[:middle], before[:middle])
    np.testing.assert_array_equal(after[middle:], 1 - before[middle:])
    assert not same["shift"].values.any()


def test_real_targets_are_negated_in_the_second_half():
    changed = build(dataset="diabetes", change="middle", target_scaling="none")
    target, order = changed["target"].values, changed["order"].values[0]
    _, shown_target = shown(changed, 0)
    sign = np.where(np.arange(442) < 221, 1, -1)
    np.testing.assert_array_equal(shown_target, sign * target[order])


def test_a_single_row_never_changes():
    assert not build(rows=1, change="middle")["flipped"].values.any()


def test_task_serves_the_realisations_asked_for():
    store = build(dataset="simulated-regression", realisations=3, simulated_rows=50)
    task = tabular.task(store, [2, 0, 2], 7)
    rows = store["order"].values[[2, 0, 2], 7]
    np.testing.assert_array_equal(task.train.inputs[:, 0], store["inputs"].values[rows])
    np.testing.assert_array_equal(task.train.targets[:, 0, 0], store["target"].values[rows])
    assert task.validation is None and task.test is None


def test_simulated_classes_have_the_moments_of_the_paper():
    store = build(dataset="simulated-classification", scaling="none", simulated_rows=100_000)
    x, y = store["inputs"].values, store["target"].values
    assert y.mean() == pytest.approx(2 / 3, abs=0.005)
    np.testing.assert_allclose(x[y == 1].mean(axis=0), [1, 1], atol=0.03)
    np.testing.assert_allclose(x[y == 0].mean(axis=0), [-1, -1], atol=0.03)
    np.testing.assert_allclose(np.cov(x[y == 1].T), [[1, 1], [1, 3]], atol=0.05)
    np.testing.assert_allclose(np.cov(x[y == 0].T), np.eye(2), atol=0.03)
    # The rule x0 > 0 errs with probability Phi(-1) in either class.
    assert ((x[:, 0] > 0) != y).mean() == pytest.approx(norm.cdf(-1), abs=0.005)


def test_each_realisation_may_have_simulated_rows_of_its_own() -> None:
    settings = {"dataset": "simulated-classification", "scaling": "none", "realisations": 3}
    store = build(**settings, simulated_rows=50, simulated_tables="each", rows=20)
    order = store["order"].values
    assert order.shape == (3, 20) and (order // 50 == np.arange(3)[:, None]).all()
    assert len(np.unique(store["inputs"].values, axis=0)) == 150
    more = build(**(settings | {"realisations": 4}), simulated_rows=50, simulated_tables="each")
    np.testing.assert_array_equal(more["inputs"][:150], store["inputs"])


def test_the_covariance_of_a_simulated_class_can_have_the_other_sign() -> None:
    store = build(
        dataset="simulated-classification", scaling="none", simulated_rows=100_000,
        simulated_covariance=-1.0,
    )  # fmt: skip
    of_class = store["inputs"].values[store["target"].values == 1]
    assert np.cov(of_class.T) == pytest.approx(np.array([[1, -1], [-1, 3]]), abs=0.05)


def test_simulated_regression_has_the_weights_and_the_noise_that_it_says():
    store = build(
        dataset="simulated-regression",
        scaling="none",
        target_scaling="none",
        simulated_rows=100_000,
        simulated_features=3,
        simulated_noise_sd=0.2,
    )
    weights, squares, *_ = np.linalg.lstsq(store["inputs"].values, store["target"].values)
    np.testing.assert_allclose(weights, [1, -1 / 2, 1 / 3], atol=0.003)
    assert np.sqrt(squares[0] / 100_000) == pytest.approx(0.2, rel=0.02)


def test_intercept_is_a_last_feature_that_stays_one():
    store, plain = build(scaling="min-max", intercept=True), build(scaling="min-max")
    assert tabular.problem(store).input_shape == (31,)
    assert store["feature"].values[-1] == "intercept"
    np.testing.assert_array_equal(store["inputs"][:, :-1], plain["inputs"])
    assert (store["inputs"].values[:, -1] == 1).all()
