"""Estimators for scikit-learn pass its checks and give the numbers of the wrapped methods."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.utils.estimator_checks import check_estimator

import shiftbench as sb
from shiftbench.adapters.sklearn import OnlineClassifier, OnlineRegressor

NUMBERS = np.random.default_rng(0)
X = NUMBERS.normal(size=(60, 2))
Y = X @ [1.0, -2.0] + 0.1 * NUMBERS.normal(size=60)


@pytest.mark.parametrize("estimator", [OnlineRegressor(), OnlineClassifier()])
def test_the_checks_of_scikit_learn_pass(estimator) -> None:
    check_estimator(estimator)


def test_a_regressor_is_the_method_that_it_wraps() -> None:
    wrapped = OnlineRegressor(settings={"noise_sd": 0.5})
    wrapped.partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    alone = sb.method("vbs-linear", noise_sd=0.5)
    alone.learn_many(X, Y)
    for found, expected in zip(
        wrapped.predict(X, return_std=True), alone.predict_many(X), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert wrapped.method_.changes.equals(alone.changes)
    np.testing.assert_array_equal(clone(wrapped).fit(X, Y).predict(X), wrapped.predict(X))


def test_a_classifier_has_the_probabilities_of_its_method() -> None:
    labels = np.where(Y > 0, "up", "down")
    wrapped = OnlineClassifier().partial_fit(X, labels, classes=["up", "down"])
    alone = sb.method("online-logistic", classes=["down", "up"])
    alone.learn_many(X, labels)
    assert wrapped.classes_.tolist() == ["down", "up"]
    np.testing.assert_array_equal(wrapped.predict_proba(X), alone.predict_many(X))
    assert wrapped.score(X, labels) > 0.8


def test_settings_can_be_searched_in_the_order_of_time() -> None:
    choices = [{"noise_sd": 0.1}, {"noise_sd": 10.0}]
    search = GridSearchCV(OnlineRegressor(), {"settings": choices}, cv=TimeSeriesSplit(3))
    assert search.fit(X, Y).best_params_["settings"] in choices


def test_a_seed_among_the_settings_is_refused_by_its_name_here() -> None:
    with pytest.raises(ValueError, match="pass random_state as an argument"):
        OnlineRegressor(settings={"seed": 1}).fit(X, Y)
