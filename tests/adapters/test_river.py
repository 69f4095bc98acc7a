"""Estimators and the detector for river pass river's checks, in .venv-peers: `make test-peers`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import shiftbench as sb

pytestmark = pytest.mark.peers
river = pytest.importorskip("river", reason="is in .venv-peers; see envs/peers.txt")

from river import checks, datasets, evaluate, linear_model, metrics, preprocessing  # noqa: E402

from shiftbench.adapters.river import (  # noqa: E402
    ChangeDetector,
    OnlineClassifier,
    OnlineRegressor,
)

NUMBERS = np.random.default_rng(0)
TABLE = pd.DataFrame(NUMBERS.normal(size=(60, 2)), columns=["a", "b"])
TARGET = TABLE["a"] - 2 * TABLE["b"] + 0.1 * NUMBERS.normal(size=60)
ROWS = TABLE.to_dict("records")
LEVELS = np.random.default_rng(3).normal(size=120) + np.repeat([0.0, 6.0, -2.0], 40)
OF_DETECTORS = (
    "check_repr",
    "check_str",
    "check_clone_same_class",
    "check_clone_is_idempotent",
    "check_clone_changes_memory_addresses",
    "check_clone_with_new_params_applies",
    "check_init_default_params_are_not_mutable",
    "check_doc",
    "check_get_params_matches_signature",
    "check_mutate_can_be_idempotent",
    "check_pickling_supports_roundtrip",
    "check_repr_roundtrips_clone",
)
"""The checks of river that need neither features nor targets."""


def learnt(estimator, targets):
    """Return the estimator after learning all rows, one by one."""
    for x, y in zip(ROWS, targets, strict=True):
        estimator.learn_one(x, y)
    return estimator


@pytest.mark.parametrize(
    "estimator",
    [
        OnlineRegressor(),
        OnlineRegressor("oga", tasks=3000),
        OnlineClassifier(),
        OnlineClassifier(classes=7),
        OnlineClassifier("oga", {"loss": "hinge"}, tasks=3000),
    ],
    ids=["moments", "score", "two labels", "labels as they come", "score of two labels"],
)
def test_the_checks_of_river_pass(estimator) -> None:
    """No check is skipped."""
    assert not estimator._unit_test_skips()
    checks.check_estimator(estimator)


@pytest.mark.parametrize("name", OF_DETECTORS)
def test_the_checks_that_apply_to_a_detector_pass(name) -> None:
    getattr(checks.common, name)(ChangeDetector())


def test_a_regressor_is_the_method_that_it_wraps() -> None:
    wrapped = OnlineRegressor("vbs-linear", {"noise_sd": 0.5})
    assert wrapped.predict_one(ROWS[0]) == 0.0
    assert wrapped.predict_one(ROWS[0], with_dist=True).sigma == math.inf
    alone = sb.method("vbs-linear", noise_sd=0.5)
    alone.learn_many(TABLE, TARGET)
    learnt(wrapped, TARGET)
    expected = alone.predict_one(ROWS[0])
    assert wrapped.predict_one(ROWS[0]) == expected.mean
    found = wrapped.predict_one(ROWS[0], with_dist=True)
    assert (found.mu, found.sigma) == pytest.approx(tuple(expected), rel=1e-12)
    assert wrapped.method_.changes.equals(alone.changes)
    np.testing.assert_array_equal(wrapped.predict_many(TABLE), alone.predict_many(TABLE).mean)


def test_the_first_row_sets_the_features() -> None:
    """Later, missing features are 0 and new ones are ignored."""
    odd, plain = OnlineRegressor(), OnlineRegressor()
    for one in (odd, plain):
        one.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    odd.learn_one({"c": 9.0, "b": 3.0}, 2.0)
    plain.learn_one({"a": 0.0, "b": 3.0}, 2.0)
    odd.learn_many(pd.DataFrame({"b": [1.0], "d": [5.0]}), pd.Series([3.0]))
    plain.learn_many(pd.DataFrame({"a": [0.0], "b": [1.0]}), pd.Series([3.0]))
    assert odd.method_.feature_names == ("a", "b")
    assert odd.predict_one({"b": 1.0}) == plain.predict_one({"a": 0.0, "b": 1.0})
    for name, array in plain.method_.state.items():
        np.testing.assert_array_equal(odd.method_.state[name], array)


def test_a_classifier_has_the_probabilities_of_its_method() -> None:
    labels = np.where(TARGET > 0, "up", "down").tolist()
    wrapped = OnlineClassifier(classes=3)
    assert wrapped.predict_one(ROWS[0]) is None and wrapped.predict_proba_one(ROWS[0]) == {}
    alone = sb.method("online-logistic", classes=3)
    alone.learn_many(TABLE, labels)
    learnt(wrapped, labels)
    raw, found = alone.predict_one(ROWS[0]), wrapped.predict_proba_one(ROWS[0])
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["up"] / found["down"] == pytest.approx(raw["up"] / raw["down"])
    hits = [wrapped.predict_one(x) == label for x, label in zip(ROWS, labels, strict=True)]
    assert np.mean(hits) > 0.8


def test_a_score_of_two_classes_gives_labels_and_no_probabilities() -> None:
    wrapped = learnt(OnlineClassifier("oga", {"loss": "hinge"}, tasks=60), TARGET > 0)
    with pytest.raises(NotImplementedError, match="a score and no probabilities"):
        wrapped.predict_proba_one(ROWS[0])
    assert (wrapped.predict_many(TABLE) == (TARGET > 0)).mean() > 0.8


def test_exact_regression_is_that_of_river() -> None:
    """Both have a standard normal prior and noise of sd 1; ours adds the constant itself."""
    ours = learnt(OnlineRegressor("vcl-linear", {"noise_sd": 1.0, "prior_variance": 1.0}), TARGET)
    theirs = linear_model.BayesianLinearRegression()
    for x, y in zip(ROWS, TARGET, strict=True):
        theirs.learn_one(x | {"constant": 1.0}, y)
    for x in ROWS:
        found = ours.predict_one(x, with_dist=True)
        expected = theirs.predict_one(x | {"constant": 1.0}, with_dist=True)
        assert found.mu == pytest.approx(expected.mu, rel=1e-9)
        assert found.sigma == pytest.approx(expected.sigma, rel=1e-9)


def test_a_pipeline_is_evaluated_by_river() -> None:
    """Approval drifts, so a regression that detects changes has a smaller error."""
    errors = [
        evaluate.progressive_val_score(
            datasets.TrumpApproval(), preprocessing.StandardScaler() | model, metrics.MAE()
        ).get()
        for model in (
            OnlineRegressor("vbs-linear", {"noise_sd": 1.0}),
            linear_model.BayesianLinearRegression(),
        )
    ]
    assert errors[0] < errors[1]


def test_a_detector_has_the_alarms_of_its_method() -> None:
    detector, alone = ChangeDetector("bocpd", {"a0": 2.0}), sb.method("bocpd", a0=2.0)
    alone.learn_many(None, LEVELS)
    raised = []
    for number, value in enumerate(LEVELS):
        detector.update(value)
        if detector.drift_detected:
            raised.append(number)
    assert raised == alone.changes["seen"].tolist()
    assert {40, 80} <= set(detector.method_.changes["change"])
