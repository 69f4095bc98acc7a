"""Methods as estimators of scikit-learn, which learn rows in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from shiftbench.adapters._settings import arguments
from shiftbench.api.online_method import OnlineMethod, method
from shiftbench.api.prediction import Prediction
from shiftbench.core import extras

with extras.other_library("shiftbench.adapters.sklearn", "scikit-learn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data


class _Online(BaseEstimator):
    """Base of both estimators: builds the wrapped method, and predicts with it."""

    def __init__(
        self,
        method: Any,
        settings: Mapping[str, Any] | None,
        model: Any,
        tasks: int | None,
        random_state: Any,
        components: Any,
    ) -> None:
        self.method = method
        self.settings = settings
        self.model = model
        self.tasks = tasks
        self.random_state = random_state
        self.components = components

    def _made(self, classes: Any = None) -> OnlineMethod:
        """Return the method before its first row."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        return method(
            self.method, model=self.model, classes=classes, tasks=self.tasks, seed=int(seed),
            components=self.components, **arguments(self.settings, seed="random_state"),
        )  # fmt: skip

    def _predicted(self, X: Any) -> Any:
        check_is_fitted(self, "method_")
        return self.method_.predict_many(validate_data(self, X, dtype=float, reset=False))


class OnlineRegressor(RegressorMixin, _Online):
    """A method that predicts real values, learnt row by row in the order of the rows.

    Parameters
    ----------
    method, model, tasks, components
        As in `shiftbench.method`.
    settings : dict, optional
        Settings by their name, or by ``"component.setting"``.
    random_state : int, RandomState or None
        The seed of methods that draw.

    Attributes
    ----------
    method_ : OnlineMethod
        The fitted method; ``method_.changes`` lists the changes that it detected.
    """

    def __init__(
        self,
        method: Any = "vbs-linear",
        *,
        settings: Mapping[str, Any] | None = None,
        model: Any = None,
        tasks: int | None = None,
        random_state: Any = 0,
        components: Any = None,
    ) -> None:
        super().__init__(method, settings, model, tasks, random_state, components)

    def fit(self, X: Any, y: Any) -> Self:
        """Forget all rows, and learn these."""
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True)
        self.method_ = self._made()
        self.method_.learn_many(X, y)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows."""
        first = not hasattr(self, "method_")
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True, reset=first)
        if first:
            self.method_ = self._made()
        self.method_.learn_many(X, y)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean of each row, and its standard deviation if asked for."""
        mean, sd = self._predicted(X)
        return (mean, sd) if return_std else mean


class OnlineClassifier(ClassifierMixin, _Online):
    """A method that predicts classes, learnt row by row in the order of the rows.

    Parameters
    ----------
    method, settings, model, tasks, random_state, components
        As in `OnlineRegressor`.

    Attributes
    ----------
    method_ : OnlineMethod
        The fitted method.
    classes_ : ndarray
        The labels, sorted.
    """

    def __init__(
        self,
        method: Any = "online-logistic",
        *,
        settings: Mapping[str, Any] | None = None,
        model: Any = None,
        tasks: int | None = None,
        random_state: Any = 0,
        components: Any = None,
    ) -> None:
        super().__init__(method, settings, model, tasks, random_state, components)

    def fit(self, X: Any, y: Any) -> Self:
        """Forget all rows, and learn these."""
        X, y = validate_data(self, X, y, dtype=float)
        check_classification_targets(y)
        self._begin(y)
        self.method_.learn_many(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows; the first call names all classes."""
        first = not hasattr(self, "method_")
        X, y = validate_data(self, X, y, dtype=float, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("the first call of partial_fit needs classes: all labels")
            self._begin(classes)
        self.method_.learn_many(X, y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``."""
        found = self._predicted(X)
        if isinstance(found, Prediction):
            raise ValueError("this method predicts a score and no probabilities; use predict")
        return found

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        found = self._predicted(X)
        if isinstance(found, Prediction):
            return self.classes_[(np.asarray(found.mean) > 0).astype(int)]
        return self.classes_[found.argmax(axis=1)]

    def _begin(self, labels: Any) -> None:
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(f"all rows are of one class, {self.classes_[0]!r}; give two or more")
        self.method_ = self._made(self.classes_.tolist())
